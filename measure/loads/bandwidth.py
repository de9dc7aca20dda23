"""A bandwidth as the load: a memory's curve that was published without what was varied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from measure.loads.base import LoadKind, MemoryLoad, ThroughputLoad
from measure.units import Figure, format_bandwidth


@dataclass(frozen=True, repr=False)
class Bandwidth(MemoryLoad, ThroughputLoad):
    """The bandwidth of a memory, bytes/s: a result, so the curve may bend back.

    >>> Bandwidth([80e9]).text(80e9)
    '80.0 GB/s'
    """

    kind: ClassVar[LoadKind] = "bandwidth"
    law = "L = X R"
    name = "bandwidth"
    singular = "bandwidth"
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
