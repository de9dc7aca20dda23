"""This machine: its hardware, its processes, its files, and what may be written to."""
