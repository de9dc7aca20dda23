"""Readable axes: which unit a quantity is drawn in, chosen once per page from the values themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array
from measure.loads import LOADS, Load
from measure.units import CACHE_LINE_BYTES


@dataclass(frozen=True)
class Axis:
    """A title with its unit, and the factor from SI to that unit."""

    title: str
    factor: float

    def of(self, values: Array) -> Array:
        """SI values in this axis's unit."""
        return np.asarray(values, dtype=float) * self.factor


def latency_axis(seconds: Array, name: str = "response time") -> Axis:
    """A time in s, ms, us or ns, whichever keeps the middle value between 1 and 1000."""
    middle = float(np.nanmedian(seconds))
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if middle * factor >= 1:
            return Axis(f"{name} ({unit})", factor)
    return Axis(f"{name} (ns)", 1e9)


def throughput_axis(per_second: Array, load: Load = LOADS["queue_depth"]) -> Axis:
    """Requests a second with a prefix, or GB/s where the requests are a memory's cache lines."""
    if load.is_memory:
        return Axis("bandwidth (GB/s)", CACHE_LINE_BYTES / 1e9)
    peak, what = float(np.nanmax(per_second)), "arrival rate" if load.is_open else "throughput"
    for prefix, factor in (("M", 1e-6), ("k", 1e-3)):
        if peak * factor >= 1:
            return Axis(f"{what} ({prefix} requests/s)", factor)
    return Axis(f"{what} (requests/s)", 1.0)


def bandwidth_axis(bytes_per_second: Array) -> Axis:
    """Decimal bytes a second with a prefix."""
    peak = float(np.nanmax(bytes_per_second))
    for unit, factor in (("GB/s", 1e-9), ("MB/s", 1e-6)):
        if peak * factor >= 1:
            return Axis(f"bandwidth ({unit})", factor)
    return Axis("bandwidth (kB/s)", 1e-3)
