"""Plans a memory measurement, over delays or over buffer sizes, and checks it before it starts.

The buffers of a sweep over delays must be several times the last-level cache, or the probe measures that cache: a
random ring k times the size of a cache still finds about 1/k of its lines there. They must also fit in half of the
free memory.

Over buffer sizes one thread chases pointers through a buffer of each size, alone; then one thread, and all threads,
stream through buffers of that size, each its own. A buffer that fits a cache is in that cache after one round, which is
the length of the warm-up. Latency is timed without load, so this is not a latency-bandwidth curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from measure.loads.memory_loads import DEFAULT_DELAYS
from measure.machine.host import Cache, host_facts
from measure.memory.placement import CGROUP, HUGE_PAGE_BYTES, Placement, place
from measure.memory.traffic import MOST_PARTS, Traffic, parse_traffics
from measure.units import CACHE_LINE_BYTES, counted, format_bytes
from qsim.errors import InvalidParameterError, must_be

CACHE_FACTOR = 4
MEMORY_SHARE = 0.5
ASSUMED_CACHE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class MemoryLimits:
    """Limits of a buffer's size: the data caches, and the bytes that may still be allocated (None: unknown)."""

    caches: tuple[Cache, ...]
    free_bytes: int | None

    @property
    def last_cache(self) -> Cache | None:
        """The largest cache; a buffer must exceed it."""
        return max(self.caches, key=lambda cache: cache.size_bytes, default=None)

    @property
    def half(self) -> str:
        """Half of the free memory, in words."""
        return f"half of the free memory ({format_bytes(self.free_bytes or 0)})"

    def share(self, buffers: int) -> int | None:
        """Bytes for each of ``buffers`` buffers, in whole huge pages: together half of the free memory."""
        if self.free_bytes is None:
            return None
        return int(self.free_bytes * MEMORY_SHARE) // buffers // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES


def memory_limits() -> MemoryLimits:
    """The facts of this machine, now."""
    facts = host_facts()
    caches = tuple(cache for cache in facts.caches if cache.kind != "Instruction")
    return MemoryLimits(caches, left_to_allocate(facts.memory_available_bytes))


def choose_buffer(asked: int | None, buffers: int, facts: MemoryLimits) -> tuple[int, tuple[str, ...]]:
    """The size in bytes of each of ``buffers`` buffers (a multiple of a huge page), and notes about it.

    Raises ValueError where ``asked`` fits a cache or exceeds memory, and where memory is too small for buffers that
    exceed the cache.
    """
    last = facts.last_cache or Cache(3, "Unified", ASSUMED_CACHE_BYTES, 1)
    name = cache_name(last)
    notes = [] if facts.last_cache else [f"the system does not tell its caches; {name} is assumed"]
    wish, most = CACHE_FACTOR * last.size_bytes, facts.share(buffers)
    size = huge_pages(wish if asked is None else asked)
    if asked is not None and asked <= last.size_bytes:
        why = f"={asked} ({format_bytes(asked)}) fits {name}, so it would measure that"
        raise InvalidParameterError("buffer_bytes", why, f"take at least {format_bytes(wish)}", value=asked)
    if most is not None and size > most:
        if asked is not None:
            why = f"={asked}: {buffers} buffers of {format_bytes(size)} do not fit in {facts.half}"
            remedy = f"take at most {format_bytes(most)}, or fewer loaders"
            raise InvalidParameterError("buffer_bytes", why, remedy, asked)
        if most <= last.size_bytes:
            raise ValueError(
                f"no memory for the buffers: {facts.half} gives each of {buffers} threads {format_bytes(most)}, which "
                f"fits {name}; free some memory or ask for fewer loaders"
            )
        notes.append(f"free memory allows {format_bytes(most)} a buffer, not {format_bytes(size)}")
        size = most
    if size < wish:
        share = round(100 * last.size_bytes / size)
        notes.append(
            f"the buffer is less than {CACHE_FACTOR} times {name}: up to {share} % of the accesses may hit the cache"
        )
    return size, tuple(notes)


