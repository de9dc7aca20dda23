"""The compiled engine: loops in numba, to be run."""
