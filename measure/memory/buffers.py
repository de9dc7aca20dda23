"""A sweep over buffer sizes: idle latency and bandwidth against the size, so that caches show as steps.

For each size one thread chases pointers through a buffer of that size, alone; then one thread, and all of them, stream
through buffers of that size, each its own. A buffer that fits a cache is answered by that cache after one round, and
the warm-up lasts that long. What comes out describes the caches and the memory behind them, one size after the other;
nothing is loaded while something else is timed, so this is no latency-bandwidth curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from measure.memory.placement import HUGE_PAGE_BYTES, Placement, place_without_chaser
from measure.memory.plan import (
    CACHE_FACTOR,
    COMPILE_S,
    MEMORY_SHARE,
    PREPARE_S_PER_BYTE,
    REFILL_S_PER_BYTE,
    WARM_UP_S,
    MemoryFacts,
    Point,
    cache_name,
    check_numbers,
    memory_facts,
)
from measure.memory.sweep import BUFFERS
from measure.memory.traffic import MOST_PARTS, Traffic, parse_traffics
from measure.units import CACHE_LINE_BYTES, counted, format_bytes
from qsim.errors import InvalidParameterError

LEAST_BYTES = 8192  # more lines than the longest burst has
LINK_S_PER_BYTE = 4e-9  # a ring is shuffled and linked
MOST_WARM_UP_S = 3.0
SLOW_HOP_S = 150e-9  # a round through the ring takes at most so long a line
SLOW_STREAM_S_PER_BYTE = 0.2e-9


@dataclass(frozen=True)
class BufferPlan:
    """One sweep over buffer sizes. ``plan_buffers`` makes and checks it.

    ``sizes`` in bytes, ascending; ``traffics`` and ``thread_counts`` give a series of bandwidths each; ``placement``
    has the chaser's CPU, which also streams, and those of the other threads.
    """

    sizes: tuple[int, ...]
    traffics: tuple[Traffic, ...]
    thread_counts: tuple[int, ...]
    placement: Placement
    repeats: int
    seconds_per_repeat: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def cpus(self) -> tuple[int | None, ...]:
        """The CPUs of the threads, the chaser's first."""
        return (self.placement.chaser, *self.placement.loaders)

    @property
    def order(self) -> tuple[int, ...]:
        """The sizes in the order of measuring: shuffled, so that a drift of the machine is not taken for a step."""
        import numpy as np

        return tuple(int(size) for size in np.random.default_rng(self.seed).permutation(self.sizes))

    def points(self, size: int | None = None) -> tuple[Point, ...]:
        """What is measured at one size (None: at all): the chase, then each traffic by each number of threads."""
        if size is None:
            return tuple(point for each in self.order for point in self.points(each))
        streams = [
            Point(f"buffer-{size}-{traffic.slug}-{threads}", "peak", traffic, threads, buffer_bytes=size)
            for traffic in self.traffics
            for threads in self.thread_counts
        ]
        return (Point(f"buffer-{size}-idle", "idle", buffer_bytes=size), *streams)

    def seconds_at(self, size: int) -> float:
        """Seconds that one size takes, the making of its ring included."""
        fills = size * (LINK_S_PER_BYTE + len(self.cpus) * REFILL_S_PER_BYTE)
        warm_ups = warm_up_s(size, chasing=True) + (len(self.points(size)) - 1) * warm_up_s(size, chasing=False)
        return fills + self.repeats * (warm_ups + len(self.points(size)) * (self.seconds_per_repeat + 0.01))

    def seconds_of(self, point: Point) -> float:
        """Seconds that a point takes, of those that its size takes."""
        return self.seconds_at(point.buffer_bytes) / len(self.points(point.buffer_bytes))

    def prepare_seconds(self) -> float:
        """Seconds for compiling and for touching the largest buffers."""
        return COMPILE_S + len(self.cpus) * self.sizes[-1] * PREPARE_S_PER_BYTE

    def seconds(self) -> float:
        """Seconds that the whole measurement takes; on a busy machine up to twice that."""
        return self.prepare_seconds() + sum(self.seconds_at(size) for size in self.sizes)

    def settings(self) -> dict[str, Any]:
        """What is fixed over the sweep, JSON-ready: a directory goes on only with the same settings."""
        return {
            "mode": BUFFERS,
            "repeats": self.repeats,
            "seconds_per_repeat": self.seconds_per_repeat,
            "seed": self.seed,
        }

    def command(self, size: int | None = None) -> str:
        """The command that measures this size (None: all of them), as it could be typed again."""
        sizes = self.sizes if size is None else (size,)
        return (
            f"qsim measure memory --buffers {','.join(map(str, sizes))} "
            f"--loaders {','.join(map(str, self.thread_counts))} --repeats {self.repeats} "
            f"--seconds {self.seconds_per_repeat:g} --traffic {','.join(t.name for t in self.traffics)}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The sizes with their commands."""
        return [{"buffer_bytes": s, "command": self.command(s), "seconds": self.seconds_at(s)} for s in self.sizes]

    def describe(self) -> str:
        """The plan in words, a line for each thing: for a dry run."""
        chaser = self.placement.chaser
        *fewer, most = self.thread_counts
        threads = " and ".join([*map(str, fewer), counted(most, "thread")])
        lines = [
            f"idle latency by one thread on CPU {'unpinned' if chaser is None else chaser}, "
            f"bandwidth by {threads}, one after the other",
            *(f"traffic {traffic.name}: {traffic.describe()}" for traffic in self.traffics),
            f"{len(self.sizes)} buffer sizes, each thread its own: " + ", ".join(map(format_bytes, self.sizes)),
            f"{len(self.points(self.sizes[0]))} measurements a size of {self.repeats} x {self.seconds_per_repeat:g} s, "
            f"{self.seconds_at(self.sizes[0]):.2g} s for the smallest and {self.seconds_at(self.sizes[-1]):.2g} s for "
            "the largest",
            f"about {self.seconds():.0f} s in all, more where other programs run on these CPUs",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def plan_buffers(
    sizes: Sequence[int],
    threads: int | Sequence[int] | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str | Sequence[str] = "read",
    seed: int = 1,
) -> BufferPlan:
    """A sweep over buffer ``sizes`` in bytes (repetitions are dropped; kept ascending).

    ``threads``: numbers of streaming threads, a series each; by default one, and all cores of one memory node.
    ``traffic`` and the rest as ``plan_memory``. Works on one core.

    Raises ValueError naming the parameter and the remedy: no size, one that is no whole number of cache lines or below
    LEAST_BYTES, one that memory does not hold, more threads than cores, an unknown traffic.
    """
    traffics = parse_traffics(traffic)
    check_numbers(repeats, seconds_per_repeat, seed)
    whole = _whole_sizes(sizes)
    asked = None if threads is None else sorted({threads} if isinstance(threads, int) else set(threads))
    placement = place_without_chaser(asked)
    most = 1 + len(placement.loaders)
    return BufferPlan(
        sizes=whole,
        traffics=traffics,
        thread_counts=tuple(asked or sorted({1, most})),
        placement=placement,
        repeats=repeats,
        seconds_per_repeat=float(seconds_per_repeat),
        seed=seed,
        notes=(*placement.notes, *_notes(whole, most, memory_facts())),
    )


def warm_up_s(size: int, *, chasing: bool) -> float:
    """Seconds of warm-up: a round through the buffer, so that a cache that can hold it does."""
    lap = size / CACHE_LINE_BYTES * SLOW_HOP_S if chasing else size * SLOW_STREAM_S_PER_BYTE
    return min(max(WARM_UP_S, lap), MOST_WARM_UP_S)


def _notes(sizes: Sequence[int], threads: int, facts: MemoryFacts) -> list[str]:
    """What should be said about these sizes; ValueError where memory does not hold them."""
    largest = -(-sizes[-1] // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    most = facts.share(threads)
    if most is not None and largest > most:
        raise InvalidParameterError(
            "buffers",
            (
                f": {threads} of {format_bytes(largest)} do not fit in {MEMORY_SHARE * 100:g} % of the free "
                f"memory ({format_bytes(facts.free_bytes or 0)})"
            ),
            f"end at {format_bytes(most)}, or take fewer threads",
        )
    last = facts.last_cache
    if last is None:
        return ["the system does not tell its caches; the steps are found without them"]
    if sizes[-1] < CACHE_FACTOR * last.size_bytes:
        return [
            f"the largest buffer is less than {CACHE_FACTOR} times {cache_name(last)}: the memory behind it may not "
            "show in full"
        ]
    return []


def _whole_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    if not len(sizes):
        raise InvalidParameterError("buffers", "is empty", "give sizes like 16KiB..1GiB")
    for size in sizes:
        if size < LEAST_BYTES:
            raise InvalidParameterError(
                "buffers",
                f": {format_bytes(size)} is too small to be streamed through (a burst has up to {MOST_PARTS} lines)",
                f"begin at {format_bytes(LEAST_BYTES)}",
            )
        if size % CACHE_LINE_BYTES:
            raise InvalidParameterError(
                "buffers",
                f": invalid size {size} bytes: expected a multiple of a cache line ({CACHE_LINE_BYTES} bytes)",
            )
    return tuple(sorted({int(size) for size in sizes}))
