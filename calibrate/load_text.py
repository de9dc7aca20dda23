"""Loads and throughputs as people read them: depths and delays as plain numbers, rates and bandwidths with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from measure.loads import LOADS, LoadKind
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_rate


def load_text(kind: LoadKind, load: float, digits: int = 3) -> str:
    """One load; of a rate or a bandwidth so many significant digits.

    >>> load_text("arrival_rate", 63900.7), load_text("queue_depth", 32.0)
    ('63.9 k/s', '32')
    """
    return LOADS[kind].text(load, digits)


def loads_text(kind: LoadKind, loads: Iterable[float]) -> str:
    """Several, with commas between."""
    return ", ".join(load_text(kind, load) for load in loads)


def knee_text(kind: LoadKind, load: float, digits: int = 3) -> str:
    """A load that was estimated, to so many significant digits."""
    return LOADS[kind].estimated_text(load, digits)


def throughput_text(kind: LoadKind) -> Callable[[float], str]:
    """How a throughput is written: requests a second, or a memory's cache lines as a bandwidth."""
    if LOADS[kind].is_memory:
        return lambda lines_per_s: format_bandwidth(lines_per_s * CACHE_LINE_BYTES)
    return format_rate
