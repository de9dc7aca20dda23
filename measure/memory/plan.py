"""What a memory measurement will do, decided and checked before any of it starts: over delays, or over buffer sizes.

Over buffer sizes one thread chases pointers through a buffer of each size, alone; then one thread, and all of them,
stream through buffers of that size, each its own. A buffer that fits a cache is answered by that cache after one round,
and the warm-up lasts that long. Nothing is loaded while something else is timed, so this is no latency-bandwidth curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from measure.memory.buffers import CACHE_FACTOR, MemoryFacts, cache_name, choose_buffer, huge_pages, memory_facts
from measure.memory.placement import Placement, place, place_without_chaser
from measure.memory.traffic import BURST_LINES, MOST_PARTS, Traffic, parse_traffics, strided
from measure.units import CACHE_LINE_BYTES, counted, format_bytes
from qsim.errors import InvalidParameterError, must_be

if TYPE_CHECKING:
    from pandas import DataFrame

Kind = Literal["loaded", "idle", "peak"]

MLC_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
DEMO_DELAYS = (0, 20, 50, 100, 200, 300, 500, 700, 1000, 1700, 2500)

AGAIN = ".again-"  # in the key of a point that is measured another time
BUFFERS = "buffers"  # the mode of a sweep over buffer sizes, in its directory's settings

WARM_UP_S, MOST_WARM_UP_S = 0.05, 3.0
LEAST_BYTES = 8192  # more lines than the longest burst has
MAX_DELAY = 10_000_000
PREPARE_S_PER_BYTE = 5e-9  # fresh pages are touched and filled: 0.6 s for 128 MiB on a virtual machine
REFILL_S_PER_BYTE = 1e-9  # pages that are there already
LINK_S_PER_BYTE = 4e-9  # a ring is shuffled and linked
SLOW_HOP_S, SLOW_STREAM_S_PER_BYTE = 150e-9, 0.2e-9  # a round through a buffer takes at most so long
COMPILE_S = 1.5
CHUNK_HOPS, SMALL_CHUNK_HOPS = 16384, 512
"""Hops between two readings of the clocks, which take 0.5 us: as long as 512 hops through a first-level cache."""


@dataclass(frozen=True)
class Point:
    """One point of a plan: "loaded" (chaser and loaders at a delay), "idle" (the chaser alone) or "peak" (no chaser).

    ``key`` names it in its directory; ``traffic`` is None and ``loaders`` 0 where nothing loads. ``varied`` is whether
    the buffer is what the sweep varies.
    """

    key: str
    kind: Kind
    buffer_bytes: int
    traffic: Traffic | None = None
    loaders: int = 0
    delay: int = 0
    varied: bool = False

    def request(self) -> dict[str, Any]:
        """What was asked, for the point's record."""
        load = {"buffer_bytes": self.buffer_bytes} if self.varied else {"delay_iterations": self.delay}
        return {"kind": self.kind, **load}

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        if self.varied:
            threads = counted(self.loaders, "thread")
            what = "latency" if self.traffic is None else f"{self.traffic.name}, {threads}"
            return f"{format_bytes(self.buffer_bytes)}, {what}"
        if self.traffic is None:
            return f"{self.kind} memory"
        if self.kind == "peak":
            return f"peak, {self.traffic.label}"
        return f"{self.traffic.label}, {counted(self.loaders, 'loader')}, delay {self.delay}"


