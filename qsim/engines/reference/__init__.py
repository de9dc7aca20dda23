"""The reference engine: SimPy processes, to be read."""
