"""Intervals from regenerative cycles: an empty queue has no memory.

A customer who finds the system empty starts the queue afresh: what happens from then on is independent of all
before, and follows the same law each time.  So the run falls into independent, identically distributed cycles of
N customers, total waiting time Y and so on; no warm-up need be dropped and no batch length chosen.  The mean
wait is E[Y]/E[N], estimated by the ratio r of the totals, and with n cycles

    (r̂ - r) √n / (s / N̄) -> normal(0, 1),        s² = s_YY - 2 r̂ s_YN + r̂² s_NN.

It applies to first come, first served queues with independent times between arrivals and of service, and is of
use where they often empty: cycles grow with the load, and with many servers beyond any run.
Source: Crane & Lemoine (1977), An Introduction to the Regenerative Method for Simulation Analysis, section 2;
Law (2015), Simulation Modeling and Analysis, section 9.5.3.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.engines._jit import kernel

FEWEST_CYCLES = 100
"""Fewer cycles than this, and the normal law is no guide."""

# Totals of a cycle; the first four are the columns of a recorder's table.
TIME, WAIT, SERVICE, WAITED, NUMBER = range(5)

# Entries of `state`: until when work is left, counted from the last arrival, and whether a cycle has begun.
BUSY_UNTIL, BEGUN = 0, 1


@kernel()
def _add(
    gaps: FloatArray,
    waits: FloatArray,
    services: FloatArray,
    state: FloatArray,
    current: FloatArray,
    sums: FloatArray,
    products: FloatArray,
) -> int:
    """Add customers to cycles; returns how many cycles ended."""
    ended = 0
    busy, begun = state[BUSY_UNTIL], state[BEGUN]
    for i in range(gaps.size):
        busy -= gaps[i]
        if begun > 0.0:
            current[TIME] += gaps[i]  # a cycle lasts until the arrival that begins the next
        if busy <= 0.0:
            if begun > 0.0:
                for a in range(5):
                    sums[a] += current[a]
                    for b in range(5):
                        products[a, b] += current[a] * current[b]
                ended += 1
            current[:] = 0.0
            begun = 1.0
        current[WAIT] += waits[i]
        current[SERVICE] += services[i]
        current[WAITED] += waits[i] > 0.0
        current[NUMBER] += 1.0
        busy = max(busy, waits[i] + services[i])
    state[BUSY_UNTIL], state[BEGUN] = busy, begun
    return ended


class Cycles:
    """Sums and sums of products of the totals of all complete cycles; the memory does not grow with the run."""

    def __init__(self) -> None:
        self.cycles = 0
        self._state = np.zeros(2)
        self._current = np.zeros(5)
        self._sums = np.zeros(5)
        self._products = np.zeros((5, 5))

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray) -> None:
        """Take customers in order of arrival: time since the one before, waiting and service time of each."""
        self.cycles += _add(gaps, waits, services, self._state, self._current, self._sums, self._products)

    @property
    def customers(self) -> int:
        """Customers in complete cycles."""
        return int(self._sums[NUMBER])

    def ratio(self, above: FloatArray, below: FloatArray) -> tuple[float, float]:
        """E[above]/E[below] and its standard error, each given by the weights of the five totals (shape 5)."""
        n = self.cycles
        value = float(above @ self._sums / (below @ self._sums))
        deviation = above - value * below  # of mean zero over the cycles
        square = float(deviation @ self._products @ deviation)
        # Rounding can leave a square that should be zero a little below it.
        spread = math.sqrt(max(0.0, square) / (n - 1) * n)
        return value, spread / float(below @ self._sums)
