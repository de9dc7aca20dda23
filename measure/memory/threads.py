"""The probe's threads: a chaser and loaders, each on its CPU with its own memory, measured together.

A thread pins itself, enters its compiled loop and returns counts. Python only starts and joins threads; an
interruption sets the phase STOP, which every loop sees within microseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from measure.errors import ToolFailedError
from measure.memory import kernels as probe_kernels
from measure.memory.kernels import CONTROL_STRIDE, MEASURE, STOP, WARM_UP, WORDS_PER_LINE
from measure.memory.placement import Words, pin
from measure.memory.traffic import BURST_LINES, Traffic

T = TypeVar("T")
Control = NDArray[np.int64]

HOPS_PER_CHUNK = 512  # hops between two readings of the clocks: some 50 us of DRAM latency against 0.5 us of reading
FILLED_AT_ONCE = 2**20  # words: 8 MiB beside the buffer, and not a second one as large
TRIES = 9


@dataclass(frozen=True)
class ChaserCount:
    """The chaser's counts while measuring: hops, ns elapsed and on its CPU.

    ``loaded_hops`` and ``loaded_ns`` (on the CPU) are the part during which every loader was running; all of it
    without loaders.
    """

    hops: int
    elapsed_ns: int
    cpu_ns: int
    loaded_hops: int
    loaded_ns: int


@dataclass(frozen=True)
class LoaderCount:
    """One loader's counts while measuring: bursts, ns elapsed and on its CPU."""

    bursts: int
    elapsed_ns: int
    cpu_ns: int


