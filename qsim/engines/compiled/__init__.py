"""The compiled engine: loops in numba."""
