"""What every figure of a report shares: an empty figure with its axes, colours and marks.

Colours are Okabe and Ito's (Color Universal Design, 2008), told apart by the colour-blind. Figures are made for white
paper; a page that is shown on a dark screen replaces the colours named in ``DARK``, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import Array

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#666666",
)  # fmt: skip
PALETTE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, YELLOW, GREY)
INK, PAPER, GRID, ZERO = "#1a1a1a", "#ffffff", "#e6ebf0", "#c8d0d8"
DARK = {
    INK: "#e8e8e8", PAPER: "#16191d", GRID: "#2b3138", ZERO: "#4a545e", GREY: "#a6a6a6", BLUE: "#3d95d8",
    GREEN: "#12b88a", RED: "#ee7a1e",
}  # fmt: skip
"""What a colour becomes on a dark screen, where the dark ones would be lost."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "hexagon")
DASHES = ("solid", "dash", "dot")
LABELS = 3
"""An axis with fewer labels than these cannot be read off."""

LOG = {"type": "log", "dtick": 1, "minor": {"ticks": "outside"}}
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
    "margin": {"l": 70, "r": 30, "t": 20, "b": 60},
    "height": 520,
    "legend": {"orientation": "h", "yref": "container", "yanchor": "bottom", "y": 0, "x": 0},
}


def empty_figure(x_title: str, y_title: str, *, log_x: bool = False, log_y: bool = False) -> Figure:
    """A figure without curves: axes with their titles and units, the legend below.

    It is made at once and unchecked: an update of a figure takes plotly ten times as long, and checks five times.
    """
    from plotly.graph_objects import Figure

    x_axis = {"title": {"text": x_title}, "rangemode": "tozero", **(LOG if log_x else {}), **AXIS}
    y_axis = {"title": {"text": y_title}, "rangemode": "tozero", **(LOG if log_y else {}), **AXIS}
    return Figure(layout={**LAYOUT, "xaxis": x_axis, "yaxis": y_axis}, _validate=False)


def level_line(figure: Figure, y: float, line: Mapping[str, Any]) -> None:
    """A line across the figure at the height ``y``: plotly's add_hline takes five times as long."""
    figure.add_shape(type="line", x0=0, x1=1, xref="x domain", y0=y, y1=y, yref="y", line=line)


def upright_line(figure: Figure, x: float, line: Mapping[str, Any]) -> None:
    """A line from bottom to top at ``x``."""
    figure.add_shape(type="line", x0=x, x1=x, xref="x", y0=0, y1=1, yref="y domain", line=line)


def depth_ticks(figure: Figure, load: Array) -> None:
    """Ticks of a logarithmic x axis at the powers of two among the depths ``load`` (m,)."""
    ticks = [float(2**i) for i in range(17) if load.min() <= 2**i <= load.max()]
    figure.update_xaxes(
        tickmode="array", tickvals=ticks, ticktext=[f"{t:,g}" for t in ticks], dtick=None, minor=None
    )  # fmt: skip


def label_decades(figure: Figure) -> None:
    """Labels between the powers of ten on logarithmic axes that hold fewer than three of them.

    An axis whose ticks were chosen already, or that is too short for these as well, is left as it is.
    """
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        if axis.type != "log" or axis.dtick != 1 or axis.tickvals is not None:
            continue
        low, high = _reach(figure, axis)
        if not 0 < low < high or _whole_decades(low, high) >= LABELS:
            continue
        for digits in ((1, 2, 5), range(1, 10)):
            ticks = [t for t in _ticks(digits, low, high) if low * 0.97 <= t <= high * 1.03]
            if len(ticks) >= LABELS:
                between = {"ticks": "outside", "tickmode": "array", "tickvals": _ticks(range(1, 10), low, high)}
                axis.update(tickmode="array", tickvals=ticks, ticktext=[f"{t:,.10g}" for t in ticks], dtick=None,
                            minor=between)  # fmt: skip
                break


def _whole_decades(low: float, high: float) -> int:
    """How many powers of ten lie from ``low`` to ``high``."""
    return math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1


def _ticks(digits: Iterable[int], low: float, high: float) -> list[float]:
    """``digits`` times every power of ten around ``low`` to ``high``."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [float(f"{d}e{e}") for e in powers for d in digits]


def _reach(figure: Figure, axis: Any) -> tuple[float, float]:
    """The least and the largest positive value along ``axis``; (0, 0) where there is none."""
    if axis.range is not None:
        return float(10 ** axis.range[0]), float(10 ** axis.range[1])
    letter, number = axis.plotly_name[0], axis.plotly_name.removeprefix("xaxis").removeprefix("yaxis")
    found = [
        np.asarray(trace[letter], dtype=float) for trace in figure.data
        if trace[letter] is not None and (trace[f"{letter}axis"] or letter) == f"{letter}{number}"
        and np.asarray(trace[letter]).dtype.kind != "U"
    ]  # fmt: skip
    values = np.concatenate([np.zeros(0), *found])
    values = values[np.isfinite(values) & (values > 0)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)


def name_rows(figure: Figure, names: Sequence[str], each: int) -> None:
    """Names in place of numbers on the y axis, the first (at 0) on top; the figure is ``each`` pixels high a name."""
    figure.update_yaxes(
        tickmode="array", tickvals=list(range(len(names))), ticktext=[escape(n) for n in names], zeroline=False,
        range=[len(names) - 0.4, -0.6], showline=False, tickfont={"size": 13},
    )  # fmt: skip
    figure.update_layout(height=190 + each * len(names), showlegend=True)


def symbol_of(i: int) -> str:
    """The symbol of the ``i``-th of several: where the colours repeat, another symbol."""
    return SYMBOLS[(i + i // len(PALETTE)) % len(SYMBOLS)]


def spans_decade(values: Array) -> bool:
    """Whether an axis is easier to read in logarithms."""
    return bool(values.max() > 12 * values.min())


def faint(colour: str, opacity: float = 0.15) -> str:
    """A colour as a shade, through which lines are still seen."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def marker(colour: str) -> dict[str, Any]:
    """A point."""
    return {"size": 11, "color": colour}


def solid(colour: str) -> dict[str, Any]:
    """A line that stands for something predicted or measured."""
    return {"color": colour, "width": 3}


def dashed() -> dict[str, Any]:
    """A line that stands for a bound or an asymptote."""
    return {"color": GREY, "dash": "dash", "width": 2}
