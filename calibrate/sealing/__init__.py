"""Predictions and guesses that were there before the data."""
