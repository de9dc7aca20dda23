"""Measuring this machine's memory with the built-in probe: plan, run, store, read."""
