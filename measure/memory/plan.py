"""What a memory measurement will do, decided and checked before any of it starts: a MemoryPlan.

The buffers must be several times the last-level cache, or the probe measures that cache: a random ring k times the
size of a cache still finds about 1/k of its lines there. They must also fit in half of the memory that is free now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from measure.machine.host import Cache, host_facts
from measure.memory.placement import HUGE_PAGE_BYTES, Placement, place
from measure.memory.traffic import BURST_LINES, Traffic, parse_traffics, strided
from measure.units import CACHE_LINE_BYTES, counted, format_bytes
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from pandas import DataFrame

Kind = Literal["loaded", "idle", "peak"]

MLC_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
DEMO_DELAYS = (0, 20, 50, 100, 200, 300, 500, 700, 1000, 1700, 2500)

AGAIN = ".again-"  # in the key of a point that is measured another time
CGROUP = Path("/sys/fs/cgroup")

WARM_UP_S = 0.05
CACHE_FACTOR = 4
MEMORY_SHARE = 0.5
ASSUMED_CACHE_BYTES = 64 * 2**20
MAX_DELAY = 10_000_000
PREPARE_S_PER_BYTE = 5e-9  # fresh pages are touched and filled: 0.6 s for 128 MiB on a virtual machine
REFILL_S_PER_BYTE = 1e-9  # pages that are there already
COMPILE_S = 1.5


@dataclass(frozen=True)
class Point:
    """One point of a plan: "loaded" (chaser and loaders at a delay), "idle" (the chaser alone) or "peak" (no chaser).

    ``key`` names it in its directory; ``traffic`` is None and ``loaders`` 0 where nothing loads. ``buffer_bytes`` is
    that of a point of a sweep over buffer sizes.
    """

    key: str
    kind: Kind
    traffic: Traffic | None = None
    loaders: int = 0
    delay: int = 0
    buffer_bytes: int = 0

    def request(self) -> dict[str, Any]:
        """What was asked, for the point's record."""
        varied = {"buffer_bytes": self.buffer_bytes} if self.buffer_bytes else {"delay_iterations": self.delay}
        return {"kind": self.kind, **varied}

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        if self.buffer_bytes:
            threads = counted(self.loaders, "thread")
            what = "latency" if self.traffic is None else f"{self.traffic.name}, {threads}"
            return f"{format_bytes(self.buffer_bytes)}, {what}"
        if self.traffic is None:
            return f"{self.kind} memory"
        if self.kind == "peak":
            return f"peak, {self.traffic.label}"
        return f"{self.traffic.label}, {counted(self.loaders, 'loader')}, delay {self.delay}"


