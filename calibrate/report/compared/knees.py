"""The knee by every definition: where each lies along the predicted curve, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from operator import itemgetter

import numpy as np
import pandas as pd

from calibrate.fitting.predicted_curve import Prediction, grid, predict
from calibrate.inference.parameters import Array
from calibrate.knees.definitions import NamedKnee, knee_rows
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.figure_elements import at_among, axes_of, ends_beyond, figure_over
from calibrate.report.drawing import BLUE, INK, PALETTE, SYMBOLS, Drawing, interval, marker, solid
from calibrate.report.view import Column, FormattedTable, View

_DRAWN = 48
_COLOURS = tuple(c for c in PALETTE if c != BLUE)
_CAPTION = (
    'Each definition asks another question, so they need not agree; the page "The knee" of the manual says '
    "which to take when. Above: where each lies on the predicted curve; the table has the medians over all curves that "
    "fit, each at its own knee. Below: the load and its interval, which reaches the edge where "
    "it is open; open triangles are the interval over resampled repeats."
)


def knee_view(comparison: Comparison, found: Sequence[NamedKnee]) -> View:
    """The knees as marks on the curve, as intervals, and as a table."""
    figure = knee_figure(comparison, found) if any(k.knee.load is not None for k in found) else None
    return View(
        "knees",
        "knees",
        "The knee by each definition",
        _CAPTION,
        knee_table(found),
        figure,
        knee_text(comparison, found),
    )


def knee_figure(comparison: Comparison, found: Sequence[NamedKnee]) -> Drawing:
    """Throughput (or, of open sweeps, response time) over the load with the marks, and below it their intervals."""
    marked = [k for k in found if k.knee.load is not None]
    loads = np.array([v for k in marked for v in (k.knee.load, k.knee.low, k.knee.high) if v is not None])
    reach = np.append(comparison.points.load, loads)
    x_axis, y_axis = axes_of([comparison])
    axis = y_axis if comparison.is_open else x_axis
    figure = figure_over(comparison, reach, axis.title, log_y=False)
    column = "response_time_s" if comparison.is_open else "throughput_per_s"
    at = np.array([k.knee.load for k in marked], dtype=float)
    curve = _along(comparison, reach)
    places, drawn = ((v if comparison.is_open else np.log(at_among(reach, v))) for v in (at, curve.load))
    heights = axis.of(np.interp(places, drawn, getattr(curve, column)))  # on the line as it is drawn
    figure.add_scatter(
        x=at_among(reach, curve.load),
        y=axis.of(getattr(curve, column)),
        mode="lines",
        line=solid(BLUE),
        showlegend=False,
        name="predicted",
    )
    for i, one in enumerate(marked):
        colour, symbol, knee = _COLOURS[i % len(_COLOURS)], SYMBOLS[i % len(SYMBOLS)], one.knee
        x = at_among(reach, at[i : i + 1])
        # Knees of two definitions may coincide: of two marks at one place the later is smaller.
        mark = {**marker(colour, symbol, max(9, 24 - 5 * i)), "line": {"width": 1, "color": INK}}
        group = {"legendgroup": one.name, "name": escape(knee.definition)}
        figure.add_scatter(x=x, y=heights[i : i + 1], mode="markers", marker=mark, **group)
        figure.add_scatter(
            x=x,
            y=[len(marked) - i],
            yaxis="y2",
            mode="markers",
            marker=mark,
            showlegend=False,
            error_x=_bar(reach, one),
            **group,
        )
    if comparison.is_open:
        figure.update_yaxes(range=ends_beyond(heights, log=False))
    figure.update_layout(
        yaxis={"domain": [0.44, 1]},
        height=560 + 26 * len(marked),
        yaxis2={
            "domain": [0, 0.34],
            "range": [0.3, len(marked) + 0.7],
            "showticklabels": False,
            "zeroline": False,
            "showgrid": False,
            "title": {"text": "intervals"},
            "anchor": "x",
        },
    )
    figure.update_xaxes(anchor="y2")
    return figure


def knee_table(found: Sequence[NamedKnee]) -> pd.DataFrame:
    """A row for each definition, SI units."""
    return pd.DataFrame([one.to_dict() for one in found])


def knee_text(comparison: Comparison, found: Sequence[NamedKnee]) -> FormattedTable:
    """The same for people; columns that nothing is known of are left out."""
    header = (
        "knee",
        comparison.fit.load_name,
        f"{100 * comparison.fit.level:g} % interval",
        "throughput",
        "response",
        "",
    )
    words = (True, *(False,) * 4, True)
    columns = [Column[tuple[str, ...]](name, itemgetter(i), words[i]) for i, name in enumerate(header)]
    return FormattedTable.of(knee_rows(found, comparison.fit.load_kind), *columns)


def _along(comparison: Comparison, reach: Array) -> Prediction:
    ends = (reach.min(), reach.max())
    if np.allclose(ends, (comparison.smooth.load.min(), comparison.smooth.load.max())):
        return comparison.smooth
    if comparison.is_open:
        return predict(comparison.fit, np.linspace(0.02, 1.0, _DRAWN) * float(reach.max()))
    low = 0.0 if (reach == 0).any() else float(reach.min())
    return predict(comparison.fit, grid(low, float(reach.max()), _DRAWN))


def _bar(reach: Array, one: NamedKnee) -> dict[str, object] | None:
    """The posterior's interval as an error bar; open ends reach the edge of what is shown."""
    load = one.knee.load
    if load is None or (one.knee.low is None and one.knee.high is None):
        return None
    low = reach[reach > 0].min() if one.knee.low is None else one.knee.low
    high = reach.max() if one.knee.high is None else one.knee.high
    return interval(*np.array([[load], [low], [high]]), width=6)
