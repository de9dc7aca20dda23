"""Streams of random times, one for each random choice in a model."""
