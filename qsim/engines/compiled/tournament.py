"""The earliest of many times: the winner of a tournament between rows; a change of one row takes log2(rows) matches."""

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


def tournament(rows: int) -> tuple[FloatArray, IntArray]:
    """Times (infinity) of at least so many rows, a power of two, and the tree of :func:`set_time`."""
    size = 1 << (rows - 1).bit_length()
    times = np.full(size, math.inf)
    tree = np.zeros(2 * size, dtype=np.int64)
    tree[size:] = np.arange(size)
    decide(times, tree)
    return times, tree


def decide(times: FloatArray, tree: IntArray) -> None:
    """Play every match of a tournament."""
    for node in range(times.size - 1, 0, -1):
        left, right = int(tree[2 * node]), int(tree[2 * node + 1])
        tree[node] = left if times[left] <= times[right] else right
