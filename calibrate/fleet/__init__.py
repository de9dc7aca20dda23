"""Thousands of drives: each fitted, one table, and the odd ones found by a rule whose false alarms are known."""
