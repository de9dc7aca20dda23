"""Texts that others wrote, as records and sweeps: pure functions, a family of formats a file."""
