"""The loops that are compiled: one customer after another, first come, first served.

An open queue needs no events.  Customers start in the order in which they come, each on the server that is free
first, so a table of the times at which servers become free is all the state there is (Kiefer & Wolfowitz 1955;
Lindley 1952 for one server).  Times within a block count from the block's first arrival: ``free`` is handed on
relative to the last arrival, so a run of a billion customers loses no digits.
"""

from __future__ import annotations

from qsim._types import FloatArray, IntArray
from qsim.engines.jit import kernel

SCAN_LIMIT = 8
"""Up to this many servers looking at every one is faster than keeping a heap."""


@kernel()
def one_server(gaps: FloatArray, services: FloatArray, free: FloatArray, waits: FloatArray) -> None:
    """Waiting times of the next customers at a single server; ``free[0]`` is read and updated."""
    clock, ready = 0.0, free[0]
    for i in range(gaps.size):
        clock += gaps[i]
        start = ready if ready > clock else clock
        waits[i] = start - clock
        ready = start + services[i]
    free[0] = ready - clock


@kernel()
def few_servers(gaps: FloatArray, services: FloatArray, free: FloatArray, waits: FloatArray) -> None:
    """As :func:`one_server` for several; ``free`` holds when each becomes free."""
    clock = 0.0
    for i in range(gaps.size):
        clock += gaps[i]
        first, ready = 0, free[0]
        for k in range(1, free.size):
            if free[k] < ready:
                first, ready = k, free[k]
        start = ready if ready > clock else clock
        waits[i] = start - clock
        free[first] = start + services[i]
    for k in range(free.size):
        free[k] -= clock


@kernel()
def many_servers(gaps: FloatArray, services: FloatArray, free: FloatArray, waits: FloatArray) -> None:
    """As :func:`few_servers`; ``free`` is a binary heap, its smallest time at the root."""
    clock = 0.0
    n = free.size
    for i in range(gaps.size):
        clock += gaps[i]
        ready = free[0]
        start = ready if ready > clock else clock
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


@kernel()
def own_queues(gaps: FloatArray, services: FloatArray, chosen: IntArray, free: FloatArray, waits: FloatArray) -> None:
    """As :func:`few_servers` where each server has a queue of its own and customer i joins that of ``chosen[i]``."""
    clock = 0.0
    for i in range(gaps.size):
        clock += gaps[i]
        server = chosen[i]
        start = free[server] if free[server] > clock else clock
        waits[i] = start - clock
        free[server] = start + services[i]
    for k in range(free.size):
        free[k] -= clock


@kernel()
def trace_fcfs(arrivals: FloatArray, services: FloatArray, servers: int, starts: FloatArray, chosen: IntArray) -> None:
    """Start and server of each customer: the server longest free; of those free at the same instant, the one
    whose customer started first."""
    free = [0.0] * servers
    turn = list(range(servers))
    for i in range(arrivals.size):
        first = 0
        for k in range(1, servers):
            if free[k] < free[first] or (free[k] == free[first] and turn[k] < turn[first]):
                first = k
        start = max(arrivals[i], free[first])
        starts[i] = start
        chosen[i] = first
        free[first] = start + services[i]
        turn[first] = servers + i
