"""Markov chains in continuous time: their states, what holds in the long run, and what holds at a time."""
