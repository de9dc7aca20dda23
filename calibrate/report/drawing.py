"""Drawings of reports as plain dictionaries for plotly: axes, colours and marks.

plotly.js draws in the browser what a :class:`Drawing` holds; ``to_plotly`` makes it a plotly Figure for a notebook.
Nothing is checked on the way, which takes plotly longer than all of the arithmetic.

Colours are Okabe and Ito's (Color Universal Design, 2008), for the colour-blind too. Figures are made for white
paper; a page that is shown on a dark screen replaces the colours named in ``DARK``, and no others.

An axis has the unit its quantity is drawn in, by its values, and its ticks where what was varied is drawn.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from measure.loads import ArrivalRate, Bandwidth, BufferSize, InjectedDelay, Load, MemoryLoad
from measure.units import CACHE_LINE_BYTES, format_bytes, format_duration

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GREY = "#CC79A7", "#56B4E9", "#B8A800", "#666666"
PALETTE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
INK, PAPER, GRID, ZERO = "#1a1a1a", "#ffffff", "#e6ebf0", "#c8d0d8"
DARK = {
    INK: "#e8e8e8",
    PAPER: "#16191d",
    GRID: "#2b3138",
    ZERO: "#4a545e",
    GREY: "#a6a6a6",
    BLUE: "#3d95d8",
    GREEN: "#12b88a",
    RED: "#ee7a1e",
}
"""Colour -> its replacement on a dark screen."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "hexagon")
DASHES = ("solid", "dash", "dot")
HEIGHT, PANEL_GAP = 520, 0.08
LARGEST = 3e38  # significant digits of numbers in a page: those of single precision
LOG = {"type": "log", "nticks": 4, "minorloglabels": "complete", "minor": {"ticks": "outside"}}
"""With four ticks wanted, plotly labels 2 and 5 of each power of ten below three of them, and only some above seven."""
AXIS = {
    "showline": True,
    "linecolor": GREY,
    "ticks": "outside",
    "automargin": True,
    "exponentformat": "none",
    "separatethousands": True,
    "gridcolor": GRID,
    "zerolinecolor": ZERO,
}
LAYOUT = {
    "template": {"data": {"scatter": [{"type": "scatter"}]}},  # plotly's "none"
    "font": {"size": 16, "color": INK},
    "paper_bgcolor": PAPER,
    "plot_bgcolor": PAPER,
    "margin": {"l": 70, "r": 30, "t": 30, "b": 60},  # at the top plotly's buttons
    "height": HEIGHT,
    "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
}
UNSEEN = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}


class Drawing:
    """Traces (``data``) and a ``layout`` in plotly's terms; None means plotly's default."""

    def __init__(self, **layout: Any) -> None:
        self.data: list[dict[str, Any]] = []
        self.layout: dict[str, Any] = _merged(LAYOUT, layout)

    def add_scatter(self, **trace: Any) -> None:
        """Lines or points."""
        self.data.append({"type": "scatter", **_merged({}, trace)})

    def add_line(self, x: Any, y: Any, name: str, line: Mapping[str, Any], **more: Any) -> None:
        """A line through ``x`` and ``y`` (m,)."""
        self.add_scatter(x=x, y=y, mode="lines", name=name, line=line, **more)

    def add_points(self, x: Any, y: Any, name: str, marker: Mapping[str, Any], **more: Any) -> None:
        """Points at ``x`` and ``y`` (m,)."""
        self.add_scatter(x=x, y=y, mode="markers", name=name, marker=marker, **more)

    def add_band(self, x: Array, low: Array, high: Array, colour: str, opacity: float = 0.15, **more: Any) -> None:
        """The shade between ``low`` and ``high`` (m,) along ``x``."""
        ends = {"x": np.concatenate([x, x[::-1]]), "y": np.concatenate([high, low[::-1]])}
        self.add_scatter(
            **ends, **UNSEEN, fill="toself", fillcolor=faint(colour, opacity), **{"showlegend": False, **more}
        )

    def add_to_legend(self, name: str, line: Mapping[str, Any]) -> None:
        """Add an entry to the legend alone, for a shape, which is not a trace."""
        self.add_line([None], [None], name, line)

    def add_upright(self, x: float, line: Mapping[str, Any]) -> None:
        """A line from bottom to top at ``x``."""
        self._add_upright("line", x, x, line=line)

    def add_shade(self, low: float, high: float, colour: str, opacity: float) -> None:
        """A shade from bottom to top between two x."""
        self._add_upright("rect", low, high, fillcolor=colour, opacity=opacity, line={"width": 0})

    def _add_upright(self, kind: str, x0: float, x1: float, **look: Any) -> None:
        shape = {"type": kind, "x0": x0, "x1": x1, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", **look}
        self.layout.setdefault("shapes", []).append(shape)

    def add_note(self, text: str, **place: Any) -> None:
        """Words in the figure."""
        self.layout.setdefault("annotations", []).append({"text": text, "showarrow": False, **place})

    def update_layout(self, **parts: Any) -> None:
        """Change the named parts of the layout."""
        self.layout = _merged(self.layout, parts)

    def update_xaxes(self, **parts: Any) -> None:
        """Change every x axis."""
        self._update_axes("x", parts)

    def update_yaxes(self, **parts: Any) -> None:
        """Change every y axis."""
        self._update_axes("y", parts)

    def _update_axes(self, letter: str, parts: Mapping[str, Any]) -> None:
        self.update_layout(**{name: parts for name in self.layout if name.startswith(f"{letter}axis")})

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.layout["height"])

    def to_dict(self) -> dict[str, Any]:
        """What plotly.js takes; arrays stay arrays."""
        return {"data": self.data, "layout": self.layout}

    def to_json(self) -> str:
        """``to_dict`` as JSON; an array of numbers as the base64 text that plotly.js reads."""
        return json.dumps(_plain(self.to_dict()), separators=(",", ":"), allow_nan=False)

    def to_plotly(self) -> Figure:
        """A plotly Figure, for a notebook."""
        from plotly.graph_objects import Figure

        return Figure(self.to_dict())


