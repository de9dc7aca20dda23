"""Lines of any origin against one axis, a panel for each quantity: predictions and measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import numpy as np

from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array
from calibrate.report import drawing
from measure.loads import ClosedLoad, Load, MemoryLoad
from measure.units import CACHE_LINE_BYTES

Symbol = Literal["W", "X", "B", "rho"]
AXES: Mapping[Symbol, Callable[[Array], drawing.Axis]] = {
    "W": lambda seconds: drawing.latency_axis(seconds, "response time W"),
    "X": lambda per_s: drawing.rate_axis(per_s, "throughput X"),
    "B": drawing.bandwidth_axis,
    "rho": lambda _: drawing.Axis("utilization rho", 1.0),
}
"""The axis of each quantity, in the unit that suits its values."""
_PANEL_HEIGHT = 400


@dataclass(frozen=True)
class Line:
    """One quantity against x. ``name`` is whose it is ("" where there is one), ``symbol`` which quantity.

    Lines of one ``curve`` have one colour, such as those measured and predicted. ``low`` and ``high`` are the ends of a
    band, or of the intervals of ``measured`` points. All are in SI units.
    """

    name: str
    symbol: Symbol
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
    return [moved, Line(name, "W", curve.load, *seconds, curve=series)]


def rate_line(load: Load, name: str, at: Array, per_s: Array, *ends: Array, measured: bool = False) -> Line:
    """Requests a second against the ``load``, or bytes where they are a memory's cache lines; ``ends`` of a band."""
    each = CACHE_LINE_BYTES if isinstance(load, MemoryLoad) else 1
    low, high = (each * end for end in ends) if ends else (None, None)
    return Line(name, "B" if isinstance(load, MemoryLoad) else "X", at, each * per_s, low, high, measured=measured)


def figure_of(lines: Sequence[Line], x_title: str, *, log_x: bool = False, log_y: bool = False) -> drawing.Drawing:
    """The figure: a panel for each quantity, with its unit; the lines of a curve in one colour."""
    symbols = list(dict.fromkeys(line.symbol for line in lines))
    colours = list(dict.fromkeys(line.curve or line.name for line in lines))
    axes = {symbol: _axis([line for line in lines if line.symbol == symbol]) for symbol in symbols}
    figure = drawing.panels(x_title, [axis.title for axis in axes.values()], log_x=log_x, log_y=log_y)
    named: set[str] = set()
    for line in sorted(lines, key=lambda line: symbols.index(line.symbol)):
        label, row = line.name or line.symbol, symbols.index(line.symbol)
        colour = drawing.PALETTE[colours.index(line.curve or line.name) % len(drawing.PALETTE)]
        _draw(figure, line, colour, axes[line.symbol], str(row + 1) if row else "", in_legend=label not in named)
        named.add(label)
    height = max(drawing.HEIGHT, _PANEL_HEIGHT * len(symbols) + 80)
    figure.update_layout(height=height, legend={"traceorder": "normal"}, showlegend=len(named) > 1)
    return figure


def over_load(lines: Sequence[Line], load: Load, *, log_y: bool = False) -> drawing.Drawing:
    """The figure over a load; depths in logarithms, with ticks at powers of two."""
    closed = isinstance(load, ClosedLoad)
    figure = figure_of(lines, load.named, log_x=closed, log_y=log_y)
    if closed:
        drawing.depth_ticks(figure, lines[0].x)
    return figure


def _axis(lines: Sequence[Line]) -> drawing.Axis:
    values = np.concatenate([line.y for line in lines])
    return AXES[lines[0].symbol](values[np.isfinite(values)])


def _draw(figure: drawing.Drawing, line: Line, colour: str, axis: drawing.Axis, panel: str, *, in_legend: bool) -> None:
    label, y = escape(line.name or line.symbol), axis.of(line.y)
    place: dict[str, Any] = {"x": line.x, "xaxis": f"x{panel}", "yaxis": f"y{panel}"}
    legend = {"name": label, "legendgroup": label, "showlegend": in_legend}
    legend["hovertemplate"] = "%{x:.4g}<br>%{y:.4g}<extra>" + label + "</extra>"
    ends = None if line.low is None or line.high is None else (axis.of(line.low), axis.of(line.high))
    if line.measured:
        bar = None if ends is None else drawing.interval(y, *ends)
        figure.add_scatter(y=y, mode="markers", marker=drawing.marker(colour), error_y=bar, **legend, **place)
        return
    if ends is not None:
        figure.add_band(low=ends[0], high=ends[1], colour=colour, **place)
    figure.add_scatter(y=y, mode="lines", line=drawing.solid(colour), **legend, **place)
