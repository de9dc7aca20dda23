"""Explore: a queue whose parameters the student moves, solved, simulated and drawn at once."""
