"""Uniformisation: a chain in continuous time, looked at in steps of a Poisson process.

Let steps come at rate θ, at least as fast as any state is left, and let P = I + Q/θ say what a step does.  The number
of steps by time t is Poisson, whatever the chain does, so

    p(t) = sum over n of Poisson(n; θt)·p(0)·Pⁿ,

a sum of positive terms, cut where the Poisson terms have died out.

Source: Jensen (1953), Skand. Aktuarietidskr. 36; Grassmann (1977), Comput. Oper. Res. 4.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qsim._types import FloatArray
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_STEPS = 2_000_000
"""Some twenty seconds; a chain that has not settled by then is followed no further."""

SETTLED, STEPS_A_LOOK = 4e-15, 64
"""A chain that a step changes by less, which is rounding, has settled; it is looked at each so many steps."""


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


def advanced(probabilities: FloatArray, generator: csr_array, t: float) -> FloatArray:
    """p(0)·e^(Qt): the probabilities of the states after t; ``generator`` is Q, shape (states, states).

    Raises InvalidParameterError for a time of more than MOST_STEPS steps where the chain has not settled by then.

    >>> from scipy.sparse import csr_array
    >>> after = advanced(np.array([1.0, 0.0]), csr_array([[-1.0, 1.0], [3.0, -3.0]]), 100.0)
    >>> after.round(12).tolist()
    [0.75, 0.25]
    """
    pace = float(-generator.diagonal().min()) if generator.nnz else 0.0
    if pace * t == 0:
        return probabilities
    transposed = generator.T.tocsr() / pace
    first, weights = poisson_window(pace * t) if pace * t < MOST_STEPS else (MOST_STEPS, np.ones(1))
    state, total = probabilities, np.zeros_like(probabilities)
    for n in range(first + weights.size):
        if n >= first:
            total += weights[n - first] * state
        change = np.asarray(transposed @ state)
        if n % STEPS_A_LOOK == 0 and np.abs(change).sum() < SETTLED:
            total += weights[max(0, n + 1 - first) :].sum() * state
            break
        state = state + change
    else:
        if first == MOST_STEPS:
            raise InvalidParameterError(
                "t",
                f"must be at most {MOST_STEPS / pace:.3g} for this chain, not {t:.6g}",
                f"it has not settled after {MOST_STEPS:,} steps",
                t,
            )
    return np.asarray(total / total.sum() * probabilities.sum())
