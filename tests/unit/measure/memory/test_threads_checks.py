"""The closed forms against which the probe's loops are held, against doing the work the slow way."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from measure.memory.threads import spin_state, strided_line, sum_read, visits


def slow_step(state: int) -> int:
    word = np.array([state], dtype=np.uint64)
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    return int(word[0])


def test_xorshift_state_is_that_of_stepping_one_by_one() -> None:
    state = 1
    for steps in range(300):
        assert spin_state(steps) == state
        state = slow_step(state)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 2**64 - 1))
def test_xorshift_steps_add_up(first: int, then: int, state: int) -> None:
    assert spin_state(first + then, state) == spin_state(then, spin_state(first, state))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.data(), st.integers(0, 30), st.integers(0, 30))
def test_sum_read_is_the_sum_of_the_lines_that_bursts_read(
    burst_lines: int, factor: int, stride: int, data: st.DataObject, first: int, bursts: int
) -> None:
    read_lines = data.draw(st.integers(0, burst_lines))
    lines = burst_lines * stride * factor
    order = [line for begin in range(stride) for line in range(begin, lines, stride)]
    assert list(strided_line(np.arange(lines), lines, stride)) == order
    expected = 0
    for burst in range(first, first + bursts):
        begin = burst * burst_lines % lines
        expected += sum(sum(range(8 * line, 8 * line + 8)) for line in order[begin : begin + read_lines])
    assert sum_read(first, bursts, burst_lines, read_lines, lines, stride) == expected


def test_sum_read_wraps_like_a_64_bit_word() -> None:
    words = 2**24
    whole = words * (words - 1) // 2
    assert sum_read(0, 10**6 * (words // 512), 64, 64, words // 8, 1) == 10**6 * whole % 2**64
    assert 10**6 * whole > 2**64


@given(st.integers(1, 7), st.integers(0, 40))
def test_visits_of_every_burst_add_up_to_the_bursts_done(buffer_bursts: int, bursts: int) -> None:
    done = visits(bursts, buffer_bursts).tolist()
    assert sum(done) == bursts
    assert max(done) - min(done) <= 1
    assert done == sorted(done, reverse=True)