def size_notes(largest_bytes: int, buffers: int, facts: MemoryLimits) -> tuple[str, ...]:
    """Notes about a sweep up to this size; ValueError where memory does not hold the buffers."""
    most, last = facts.share(buffers), facts.last_cache
    if most is not None and (largest := huge_pages(largest_bytes)) > most:
        why = f": {buffers} of {format_bytes(largest)} do not fit in {facts.half}"
        raise InvalidParameterError("buffers", why, f"end at {format_bytes(most)}, or take fewer threads")
    if last is None or largest_bytes >= CACHE_FACTOR * last.size_bytes:
        return ()
    short = f"the largest buffer is less than {CACHE_FACTOR} times {cache_name(last)}"
    return (f"{short}: the memory behind it may not show in full",)


def cache_name(cache: Cache) -> str:
    """The cache in words: "the L3 cache of 32 MiB"."""
    return f"the L{cache.level} cache of {format_bytes(cache.size_bytes)}"


def left_to_allocate(available_bytes: int | None, cgroup: Path = CGROUP) -> int | None:
    """``available_bytes`` of the machine, or the rest of the control group's limit (v2, a container's) if less."""
    try:
        limit, used = ((cgroup / name).read_text("utf-8").strip() for name in ("memory.max", "memory.current"))
        left = None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):  # no control group, or of version 1
        left = None
    return min((size for size in (available_bytes, left) if size is not None), default=None)


def huge_pages(size_bytes: int) -> int:
    """The size rounded up to whole huge pages, bytes."""
    return -(-size_bytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES


Kind = Literal["loaded", "idle", "peak"]

MLC_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)

BUFFERS = "buffers"  # the mode of a sweep over buffer sizes, in its directory's settings

WARM_UP_S, MOST_WARM_UP_S = 0.05, 3.0
LEAST_BYTES = 8192  # more lines than the longest burst has
MAX_DELAY = 10_000_000
PREPARE_S_PER_BYTE = 5e-9  # fresh pages are touched and filled: 0.6 s for 128 MiB on a virtual machine
REFILL_S_PER_BYTE = 1e-9  # pages already touched
LINK_S_PER_BYTE = 4e-9  # a ring is shuffled and linked
SLOW_HOP_S, SLOW_STREAM_S_PER_BYTE = 150e-9, 0.2e-9  # upper limits of a round through a buffer
COMPILE_S = 1.5
CHUNK_HOPS, SMALL_CHUNK_HOPS = 16384, 512
"""Hops between two readings of the clocks, which take 0.5 us: the same as 512 hops through a first-level cache."""


