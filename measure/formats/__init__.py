"""Parsers of tools' output: text to records and sweeps by pure functions, a family of formats a file."""
