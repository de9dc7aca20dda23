"""How many customers are present at given times, in order of arrival: the loop of a simulation over time."""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.jit import kernel


@kernel()
def count_present(
    arrivals: FloatArray, services: FloatArray, free: FloatArray, capacity: int, times: FloatArray, counts: IntArray
) -> None:
    """Add one for each customer at each of ``times`` at which it is there; ``free``: when each server is."""
    finishes = np.empty(arrivals.size)
    oldest = let_in = 0
    for i in range(arrivals.size):
        t = arrivals[i]
        while oldest < let_in and finishes[oldest] <= t:
            oldest += 1
        if capacity > 0:
            here = 0
            for k in range(oldest, let_in):
                here += finishes[k] > t
            if here >= capacity:
                continue
        first = 0
        for k in range(1, free.size):
            if free[k] < free[first]:
                first = k
        finish = max(free[first], t) + services[i]
        free[first] = finish
        finishes[let_in] = finish
        let_in += 1
        for k in range(np.searchsorted(times, t), times.size):
            if times[k] >= finish:
                break
            counts[k] += 1
