"""Checks of a sweep, one law a file; ``audit`` asks them all."""
