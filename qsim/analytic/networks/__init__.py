"""Open and mixed networks by formula: one family a file."""
