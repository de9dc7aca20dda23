"""Fits a device model to points, and predicts its curve."""
