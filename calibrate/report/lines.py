"""Lines of any origin against one axis, a panel for each kind of quantity: predictions and measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array
from calibrate.report.drawing import (
    HEIGHT,
    PALETTE,
    Axis,
    Drawing,
    bandwidth_axis,
    interval,
    latency_axis,
    marker,
    panels,
    rate_axis,
    solid,
)
from measure.loads import Load
from measure.units import CACHE_LINE_BYTES

Measure = Literal["time", "rate", "bandwidth", "number", "share"]
NAMES: Mapping[str, str] = {
    "W": "response time W",
    "X": "throughput X",
    "B": "bandwidth",
    "L": "number present L",
    "rho": "utilization rho",
}
"""What symbols are called along an axis."""
_PANEL_HEIGHT = 400


@dataclass(frozen=True)
class Line:
    """One quantity against x. ``name`` is whose it is ("" where there is one), ``symbol`` which quantity.

    Lines of one ``curve`` have one colour, such as those measured and predicted. ``low`` and ``high`` are the ends of a
    band, or of the intervals of ``measured`` points. All are in SI units.
    """

    name: str
    symbol: str
    measure: Measure
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    measured: bool = False
    curve: str = ""


def lines_of(curve: Prediction, load: Load, name: str = "predicted", series: str = "") -> list[Line]:
    """The predicted throughput (a memory's bandwidth) and response time over the ``load``, with their bands."""
    per_s = (curve.throughput_per_s, curve.throughput_low_per_s, curve.throughput_high_per_s)
    seconds = (curve.response_time_s, curve.response_time_low_s, curve.response_time_high_s)
    moved = replace(rate_line(load, name, curve.load, *per_s), curve=series)
    return [moved, Line(name, "W", "time", curve.load, *seconds, curve=series)]


def rate_line(load: Load, name: str, at: Array, per_s: Array, *ends: Array, measured: bool = False) -> Line:
    """Requests a second against the ``load``, or bytes where they are a memory's cache lines; ``ends`` of a band."""
    measure: Measure = "bandwidth" if load.is_memory else "rate"
    symbol, each = ("B", CACHE_LINE_BYTES) if load.is_memory else ("X", 1)
    low, high = (each * end for end in ends) if ends else (None, None)
    return Line(name, symbol, measure, at, each * per_s, low, high, measured=measured)


def table_of(lines: Sequence[Line], x: str) -> pd.DataFrame:
    """A row for each point: curve, quantity, x under its own name, value, low and high where they are known."""
    parts = []
    for line in lines:
        part = pd.DataFrame({"curve": line.name, "quantity": line.symbol, x: line.x, "value": line.y})
        if line.low is not None and line.high is not None:
            part = part.assign(low=line.low, high=line.high)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def figure_of(lines: Sequence[Line], x_title: str, *, log_x: bool = False, log_y: bool = False) -> Drawing:
    """The figure: a panel for each kind, with its unit; the lines of a curve in one colour."""
    kinds = list(dict.fromkeys(line.measure for line in lines))
    colours = list(dict.fromkeys(line.curve or line.name for line in lines))
    axes = {kind: _axis([line for line in lines if line.measure == kind]) for kind in kinds}
    figure = panels(x_title, [axis.title for axis in axes.values()], log_x=log_x, log_y=log_y)
    named: set[str] = set()
    for line in sorted(lines, key=lambda line: kinds.index(line.measure)):
        label, row = line.name or line.symbol, kinds.index(line.measure)
        colour = PALETTE[colours.index(line.curve or line.name) % len(PALETTE)]
        _draw(figure, line, colour, axes[line.measure], str(row + 1) if row else "", in_legend=label not in named)
        named.add(label)
    height = max(HEIGHT, _PANEL_HEIGHT * len(kinds) + 80)
    figure.update_layout(height=height, legend={"traceorder": "normal"}, showlegend=len(named) > 1)
    return figure


def _axis(lines: Sequence[Line]) -> Axis:
    """The axis of one kind, in the unit that suits its values."""
    values = np.concatenate([line.y for line in lines])
    known, measure, name = values[np.isfinite(values)], lines[0].measure, NAMES.get(lines[0].symbol, lines[0].symbol)
    if known.size and measure == "time":
        return latency_axis(known, name)
    if known.size and measure == "bandwidth":
        return bandwidth_axis(known)
    if known.size and measure == "rate":
        return rate_axis(known, name)
    return Axis(name, 1.0)


def _draw(figure: Drawing, line: Line, colour: str, axis: Axis, panel: str, *, in_legend: bool) -> None:
    label, y = escape(line.name or line.symbol), axis.of(line.y)
    place: dict[str, Any] = {"x": line.x, "xaxis": f"x{panel}", "yaxis": f"y{panel}"}
    legend = {"name": label, "legendgroup": label, "showlegend": in_legend}
    legend["hovertemplate"] = "%{x:.4g}<br>%{y:.4g}<extra>" + label + "</extra>"
    ends = None if line.low is None or line.high is None else (axis.of(line.low), axis.of(line.high))
    if line.measured:
        bar = None if ends is None else interval(y, *ends)
        figure.add_scatter(y=y, mode="markers", marker=marker(colour), error_y=bar, **legend, **place)
        return
    if ends is not None:
        figure.add_band(low=ends[0], high=ends[1], colour=colour, **place)
    figure.add_scatter(y=y, mode="lines", line=solid(colour), **legend, **place)
