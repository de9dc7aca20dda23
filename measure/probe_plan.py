"""What a memory measurement will do, decided and checked before any of it starts: a MemoryPlan.

The buffers must be several times the last-level cache, or the probe measures that cache: a random ring k times the
size of a cache still finds about 1/k of its lines there. They must also fit in half of the memory that is free now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from measure.host import Cache, host_facts
from measure.pages import HUGE_PAGE_BYTES
from measure.probe_placement import Placement, place
from measure.units import format_bytes

Traffic = Literal["read", "mix", "write"]

MLC_DELAYS = (0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700, 1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000)
DEMO_DELAYS = (0, 50, 100, 200, 300, 500, 700, 1000, 1700, 5000, 20000)

BURST_LINES = 64
UPDATED_LINES: dict[str, int] = {"read": 0, "mix": BURST_LINES // 2, "write": BURST_LINES}
BUS_TRAFFIC = {
    "read": "reads only",
    "mix": "2 reads to 1 write: half of each burst is read, half updated",
    "write": "1 read to 1 write: each line is updated, that is read, changed and written back",
}

CGROUP = Path("/sys/fs/cgroup")

WARM_UP_S = 0.05
CACHE_FACTOR = 4
MEMORY_SHARE = 0.5
ASSUMED_CACHE_BYTES = 64 * 2**20
MAX_DELAY = 10_000_000
PREPARE_S_PER_BYTE = 5e-9  # fresh pages are touched and filled: 0.6 s for 128 MiB on a virtual machine
COMPILE_S = 1.5


@dataclass(frozen=True)
class MemoryPlan:
    """One memory sweep: what is measured, on which CPUs, with which buffers. ``plan_memory`` makes and checks it.

    ``delays`` are idle-loop iterations per burst, ``buffer_bytes`` is the size of each thread's own buffer, ``notes``
    say in words what was decided for the user and why.
    """

    delays: tuple[int, ...]
    traffic: Traffic
    buffer_bytes: int
    placement: Placement
    repeats: int
    seconds_per_repeat: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def loaders(self) -> int:
        """The number of loader threads."""
        return len(self.placement.loaders)

    @property
    def buffers(self) -> int:
        """The number of buffers: the chaser's ring, one for each loader, one for a loader on the chaser's CPU."""
        return self.loaders + 2

    @property
    def order(self) -> tuple[int, ...]:
        """The delays in the order of measuring: shuffled, so that a drift of the machine is not taken for the curve."""
        import numpy as np

        return tuple(int(d) for d in np.random.default_rng(self.seed).permutation(self.delays))

    def seconds_per_point(self) -> float:
        """Seconds that one point takes."""
        return self.repeats * (WARM_UP_S + self.seconds_per_repeat + 0.01)

    def prepare_seconds(self) -> float:
        """Seconds for compiling and for filling the buffers."""
        return COMPILE_S + self.buffers * self.buffer_bytes * PREPARE_S_PER_BYTE

    def seconds(self) -> float:
        """Seconds that the whole measurement takes: preparing, every delay, the idle memory before and after, the peak.

        On a busy machine up to twice that: a repeat that other programs disturbed is measured again.
        """
        return self.prepare_seconds() + (len(self.delays) + 3) * self.seconds_per_point()

    def settings(self) -> dict[str, Any]:
        """What is fixed over the sweep, JSON-ready: a directory goes on only with the same settings."""
        return {
            "traffic": self.traffic, "loaders": self.loaders, "buffer_bytes": self.buffer_bytes,
            "burst_lines": BURST_LINES, "updated_lines": UPDATED_LINES[self.traffic], "repeats": self.repeats,
            "seconds_per_repeat": self.seconds_per_repeat, "seed": self.seed,
        }  # fmt: skip

    def command(self, delays: Sequence[int]) -> str:
        """The command that measures these delays, as it could be typed again."""
        return (
            f"qsim measure memory --delays {','.join(str(d) for d in delays)} --buffer {self.buffer_bytes} "
            f"--loaders {self.loaders} --repeats {self.repeats} --seconds {self.seconds_per_repeat:g} "
            f"--traffic {self.traffic} --seed {self.seed}"
        )

    def describe(self) -> str:
        """The plan in words, a line for each thing: for a dry run."""
        chaser, loaders = self.placement.chaser, self.placement.loaders
        where = ", ".join("unpinned" if cpu is None else str(cpu) for cpu in loaders)
        lines = [
            f"chaser on CPU {'unpinned' if chaser is None else chaser}, {self.loaders} loader(s) on CPU {where}",
            f"traffic {self.traffic}: {BUS_TRAFFIC[self.traffic]}",
            f"{self.buffers} buffers of {format_bytes(self.buffer_bytes)}, on huge pages where the system gives them",
            f"{len(self.delays)} injected delays (idle-loop iterations per burst of {BURST_LINES} lines): "
            + ", ".join(str(d) for d in self.delays),
            "idle latency before and after them, then the peak bandwidth; "
            f"each {self.repeats} x {self.seconds_per_repeat:g} s",
            f"about {self.seconds():.0f} s in all, more where other programs run on these CPUs",
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def plan_memory(
    delays: Sequence[float] = DEMO_DELAYS,
    buffer_bytes: int | None = None,
    loaders: int | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str = "read",
    seed: int = 1,
) -> MemoryPlan:
    """Decide what is left open, and refuse what cannot be measured truthfully.

    ``delays``: idle-loop iterations per burst, whole numbers >= 0 (repetitions are dropped; kept ascending).
    ``buffer_bytes``: each thread's buffer; by default 4 times the last-level cache, or what free memory allows.
    ``loaders``: loading threads; by default every other core of the chaser's memory node.
    ``traffic``: "read", "mix" (2 reads to 1 write) or "write" (1 to 1). ``seconds_per_repeat``: 0.01 to 60.

    Raises ValueError naming the parameter and the remedy: no delay, a negative or fractional one, no loader, more
    loaders than cores, a buffer that fits a cache (naming it) or that memory does not hold, an unknown traffic.
    """
    _check_numbers(repeats, seconds_per_repeat, traffic, seed)
    whole = _whole_delays(delays)
    if loaders is not None and loaders < 1:
        raise ValueError(
            f"loaders={loaders}: a loaded latency needs at least one loader; for the latency of an idle memory alone "
            "use idle_latency()"
        )
    placement = place(loaders)
    if not placement.loaders:
        raise ValueError(
            "this process may use one core only, so nothing can load the memory beside the chaser; give it a second "
            "core, or measure the latency of the idle memory alone with idle_latency()"
        )
    size, notes = choose_buffer(buffer_bytes, len(placement.loaders) + 2, memory_facts())
    return MemoryPlan(
        delays=whole, traffic=traffic, buffer_bytes=size, placement=placement, repeats=repeats,  # type: ignore[arg-type]
        seconds_per_repeat=float(seconds_per_repeat), seed=seed, notes=(*placement.notes, *notes),
    )  # fmt: skip


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
        raise ValueError(f"buffer_bytes={asked} is not positive; take at least {format_bytes(wish)}")
    if asked is not None and asked <= cache_bytes:
        held = min((c for c in facts.caches if c.size_bytes >= asked), key=lambda c: c.size_bytes, default=last)
        raise ValueError(
            f"buffer_bytes={asked} ({format_bytes(asked)}) fits {cache_name(held) if held else name}, so it would "
            f"measure that cache, not memory; take at least {format_bytes(wish)}"
        )
    if most is not None and size > most:
        free = f"half of the free memory ({format_bytes(facts.free_bytes or 0)})"
        if asked is not None:
            raise ValueError(
                f"buffer_bytes={asked}: {buffers} buffers of {format_bytes(size)} do not fit in {free}; take at most "
                f"{format_bytes(most)}, or fewer loaders"
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
        raise ValueError("delays is empty; give idle-loop iterations per burst, like 0,100,500,20000")
    for delay in delays:
        if not 0 <= delay <= MAX_DELAY or delay != int(delay):
            raise ValueError(
                f"delays: {delay:g} is not a whole number of idle-loop iterations from 0 to {MAX_DELAY}; write them "
                "like 0,100,500,20000"
            )
    return tuple(sorted({int(delay) for delay in delays}))


def _check_numbers(repeats: int, seconds_per_repeat: float, traffic: str, seed: int) -> None:
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: measure each point at least once (3 gives a spread)")
    if not 0.01 <= seconds_per_repeat <= 60:
        raise ValueError(f"seconds_per_repeat={seconds_per_repeat:g} is not between 0.01 and 60; 0.2 is a good value")
    if traffic not in UPDATED_LINES:
        raise ValueError(f"traffic={traffic!r} is unknown; choose one of {', '.join(UPDATED_LINES)}")
    if seed < 0:
        raise ValueError(f"seed={seed}: take a whole number >= 0")
