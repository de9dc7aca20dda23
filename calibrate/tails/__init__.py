"""Percentiles of the response time at every depth."""
