"""Suites of measurements, each for one question about a drive."""
