"""Readable axes: the unit a quantity is drawn in, by its values; where what was varied is drawn, and its ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.report.drawing import LOG, Drawing, ticks
from measure.loads import LOADS, Load
from measure.units import CACHE_LINE_BYTES, format_bytes

if TYPE_CHECKING:
    from calibrate.report.measured.points import MeasuredData

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
    """An axis for what was varied. ``values`` (m,) are all that will be drawn; ``log``: it is in logarithms.

    ``ends`` are those of the axis, in its unit, where they are not left to the figure. On a logarithmic axis a load of
    zero is drawn left of the smallest other one, and its tick says 0.
    """

    title: str
    values: Array
    ticks: tuple[tuple[float, str], ...]
    log: bool
    factor: float = 1.0
    ends: tuple[float, float] | None = None

    def at(self, values: Array) -> Array:
        """Where ``values`` are drawn."""
        scaled = np.asarray(values, dtype=float) * self.factor
        return np.maximum(scaled, self._zero()) if self.log else scaled

    def apply(self, figure: Drawing) -> None:
        """Make it the x axis of ``figure``."""
        figure.update_xaxes(title={"text": self.title}, **(LOG if self.log else {}))
        if self.ticks:
            figure.update_xaxes(
                **ticks(self.at(np.array([v for v, _ in self.ticks])).tolist(), (t for _, t in self.ticks))
            )
        if self.ends is not None:
            figure.update_xaxes(range=list(self.ends))

    def _zero(self) -> float:
        positive = self.values[self.values > 0] * self.factor
        return float(positive.min() / 3) if len(positive) and (self.values == 0).any() else 0.0


def load_scale(measured: MeasuredData) -> AxisScale:
    """The axis of the load: depths and delays in logarithms, rates and bandwidths from zero."""
    values = np.unique(measured.table["load"].to_numpy(float))
    if measured.load_type.is_open:
        factor, prefix = (1e-3, "k ") if values.max() >= 1e4 else (1.0, "")
        return AxisScale(f"arrival rate, as measured ({prefix}requests/s)", values, (), log=False, factor=factor)
    if measured.load_type.is_bandwidth:
        return AxisScale("bandwidth (GB/s)", values, (), log=False, factor=1e-9)
    if measured.load_type.is_delay:
        tens = [10.0**e for e in range(-3, 10) if values[values > 0].min(initial=1.0) <= 10.0**e <= values.max()]
        return AxisScale(
            measured.load_name, values, tuple((v, f"{v:g}") for v in [*values[values == 0], *tens]), log=True
        )
    if measured.load_type.is_size:
        return size_scale("buffer size", values)
    return AxisScale(measured.load_name, values, tuple((v, f"{v:g}") for v in _ticks(values)), log=True)


def size_scale(name: str, values: Array) -> AxisScale:
    """The axis of a size in bytes."""
    known = np.unique(values[np.isfinite(values)])
    return AxisScale(name, known, tuple((v, format_bytes(v)) for v in _ticks(known)), log=True)


def mix_scale(values: Array) -> AxisScale:
    """The axis of the share of reads, in percent."""
    known = np.unique(values[np.isfinite(values)])
    ends = (100 * float(known.min()) - 4, 100 * float(known.max()) + 4)
    ticks = tuple((v, f"{100 * v:g}") for v in _ticks(known))
    return AxisScale("reads (%)", known, ticks, log=False, factor=100.0, ends=ends)


def _ticks(values: Array) -> list[float]:
    """The values themselves where they are few, powers of two otherwise."""
    if len(values) <= _MOST_TICKS:
        return [float(v) for v in values]
    return [float(2**i) for i in range(64) if values[0] <= 2**i <= values[-1]]
