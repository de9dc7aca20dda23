"""The probe's loops on small buffers: they do the work they claim, and stop when told."""

from __future__ import annotations

import time
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest

from measure.errors import ToolFailedError
from measure.memory import kernels as probe_kernels
from measure.memory.kernels import BEAT, CONTROL_STRIDE, MEASURE, STOP, WARM_UP, WORDS_PER_LINE
from measure.memory.placement import allocate
from measure.memory.threads import (
    HOPS_PER_CHUNK,
    Chaser,
    ChaserCount,
    Loader,
    LoaderCount,
    in_threads,
    link_ring,
    measure_together,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic, parse_traffic

SMALL = 2**18
READ = parse_traffic("read")
TRAFFICS = [
    *(parse_traffic(name) for name in ("read", "3:1", "write")),
    Traffic("apart", 64, 0, 4),
    Traffic("far", 0, 63, 64),
    Traffic("both", 40, 20, 8),
]


def control(loaders: int = 0) -> np.ndarray:
    return np.zeros(CONTROL_STRIDE * (1 + loaders), dtype=np.int64)


@pytest.mark.parametrize("traffic", TRAFFICS, ids=lambda t: t.name)
def test_a_trial_counts_what_every_thread_did(traffic: Traffic) -> None:
    chaser = Chaser(None, allocate(SMALL), seed=1)
    loader = Loader(None, allocate(SMALL), traffic)
    for _ in range(2):
        lead, (count,) = measure_together(chaser, [loader], delay=10, warm_up_s=0.001, seconds=0.01)
        assert lead is not None
        assert lead.hops % HOPS_PER_CHUNK == 0
        assert lead.hops > 0
        assert lead.elapsed_ns >= 10_000_000
        assert count.bursts > 0
        assert count.elapsed_ns > 0


def test_ring_visits_every_line_once_in_the_order_of_their_places() -> None:
    words = allocate(64 * 1000)
    link_ring(words, seed=3)
    seen, word, start = [], 0, int(words[1])
    for hop in range(1000):
        assert int(words[word + 1]) == (start + hop) % 1000
        seen.append(word // WORDS_PER_LINE)
        word = int(words[word])
    assert word == 0
    assert sorted(seen) == list(range(1000))


def step(state: int) -> int:
    """A step of xorshift64, shifts 13, 7, 17."""
    state ^= state << 13 & 2**64 - 1
    state ^= state >> 7
    return state ^ (state << 17 & 2**64 - 1)


@pytest.mark.parametrize("traffic", TRAFFICS, ids=lambda t: t.name)
def test_a_stream_does_the_work_that_it_claims(traffic: Traffic) -> None:
    """Every burst done again, the slow way: the sum of the words read, the words written, the idle loop."""
    lines = traffic.burst_lines * traffic.stride_lines * 3
    words = allocate(64 * lines)
    words[:] = np.arange(8 * lines, dtype=np.uint64)
    expected, told = words.copy(), control(1)
    told[0] = STOP
    loaded = traffic.read_lines + traffic.updated_lines
    bursts, delay = 3 * traffic.stride_lines + 2, 3
    *_, total, state, done = probe_kernels.stream(
        words, 8 * traffic.read_lines, 8 * traffic.updated_lines, traffic.stride_lines,
        delay, bursts, told, 0, np.zeros(8, dtype=np.int64),
    )  # fmt: skip
    per_round = lines // traffic.burst_lines
    order = np.arange(loaded * per_round).reshape(-1, traffic.stride_lines).T.ravel()
    read = 0
    for burst in range(bursts):
        place = burst % per_round
        own = order[place * loaded : (place + 1) * loaded]
        for line in own[: traffic.read_lines]:
            read += int(expected[8 * line : 8 * line + 8].sum())
        for line in own[traffic.read_lines :]:
            expected[8 * line : 8 * line + 8] += 1
    idle = 1
    for _ in range(bursts * delay):
        idle = step(idle)
    assert (done, int(total), int(state)) == (bursts, read % 2**64, idle)
    np.testing.assert_array_equal(words, expected)


def test_without_a_chaser_the_loaders_run_for_the_time_asked() -> None:
    lead, counts = measure_together(None, [Loader(None, allocate(SMALL), READ)], delay=0, warm_up_s=0.001, seconds=0.02)
    assert lead is None
    assert counts[0].elapsed_ns >= 15_000_000


def test_loaders_that_are_stopped_as_they_warm_up_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped, slept = Event(), []

    class Stopping(Loader):
        def run(self, control: np.ndarray, index: int, delay: int) -> LoaderCount:
            control[0], control[CONTROL_STRIDE] = STOP, 1 + MEASURE
            stopped.set()
            return LoaderCount(0, 0, 0)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        stopped.wait()

    monkeypatch.setattr("measure.memory.threads.time", SimpleNamespace(sleep=sleep))
    measure_together(None, [Stopping(None, allocate(SMALL), READ)], delay=0, warm_up_s=1.0, seconds=60.0)
    assert slept == [1.0]


def test_a_broken_ring_is_noticed() -> None:
    chaser = Chaser(None, allocate(64 * 100_003), seed=1)  # a prime number of lines: no whole rounds in 512s of hops
    chaser.words[0] = 0  # the first line leads to itself, as if the loop had stopped following
    with pytest.raises(ToolFailedError, match="did not end where they lead"):
        chaser.run(control(), 0, 0.0, 0.001)


def test_a_failing_thread_stops_the_others_and_its_failure_is_raised() -> None:
    shared = control(1)
    counts: list[ChaserCount] = []

    def chase() -> None:
        counts.append(Chaser(None, allocate(SMALL), seed=1).run(shared, 1, 0.0, 60.0))

    def fail() -> None:
        shared[CONTROL_STRIDE] = 1
        raise ToolFailedError("broken")

    def stop() -> None:
        shared[0] = STOP

    with pytest.raises(ToolFailedError, match="broken"):
        in_threads([chase, fail], stop)
    assert counts[0].elapsed_ns < 60e9  # it was told to stop; alone it would have gone on for a minute


@pytest.mark.parametrize("running", [1, 2])
def test_only_the_time_beside_all_of_the_loaders_is_loaded(running: int) -> None:
    shared = control(2)
    shared[CONTROL_STRIDE::CONTROL_STRIDE] = 1 + MEASURE
    counts: list[ChaserCount] = []

    def chase() -> None:
        counts.append(Chaser(None, allocate(SMALL), seed=1, chunk_hops=50_000).run(shared, 2, 0.0, 60.0))

    def run() -> None:
        while shared[0] == WARM_UP:  # not begun
            time.sleep(0.0005)
        for _ in range(200):
            shared[CONTROL_STRIDE + BEAT : CONTROL_STRIDE * (1 + running) : CONTROL_STRIDE] += 1
            time.sleep(0.0005)
        stop()

    def stop() -> None:
        shared[0] = STOP

    in_threads([chase, run], stop)
    assert counts[0].hops > 0
    assert (counts[0].loaded_hops > 0) == (counts[0].loaded_ns > 0) == (running == 2)


def test_the_idle_loop_takes_at_least_its_six_dependent_steps() -> None:
    # Six dependent operations of one cycle each: at 10 GHz, faster than any CPU, that is 0.6 ns an iteration. A
    # compiler that had found a shortcut, as for a linear congruential generator, would be below.
    assert spin_ns_per_iteration(None, iterations=10_000) > 0.6
