"""Sweep directories on disk: untouched raw files, and a record for each point."""
