"""The compiled loop of a closed system with one station, first come, first served.

Customers start service in the order in which they come, each on the server that is free first, and a customer
comes back a think time after its finish.  So two tables are all the state there is: when each customer comes next,
and when each server is free.  The earliest entry of a table is the winner of a tournament between its rows; a
change of one row is settled in log2(rows) matches.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.jit import kernel


@kernel(inner=True)
def set_time(times: FloatArray, tree: IntArray, row: int, time: float) -> None:
    """Change one row: ``tree[1]`` is then the row with the smallest time, the lowest of equals.

    The number of rows is a power of two; ``tree``, twice as long, ends with the rows 0, 1, 2, ...
    """
    times[row] = time
    winner, node = row, times.size + row
    while node > 1:
        other = tree[node ^ 1]
        beaten = (times[other] < time) | ((times[other] == time) & (other < winner))
        winner += beaten * (other - winner)  # no branch, as nobody could foresee it
        time = min(time, times[other])
        node >>= 1
        tree[node] = winner


@kernel()
def closed_shared(
    think: FloatArray,
    service: FloatArray,
    coming: FloatArray,
    coming_tree: IntArray,
    free: FloatArray,
    free_tree: IntArray,
    gaps: FloatArray,
    waits: FloatArray,
) -> None:
    """The next visits at servers that share one queue; ``gaps[i]`` is the time until the visit after.

    Times count from the next arrival on return."""
    clock = 0.0
    for i in range(gaps.size):
        customer, server = coming_tree[1], free_tree[1]
        arrival, ready = coming[customer], free[server]
        start = ready if ready > arrival else arrival
        waits[i] = start - arrival
        finish = start + service[i]
        set_time(free, free_tree, server, finish)
        set_time(coming, coming_tree, customer, finish + think[i])
        clock = coming[coming_tree[1]]
        gaps[i] = clock - arrival
    for row in range(coming.size):
        coming[row] -= clock
    for row in range(free.size):
        free[row] -= clock


@kernel()
def closed_own(
    think: FloatArray,
    service: FloatArray,
    chosen: IntArray,
    coming: FloatArray,
    coming_tree: IntArray,
    free: FloatArray,
    gaps: FloatArray,
    waits: FloatArray,
) -> None:
    """As :func:`closed_shared` where visit i goes to the server ``chosen[i]``, which has a queue of its own."""
    clock = 0.0
    for i in range(gaps.size):
        customer, server = coming_tree[1], chosen[i]
        arrival, ready = coming[customer], free[server]
        start = ready if ready > arrival else arrival
        waits[i] = start - arrival
        finish = start + service[i]
        free[server] = finish
        set_time(coming, coming_tree, customer, finish + think[i])
        clock = coming[coming_tree[1]]
        gaps[i] = clock - arrival
    for row in range(coming.size):
        coming[row] -= clock
    for row in range(free.size):
        free[row] -= clock


def tournament(rows: int) -> tuple[FloatArray, IntArray]:
    """Times (zero for each row, infinity up to a power of two) and the tree of :func:`set_time`."""
    size = 1 << (rows - 1).bit_length()
    times = np.full(size, math.inf)
    times[:rows] = 0.0
    tree = np.zeros(2 * size, dtype=np.int64)
    tree[size:] = np.arange(size)
    decide(times, tree)
    return times, tree


def decide(times: FloatArray, tree: IntArray) -> None:
    """Play every match of a tournament."""
    for node in range(times.size - 1, 0, -1):
        left, right = int(tree[2 * node]), int(tree[2 * node + 1])
        tree[node] = left if times[left] <= times[right] else right
