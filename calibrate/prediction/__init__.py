"""Predictions held against measurements, and against other devices."""
