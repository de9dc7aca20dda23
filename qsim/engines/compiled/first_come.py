"""One open first-come-first-served station, in blocks of customers.

It needs no events. Customers start in the order in which they come, each on the server that is free first, so a heap of
the times at which servers become free is all the state there is (Kiefer & Wolfowitz 1955; Lindley 1952 for one server).
"""

from __future__ import annotations

from qsim._types import FloatArray
from qsim.engines.jit import kernel


@kernel()
def first_come(gaps: FloatArray, services: FloatArray, free: FloatArray, waits: FloatArray) -> None:
    """Waiting times of the next customers; ``free``, a heap, is read and updated.

    Times count from the last arrival of the block before, so a run of a billion customers loses no digits.
    """
    clock = 0.0
    n = free.size
    for i in range(gaps.size):
        clock += gaps[i]
        start = free[0] if free[0] > clock else clock
        waits[i] = start - clock
        finish = start + services[i]
        hole = 0
        while True:  # sift the hole down until the new time fits
            child = 2 * hole + 1
            if child >= n:
                break
            if child + 1 < n and free[child + 1] < free[child]:
                child += 1
            if free[child] >= finish:
                break
            free[hole] = free[child]
            hole = child
        free[hole] = finish
    for k in range(n):
        free[k] -= clock
