"""Quantiles from survival functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

STEP = 16.0
SHORTEST = 1e-290
"""Of the typical time: a quantile below counts as zero."""


def quantile(survival: Callable[[float], float], q: float, scale: float, rtol: float = 1e-12) -> float:
    """The smallest t >= 0 with P(T > t) <= 1 - q, for a decreasing ``survival``; ``scale`` is a typical time."""
    from scipy.optimize import brentq

    target, survival = 1 - q, cache(survival)
    if survival(0.0) <= target:
        return 0.0
    low = high = scale
    if survival(scale) > target:
        while survival(high) > target:
            low, high = high, 2 * high
    else:
        while survival(low) <= target:
            low, high = low / STEP, low
            if low < SHORTEST * scale:
                return 0.0

    def gap(t: float) -> float:  # nearly a line in t
        return math.log(max(survival(t) / target, 1e-3))

    if gap(high) >= 0:
        return high
    return float(brentq(gap, low, high, xtol=1e-15 * low, rtol=rtol, maxiter=500))
