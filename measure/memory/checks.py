"""What the probe's loops must return if they did all their work, from closed forms instead of a second run."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

WORD = 2**64


def strided_line(slot: NDArray[np.int64], lines: int, stride: int) -> NDArray[np.int64]:
    """The lines visited ``slot``-th (n,) in a buffer of ``lines`` (a multiple of ``stride``) at that stride."""
    a_round = lines // stride
    return slot % a_round * stride + slot // a_round


def sum_read(first_burst: int, bursts: int, burst_lines: int, read_lines: int, lines: int, stride: int) -> int:
    """The sum modulo 2^64 of the words that ``bursts`` bursts read, from burst ``first_burst`` on.

    Word i of the buffer of ``lines`` (a multiple of ``burst_lines`` and of ``stride``) holds i; of each burst of
    ``burst_lines``, visited at that stride, the first ``read_lines`` are read (maybe none).
    """
    if not read_lines:
        return 0
    begins = np.arange(0, lines, burst_lines, dtype=np.int64)
    each = _sum_of_slots(begins + read_lines, lines, stride) - _sum_of_slots(begins, lines, stride)
    times = visits(first_burst + bursts, len(begins)) - visits(first_burst, len(begins))
    return int((each.astype(np.uint64) * times.astype(np.uint64)).sum())


def _sum_of_slots(slots: NDArray[np.int64], lines: int, stride: int) -> NDArray[np.int64]:
    """The sum of the words of the lines visited in the first ``slots`` (n,) slots, none beyond ``lines``.

    Round q visits the lines q, q + stride, q + 2 stride, ...; the words of line l are 8 l to 8 l + 7, in sum 64 l + 28.
    """
    a_round = lines // stride
    rounds, rest = slots // a_round, slots % a_round
    whole = a_round * rounds * (rounds - 1) // 2 + rounds * (stride * (a_round * (a_round - 1) // 2))
    begun = rest * rounds + stride * (rest * (rest - 1) // 2)
    return (whole + begun) * 64 + 28 * slots


def visits(bursts: int, buffer_bursts: int) -> NDArray[np.int64]:
    """How often each burst of the buffer (n,) was worked on once ``bursts`` bursts have run from its start."""
    return bursts // buffer_bursts + (np.arange(buffer_bursts, dtype=np.int64) < bursts % buffer_bursts)


def spin_state(iterations: int, state: int = 1) -> int:
    """The state of the idle loop after ``iterations`` steps.

    A step of xorshift is linear over GF(2) (Marsaglia 2003, section 2), so n steps are the n-th power of its matrix:
    one product with a repeatedly squared matrix for each 1 in n's binary form.
    """
    power = 0
    while iterations >> power:
        if iterations >> power & 1:
            state = _times(_squared_step(power), state)
        power += 1
    return state


@cache
def _squared_step(power: int) -> tuple[int, ...]:
    """The matrix of 2^power steps, as the images of the 64 unit vectors."""
    if power == 0:
        return tuple(_step(1 << bit) for bit in range(64))
    half = _squared_step(power - 1)
    return tuple(_times(half, column) for column in half)


def _times(matrix: tuple[int, ...], vector: int) -> int:
    product = 0
    for bit, column in enumerate(matrix):
        if vector >> bit & 1:
            product ^= column
    return product


def _step(state: int) -> int:
    state ^= state << 13 & WORD - 1
    state ^= state >> 7
    return state ^ (state << 17 & WORD - 1)
