"""The probe's loops on small buffers: they do the work they claim, stop when told, and are caught when they lie."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from measure.errors import ToolFailedError
from measure.memory import kernels as probe_kernels
from measure.memory.kernels import CONTROL_STRIDE, HOPS_PER_CHUNK, STOP, WORDS_PER_LINE, streaming_instruction
from measure.memory.placement import allocate
from measure.memory.threads import (
    Chaser,
    ChaserCount,
    Loader,
    in_threads,
    link_ring,
    measure_together,
    on_cpu,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic, parse_traffic

SMALL = 2**18
READ = parse_traffic("read")
WRITE = parse_traffic("write")


def control(loaders: int = 0) -> np.ndarray:
    return np.zeros(CONTROL_STRIDE * (1 + loaders), dtype=np.int64)


def test_ring_visits_every_line_once_and_comes_back() -> None:
    words = allocate(64 * 1000).words
    link_ring(words, seed=3)
    seen, word = [], 0
    for _ in range(1000):
        seen.append(word // WORDS_PER_LINE)
        word = int(words[word])
    assert word == 0
    assert sorted(seen) == list(range(1000))


def test_ring_knows_the_place_of_each_line_and_depends_on_the_seed() -> None:
    one, two = allocate(64 * 500).words, allocate(64 * 500).words
    link_ring(one, seed=1)
    link_ring(two, seed=2)
    word = 0
    start = int(one[1])
    for hop in range(1000):
        assert int(one[word + 1]) == (start + hop) % 500
        word = int(one[word])
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    "traffic",
    [parse_traffic(name) for name in ("read", "3:1", "write", "nt-write", "nt-3:1")]
    + [
        Traffic("all", 5, 3, 2),
        Traffic("apart", 64, 0, 0, 4),
        Traffic("far", 0, 63, 0, 64),
        Traffic("both", 40, 20, 0, 8),
    ],
)
def test_a_trial_counts_what_every_thread_did(traffic: Traffic) -> None:
    chaser = Chaser(None, SMALL, seed=1)
    loader = Loader(None, SMALL, traffic)
    for _ in range(3):  # the checks go on from where the last trial stopped
        lead, (count,) = measure_together(chaser, [loader], delay=10, warm_up_s=0.001, seconds=0.01)
        assert lead is not None
        assert lead.hops % HOPS_PER_CHUNK == 0
        assert lead.hops > 0
        assert lead.elapsed_ns >= 10_000_000
        assert list(lead.chunk_ns_per_hop.values()) == sorted(lead.chunk_ns_per_hop.values())
        assert count.bursts > 0
        assert count.elapsed_ns > 0


def test_without_a_chaser_the_loaders_run_for_the_time_asked() -> None:
    lead, counts = measure_together(None, [Loader(None, SMALL, READ)], delay=0, warm_up_s=0.001, seconds=0.02)
    assert lead is None
    assert counts[0].elapsed_ns >= 15_000_000


def test_a_broken_ring_is_noticed() -> None:
    chaser = Chaser(None, 64 * 100_003, seed=1)  # a prime number of lines: no whole rounds in multiples of 512 hops
    chaser.pages.words[0] = 0  # the first line leads to itself, as if the loop had stopped following
    with pytest.raises(ToolFailedError, match="did not end where they lead"):
        chaser.run(control(), 0, 0.0, 0.001)


def test_a_wrong_sum_is_noticed() -> None:
    loader = Loader(None, SMALL, READ)
    loader.pages.words[5] += 1
    told = control(1)
    told[0] = STOP
    with pytest.raises(ToolFailedError, match="sum of the words"):
        loader.run(told, 0, 0)


@pytest.mark.parametrize(("name", "message"), [("write", "updates"), ("nt-write", "non-temporal stores")])
def test_writes_that_did_not_happen_are_noticed(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = probe_kernels.stream

    def idle_reader(words: object, first: int, read: int, updated: int, streamed: int, *rest: object) -> object:
        bursts, *_ = honest(words, first, updated + streamed, 0, 0, *rest)
        return bursts, 0, 0, 0, 0, 1

    loader = Loader(None, SMALL, parse_traffic(name))
    monkeypatch.setattr(probe_kernels, "stream", idle_reader)
    told = control(1)
    told[0] = STOP
    with pytest.raises(ToolFailedError, match=message):
        loader.run(told, 0, 0)


def test_words_of_every_line_are_written_past_the_caches() -> None:
    loader = Loader(None, SMALL, Traffic("some", 1, 2, 5))
    told = control(1)
    told[0] = STOP
    loader.run(told, 0, 0)  # 512 bursts of 8 lines: once through the buffer
    words = loader.pages.words
    visits = words - np.arange(words.size, dtype=np.uint64)
    loaded, streamed = visits[: 512 * 3 * 8].reshape(512, 3, 8), visits[512 * 3 * 8 :]
    assert (loaded[:, 0] == 0).all()
    assert (loaded[:, 1:] == streamed[0]).all()
    assert (streamed == streamed[0]).all()
    assert streamed[0] >= 1


@pytest.mark.parametrize("stride", [2, 16, 64])
def test_a_stride_visits_every_line_once_a_lap_and_as_often_as_claimed(stride: int) -> None:
    loader = Loader(None, SMALL, Traffic("apart", 0, 64, 0, stride))
    told = control(1)
    told[0] = STOP
    loader.run(told, 0, 0)  # 64 bursts of 64 lines: once through the 4096 lines
    words = loader.pages.words
    assert (words - np.arange(words.size, dtype=np.uint64) == 1).all()


def test_a_loader_takes_another_traffic_and_its_sums_still_hold() -> None:
    loader = Loader(None, SMALL, WRITE)
    for traffic in (WRITE, READ, parse_traffic("nt-1:1"), READ, WRITE, Traffic("apart", 32, 32, 0, 4), READ):
        loader.load(traffic)
        _, (count,) = measure_together(None, [loader], delay=0, warm_up_s=0.0, seconds=0.005)
        assert count.bursts > 0


def test_non_temporal_stores_are_in_the_compiled_code() -> None:
    if platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"):
        assert isinstance(streaming_instruction(), str)
    else:
        assert streaming_instruction().startswith(("movnt", "vmovnt", "stnp"))


def test_an_idle_loop_that_was_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = probe_kernels.stream

    def lazy(*args: object) -> tuple[int, ...]:
        return (*honest(*args)[:-1], 1)

    monkeypatch.setattr(probe_kernels, "stream", lazy)
    told = control(1)
    told[0] = STOP
    with pytest.raises(ToolFailedError, match="idle iterations"):
        Loader(None, SMALL, READ).run(told, 0, 100)


def test_a_failing_thread_stops_the_others_and_its_failure_is_raised() -> None:
    shared = control(1)
    counts: list[ChaserCount] = []

    def chase() -> None:
        counts.append(Chaser(None, SMALL, seed=1).run(shared, 1, 0.0, 60.0))

    def fail() -> None:
        shared[CONTROL_STRIDE] = 1
        raise ToolFailedError("broken")

    def stop() -> None:
        shared[0] = STOP

    with pytest.raises(ToolFailedError, match="broken"):
        in_threads([chase, fail], stop)
    assert counts[0].elapsed_ns < 60e9  # it was told to stop; alone it would have gone on for a minute


def test_threads_return_in_order_and_on_cpu_returns_its_result() -> None:
    assert in_threads([lambda: 1, lambda: 2], stop=lambda: None) == [1, 2]
    assert on_cpu(None, lambda: "made") == "made"


def test_the_idle_loop_takes_at_least_its_six_dependent_steps() -> None:
    # Six dependent operations of one cycle each: at 10 GHz, faster than any CPU, that is 0.6 ns an iteration. A
    # compiler that had found a shortcut, as for a linear congruential generator, would be below.
    assert spin_ns_per_iteration(None, iterations=10_000) > 0.6
