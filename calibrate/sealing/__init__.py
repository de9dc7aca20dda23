"""Predictions that were sealed before the data were measured."""
