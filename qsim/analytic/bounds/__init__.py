"""Bounds on closed systems: one family a file."""
