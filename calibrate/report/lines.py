"""Lines of any origin against one axis, a panel for each kind of quantity: theory, predictions, measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.report.axes import Axis, latency_axis
from calibrate.report.drawing import AXIS, DASHES, LAYOUT, LOG, PALETTE, SYMBOLS, faint
from calibrate.report.view import View

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Kind = Literal["time", "rate", "number", "share"]
_PLAIN: Mapping[Kind, str] = {
    "time": "time", "rate": "rate per time unit", "number": "mean number", "share": "share",
}  # fmt: skip
NAMES: Mapping[str, str] = {
    "W": "response time W", "Wq": "waiting time Wq", "X": "throughput X", "L": "number present L",
    "Lq": "number waiting Lq", "rho": "utilization rho",
}  # fmt: skip
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
) -> Figure:
    """The figure. ``in_seconds`` tells that times are in seconds and rates per second, so that axes have units."""
    from plotly.subplots import make_subplots

    kinds = list(dict.fromkeys(line.kind for line in lines))
    colours = list(dict.fromkeys(line.curve or line.name for line in lines))
    figure = make_subplots(rows=len(kinds), cols=1, shared_xaxes=True, vertical_spacing=0.08)
    figure.update_layout(**{**LAYOUT, "height": max(520, _PANEL_HEIGHT * len(kinds) + 80)})
    figure.update_layout(legend={"traceorder": "normal"})
    figure.update_xaxes(**({"type": "log"} if log_x else {}), **AXIS)
    figure.update_xaxes(title=x_title, row=len(kinds))
    told: set[str] = set()
    mixed = any(len({line.symbol for line in lines if line.kind == kind}) > 1 for kind in kinds)
    for row, kind in enumerate(kinds, 1):
        shown = [line for line in lines if line.kind == kind]
        symbols = list(dict.fromkeys(line.symbol for line in shown))
        axis = _axis(kind, symbols, np.concatenate([line.y for line in shown]), in_seconds=in_seconds)
        figure.update_yaxes(title=axis.title, row=row, rangemode="tozero", **(LOG if log_y else {}), **AXIS)
        for line in shown:
            label = ", ".join(part for part in (line.symbol if mixed or not line.name else "", line.name) if part)
            look = _Look(escape(label), PALETTE[colours.index(line.curve or line.name) % len(PALETTE)],
                         symbols.index(line.symbol), in_legend=label not in told)  # fmt: skip
            _draw(figure, line, look, axis, row)
            told.add(label)
    figure.update_layout(showlegend=len(told) > 1)
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
        for told, text in (
            (bands, "A shade is where a single new measurement is expected."),
            (bars, "Bars: 95 % intervals over repeats."),
        )
        if told
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
    """The axis of a panel, named by its quantity where it has one only."""
    name = NAMES.get(symbols[0], symbols[0]) if len(symbols) == 1 else ""
    known = values[np.isfinite(values)]
    if in_seconds and known.size and kind == "time":
        axis = latency_axis(known)
        return Axis(axis.title.replace("response time", name or "time"), axis.factor)
    if in_seconds and known.size and kind == "rate":
        prefix, factor = next(((p, f) for p, f in (("M", 1e-6), ("k", 1e-3)) if known.max() * f >= 1), ("1", 1.0))
        return Axis(f"{name or 'rate'} ({prefix}/s)", factor)
    return Axis(name or _PLAIN[kind], 1.0)


def _draw(figure: Figure, line: Line, look: _Look, axis: Axis, row: int) -> None:
    place = {"row": row, "col": 1}
    told = {
        "name": look.label, "legendgroup": look.label, "showlegend": look.in_legend,
        "hovertemplate": "%{x:.4g}<br>%{y:.4g}<extra>" + look.label + "</extra>",
    }  # fmt: skip
    y, low, high = (None if v is None else axis.of(v) for v in (line.y, line.low, line.high))
    if line.measured:
        reach = None if low is None or high is None or y is None else {
            "type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low,
        }  # fmt: skip
        marker = {"size": 11, "color": look.colour, "symbol": SYMBOLS[look.number % len(SYMBOLS)]}
        figure.add_scatter(x=line.x, y=y, mode="markers", marker=marker, error_y=reach, **told, **place)
        return
    if low is not None and high is not None:
        unseen = {"mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
        figure.add_scatter(x=line.x, y=low, **unseen, **place)
        figure.add_scatter(x=line.x, y=high, **unseen, fill="tonexty", fillcolor=faint(look.colour), **place)
    stroke = {"color": look.colour, "width": 3, "dash": DASHES[look.number % len(DASHES)]}
    figure.add_scatter(x=line.x, y=y, mode="lines", line=stroke, **told, **place)
