"""The variance of a time from the probabilities of longer ones."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_PIECES = 200


def variance_from_tail(survival: Callable[[float], float], scale: float) -> float:
    """Var[T] = 2·integral of t·P(T > t) - (integral of P(T > t))², piece after piece of doubling length.

    ``scale`` is a typical time.  Infinite where the pieces never die out.

    >>> round(variance_from_tail(lambda t: math.exp(-t / 3), scale=1.0), 6)
    9.0
    """
    from scipy.integrate import quad

    first = second = 0.0
    low, high = 0.0, scale
    for _ in range(MOST_PIECES):
        area = quad(survival, low, high, limit=200, epsabs=1e-10 * scale, epsrel=1e-9)[0]
        moment = 2 * quad(lambda t: t * survival(t), low, high, limit=200, epsabs=1e-10 * scale**2, epsrel=1e-9)[0]
        first, second = first + area, second + moment
        if moment <= 1e-11 * second:
            return max(0.0, second - first**2)
        low, high = high, 2 * high
    return math.inf