@dataclass(frozen=True)
class MemoryPlan:
    """One memory sweep: what is measured, on which CPUs, with which buffers. ``plan_memory`` makes and checks it.

    ``delays`` are idle-loop iterations per burst, measured for each of ``traffics`` and each of ``loader_counts``: a
    series each. ``placement`` is that of the most loaders, ``buffer_bytes`` the size of each thread's own buffer,
    ``notes`` say in words what was decided for the user and why.
    """

    delays: tuple[int, ...]
    traffics: tuple[Traffic, ...]
    buffer_bytes: int
    placement: Placement
    loader_counts: tuple[int, ...]
    repeats: int
    seconds_per_repeat: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def buffers(self) -> int:
        """The number of buffers: the chaser's ring, one for each loader, one for a loader on the chaser's CPU."""
        return max(self.loader_counts) + 2

    def points(self) -> tuple[Point, ...]:
        """Everything that is measured, in order.

        The idle latency, then for each traffic its delays and its peak bandwidth, then the idle latency again. The
        delays are shuffled, so that a drift of the machine is not taken for the curve.
        """
        import numpy as np

        rng = np.random.default_rng(self.seed)
        points = [Point("idle", "idle")]
        for traffic in self.traffics:
            series = [
                Point(f"{traffic.slug}-{loaders}-delay-{delay}", "loaded", traffic, loaders, delay)
                for loaders in self.loader_counts
                for delay in self.delays
            ]
            points += [series[i] for i in rng.permutation(len(series))]
            points.append(Point(f"{traffic.slug}-peak", "peak", traffic, max(self.loader_counts)))
        return (*points, Point("idle-after", "idle"))

    def workload_of(self, source: str) -> Point | None:
        """The point that a raw file of the sweep belongs to; None for one of another plan."""
        key = source.removesuffix(".json").partition(AGAIN)[0]
        return next((point for point in self.points() if point.key == key), None)

    def once_more(self, point: Point, rows: DataFrame) -> Point:
        """The point measured another time, under a key of its own behind those of ``rows``."""
        return replace(point, key=f"{point.key}{AGAIN}{rows['source'].nunique()}")

    def seconds_per_point(self) -> float:
        """Seconds that one point takes."""
        return self.repeats * (WARM_UP_S + self.seconds_per_repeat + 0.01)

    def seconds_of(self, _: Point) -> float:
        """The same of one of them."""
        return self.seconds_per_point()

    def prepare_seconds(self) -> float:
        """Seconds for compiling and for filling the buffers."""
        return COMPILE_S + self.buffers * self.buffer_bytes * PREPARE_S_PER_BYTE

    def seconds(self) -> float:
        """Seconds that the whole measurement takes: preparing, every delay, the idle memory before and after, the peak.

        On a busy machine up to twice that: a repeat that other programs disturbed is measured again.
        """
        refills = (len(self.traffics) - 1) * self.buffers * self.buffer_bytes * REFILL_S_PER_BYTE
        return self.prepare_seconds() + refills + len(self.points()) * self.seconds_per_point()

    def settings(self) -> dict[str, Any]:
        """What is fixed over the sweep, JSON-ready: a directory goes on only with the same settings.

        Delays, traffics and numbers of loaders are not among them, so that a directory can be extended by others.
        """
        return {
            "mode": "delays",
            "buffer_bytes": self.buffer_bytes,
            "repeats": self.repeats,
            "seconds_per_repeat": self.seconds_per_repeat,
            "seed": self.seed,
        }

    def command(self, point: Point | None = None) -> str:
        """The command that measures this point (None: all of them), as it could be typed again."""
        loaded = point if point is not None and point.kind == "loaded" else None
        delays = self.delays if loaded is None else (loaded.delay,)
        counts = self.loader_counts if loaded is None else (loaded.loaders,)
        traffics = self.traffics if point is None or point.traffic is None else (point.traffic,)
        return (
            f"qsim measure memory --delays {_listed(delays)} --buffer {self.buffer_bytes} --loaders {_listed(counts)} "
            f"--repeats {self.repeats} --seconds {self.seconds_per_repeat:g} "
            f"--traffic {_listed(dict.fromkeys(t.name for t in traffics))} "
            f"--strides {_listed(dict.fromkeys(t.stride_bytes for t in traffics))}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The loaded points with their commands, by traffic, loaders and delay."""
        loaded = [p for p in self.points() if p.kind == "loaded"]
        return [
            {
                "delay": p.delay,
                "traffic": p.traffic.label if p.traffic else None,
                "loaders": p.loaders,
                "command": self.command(p),
                "seconds": self.seconds_per_point(),
            }
            for p in sorted(loaded, key=lambda p: (self.traffics.index(p.traffic), p.loaders, p.delay))
        ]

    def describe(self) -> str:
        """The plan in words, a line for each thing: for a dry run."""
        chaser, loaders = self.placement.chaser, self.placement.loaders
        where = ", ".join("unpinned" if cpu is None else str(cpu) for cpu in loaders)
        counts = "" if len(self.loader_counts) == 1 else f"; a series each for {_listed(self.loader_counts)} of them"
        lines = [
            f"chaser on CPU {'unpinned' if chaser is None else chaser}, "
            f"{counted(len(loaders), 'loader')} on CPU {where}{counts}",
            *(f"traffic {traffic.label}: {traffic.describe()}" for traffic in self.traffics),
            f"{self.buffers} buffers of {format_bytes(self.buffer_bytes)}, on huge pages where the system gives them",
            f"{len(self.delays)} injected delays (idle-loop iterations per burst of about {BURST_LINES} lines): "
            + ", ".join(str(d) for d in self.delays),
            "idle latency before and after them, and the peak bandwidth of each traffic",
            f"{len(self.points())} points of {self.repeats} x {self.seconds_per_repeat:g} s, "
            f"{self.seconds_per_point():.2g} s each with their warm-up",
            f"about {self.seconds():.0f} s in all, more where other programs run on these CPUs",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


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
    check_numbers(repeats, seconds_per_repeat, seed)
    whole = _whole_delays(delays)
    asked = None if loaders is None else sorted({loaders} if isinstance(loaders, int) else set(loaders))
    for count in asked if asked is not None else ():
        if count < 1:
            raise InvalidParameterError(
                "loaders",
                f"={count}: a loaded latency needs at least one loader",
                "give 1 or more; every sweep measures the idle latency too",
                count,
            )
    if asked == []:
        raise InvalidParameterError("loaders", "is empty", "give numbers of loading threads like 1,2, or leave it out")
    placement = place(None if asked is None else asked[-1])
    if not placement.loaders:
        raise ValueError(
            "this process may use one core only, so nothing can load the memory beside the chaser; give it a second "
            "core, or measure buffer sizes without load: qsim measure memory --buffers 1GiB"
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


@dataclass(frozen=True)
class MemoryFacts:
    """What a buffer's size depends on: the data caches, and the bytes that may still be allocated (None: not known)."""

    caches: tuple[Cache, ...]
    free_bytes: int | None

    @property
    def last_cache(self) -> Cache | None:
        """The largest cache, which a buffer must not fit."""
        return max(self.caches, key=lambda cache: cache.size_bytes, default=None)

    def share(self, buffers: int) -> int | None:
        """What each of so many buffers may take, in whole huge pages: together half of what is free."""
        if self.free_bytes is None:
            return None
        return int(self.free_bytes * MEMORY_SHARE) // buffers // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES


def memory_facts() -> MemoryFacts:
    """The facts of this machine, now."""
    facts = host_facts()
    caches = tuple(cache for cache in facts.caches if cache.kind != "Instruction")
    return MemoryFacts(caches, left_to_allocate(facts.memory_available_bytes))


def choose_buffer(asked: int | None, buffers: int, facts: MemoryFacts) -> tuple[int, tuple[str, ...]]:
    """The size of each of ``buffers`` buffers (a multiple of a huge page), and what should be said about it.

    Raises ValueError where ``asked`` fits a cache or exceeds memory, and where memory has no room for a size that does
    not fit a cache.
    """
    last = facts.last_cache
    cache_bytes = last.size_bytes if last else ASSUMED_CACHE_BYTES
    name = cache_name(last) if last else f"a cache of {format_bytes(cache_bytes)}"
    notes = [] if last else [f"the system does not tell its caches; {name} is assumed"]
    wish = CACHE_FACTOR * cache_bytes
    size = -(-(wish if asked is None else asked) // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    most = facts.share(buffers)

    if asked is not None and asked <= 0:
        raise InvalidParameterError(
            "buffer_bytes", f"={asked} is not positive", f"take at least {format_bytes(wish)}", value=asked
        )
    if asked is not None and asked <= cache_bytes:
        held = min((c for c in facts.caches if c.size_bytes >= asked), key=lambda c: c.size_bytes, default=last)
        raise InvalidParameterError(
            "buffer_bytes",
            (
                f"={asked} ({format_bytes(asked)}) fits {(cache_name(held) if held else name)}, so it would "
                "measure that cache, not memory"
            ),
            f"take at least {format_bytes(wish)}",
            value=asked,
        )
    if most is not None and size > most:
        free = f"half of the free memory ({format_bytes(facts.free_bytes or 0)})"
        if asked is not None:
            raise InvalidParameterError(
                "buffer_bytes",
                f"={asked}: {buffers} buffers of {format_bytes(size)} do not fit in {free}",
                f"take at most {format_bytes(most)}, or fewer loaders",
                asked,
            )
        if most <= cache_bytes:
            raise ValueError(
                f"no memory for the buffers: {free} gives each of {buffers} threads {format_bytes(most)}, which fits "
                f"{name}; free some memory or ask for fewer loaders"
            )
        notes.append(f"free memory allows {format_bytes(most)} a buffer, not {format_bytes(size)}")
        size = most
    if size < wish:
        share = round(100 * cache_bytes / size)
        notes.append(
            f"the buffer is less than {CACHE_FACTOR} times {name}: up to {share} % of the accesses may hit the cache"
        )
    return size, tuple(notes)


def cache_name(cache: Cache) -> str:
    """The cache in words: "the L3 cache of 32 MiB"."""
    return f"the L{cache.level}{'d' if cache.kind == 'Data' else ''} cache of {format_bytes(cache.size_bytes)}"


def left_to_allocate(available_bytes: int | None, cgroup: Path = CGROUP) -> int | None:
    """``available_bytes`` of the machine, or what the control group (v2, a container's) leaves, if that is less."""
    try:
        limit, used = ((cgroup / name).read_text("utf-8").strip() for name in ("memory.max", "memory.current"))
        left = None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):  # no control group, or of version 1
        left = None
    return min((size for size in (available_bytes, left) if size is not None), default=None)


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


def check_numbers(repeats: int, seconds_per_repeat: float, seed: int) -> None:
    """ValueError naming the number that makes no measurement."""
    if repeats < 1:
        raise InvalidParameterError(
            "repeats", f"={repeats}: measure each point at least once (3 gives a spread)", value=repeats
        )
    if not 0.01 <= seconds_per_repeat <= 60:
        raise InvalidParameterError(
            "seconds_per_repeat",
            f"={seconds_per_repeat:g} is not between 0.01 and 60",
            "0.2 is a good value",
            seconds_per_repeat,
        )
    if seed < 0:
        raise InvalidParameterError("seed", f"={seed}: take a whole number >= 0", value=seed)


def _listed(values: Iterable[object]) -> str:
    return ",".join(str(v) for v in values)
