"""Compares predictions with measurements, and devices with each other."""
