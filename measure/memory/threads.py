"""The probe's threads: one chaser, some loaders, each on its CPU with its own memory, and one measurement of them all.

A thread pins itself, enters its compiled loop and comes back with counts that have been checked against the work they
claim, by closed forms instead of a second run. Python only starts and joins; an interruption sets the phase STOP, which
every loop sees within microseconds.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from measure.errors import ToolFailedError
from measure.memory import kernels as probe_kernels
from measure.memory.kernels import CONTROL_STRIDE, HOPS_PER_CHUNK, MEASURE, STOP, WARM_UP, WORDS_PER_LINE
from measure.memory.placement import MemoryPages, Words, allocate, pin
from measure.memory.traffic import BURST_LINES, Traffic
from measure.units import CACHE_LINE_BYTES

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


T = TypeVar("T")
Control = NDArray[np.int64]

CHUNK_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
TRIES = 9
CHECKED_WRITES = 1001  # bursts looked at after a run that writes; all of them would take longer than the run


@dataclass(frozen=True)
class ChaserCount:
    """What the chaser did while measuring: hops, ns by the clock and on its CPU.

    ``loaded_hops`` and ``loaded_ns`` (on the CPU) are the part of it during which every loader was running, all of it
    where there is no loader. ``chunk_ns_per_hop`` are quantiles over short chunks.
    """

    hops: int
    elapsed_ns: int
    cpu_ns: int
    loaded_hops: int
    loaded_ns: int
    chunk_ns_per_hop: dict[str, float]


@dataclass(frozen=True)
class LoaderCount:
    """What one loader did while measuring: bursts, ns by the clock and on its CPU."""

    bursts: int
    elapsed_ns: int
    cpu_ns: int


class Chaser:
    """A thread's walk through a random ring of cache lines. Building it touches all of its memory.

    ``pages`` are of that size where they are given. It reads the clocks every ``chunk_hops`` hops, which takes some
    0.5 us: little against as many accesses to memory, and too much against as many to a cache.
    """

    def __init__(
        self,
        cpu: int | None,
        size_bytes: int,
        seed: int,
        chunk_hops: int = HOPS_PER_CHUNK,
        pages: MemoryPages | None = None,
    ) -> None:
        self.cpu = cpu
        self.chunk_hops = chunk_hops
        self.lines = size_bytes // CACHE_LINE_BYTES
        self.pages: MemoryPages = pages or allocate(self.lines * CACHE_LINE_BYTES)
        self._word = 0
        link_ring(self.pages.words, seed)

    def run(self, control: Control, loaders: int, warm_up_s: float, seconds: float) -> ChaserCount:
        """Lead one measurement. ToolFailedError where the ring was not followed as claimed."""
        pin(self.cpu)
        words = self.pages.words
        chunks = np.zeros(max(16, int(seconds / 20e-6)), dtype=np.int64)
        scratch = np.zeros(CONTROL_STRIDE, dtype=np.int64)
        began = int(words[self._word + 1])
        word, hops, measured, elapsed_ns, cpu_ns, loaded_hops, loaded_ns = (
            int(v)
            for v in probe_kernels.chase(
                words,
                np.uint64(self._word),
                control,
                loaders,
                round(warm_up_s * 1e9),
                round(seconds * 1e9),
                self.chunk_hops,
                chunks,
                np.zeros(max(1, loaders), dtype=np.int64),
                scratch,
            )
        )
        self._word = word
        if int(words[word + 1]) != (began + hops) % self.lines:
            raise ToolFailedError(f"the chaser claims {hops} hops but did not end where they lead; nothing is measured")
        per_hop = chunks[: min(chunks.size, measured // self.chunk_hops)] / self.chunk_hops
        quantiles = {f"{q:g}": round(float(np.quantile(per_hop, q)), 3) for q in CHUNK_QUANTILES if per_hop.size}
        return ChaserCount(measured, elapsed_ns, cpu_ns, loaded_hops, loaded_ns, quantiles)


class Loader:
    """A thread's stream through a buffer of its own, which goes on where its last measurement stopped.

    ``pages`` are of that size where they are given. ``load`` gives it another traffic and refills the buffer where
    the last one has changed it.
    """

    def __init__(self, cpu: int | None, size_bytes: int, traffic: Traffic, pages: MemoryPages | None = None) -> None:
        self.cpu = cpu
        self.pages: MemoryPages = pages or allocate(size_bytes // CACHE_LINE_BYTES * CACHE_LINE_BYTES)
        count_up(self.pages.words)
        self.traffic = traffic
        self._bursts = 0

    @property
    def buffer_bursts(self) -> int:
        """The whole bursts in the buffer, a multiple of the stride; what is left over at its end is not used."""
        bursts = self.pages.words.size // WORDS_PER_LINE // self.traffic.burst_lines
        return bursts - bursts % self.traffic.stride_lines

    def load(self, traffic: Traffic) -> None:
        """Work with ``traffic`` from now on."""
        if traffic == self.traffic:
            return
        if self.traffic.written_lines and self._bursts:
            pin(self.cpu)
            count_up(self.pages.words)
        self.traffic = traffic
        self._bursts = 0

    def run(self, control: Control, index: int, delay: int) -> LoaderCount:
        """Stream until STOP. ToolFailedError where the words read, written or the idle loop do not add up."""
        pin(self.cpu)
        traffic = self.traffic
        scratch = np.zeros(CONTROL_STRIDE, dtype=np.int64)
        # The phase is seen within some 10 us, at no cost to the rate.
        per_check = max(1, round(64 * BURST_LINES / traffic.burst_lines / (1 + delay / 80)))
        bursts, measured, elapsed_ns, cpu_ns, total, state = (
            int(v)
            for v in probe_kernels.stream(
                self._words(),
                self._bursts,
                traffic.read_lines * WORDS_PER_LINE,
                traffic.updated_lines * WORDS_PER_LINE,
                traffic.streamed_lines * WORDS_PER_LINE,
                traffic.stride_lines,
                delay,
                per_check,
                control,
                index,
                scratch,
            )
        )
        self._check(bursts, delay, total, state)
        self._bursts += bursts
        return LoaderCount(measured, elapsed_ns, cpu_ns)

    def _words(self) -> Words:
        return self.pages.words[: self.buffer_bursts * self.traffic.burst_lines * WORDS_PER_LINE]

    def _check(self, bursts: int, delay: int, total: int, state: int) -> None:
        words, traffic = self._words(), self.traffic
        loaded_lines = traffic.read_lines + traffic.updated_lines
        loaded_in_buffer = self.buffer_bursts * loaded_lines
        streamed_from = loaded_in_buffer * WORDS_PER_LINE
        in_lines = (loaded_lines, traffic.read_lines, loaded_in_buffer, traffic.stride_lines)
        expected = sum_read(self._bursts, bursts, *in_lines)
        if total != expected:
            raise ToolFailedError(f"a loader claims {bursts} bursts, but its sum of the words read is another")
        if state != spin_state(bursts * delay):
            raise ToolFailedError(
                f"a loader claims {bursts * delay} idle iterations, but its idle loop did not do them"
            )
        sample = np.linspace(0, self.buffer_bursts - 1, CHECKED_WRITES).astype(np.int64)
        done = visits(self._bursts + bursts, self.buffer_bursts)[sample]
        slots, lines = (sample + 1) * loaded_lines - 1, max(loaded_in_buffer, traffic.stride_lines)
        last_updated = (strided_line(slots, lines, traffic.stride_lines) + 1) * WORDS_PER_LINE - 1
        last_streamed = streamed_from + (sample + 1) * traffic.streamed_lines * WORDS_PER_LINE - 1
        for lines, last, what in (
            (traffic.updated_lines, last_updated, "updates"),
            (traffic.streamed_lines, last_streamed, "non-temporal stores"),
        ):
            if lines and not np.array_equal(words[last], (last + done).astype(np.uint64)):
                raise ToolFailedError(f"a loader claims {bursts} bursts of {what}, but its buffer does not hold them")


def link_ring(words: Words, seed: int) -> None:
    """Make ``words`` a ring of all its cache lines in random order: word 0 of a line is the next line's first index.

    The order is a random permutation closed into a circle: every cycle through all lines is as likely as any other,
    as with Sattolo's algorithm (1986, Inf. Process. Lett. 22(6)). Word 1 of a line is its place in the ring.
    """
    order = np.random.default_rng(seed).permutation(words.size // WORDS_PER_LINE)
    probe_kernels.link(words, order)


def count_up(words: Words) -> None:
    """Write to each word its own index (no two lines alike: nothing to merge or compress, and every sum is known)."""
    step = 2**20
    for first in range(0, words.size, step):
        last = min(first + step, words.size)
        words[first:last] = np.arange(first, last, dtype=np.uint64)


def spin_ns_per_iteration(cpu: int | None, iterations: int = 100_000) -> float:
    """What one iteration of the idle loop lasts on ``cpu``: the shortest of several tries, in ns."""

    def measure() -> int:
        scratch = np.zeros(CONTROL_STRIDE, dtype=np.int64)
        return min(int(probe_kernels.spin(np.uint64(1), iterations, scratch)[1]) for _ in range(TRIES))

    return on_cpu(cpu, measure) / iterations


def on_cpu(cpu: int | None, make: Callable[[], T]) -> T:
    """``make()`` in a thread on ``cpu``, so that the memory it touches first is near that CPU."""
    return on_cpus([(cpu, make)])[0]


def on_cpus(tasks: Iterable[tuple[int | None, Callable[[], T]]]) -> list[T]:
    """As ``on_cpu``, each on its CPU side by side."""

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
    probe_kernels.chase(words, np.uint64(0), control, 0, 0, 0, 1, scratch, scratch, scratch)
    probe_kernels.stream(words, 0, WORDS_PER_LINE, 0, 0, 1, 0, 1, control, 0, scratch)
    probe_kernels.link(words, np.zeros(1, dtype=np.int64))


def measure_together(
    chaser: Chaser | None, loaders: Sequence[Loader], delay: int, warm_up_s: float, seconds: float
) -> tuple[ChaserCount | None, tuple[LoaderCount, ...]]:
    """One measurement: the chaser (None: the loaders alone) beside the loaders at ``delay`` idle iterations a burst.

    The time begins when every loader has answered. Raises ToolFailedError where a loop's work is not there.
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

    Where one fails, or the caller is interrupted, ``stop`` is called, all threads are waited for, and the first
    failure is raised.
    """
    results: dict[int, T] = {}
    failures: list[BaseException] = []

    def run(index: int, task: Callable[[], T]) -> None:
        try:
            results[index] = task()
        except BaseException as error:  # noqa: BLE001 - handed over to the caller's thread, which raises it
            failures.append(error)
            stop()

    threads = [
        threading.Thread(target=run, args=(i, task), name=f"memory-probe-{i}", daemon=True)
        for i, task in enumerate(tasks)
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        raise
    if failures:
        raise failures[0]
    return [results[i] for i in range(len(tasks))]
