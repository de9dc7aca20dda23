"""Readable axes: the unit a quantity is drawn in, by its values; where what was varied is drawn, and its ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.report.drawing import LOG, Drawing, powers_of_two, ticks
from measure.loads import LOADS, Load
from measure.units import CACHE_LINE_BYTES, format_bytes

_MOST_TICKS = 12


@dataclass(frozen=True)
class Axis:
    """A title with its unit, and the factor from SI to that unit."""

    title: str
    factor: float

    def of(self, values: Array) -> Array:
        """SI values in this axis's unit."""
        return np.asarray(values, dtype=float) * self.factor


def _scaled(value: float, title: str, *units: tuple[str, float]) -> Axis:
    """The axis in the first of ``units`` (name, factor from SI) in which ``value`` is at least 1, else the last."""
    unit, factor = next((one for one in units if value * one[1] >= 1), units[-1])
    return Axis(f"{title} ({unit})", factor)


def latency_axis(seconds: Array, name: str = "response time") -> Axis:
    """A time in s, ms, µs or ns, whichever keeps the middle value between 1 and 1000."""
    return _scaled(float(np.nanmedian(seconds)), name, ("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


def rate_axis(per_second: Array, name: str, unit: str = "") -> Axis:
    """A rate with a prefix before its ``unit``."""
    return _scaled(
        float(np.nanmax(per_second)), name, (f"M{unit}/s", 1e-6), (f"k{unit}/s", 1e-3), (f"{unit.strip() or 1}/s", 1.0)
    )


def throughput_axis(per_second: Array, load: Load = LOADS["queue_depth"]) -> Axis:
    """Requests a second with a prefix, or GB/s where the requests are a memory's cache lines."""
    if load.is_memory:
        return Axis("bandwidth (GB/s)", CACHE_LINE_BYTES / 1e9)
    return rate_axis(per_second, "arrival rate" if load.is_open else "throughput", " requests")


def bandwidth_axis(bytes_per_second: Array) -> Axis:
    """Decimal bytes a second with a prefix."""
    peak = float(np.nanmax(bytes_per_second))
    return _scaled(peak, "bandwidth", ("GB/s", 1e-9), ("MB/s", 1e-6), ("kB/s", 1e-3))


@dataclass(frozen=True)
class AxisScale:
    """The x axis of what was varied: title, ticks, whether in logarithms, and the factor from SI to its unit.

    On a logarithmic axis a load of zero is drawn at ``least``, and its tick says 0.
    """

    title: str
    ticks: tuple[tuple[float, str], ...] = ()
    log: bool = True
    factor: float = 1.0
    least: float = 0.0

    def at(self, values: Array) -> Array:
        """Where ``values`` are drawn."""
        return np.maximum(np.asarray(values, dtype=float) * self.factor, self.least)

    def apply(self, figure: Drawing) -> None:
        """Make it the x axis of ``figure``."""
        figure.update_xaxes(title={"text": self.title}, **(LOG if self.log else {}))
        if self.ticks:
            figure.update_xaxes(**ticks((v for v, _ in self.ticks), (t for _, t in self.ticks)))


def load_scale(load: Load, title: str, values: Array) -> AxisScale:
    """The axis of the loads ``values`` (m,): depths and delays in logarithms, rates and bandwidths from zero."""
    if load.is_open:
        factor, prefix = (1e-3, "k ") if values.max() >= 1e4 else (1.0, "")
        return AxisScale(f"arrival rate, as measured ({prefix}requests/s)", log=False, factor=factor)
    if load.is_bandwidth:
        return AxisScale("bandwidth (GB/s)", log=False, factor=1e-9)
    if load.is_size:
        return size_scale("buffer size", values)
    if load.is_delay:
        positive = values[values > 0]
        least = float(positive.min() / 3) if (values == 0).any() else 0.0
        tens = [10.0**e for e in range(-3, 10) if positive.min() <= 10.0**e <= positive.max()]
        return AxisScale(title, (*([(least, "0")] if least else []), *((v, f"{v:,g}") for v in tens)), least=least)
    return AxisScale(title, tuple((float(n), f"{n:,}") for n in powers_of_two(values)))


def size_scale(name: str, values: Array) -> AxisScale:
    """The axis of a size in bytes: ticks at the sizes themselves where they are few, at powers of two otherwise."""
    known = np.unique(values[np.isfinite(values)])
    marked = known.tolist() if len(known) <= _MOST_TICKS else powers_of_two(known)[::2]
    return AxisScale(name, tuple((v, format_bytes(v)) for v in marked))
