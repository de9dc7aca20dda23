"""What the probe's loops must return if they did all their work, from closed forms instead of a second run."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

WORD = 2**64


def ring_place(start: int, hops: int, lines: int) -> int:
    """The place in the ring (0 .. lines-1) that ``hops`` steps from place ``start`` lead to."""
    return (start + hops) % lines


def sum_read(first_burst: int, bursts: int, burst_words: int, read_words: int, buffer_words: int) -> int:
    """The sum modulo 2^64 of the words that ``bursts`` bursts read, from burst ``first_burst`` on.

    Word i of the buffer holds i; of each burst of ``burst_words`` the first ``read_words`` are read (maybe none).
    """
    if not read_words:
        return 0
    upto = _sum_from_start(first_burst + bursts, burst_words, read_words, buffer_words)
    return (upto - _sum_from_start(first_burst, burst_words, read_words, buffer_words)) % WORD


def _sum_from_start(bursts: int, burst_words: int, read_words: int, buffer_words: int) -> int:
    in_buffer = buffer_words // burst_words

    def first(m: int) -> int:  # burst b reads b * burst_words + j for j < read_words; summed over b < m
        return burst_words * read_words * m * (m - 1) // 2 + m * read_words * (read_words - 1) // 2

    return bursts // in_buffer * first(in_buffer) + first(bursts % in_buffer)


def strided_line(slot: NDArray[np.int64], lines: int, stride: int) -> NDArray[np.int64]:
    """The lines visited ``slot``-th (n,) in a buffer of ``lines`` (a multiple of ``stride``) at that stride."""
    a_round = lines // stride
    return slot % a_round * stride + slot // a_round


def sum_read_strided(first_burst: int, bursts: int, burst_lines: int, read_lines: int, lines: int, stride: int) -> int:
    """As ``sum_read``, of a walk at a stride: the first ``read_lines`` of each burst of ``burst_lines`` are read.

    ``lines`` is a multiple of ``burst_lines`` and of ``stride``.
    """
    begins = np.arange(first_burst, first_burst + bursts, dtype=np.int64) % (lines // burst_lines) * burst_lines
    upto, before = (_sum_of_slots(slots, lines, stride) for slots in (begins + read_lines, begins))
    return int((upto - before).astype(np.uint64).sum()) % WORD


def _sum_of_slots(slots: NDArray[np.int64], lines: int, stride: int) -> NDArray[np.int64]:
    """The sum of the words of the lines visited in the first ``slots`` (n,) slots, none beyond ``lines``.

    Round q visits the lines q, q + stride, q + 2 stride, ...; the words of line l are 8 l to 8 l + 7, in sum 64 l + 28.
    """
    a_round = lines // stride
    rounds, rest = slots // a_round, slots % a_round
    whole = a_round * rounds * (rounds - 1) // 2 + rounds * (stride * (a_round * (a_round - 1) // 2))
    begun = rest * rounds + stride * (rest * (rest - 1) // 2)
    return (whole + begun) * 64 + 28 * slots


def visits_of(burst: int, bursts: int, buffer_bursts: int) -> int:
    """How often burst ``burst`` of the buffer was worked on once ``bursts`` bursts have run from its start."""
    return bursts // buffer_bursts + (burst < bursts % buffer_bursts)


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
