"""Loads of a memory: a delay between accesses, a bandwidth, or the size of a buffer, which no queue describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from measure.loads.base import Load, LoadKind, LoadWithUnit, ThroughputLoad
from measure.units import CACHE_LINE_BYTES, Figure, format_bandwidth, format_bytes

DEFAULT_DELAYS = (0, 20, 50, 100, 150, 200, 300, 500, 700, 1000, 2500)
"""Iterations of the idle loop: half of them in the bend, which lies at 50 to 300 on machines of 2 to 8 loaders."""
QUICK_DELAYS = (0, 50, 100, 200, 2500)


class MemoryLoad(Load):
    """A curve of a memory: requests are cache lines, so a throughput is shown as a bandwidth."""

    rate_name = "bandwidth"
    most = 1e15
    least_points = 3

    @property
    def throughput_figure(self) -> Figure:
        return _lines

    def moved_text(self, block_bytes: float | None, throughput_per_s: float) -> str:
        return ""


@dataclass(frozen=True, repr=False)
class InjectedDelay(MemoryLoad):
    """A pause between accesses, in the tool's ``unit``: the longer, the lower the throughput, by which a knee is given.

    The pause is think time: N loaders with Z = Z0 + kappa d, where N, Z0 and kappa are unknown.

    >>> InjectedDelay([0, 100], unit="ns").at(100), InjectedDelay(unit="ns").named
    ('delay 100', 'injected delay (ns)')
    """

    unit: str = "cycles"

    kind: ClassVar[LoadKind] = "injected_delay"
    law = "N = X (R + Z), Z = Z0 + κ d"
    name = "injected delay"
    singular = "delay"
    plural = "delays"
    symbol = "delay"
    knee_symbol = "delay"
    knee_unit = "lines/s"
    column = "load"
    option = "--delays"
    more = "more delays: qsim measure memory --delays 0,100,500,2500 --out DIR"
    most = 1e12
    default_points = (0.0, 500.0, 2500.0)


@dataclass(frozen=True, repr=False)
class Bandwidth(MemoryLoad, ThroughputLoad):
    """The bandwidth of a memory, bytes/s: a result, so the curve may bend back.

    >>> Bandwidth([80e9]).text(80e9)
    '80.0 GB/s'
    """

    kind: ClassVar[LoadKind] = "bandwidth"
    law = "L = X R"
    name = "bandwidth"
    plural = "bandwidths"
    symbol = "load"
    knee_symbol = "bytes/s"
    knee_unit = "B/s"
    unit = "B/s"
    column = "load_bytes_per_s"
    more = "more of the curve: qsim measure memory --out DIR"

    @property
    def figure(self) -> Figure:
        return format_bandwidth

    def text(self, value: float, digits: int = 3) -> str:
        return format_bandwidth(value, digits)


@dataclass(frozen=True, repr=False)
class BufferSize(LoadWithUnit):
    """The size of the buffer that a program walks through, bytes. One access is in flight, so X R = 1.

    >>> BufferSize([32768]).text(32768)
    '32 KiB'
    """

    kind: ClassVar[LoadKind] = "buffer_size"
    law = "X R = 1"
    name = "buffer size"
    plural = "buffer sizes"
    symbol = "buffer"
    knee_symbol = "buffer size"
    knee_unit = "B"
    unit = "B"
    column = "load_bytes"
    option = "--buffers"
    more = "more delays: qsim measure memory --delays 0,100,500,2500 --out DIR"
    most = 1e15
    least_points = 3

    def text(self, value: float, digits: int = 3) -> str:
        return format_bytes(value)


def _lines(lines_per_s: float, digits: int = 3, like: float | None = None, /) -> str:
    return format_bandwidth(lines_per_s * CACHE_LINE_BYTES, digits, None if like is None else like * CACHE_LINE_BYTES)