@dataclass(frozen=True, kw_only=True)
class ProbePlan:
    """What sweeps over delays and over buffer sizes have in common.

    Each of ``traffics`` with each of ``loader_counts`` is a series; ``placement`` is that of the most threads;
    ``notes`` say in words what was decided for the user and why.
    """

    traffics: tuple[Traffic, ...]
    placement: Placement
    loader_counts: tuple[int, ...]
    repeats: int
    seconds_per_repeat: float
    seed: int
    notes: tuple[str, ...] = ()
    chunk_hops: ClassVar[int] = SMALL_CHUNK_HOPS
    mode: ClassVar[str] = ""

    @property
    def buffers(self) -> int:
        """The number of buffers: the chaser's ring, one for each loader, one for a loader on the chaser's CPU."""
        return len(self.placement.loaders) + 2

    @property
    def largest_bytes(self) -> int:
        """The size of the largest buffer of a thread."""
        raise NotImplementedError

    def prepare_seconds(self) -> float:
        """Seconds for compiling and for touching the buffers."""
        return COMPILE_S + self.buffers * self.largest_bytes * PREPARE_S_PER_BYTE

    def settings(self) -> dict[str, Any]:
        """What is fixed over the sweep, JSON-ready: a directory goes on only with the same settings.

        Loads, traffics and numbers of threads are not among them, so that a directory can be extended by others.
        """
        fixed = ("mode", "repeats", "seconds_per_repeat", "seed")
        return {name: getattr(self, name) for name in fixed}

    def _command(self, load: str, counts: Sequence[int], traffics: Sequence[Traffic]) -> str:
        return (
            f"qsim measure memory {load} --loaders {_listed(counts)} --repeats {self.repeats} "
            f"--seconds {self.seconds_per_repeat:g} --traffic {_listed(dict.fromkeys(t.name for t in traffics))}"
        )

    def _described(self, lines: Sequence[str], seconds: float) -> str:
        last = f"about {seconds:.0f} s in all, more where other programs run on these CPUs"
        return "\n".join([*lines, last, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, kw_only=True)
class MemoryPlan(ProbePlan):
    """A sweep over ``delays`` (idle-loop iterations per burst), with a buffer of ``buffer_bytes`` for each thread."""

    delays: tuple[int, ...]
    buffer_bytes: int
    mode: ClassVar[str] = "delays"

    @property
    def largest_bytes(self) -> int:
        """The size of each thread's buffer."""
        return self.buffer_bytes

    def points(self) -> tuple[Point, ...]:
        """Everything that is measured, in order.

        The idle latency, then for each traffic its delays and its peak bandwidth, then the idle latency again. The
        delays are shuffled, so that a drift of the machine is not taken for the curve.
        """
        import numpy as np

        rng, size = np.random.default_rng(self.seed), self.buffer_bytes
        points = [Point("idle", "idle", size)]
        for traffic in self.traffics:
            series = [
                Point(f"{traffic.slug}-{loaders}-delay-{delay}", "loaded", size, traffic, loaders, delay)
                for loaders in self.loader_counts
                for delay in self.delays
            ]
            points += [series[i] for i in rng.permutation(len(series))]
            points.append(Point(f"{traffic.slug}-peak", "peak", size, traffic, max(self.loader_counts) + 1))
        return (*points, Point("idle-after", "idle", size))

    def workload_of(self, source: str) -> Point | None:
        """The point that a raw file of the sweep belongs to; None for one of another plan."""
        key = source.removesuffix(".json").partition(AGAIN)[0]
        return next((point for point in self.points() if point.key == key), None)

    def once_more(self, point: Point, rows: DataFrame) -> Point:
        """The point measured another time, under a key of its own behind those of ``rows``."""
        return replace(point, key=f"{point.key}{AGAIN}{rows['source'].nunique()}")

    def warm_up_s(self, _: Point) -> float:
        """Seconds before a trial that are not counted."""
        return WARM_UP_S

    def seconds_of(self, _: Point) -> float:
        """Seconds that one point takes."""
        return self.repeats * (WARM_UP_S + self.seconds_per_repeat + 0.01)

    def seconds(self) -> float:
        """Seconds that the whole measurement takes.

        On a busy machine up to twice that: a repeat that other programs disturbed is measured again.
        """
        return self.prepare_seconds() + sum(map(self.seconds_of, self.points()))

    def settings(self) -> dict[str, Any]:
        """The same with the buffer."""
        return {**super().settings(), "buffer_bytes": self.buffer_bytes}

    def command(self, point: Point | None = None) -> str:
        """The command that measures this point (None: all of them), as it could be typed again."""
        loaded = point if point is not None and point.kind == "loaded" else None
        delays = self.delays if loaded is None else (loaded.delay,)
        traffics = self.traffics if point is None or point.traffic is None else (point.traffic,)
        load = f"--delays {_listed(delays)} --buffer {self.buffer_bytes}"
        strides = _listed(dict.fromkeys(t.stride_bytes for t in traffics))
        counts = self.loader_counts if loaded is None else (loaded.loaders,)
        return f"{self._command(load, counts, traffics)} --strides {strides}"

    def rows(self) -> list[dict[str, Any]]:
        """The loaded points with their commands, by traffic, loaders and delay."""
        loaded = [(p.traffic, p) for p in self.points() if p.kind == "loaded" and p.traffic is not None]
        loaded.sort(key=lambda pair: (self.traffics.index(pair[0]), pair[1].loaders, pair[1].delay))
        return [
            {
                "delay": p.delay,
                "traffic": traffic.label,
                "loaders": p.loaders,
                "command": self.command(p),
                "seconds": self.seconds_of(p),
            }
            for traffic, p in loaded
        ]

    def describe(self) -> str:
        """The plan in words, a line for each thing: for a dry run."""
        loaders = self.placement.loaders
        counts = "" if len(self.loader_counts) == 1 else f"; a series each for {_listed(self.loader_counts)} of them"
        points = self.points()
        lines = [
            f"chaser on CPU {_cpu(self.placement.chaser)}, "
            f"{counted(len(loaders), 'loader')} on CPU {', '.join(map(_cpu, loaders))}{counts}",
            *(f"traffic {traffic.label}: {traffic.describe()}" for traffic in self.traffics),
            f"{self.buffers} buffers of {format_bytes(self.buffer_bytes)}, on huge pages where the system gives them",
            f"{len(self.delays)} injected delays (idle-loop iterations per burst of about {BURST_LINES} lines): "
            + ", ".join(str(d) for d in self.delays),
            "idle latency before and after them, and the peak bandwidth of each traffic",
            f"{len(points)} points of {self.repeats} x {self.seconds_per_repeat:g} s, "
            f"{self.seconds_of(points[0]):.2g} s each with their warm-up",
        ]
        return self._described(lines, self.seconds())


@dataclass(frozen=True, kw_only=True)
class BufferPlan(ProbePlan):
    """A sweep over buffer ``sizes`` in bytes, ascending."""

    sizes: tuple[int, ...]
    chunk_hops: ClassVar[int] = CHUNK_HOPS
    mode: ClassVar[str] = BUFFERS

    @property
    def largest_bytes(self) -> int:
        """The largest size."""
        return self.sizes[-1]

    def points(self, size: int | None = None) -> tuple[Point, ...]:
        """What is measured at one size (None: at all): the chase, then each traffic by each number of threads.

        The sizes are shuffled, so that a drift of the machine is not taken for a step.
        """
        import numpy as np

        if size is None:
            order = np.random.default_rng(self.seed).permutation(self.sizes).tolist()
            return tuple(point for each in order for point in self.points(each))
        streams = [
            Point(f"buffer-{size}-{traffic.slug}-{threads}", "peak", size, traffic, threads, varied=True)
            for traffic in self.traffics
            for threads in self.loader_counts
        ]
        return (Point(f"buffer-{size}-idle", "idle", size, varied=True), *streams)

    def warm_up_s(self, point: Point) -> float:
        """Seconds of warm-up: a round through the buffer, so that a cache that can hold it does."""
        size = point.buffer_bytes
        round_s = size / CACHE_LINE_BYTES * SLOW_HOP_S if point.kind == "idle" else size * SLOW_STREAM_S_PER_BYTE
        return min(max(WARM_UP_S, round_s), MOST_WARM_UP_S)

    def seconds_at(self, size: int) -> float:
        """Seconds that one size takes, the making of its ring included."""
        points = self.points(size)
        fills = size * (LINK_S_PER_BYTE + len(self.placement.loaders) * REFILL_S_PER_BYTE)
        return fills + self.repeats * sum(self.warm_up_s(p) + self.seconds_per_repeat + 0.01 for p in points)

    def seconds_of(self, point: Point) -> float:
        """Seconds that a point takes, of those that its size takes."""
        return self.seconds_at(point.buffer_bytes) / len(self.points(point.buffer_bytes))

    def seconds(self) -> float:
        """Seconds that the whole measurement takes; on a busy machine up to twice that."""
        return self.prepare_seconds() + sum(map(self.seconds_at, self.sizes))

    def command(self, point: Point | None = None) -> str:
        """The command that measures the size of this point (None: all of them), as it could be typed again."""
        sizes = self.sizes if point is None else (point.buffer_bytes,)
        return self._command(f"--buffers {_listed(sizes)}", self.loader_counts, self.traffics)

    def rows(self) -> list[dict[str, Any]]:
        """The sizes with their commands."""
        return [
            {"buffer_bytes": size, "command": self.command(self.points(size)[0]), "seconds": self.seconds_at(size)}
            for size in self.sizes
        ]

    def describe(self) -> str:
        """The plan in words, a line for each thing: for a dry run."""
        *fewer, most = self.loader_counts
        threads = " and ".join([*map(str, fewer), counted(most, "thread")])
        smallest, largest = (f"{self.seconds_at(size):.2g} s" for size in (self.sizes[0], self.sizes[-1]))
        lines = [
            f"idle latency by one thread on CPU {_cpu(self.placement.chaser)}, bandwidth by {threads}, one after the "
            "other",
            *(f"traffic {traffic.name}: {traffic.describe()}" for traffic in self.traffics),
            f"{len(self.sizes)} buffer sizes, each thread its own: " + ", ".join(map(format_bytes, self.sizes)),
            f"{len(self.points(self.sizes[0]))} measurements a size of {self.repeats} x {self.seconds_per_repeat:g} s, "
            f"{smallest} for the smallest and {largest} for the largest",
        ]
        return self._described(lines, self.seconds())


def plan_memory(
    delays: Sequence[float] = DEMO_DELAYS,
    buffer_bytes: int | None = None,
    loaders: int | Sequence[int] | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str | Sequence[str] = "read",
    strides: Sequence[int] = (CACHE_LINE_BYTES,),
    seed: int = 1,
) -> MemoryPlan:
    """Decide what is left open, and refuse what cannot be measured truthfully.

    ``delays``: idle-loop iterations per burst, whole numbers >= 0 (repetitions are dropped; kept ascending).
    ``buffer_bytes``: each thread's buffer; by default 4 times the last-level cache, or what free memory allows.
    ``loaders``: loading threads, or several numbers of them, a series each; by default every other core of the
    chaser's memory node. ``traffic``: see :mod:`measure.memory.traffic`, one or several ("read", "3:1", "nt-write").
    ``strides``: bytes from one line that a loader touches to the next, a series each with every traffic.
    ``seconds_per_repeat``: 0.01 to 60.

    Raises ValueError naming the parameter and the remedy: no delay, a negative or fractional one, no loader, more
    loaders than cores, a buffer that fits a cache (naming it) or that memory does not hold, an unknown traffic.
    """
    traffics = strided(parse_traffics(traffic), strides)
    _check_numbers(repeats, seconds_per_repeat, seed)
    whole = _whole_delays(delays)
    asked = _ascending(loaders)
    if asked is not None and (not asked or asked[0] < 1):
        raise InvalidParameterError(
            "loaders",
            f"={asked[0] if asked else '()'}: a loaded latency needs at least one loader",
            "give numbers from 1 on; every sweep measures the idle latency too",
            asked,
        )
    placement = place(None if asked is None else asked[-1])
    if not placement.loaders:
        raise ValueError(
            "this process may use one core only, so nothing can load the memory that is chased through; give it a "
            "second core, or measure buffer sizes without load: qsim measure memory --buffers 1GiB"
        )
    size, notes = choose_buffer(buffer_bytes, len(placement.loaders) + 2, memory_facts())
    return MemoryPlan(
        delays=whole,
        traffics=traffics,
        buffer_bytes=size,
        placement=placement,
        loader_counts=tuple(asked or [len(placement.loaders)]),
        repeats=repeats,
        seconds_per_repeat=float(seconds_per_repeat),
        seed=seed,
        notes=(*placement.notes, *notes),
    )


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
    _check_numbers(repeats, seconds_per_repeat, seed)
    if not len(sizes):
        raise InvalidParameterError("buffers", "is empty", "give sizes like 16KiB..1GiB")
    for size in sizes:
        if size < LEAST_BYTES:
            why = f": {format_bytes(size)} is too small to be streamed through (a burst has up to {MOST_PARTS} lines)"
            raise InvalidParameterError("buffers", why, f"begin at {format_bytes(LEAST_BYTES)}")
        if size % CACHE_LINE_BYTES:
            why = f": invalid size {size} bytes: expected a multiple of a cache line ({CACHE_LINE_BYTES} bytes)"
            raise InvalidParameterError("buffers", why)
    asked = _ascending(threads)
    placement = place_without_chaser(asked)
    most = 1 + len(placement.loaders)
    plan = BufferPlan(
        sizes=tuple(sorted({int(size) for size in sizes})),
        traffics=traffics,
        placement=placement,
        loader_counts=tuple(asked or sorted({1, most})),
        repeats=repeats,
        seconds_per_repeat=float(seconds_per_repeat),
        seed=seed,
    )
    return replace(plan, notes=(*placement.notes, *_size_notes(plan, memory_facts())))


def _size_notes(plan: BufferPlan, facts: MemoryFacts) -> list[str]:
    """What should be said about these sizes; ValueError where memory does not hold them."""
    largest, most = huge_pages(plan.largest_bytes), facts.share(plan.buffers)
    if most is not None and largest > most:
        why = f": {plan.buffers} of {format_bytes(largest)} do not fit in {facts.half}"
        raise InvalidParameterError("buffers", why, f"end at {format_bytes(most)}, or take fewer threads")
    last = facts.last_cache
    if last is None:
        return ["the system does not tell its caches; the steps are found without them"]
    if plan.largest_bytes >= CACHE_FACTOR * last.size_bytes:
        return []
    short = f"the largest buffer is less than {CACHE_FACTOR} times {cache_name(last)}"
    return [f"{short}: the memory behind it may not show in full"]


def _whole_delays(delays: Sequence[float]) -> tuple[int, ...]:
    if not len(delays):
        raise InvalidParameterError("delays", "is empty", "give idle-loop iterations per burst, like 0,100,500,20000")
    for delay in delays:
        if not 0 <= delay <= MAX_DELAY or delay != int(delay):
            raise InvalidParameterError(
                "delays",
                f": {delay:g} is not a whole number of idle-loop iterations from 0 to {MAX_DELAY}",
                "write them like 0,100,500,20000",
            )
    return tuple(sorted({int(delay) for delay in delays}))


def _check_numbers(repeats: int, seconds_per_repeat: float, seed: int) -> None:
    """ValueError naming the number that makes no measurement."""
    must_be(repeats >= 1, "repeats", repeats, "1 or more (3 gives a spread)")
    must_be(0.01 <= seconds_per_repeat <= 60, "seconds_per_repeat", seconds_per_repeat, "from 0.01 to 60, as 0.2")
    must_be(seed >= 0, "seed", seed, "a whole number >= 0")


def _ascending(asked: int | Sequence[int] | None) -> list[int] | None:
    if asked is None:
        return None
    return sorted({asked} if isinstance(asked, int) else set(asked))


def _cpu(cpu: int | None) -> str:
    return "unpinned" if cpu is None else str(cpu)


def _listed(values: Iterable[object]) -> str:
    return ",".join(str(v) for v in values)
