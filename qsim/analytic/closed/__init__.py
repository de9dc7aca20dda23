"""Closed queues and networks by formula: one family a file."""
