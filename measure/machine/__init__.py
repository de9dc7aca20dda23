"""This machine: its hardware, its processes, its files, and the targets that may be written to."""
