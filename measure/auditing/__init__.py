"""Checks of a sweep, one law a file; ``audit`` runs them all."""
