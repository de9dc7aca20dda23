"""Changes between two sweeps at every common load, with the loss that would have been seen."""
