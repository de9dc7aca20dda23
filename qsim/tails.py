"""Variances from what is known of a distribution: the probabilities of longer times, or those of each number."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_PIECES = 200
MOST_NUMBER = 1_000_000


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


def variance_of_number(p: Callable[[int], float]) -> float:
    """Var[N] from p(0), p(1), ..., as far as they add up to one.

    >>> variance_of_number(lambda n: 0.5 if n in (0, 2) else 0.0)
    1.0
    """
    mean = square = 0.0
    left, negligible = 1.0, 0
    for n in range(MOST_NUMBER):
        share = p(n)
        left, mean, square = left - share, mean + n * share, square + n * n * share
        negligible = negligible + 1 if n * n * share <= 1e-16 * square and left < 0.01 else 0
        if left * n * n < 1e-13 * square or negligible > 100:
            break
    return square - mean**2
