"""Distributions of waiting and response times beyond first come first served."""
