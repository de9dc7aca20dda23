"""Intervals from regenerative cycles: an empty queue has no memory.

A customer that finds the system empty starts the queue afresh: what happens from then on is independent of all
before, and follows the same law each time.  So the run falls into independent, identically distributed cycles of
N customers, total waiting time Y and so on; no warm-up need be dropped and no batch length chosen.  The mean
wait is E[Y]/E[N], estimated by the ratio r of the totals, and with n cycles

    (r̂ - r) √n / (s / N̄) -> normal(0, 1),        s² = s_YY - 2 r̂ s_YN + r̂² s_NN.

Cycles are very unequal, most of them a single customer and a few with thousands, so the ratio is skewed; as for
batches the interval then reaches further on the side of the tail (qsim.engines.output.analysis).

It applies to first come, first served queues with independent times between arrivals and of service, and is of
use where they often empty: cycles grow with the load, and with many servers beyond any run.
Source: Crane & Lemoine (1977), An Introduction to the Regenerative Method for Simulation Analysis, section 2;
Law (2015), Simulation Modeling and Analysis, section 9.5.3.
"""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.jit import kernel

FEWEST_CYCLES = 100
"""Fewer cycles than this, and the normal law is no guide."""

ROWS = 1024
"""Rows of the table of cycles; when it is full, neighbours are added together."""

# Totals of a cycle, the columns of the table; the first four are those of a recorder's.
TIME, WAIT, SERVICE, WAITED, NUMBER = range(5)

# Entries of `counts`: full rows, cycles in the row being filled, cycles to a row, whether a first cycle has begun.
ROW, FILLED, PER_ROW, BEGUN = range(4)


@kernel()
def _add(
    gaps: FloatArray,
    waits: FloatArray,
    services: FloatArray,
    busy_until: float,
    current: FloatArray,
    table: FloatArray,
    counts: IntArray,
) -> float:
    """Add customers to cycles; returns until when work is left, counted from the last arrival."""
    for i in range(gaps.size):
        busy_until -= gaps[i]
        current[TIME] += gaps[i]  # a cycle lasts until the arrival that begins the next
        if busy_until <= 0.0:
            if counts[BEGUN] == 1:
                table[counts[ROW]] += current
                counts[FILLED] += 1
                if counts[FILLED] == counts[PER_ROW]:
                    counts[FILLED] = 0
                    counts[ROW] += 1
            if counts[ROW] == table.shape[0]:
                half = table.shape[0] // 2
                for row in range(half):
                    table[row] = table[2 * row] + table[2 * row + 1]
                table[half:] = 0.0
                counts[ROW] = half
                counts[PER_ROW] *= 2
            current[:] = 0.0
            counts[BEGUN] = 1
        current[WAIT] += waits[i]
        current[SERVICE] += services[i]
        current[WAITED] += waits[i] > 0.0
        current[NUMBER] += 1.0
        busy_until = max(busy_until, waits[i] + services[i])
    return busy_until


class Cycles:
    """Totals of the complete cycles, several to a row in long runs: the memory does not grow with the run."""

    def __init__(self) -> None:
        self._busy_until = 0.0
        self._current = np.zeros(5)
        self._table = np.zeros((ROWS, 5))
        self._counts = np.array([0, 0, 1, 0], dtype=np.int64)

    def add(self, gaps: FloatArray, waits: FloatArray, services: FloatArray) -> None:
        """Take customers in order of arrival: time since the one before, waiting and service time of each."""
        self._busy_until = _add(gaps, waits, services, self._busy_until, self._current, self._table, self._counts)

    @property
    def rows(self) -> FloatArray:
        """Totals of equally many cycles each, shape (rows, 5): time, waiting, service, who waited, customers."""
        return self._table[: self._counts[ROW]]

    @property
    def cycles(self) -> int:
        """Complete cycles in the rows."""
        return int(self._counts[ROW] * self._counts[PER_ROW])