@dataclass(frozen=True)
class Point:
    """One point of a plan: "loaded" (chaser and loaders at a delay), "idle" (the chaser alone) or "peak" (no chaser).

    ``key`` names it in its directory; ``traffic`` is None and ``loaders`` 0 without load. ``varied``: whether the
    sweep varies the buffer. ``trials`` are measured one after another; ``repeat`` counts the rounds over all points.
    """

    key: str
    kind: Kind
    buffer_bytes: int
    traffic: Traffic | None = None
    loaders: int = 0
    delay: int = 0
    varied: bool = False
    trials: int = 1
    repeat: int = 0

    def request(self) -> dict[str, Any]:
        """The point's settings, for its record."""
        load = {"buffer_bytes": self.buffer_bytes} if self.varied else {"delay_iterations": self.delay}
        stream = {} if self.traffic is None else {"traffic": self.traffic.label, "loaders": self.loaders}
        return {"kind": self.kind, **stream, **load}

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        if self.varied:
            what = "latency" if self.traffic is None else f"{self.traffic.name}, {counted(self.loaders, 'thread')}"
            return f"{format_bytes(self.buffer_bytes)}, {what}"
        if self.traffic is None:
            return f"{self.kind} memory"
        again = f", repeat {self.repeat + 1}" if self.repeat else ""
        if self.kind == "peak":
            return f"peak, {self.traffic.label}{again}"
        return f"{self.traffic.label}, {counted(self.loaders, 'loader')}, delay {self.delay}{again}"


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """A sweep over ``delays`` (idle-loop iterations per burst) or, without any, over buffer ``sizes`` (bytes).

    Each thread has a buffer of its own; over delays there is one size. Each of ``traffics`` with each of
    ``loader_counts`` is a series; ``placement`` is that of the most threads; ``notes`` explain the defaults that were
    chosen.
    """

    delays: tuple[int, ...] = ()
    sizes: tuple[int, ...]
    traffics: tuple[Traffic, ...]
    placement: Placement
    loader_counts: tuple[int, ...]
    repeats: int
    seconds_per_repeat: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def largest_bytes(self) -> int:
        """The size of the largest buffer of a thread."""
        return max(self.sizes)

    @property
    def buffers(self) -> int:
        """The number of buffers: the chaser's ring, one for each loader, one for a loader on the chaser's CPU."""
        return len(self.placement.loaders) + 2

    @property
    def chunk_hops(self) -> int:
        """Hops between two readings of the clocks."""
        return SMALL_CHUNK_HOPS if self.delays else CHUNK_HOPS

    def points(self) -> tuple[Point, ...]:
        """All points, in the order of measuring.

        Over delays: the idle latency, then ``repeats`` rounds, each with every traffic's delays and its peak bandwidth,
        then the idle latency again. Repeats one right after another would share the state of the machine, and differ
        by a fifth of what two sweeps do; rounds show it. Over sizes: at each the chase, then each traffic by each
        number of threads, repeats one after another, as a ring takes longer to link than to measure. Delays and sizes
        are shuffled, so that a drift of the machine is not taken for the curve.
        """
        import numpy as np

        if not self.delays:
            shuffled = np.random.default_rng(self.seed).permutation(self.sizes).tolist()
            return tuple(p for size in shuffled for p in self._at_size(size))
        (size,) = self.sizes
        rounds = (p for repeat in range(self.repeats) for p in self._round(size, repeat))
        idle, after = (Point(key, "idle", size, trials=self.repeats) for key in ("idle", "idle-after"))
        return (idle, *rounds, after)

    def _round(self, size: int, repeat: int) -> Iterator[Point]:
        """Every delay of every traffic once, and the peaks; each round in an order of its own."""
        import numpy as np

        rng = np.random.default_rng([self.seed, repeat])
        for traffic in self.traffics:
            series = [(loaders, delay) for loaders in self.loader_counts for delay in self.delays]
            for i in rng.permutation(len(series)):
                loaders, delay = series[i]
                key = f"{traffic.slug}-{loaders}-delay-{delay}.r{repeat}"
                yield Point(key, "loaded", size, traffic, loaders, delay, repeat=repeat)
            most = max(self.loader_counts) + 1
            yield Point(f"{traffic.slug}-peak.r{repeat}", "peak", size, traffic, most, repeat=repeat)

    def _at_size(self, size: int) -> tuple[Point, ...]:
        n = self.repeats
        streams = [
            Point(f"buffer-{size}-{traffic.slug}-{threads}", "peak", size, traffic, threads, varied=True, trials=n)
            for traffic in self.traffics
            for threads in self.loader_counts
        ]
        return (Point(f"buffer-{size}-idle", "idle", size, varied=True, trials=n), *streams)

    def warm_up_s(self, point: Point) -> float:
        """Seconds of warm-up: over sizes a round through the buffer, which fills a cache that can hold it."""
        if not point.varied:
            return WARM_UP_S
        size = point.buffer_bytes
        round_s = size / CACHE_LINE_BYTES * SLOW_HOP_S if point.kind == "idle" else size * SLOW_STREAM_S_PER_BYTE
        return min(max(WARM_UP_S, round_s), MOST_WARM_UP_S)

    def seconds_of(self, point: Point) -> float:
        """Seconds that one point takes; the first of a size links the ring and fills the buffers."""
        fills = LINK_S_PER_BYTE + len(self.placement.loaders) * REFILL_S_PER_BYTE
        first_s = point.buffer_bytes * fills if point.varied and point.kind == "idle" else 0.0
        return first_s + point.trials * (self.warm_up_s(point) + self.seconds_per_repeat + 0.01)

    def prepare_seconds(self) -> float:
        """Seconds for compiling and for touching the buffers."""
        return COMPILE_S + self.buffers * self.largest_bytes * PREPARE_S_PER_BYTE

    def seconds(self) -> float:
        """Seconds that the whole measurement takes."""
        return self.prepare_seconds() + sum(map(self.seconds_of, self.points()))

    def settings(self) -> dict[str, Any]:
        """The settings fixed for the sweep, JSON-ready: a directory can be resumed only with the same ones.

        Loads, traffics and numbers of threads are not among them, nor is the number of rounds, so that a directory can
        be extended.
        """
        fixed = {"seconds_per_repeat": self.seconds_per_repeat, "seed": self.seed}
        if not self.delays:
            return {"mode": BUFFERS, **fixed, "repeats": self.repeats}
        return {"mode": "delays", **fixed, "repeats": "in rounds", "buffer_bytes": self.largest_bytes}

    def command(self) -> str:
        """The command that measures all points, as it could be typed."""
        sizes, strides = _listed(self.sizes), _listed(dict.fromkeys(t.stride_bytes for t in self.traffics))
        load = f"--delays {_listed(self.delays)} --buffer {sizes}" if self.delays else f"--buffers {sizes}"
        return (
            f"qsim measure memory {load} --loaders {_listed(self.loader_counts)} --repeats {self.repeats} --seconds "
            f"{self.seconds_per_repeat:g} --traffic {_listed(dict.fromkeys(t.name for t in self.traffics))}"
            + (f" --strides {strides}" if self.delays else "")
        )

    def rows(self) -> list[dict[str, Any]]:
        """Every point in order, JSON-ready."""
        return [{"key": p.key, **p.request(), "seconds": self.seconds_of(p)} for p in self.points()]

    def describe(self) -> str:
        """The plan in words, for a dry run."""
        chaser, *loaders = (
            "unpinned" if c is None else str(c) for c in (self.placement.chaser, *self.placement.loaders)
        )
        counts = " and ".join(map(str, self.loader_counts))
        return "\n".join(
            [
                f"latency by one thread on CPU {chaser}; bandwidth by {counts} threads, on CPU {', '.join(loaders)}",
                f"{self.buffers} buffers of up to {format_bytes(self.largest_bytes)}",
                *(f"traffic {t.label}: {100 * t.read_fraction:.3g} % reads on the bus" for t in self.traffics),
                f"{len(self.points())} points of {self.repeats} x {self.seconds_per_repeat:g} s, each after a warm-up",
                f"about {self.seconds():.0f} s in all",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def plan_memory(
    delays: Sequence[float] = DEFAULT_DELAYS,
    buffer_bytes: int | None = None,
    loaders: int | Sequence[int] | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str | Sequence[str] = "read",
    strides: Sequence[int] = (CACHE_LINE_BYTES,),
    seed: int = 1,
) -> MemoryPlan:
    """Plan a sweep over injected delays: choose the defaults, and reject what cannot be measured correctly.

    ``delays``: idle-loop iterations per burst, whole numbers >= 0 (repetitions are dropped; kept ascending).
    ``buffer_bytes``: each thread's buffer; by default 4 times the last-level cache, or what free memory allows.
    ``loaders``: loading threads, or several numbers of them, a series each; by default every other core of the
    chaser's memory node. ``traffic``: see :mod:`measure.memory.traffic`, one or several ("read", "3:1").
    ``strides``: bytes from one line that a loader touches to the next, a series each with every traffic.
    ``seconds_per_repeat``: 0.01 to 60.

    Raises ValueError naming the parameter and the remedy: no delay, a negative or fractional one, no loader, more
    loaders than cores, a buffer that fits a cache (naming it) or that memory does not hold, an unknown traffic.
    """
    if not len(delays):
        raise InvalidParameterError("delays", "is empty", "give idle-loop iterations per burst, like 0,100,500,20000")
    for delay in delays:
        if not 0 <= delay <= MAX_DELAY or delay != int(delay):
            problem = f": {delay:g} is not a whole number of idle-loop iterations from 0 to {MAX_DELAY}"
            raise InvalidParameterError("delays", problem, "write them like 0,100,500,20000")
    placement, counts = _threads(loaders, chases=True)
    if not placement.loaders:
        raise ValueError(
            "this process may use one core only, so nothing can load the memory that is chased through; give it a "
            "second core, or measure buffer sizes without load: qsim measure memory --buffers 1GiB"
        )
    size, notes = choose_buffer(buffer_bytes, len(placement.loaders) + 2, memory_limits())
    return _checked(
        MemoryPlan(
            delays=tuple(sorted({int(delay) for delay in delays})),
            sizes=(size,),
            traffics=parse_traffics(traffic, strides),
            placement=placement,
            loader_counts=counts or (len(placement.loaders),),
            repeats=repeats,
            seconds_per_repeat=float(seconds_per_repeat),
            seed=seed,
            notes=(*placement.notes, *notes),
        )
    )


def plan_buffers(
    sizes: Sequence[int],
    threads: int | Sequence[int] | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str | Sequence[str] = "read",
    seed: int = 1,
) -> MemoryPlan:
    """Plan a sweep over buffer ``sizes`` in bytes (repetitions are dropped; kept ascending).

    ``threads``: numbers of streaming threads, a series each; by default one, and all cores of one memory node.
    ``traffic`` and the rest as ``plan_memory``. Works on one core.

    Raises ValueError naming the parameter and the remedy: no size, one that is not a whole number of cache lines or
    below LEAST_BYTES, one that memory does not hold, more threads than cores, an unknown traffic.
    """
    if not len(sizes):
        raise InvalidParameterError("buffers", "is empty", "give sizes like 16KiB..1GiB")
    for size in sizes:
        if size < LEAST_BYTES:
            why = f": {format_bytes(size)} is too small to be streamed through (a burst has up to {MOST_PARTS} lines)"
            raise InvalidParameterError("buffers", why, f"begin at {format_bytes(LEAST_BYTES)}")
        if size % CACHE_LINE_BYTES:
            why = f": invalid size {size} bytes: expected a multiple of a cache line ({CACHE_LINE_BYTES} bytes)"
            raise InvalidParameterError("buffers", why)
    placement, counts = _threads(threads, chases=False)
    plan = MemoryPlan(
        sizes=tuple(sorted({int(size) for size in sizes})),
        traffics=parse_traffics(traffic),
        placement=placement,
        loader_counts=counts or tuple(sorted({1, 1 + len(placement.loaders)})),
        repeats=repeats,
        seconds_per_repeat=float(seconds_per_repeat),
        seed=seed,
    )
    notes = size_notes(plan.largest_bytes, plan.buffers, memory_limits())
    return _checked(replace(plan, notes=(*placement.notes, *notes)))


def _threads(asked: int | Sequence[int] | None, *, chases: bool) -> tuple[Placement, tuple[int, ...]]:
    """The placement of the largest number of threads, and the numbers in ascending order; none by default."""
    if asked is None:
        return place(None, chases=chases), ()
    counts = tuple(sorted({asked} if isinstance(asked, int) else set(asked)))
    if not counts or counts[0] < 1:
        problem = f"={counts[0] if counts else '()'}: there must be at least one"
        remedy = "give numbers from 1 on; every sweep measures the idle latency too"
        raise InvalidParameterError("loaders", problem, remedy, asked)
    return place(counts[-1], chases=chases), counts


def _checked(plan: MemoryPlan) -> MemoryPlan:
    must_be(plan.repeats >= 1, "repeats", plan.repeats, "1 or more (3 gives a spread)")
    seconds = plan.seconds_per_repeat
    must_be(0.01 <= seconds <= 60, "seconds_per_repeat", seconds, "from 0.01 to 60, as 0.2")
    must_be(plan.seed >= 0, "seed", plan.seed, "a whole number >= 0")
    return plan


def _listed(values: Iterable[object]) -> str:
    return ",".join(map(str, values))
