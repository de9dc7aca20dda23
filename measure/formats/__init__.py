"""Texts that others wrote, as records and sweeps: pure functions, a format a file."""
