"""Quantiles from survival functions, by bisection."""

from __future__ import annotations

from collections.abc import Callable


def quantile(survival: Callable[[float], float], q: float, scale: float) -> float:
    """The smallest t >= 0 with P(T > t) <= 1 - q, for a decreasing ``survival``; ``scale`` is a typical time."""
    target = 1 - q
    if survival(0.0) <= target:
        return 0.0
    low, high = 0.0, scale
    while survival(high) > target:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if survival(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
