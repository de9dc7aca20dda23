"""The size of a buffer: it shows a machine's caches, and no queue describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from measure.loads.base import LoadKind, LoadWithUnit
from measure.units import format_bytes


@dataclass(frozen=True, repr=False)
class BufferSize(LoadWithUnit):
    """The size of the buffer that a program walks through, bytes. One access is in flight, so X R = 1.

    >>> BufferSize([32768]).text(32768)
    '32 KiB'
    """

    kind: ClassVar[LoadKind] = "buffer_size"
    law = "X R = 1"
    name = "buffer size"
    singular = "buffer size"
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