class Chaser:
    """A thread's walk through a random ring of the cache lines of ``words``, all of which it touches.

    It reads the clocks every ``chunk_hops`` hops, which takes some 0.5 us: little against that number of accesses to
    memory, but not to a cache.
    """

    def __init__(self, cpu: int | None, words: Words, seed: int, chunk_hops: int = HOPS_PER_CHUNK) -> None:
        self.cpu = cpu
        self.chunk_hops = chunk_hops
        self.words = words
        self._word = 0
        link_ring(words, seed)

    def run(self, control: Control, loaders: int, warm_up_s: float, seconds: float) -> ChaserCount:
        """Run one measurement. ToolFailedError where the chase did not end at the expected place of the ring."""
        pin(self.cpu)
        words = self.words
        beats, scratch = np.zeros(max(1, loaders), dtype=np.int64), np.zeros(CONTROL_STRIDE, dtype=np.int64)
        began = int(words[self._word + 1])
        times_ns = (round(warm_up_s * 1e9), round(seconds * 1e9))
        counts = probe_kernels.chase(
            words, np.uint64(self._word), control, loaders, *times_ns, self.chunk_hops, beats, scratch
        )
        word, hops, measured, elapsed_ns, cpu_ns, loaded_hops, loaded_ns = (int(count) for count in counts)
        self._word = word
        if int(words[word + 1]) != (began + hops) % (words.size // WORDS_PER_LINE):
            raise ToolFailedError(f"the chaser claims {hops} hops but did not end where they lead; nothing is measured")
        return ChaserCount(measured, elapsed_ns, cpu_ns, loaded_hops, loaded_ns)


class Loader:
    """A thread's stream of ``traffic``, which may change, through a buffer of its own.

    Each word initially holds its own index: no two lines are equal, so that nothing merges or compresses them.
    """

    def __init__(self, cpu: int | None, words: Words, traffic: Traffic) -> None:
        self.cpu = cpu
        self.words = words
        self.traffic = traffic
        for first in range(0, words.size, FILLED_AT_ONCE):
            last = min(first + FILLED_AT_ONCE, words.size)
            words[first:last] = np.arange(first, last, dtype=np.uint64)

    def run(self, control: Control, index: int, delay: int) -> LoaderCount:
        """Stream until STOP, with ``delay`` idle iterations after each burst."""
        pin(self.cpu)
        lines = self.traffic
        bursts = self.words.size // WORDS_PER_LINE // lines.burst_lines
        bursts -= bursts % lines.stride_lines  # whole bursts, a multiple of the stride; the rest is not used
        words = self.words[: bursts * lines.burst_lines * WORDS_PER_LINE]
        # The phase is read every 10 us or so, at no cost to the rate.
        per_check = max(1, round(64 * BURST_LINES / lines.burst_lines / (1 + delay / 80)))
        measured, elapsed_ns, cpu_ns, *_ = probe_kernels.stream(
            words,
            lines.read_lines * WORDS_PER_LINE,
            lines.updated_lines * WORDS_PER_LINE,
            lines.stride_lines,
            delay,
            per_check,
            control,
            index,
            np.zeros(CONTROL_STRIDE, dtype=np.int64),
        )
        return LoaderCount(int(measured), int(elapsed_ns), int(cpu_ns))


def link_ring(words: Words, seed: int) -> None:
    """Link all cache lines of ``words`` into a ring in random order: word 0 of a line is the next line's first index.

    The order is a random permutation closed into a circle: every cycle through all lines is equally likely,
    as with Sattolo's algorithm (1986, Inf. Process. Lett. 22(6)). Word 1 of a line is its place in the ring.
    """
    order = np.random.default_rng(seed).permutation(words.size // WORDS_PER_LINE)
    probe_kernels.link(words, order)


def spin_ns_per_iteration(cpu: int | None, iterations: int = 100_000) -> float:
    """Duration of one iteration of the idle loop on ``cpu``, ns: the shortest of several tries."""

    def measure() -> int:
        scratch = np.zeros(CONTROL_STRIDE, dtype=np.int64)
        return min(int(probe_kernels.spin(np.uint64(1), iterations, scratch)[1]) for _ in range(TRIES))

    return on_cpu(cpu, measure) / iterations


def on_cpu(cpu: int | None, make: Callable[[], T]) -> T:
    """Call ``make()`` in a thread on ``cpu``, so that the memory it touches first is near that CPU."""
    return on_cpus([(cpu, make)])[0]


def on_cpus(tasks: Iterable[tuple[int | None, Callable[[], T]]]) -> list[T]:
    """As ``on_cpu`` for several tasks in parallel, each on its CPU."""

    def run(cpu: int | None, make: Callable[[], T]) -> T:
        pin(cpu)
        return make()

    return in_threads([partial(run, cpu, make) for cpu, make in tasks])


def compile_kernels() -> None:
    """Compile the loops, or load them from the cache, before any thread needs them."""
    scratch = np.zeros(CONTROL_STRIDE, dtype=np.int64)
    control = np.full(CONTROL_STRIDE * 2, STOP, dtype=np.int64)
    words = np.zeros(WORDS_PER_LINE, dtype=np.uint64)
    probe_kernels.spin(np.uint64(1), 1, scratch)
    probe_kernels.chase(words, np.uint64(0), control, 0, 0, 0, 1, scratch, scratch)
    probe_kernels.stream(words, WORDS_PER_LINE, 0, 1, 0, 1, control, 0, scratch)
    probe_kernels.link(words, np.zeros(1, dtype=np.int64))


def measure_together(
    chaser: Chaser | None, loaders: Sequence[Loader], delay: int, warm_up_s: float, seconds: float
) -> tuple[ChaserCount | None, tuple[LoaderCount, ...]]:
    """Run one measurement: the chaser (None: the loaders alone) with loaders at ``delay`` idle iterations a burst.

    Time counts from when every loader has answered. Raises ToolFailedError where the chase is incomplete.
    """
    control = np.zeros(CONTROL_STRIDE * (1 + len(loaders)), dtype=np.int64)

    def stop() -> None:
        control[0] = STOP

    def lead() -> ChaserCount | None:
        if chaser is not None:
            return chaser.run(control, len(loaders), warm_up_s, seconds)
        answers = control[CONTROL_STRIDE::CONTROL_STRIDE]
        time.sleep(warm_up_s)
        for phase in (WARM_UP, MEASURE):
            if control[0] != STOP:
                control[0] = phase
            while control[0] != STOP and (answers <= phase).any():
                time.sleep(1e-3)
        if control[0] != STOP:
            time.sleep(seconds)
        stop()
        return None

    tasks: list[Callable[[], Any]] = [lead, *(partial(x.run, control, i, delay) for i, x in enumerate(loaders))]
    lead_count, *loader_counts = in_threads(tasks, stop)
    return lead_count, tuple(loader_counts)


def in_threads(tasks: Sequence[Callable[[], T]], stop: Callable[[], None] = lambda: None) -> list[T]:
    """Run every task in a thread of its own and return their results in order.

    Where one fails, or the caller is interrupted, ``stop`` is called, all threads are joined, and the first failure
    is raised.
    """
    with ThreadPoolExecutor(len(tasks), "memory-probe") as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            failures = [error for future in done if (error := future.exception()) is not None]
            if failures:
                raise failures[0]
        except BaseException:
            stop()
            raise
    return [future.result() for future in futures]