def _merged(whole: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    """``whole`` with ``parts`` in it, at every depth; a part that is None is taken out."""
    merged = dict(whole)
    for name, part in parts.items():
        if part is None:
            merged.pop(name, None)
        elif isinstance(part, Mapping):
            before = merged.get(name)
            merged[name] = _merged(before if isinstance(before, Mapping) else {}, part)
        else:
            merged[name] = part
    return merged


def _plain(value: Any) -> Any:
    """``value`` as JSON holds it; a number that JSON has no word for becomes null."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 1:
        drawn = np.clip(value, -LARGEST, LARGEST).astype("<f4")
        return {"dtype": "f4", "bdata": base64.b64encode(drawn.tobytes()).decode()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def empty_figure(x_title: str, y_title: str, *, log_x: bool = False, log_y: bool = False) -> Drawing:
    """A figure without curves: axes with their titles and units, the legend below."""
    return Drawing(xaxis=axis_layout(x_title, log=log_x), yaxis=axis_layout(y_title, log=log_y))


def axis_layout(title: str, *, log: bool = False, **more: Any) -> dict[str, Any]:
    """An axis from zero, or in logarithms."""
    return {"title": {"text": title}, "rangemode": "tozero", **(LOG if log else {}), **AXIS, **more}


def panels(x_title: str, y_titles: Sequence[str], *, log_x: bool = False, log_y: bool = False) -> Drawing:
    """A figure of panels, one above the other, with linked x axes; a trace names its axes: "x2" and "y2"."""
    count, axes = len(y_titles), dict[str, Any]()
    height = (1 - PANEL_GAP * (count - 1)) / count
    for i, title in enumerate(y_titles):
        number, top = str(i + 1) if i else "", 1 - i * (height + PANEL_GAP)
        last = {} if i == count - 1 else {"matches": f"x{count}", "showticklabels": False}
        x_axis = axis_layout("" if last else x_title, log=log_x, anchor=f"y{number}", rangemode="normal", **last)
        y_axis = axis_layout(title, log=log_y, anchor=f"x{number}", domain=[max(0, top - height), top])
        axes |= {f"xaxis{number}": x_axis, f"yaxis{number}": y_axis}
    return Drawing(**axes)


def ticks(places: Iterable[float], texts: Iterable[str] | None = None) -> dict[str, Any]:
    """Ticks at ``places`` alone, with their ``texts``; without, the numbers themselves."""
    at = list(places)
    return {
        "tickmode": "array",
        "tickvals": at,
        "ticktext": [f"{v:,.10g}" for v in at] if texts is None else list(texts),
        "minor": None,
    }


def time_axis(seconds: Array, axis: Axis) -> dict[str, Any]:
    """What a logarithmic axis of times changes where its numbers grow long: each power of ten in its own unit."""
    if axis.factor * seconds.max() < _LONG:
        return {}
    low, high = np.log10([seconds[seconds > 0].min(), seconds.max()])
    tens = [10.0**e for e in range(math.floor(low), math.ceil(high) + 1)]
    return {
        "title": {"text": "response time"},
        **ticks((axis.factor * t for t in tens), (format_duration(t, 1) for t in tens)),
    }


def depth_ticks(figure: Drawing, load: Array) -> None:
    """Ticks of a logarithmic x axis at the powers of two among the depths ``load`` (m,)."""
    figure.update_xaxes(**ticks(map(float, powers_of_two(load))))


def powers_of_two(values: Array) -> list[int]:
    """Those between the least and the greatest of ``values`` (m,)."""
    return [2**i for i in range(64) if values.min() <= 2**i <= values.max()]


def interval(value: Array, low: Array, high: Array, **look: Any) -> dict[str, Any]:
    """An error bar from ``low`` to ``high`` (m,) around ``value`` (m,)."""
    below, above = (np.maximum(np.asarray(gap, dtype=float), 0) for gap in (value - low, high - value))
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 2, **look}


def spans_decade(values: Array) -> bool:
    """Whether an axis is easier to read in logarithms."""
    return bool(values.max() > 12 * values.min())


def faint(colour: str, opacity: float = 0.15) -> str:
    """A colour as a transparent shade."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def marker(colour: str, symbol: str | list[str] = "circle", size: float = 11) -> dict[str, Any]:
    """A point."""
    return {"size": size, "color": colour, "symbol": symbol}


def outlined(colour: str, symbol: str = "circle", size: float = 11) -> dict[str, Any]:
    """A point whose open twin is drawn as strongly."""
    return {**marker(colour, symbol, size), "line": {"width": 2, "color": colour}}


def by_use(held_out: Mask) -> Iterator[tuple[Mask, str, str]]:
    """Which points were held out (drawn filled) and which calibrated on (open): mask, words, ending of the symbol."""
    for mask, words, ending in ((held_out, "held out", ""), (~held_out, "calibrated on", "-open")):
        if mask.any():
            yield mask, words, ending


def solid(colour: str) -> dict[str, Any]:
    """A line that stands for something predicted or measured."""
    return {"color": colour, "width": 3}


def dashed() -> dict[str, Any]:
    """A line that stands for a bound or an asymptote."""
    return {"color": GREY, "dash": "dash", "width": 2}


_MOST_TICKS = 12
_LONG = 1e4


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


THOUSANDS = 2000.0  # an axis that reaches so many of a unit of time has the next larger unit


def latency_axis(seconds: Array, name: str = "response time") -> Axis:
    """A time in s, ms, µs or ns, whichever keeps the middle value between 1 and 1000, unless others need the next."""
    middle, finite = float(np.nanmedian(seconds)), seconds[np.isfinite(seconds)]
    unit = 1000.0 ** np.floor(np.log10(middle) / 3) if middle > 0 else 1.0
    sample = 1000 * middle if finite.max(initial=0.0) >= THOUSANDS * unit else middle
    return _scaled(sample, name, ("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


def rate_axis(per_second: Array, name: str, unit: str = "") -> Axis:
    """A rate with a prefix before its ``unit``."""
    return _scaled(
        float(np.nanmax(per_second)), name, (f"M{unit}/s", 1e-6), (f"k{unit}/s", 1e-3), (f"{unit.strip() or 1}/s", 1.0)
    )


def throughput_axis(per_second: Array, load: Load | None = None) -> Axis:
    """Requests a second with a prefix, or GB/s where the requests are a memory's cache lines."""
    if isinstance(load, MemoryLoad):
        return Axis("bandwidth (GB/s)", CACHE_LINE_BYTES / 1e9)
    return rate_axis(per_second, "arrival rate" if isinstance(load, ArrivalRate) else "throughput", " requests")


def bandwidth_axis(bytes_per_second: Array) -> Axis:
    """Decimal bytes a second with a prefix."""
    peak = float(np.nanmax(bytes_per_second))
    return _scaled(peak, "bandwidth", ("GB/s", 1e-9), ("MB/s", 1e-6), ("kB/s", 1e-3))


@dataclass(frozen=True)
class AxisScale:
    """The x axis of the load: title, ticks, whether it is logarithmic, and the factor from SI to its unit.

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
    if isinstance(load, ArrivalRate):
        factor, prefix = (1e-3, "k ") if values.max() >= 1e4 else (1.0, "")
        return AxisScale(f"arrival rate ({prefix}requests/s)", log=False, factor=factor)
    if isinstance(load, Bandwidth):
        return AxisScale("bandwidth (GB/s)", log=False, factor=1e-9)
    if isinstance(load, BufferSize):
        return size_scale("buffer size", values)
    if isinstance(load, InjectedDelay):
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
