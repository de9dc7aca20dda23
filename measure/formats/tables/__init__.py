"""Reads tables of measurements as people publish them: cells, columns, units, rows."""
