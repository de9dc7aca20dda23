"""From points to a fit, and from a fit to a predicted curve."""
