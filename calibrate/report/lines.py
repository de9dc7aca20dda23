"""Lines of any origin against one axis, a panel for each kind of quantity: theory, predictions, measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.report.axes import Axis, latency_axis
from calibrate.report.drawing import DASHES, HEIGHT, PALETTE, SYMBOLS, Drawing, interval, marker, panels, solid
from calibrate.report.view import View

Kind = Literal["time", "rate", "number", "share"]
_PLAIN: Mapping[Kind, str] = {"time": "time", "rate": "rate per time unit", "number": "mean number", "share": "share"}
NAMES: Mapping[str, str] = {
    "W": "response time W",
    "Wq": "waiting time Wq",
    "X": "throughput X",
    "L": "number present L",
    "Lq": "number waiting Lq",
    "rho": "utilization rho",
}
"""What symbols are called along an axis."""
_PANEL_HEIGHT = 400


@dataclass(frozen=True)
class Line:
    """One quantity against x. ``name`` is whose it is ("" where there is one), ``symbol`` which quantity, of ``kind``.

    Lines of one ``curve`` have one colour, such as those measured and predicted. ``low`` and ``high`` are the ends of a
    band, or of the intervals of ``measured`` points.
    """

    name: str
    symbol: str
    kind: Kind
    x: Array
    y: Array
    low: Array | None = None
    high: Array | None = None
    measured: bool = False
    curve: str = ""


def table_of(lines: Sequence[Line], x: str) -> pd.DataFrame:
    """A row for each point: curve, quantity, x under its own name, value, low and high where they are known."""
    parts = []
    for line in lines:
        part = pd.DataFrame({"curve": line.name, "quantity": line.symbol, x: line.x, "value": line.y})
        if line.low is not None and line.high is not None:
            part = part.assign(low=line.low, high=line.high)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def figure_of(
    lines: Sequence[Line], x_title: str, *, in_seconds: bool, log_x: bool = False, log_y: bool = False
) -> Drawing:
    """The figure. ``in_seconds`` tells that times are in seconds and rates per second, so that axes have units."""
    kinds = list(dict.fromkeys(line.kind for line in lines))
    colours = list(dict.fromkeys(line.curve or line.name for line in lines))
    shown = {kind: [line for line in lines if line.kind == kind] for kind in kinds}
    symbols = {kind: list(dict.fromkeys(line.symbol for line in of)) for kind, of in shown.items()}
    axes = {
        kind: _axis(kind, symbols[kind], np.concatenate([line.y for line in of]), in_seconds=in_seconds)
        for kind, of in shown.items()
    }
    figure = panels(x_title, [axes[kind].title for kind in kinds], log_x=log_x, log_y=log_y)
    named: set[str] = set()
    mixed = any(len(names) > 1 for names in symbols.values())
    for row, kind in enumerate(kinds, 1):
        for line in shown[kind]:
            label = ", ".join(part for part in (line.symbol if mixed or not line.name else "", line.name) if part)
            look = _Look(
                escape(label),
                PALETTE[colours.index(line.curve or line.name) % len(PALETTE)],
                symbols[kind].index(line.symbol),
                in_legend=label not in named,
            )
            _draw(figure, line, look, axes[kind], str(row) if row > 1 else "")
            named.add(label)
    figure.update_layout(
        height=max(HEIGHT, _PANEL_HEIGHT * len(kinds) + 80), legend={"traceorder": "normal"}, showlegend=len(named) > 1
    )
    return figure


def view_of(
    lines: Sequence[Line], x: str, x_title: str, title: str, name: str, *, in_seconds: bool, log_x: bool, log_y: bool
) -> View:
    """The view with its figure and its table; ``name`` becomes that of its files, ``x`` its column's."""
    figure = figure_of(lines, x_title, in_seconds=in_seconds, log_x=log_x, log_y=log_y)
    bands = any(line.low is not None and not line.measured for line in lines)
    bars = any(line.low is not None and line.measured for line in lines)
    caption = " ".join(
        text
        for holds, text in (
            (bands, "A shade is where a single new measurement is expected."),
            (bars, "Bars: 95 % intervals over repeats."),
        )
        if holds
    )
    return View("lines", name, title, caption, table_of(lines, x), figure)


@dataclass(frozen=True)
class _Look:
    """What a line is called, its colour, and which of the quantities in its panel it is."""

    label: str
    colour: str
    number: int
    in_legend: bool


def _axis(kind: Kind, symbols: Sequence[str], values: Array, *, in_seconds: bool) -> Axis:
    name = NAMES.get(symbols[0], symbols[0]) if len(symbols) == 1 else ""
    known = values[np.isfinite(values)]
    if in_seconds and known.size and kind == "time":
        return latency_axis(known, name or "time")
    if in_seconds and known.size and kind == "rate":
        prefix, factor = next(((p, f) for p, f in (("M", 1e-6), ("k", 1e-3)) if known.max() * f >= 1), ("1", 1.0))
        return Axis(f"{name or 'rate'} ({prefix}/s)", factor)
    return Axis(name or _PLAIN[kind], 1.0)


def _draw(figure: Drawing, line: Line, look: _Look, axis: Axis, panel: str) -> None:
    legend = {
        "name": look.label,
        "legendgroup": look.label,
        "showlegend": look.in_legend,
        "hovertemplate": "%{x:.4g}<br>%{y:.4g}<extra>" + look.label + "</extra>",
    }
    place: dict[str, Any] = {"xaxis": f"x{panel}", "yaxis": f"y{panel}"}
    y = axis.of(line.y)
    ends = None if line.low is None or line.high is None else (axis.of(line.low), axis.of(line.high))
    if line.measured:
        mark = marker(look.colour, SYMBOLS[look.number % len(SYMBOLS)])
        bar = None if ends is None else interval(y, *ends)
        figure.add_scatter(x=line.x, y=y, mode="markers", marker=mark, error_y=bar, **legend, **place)
        return
    if ends is not None:
        figure.add_band(line.x, *ends, look.colour, **place)
    stroke = {**solid(look.colour), "dash": DASHES[look.number % len(DASHES)]}
    figure.add_scatter(x=line.x, y=y, mode="lines", line=stroke, **legend, **place)
