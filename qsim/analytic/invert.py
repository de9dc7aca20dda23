"""Quantiles from survival functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache


def quantile(survival: Callable[[float], float], q: float, scale: float, rtol: float = 1e-12) -> float:
    """The smallest t >= 0 with P(T > t) <= 1 - q, for a decreasing ``survival``; ``scale`` is a typical time."""
    from scipy.optimize import brentq

    target, survival = 1 - q, cache(survival)
    if survival(0.0) <= target:
        return 0.0
    low, high = 0.0, scale
    while survival(high) > target:
        low, high = high, 2 * high

    def logarithm(t: float) -> float:  # nearly a line in t
        return math.log(max(survival(t) / target, 1e-3))

    return float(brentq(logarithm, low, high, xtol=1e-15 * high, rtol=rtol, maxiter=500))
