"""Queues as time passes: how many are present at a time, from a known start, with rates that vary."""
