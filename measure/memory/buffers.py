"""How large the buffers of a sweep over delays are.

They must be several times the last-level cache, or the probe measures that cache: a random ring k times the size of a
cache still finds about 1/k of its lines there. They must also fit in half of the memory that is free now.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from measure.machine.host import Cache, host_facts
from measure.memory.placement import HUGE_PAGE_BYTES
from measure.units import format_bytes
from qsim.errors import InvalidParameterError

CACHE_FACTOR = 4
MEMORY_SHARE = 0.5
ASSUMED_CACHE_BYTES = 64 * 2**20
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class MemoryFacts:
    """What a buffer's size depends on: the data caches, and the bytes that may still be allocated (None: not known)."""

    caches: tuple[Cache, ...]
    free_bytes: int | None

    @property
    def last_cache(self) -> Cache | None:
        """The largest cache, which a buffer must not fit."""
        return max(self.caches, key=lambda cache: cache.size_bytes, default=None)

    @property
    def half(self) -> str:
        """Half of the free memory, in words."""
        return f"half of the free memory ({format_bytes(self.free_bytes or 0)})"

    def share(self, buffers: int) -> int | None:
        """What each of the buffers may take, in whole huge pages: together half of what is free."""
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


def size_notes(largest_bytes: int, buffers: int, facts: MemoryFacts) -> tuple[str, ...]:
    """What should be said about a sweep up to this size; ValueError where memory does not hold the buffers."""
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
    """``available_bytes`` of the machine, or what the control group (v2, a container's) leaves, if that is less."""
    try:
        limit, used = ((cgroup / name).read_text("utf-8").strip() for name in ("memory.max", "memory.current"))
        left = None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):  # no control group, or of version 1
        left = None
    return min((size for size in (available_bytes, left) if size is not None), default=None)


def huge_pages(size_bytes: int) -> int:
    """The size in whole huge pages."""
    return -(-size_bytes // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
