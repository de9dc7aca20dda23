"""Loads and throughputs as people read them: depths and delays as plain numbers, rates and bandwidths with units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from measure.loads import LOADS, Load, LoadKind
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_rate, significant


def load_text(kind: LoadKind, load: float, digits: int = 3) -> str:
    """One load; of a rate or a bandwidth this many significant digits.

    >>> load_text("arrival_rate", 63900.7), load_text("queue_depth", 32.0)
    ('63.9 k/s', '32')
    """
    return LOADS[kind].text(load, digits)


def loads_text(kind: LoadKind, loads: Iterable[float]) -> str:
    """Several, with commas between."""
    return ", ".join(load_text(kind, load) for load in loads)


def knee_text(kind: LoadKind, load: float, digits: int = 3) -> str:
    """A load that was estimated, to this many significant digits."""
    return LOADS[kind].estimated_text(load, digits)


def throughput_text(kind: LoadKind) -> Callable[[float], str]:
    """How a throughput is written: requests a second, or a memory's cache lines as a bandwidth."""
    return throughput_figure(kind)


class Figure(Protocol):
    """Writes a number with its unit, to this many significant digits; in the unit of ``like``, unnamed, if given."""

    def __call__(self, value: float, digits: int = 3, like: float | None = None, /) -> str:
        """The text."""
        ...


BANDWIDTH_FROM = 64 * 2**10
"""The block size from which a rate is shown with its bandwidth."""


def throughput_figure(kind: LoadKind) -> Figure:
    """As ``throughput_text``, with the digits and the unit to choose."""
    return _lines_figure if LOADS[kind].is_memory else format_rate


def bandwidth_text(kind: LoadKind, block_bytes: float | None, throughput_per_s: float) -> str:
    """The bandwidth of a throughput of blocks of 64 KiB or more; empty of smaller ones, and of a memory's lines.

    >>> bandwidth_text("queue_depth", 131072.0, 19e3), bandwidth_text("queue_depth", 4096.0, 300e3)
    ('2.5 GB/s', '')
    """
    if block_bytes is None or block_bytes < BANDWIDTH_FROM or LOADS[kind].is_memory:
        return ""
    return format_bandwidth(block_bytes * throughput_per_s, 2)


def load_figure(kind: LoadKind) -> Figure:
    """How an estimated load is written: a rate or a bandwidth with its unit, a depth or a delay as a plain number."""
    load = LOADS[kind]
    return format_rate if load.is_open else format_bandwidth if load.is_bandwidth else _plain_figure


def listed(load: Load, values: Iterable[float]) -> str:
    """Loads in a sentence.

    >>> depth = LOADS["queue_depth"]
    >>> listed(depth, [1, 8, 64]), listed(depth, [4]), listed(depth.counted_in("clients"), [1, 8])
    ('depths 1, 8 and 64', 'depth 4', '1 and 8 clients')
    """
    texts = [load.text(value) for value in values]
    if not texts:
        return f"no {load.plural}"
    text = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
    return f"{load.plural} {text}" if len(texts) > 1 and not load.is_counted else load.place(text)


def with_interval(show: Figure, value: float, low: float | None, high: float | None, *, to: str = " to ") -> str:
    """A number to two digits with the ends of its interval in the same unit.

    >>> with_interval(format_rate, 308e3, 225e3, 2.39e6)
    '308 k/s (225 to 2390)'
    >>> with_interval(load_figure("queue_depth"), 4.61, 1.7, None)
    '4.6 (1.7 and more)'
    """
    ends = interval_text(*(None if end is None else show(end, 2, value) for end in (low, high)), to=to)
    return f"{show(value, 2)} ({ends})" if ends else show(value, 2)


def interval_text(low: str | None, high: str | None, *, to: str = " to ") -> str:
    """The ends of an interval, either of which may be open; empty where both are.

    >>> interval_text("1.7", "4.6"), interval_text("1.7", None), interval_text(None, "4.6")
    ('1.7 to 4.6', '1.7 and more', '4.6 at most')
    """
    if low is not None and high is not None:
        return f"{low}{to}{high}"
    return f"{low} and more" if low is not None else f"{high} at most" if high is not None else ""


def _plain_figure(value: float, digits: int = 3, like: float | None = None, /) -> str:
    return significant(value, digits)


def _lines_figure(lines_per_s: float, digits: int = 3, like: float | None = None, /) -> str:
    return format_bandwidth(lines_per_s * CACHE_LINE_BYTES, digits, None if like is None else like * CACHE_LINE_BYTES)
