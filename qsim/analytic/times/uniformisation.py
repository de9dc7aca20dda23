"""Uniformisation: a chain in continuous time, looked at in steps of a Poisson process.

Let steps come at rate θ, at least as fast as any state is left, and let P = I + Q/θ say what a step does.  The number
of steps by time t is Poisson, whatever the chain does, so

    p(t) = sum over n of Poisson(n; θt)·p(0)·Pⁿ,

a sum of positive terms, cut where the Poisson terms have died out.

Source: Jensen (1953), Skand. Aktuarietidskr. 36; Grassmann (1977), Comput. Oper. Res. 4.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray


def poisson_window(expected: float) -> tuple[int, FloatArray]:
    """The first n whose Poisson(n; ``expected``) counts, and the probabilities from there on, all that count.

    >>> first, weights = poisson_window(100.0)
    >>> first, round(float(weights.sum()), 12)
    (0, 1.0)
    """
    from scipy.special import gammaln, xlogy

    reach = 40 + 12 * math.sqrt(expected)
    first = max(0, int(expected - reach))
    n = np.arange(first, int(expected + reach) + 1)
    weights = np.exp(xlogy(n, expected) - expected - gammaln(n + 1))
    return first, np.asarray(weights[: int(np.flatnonzero(weights > 1e-18)[-1]) + 1])
