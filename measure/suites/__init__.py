"""Suites of measurements: the questions that people ask of a drive."""
