"""What changed between two sweeps: every common load, with what would have been seen."""
