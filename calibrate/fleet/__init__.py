"""Thousands of drives: each fitted, in one table, with outliers found at a known rate of false alarms."""
