"""Figures of what was measured: lines with their intervals, bars side by side, heat maps, two axes at once.

Each is a pure function of a table's rows; which rows, and what they mean, is decided by the views.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.report.axes import Axis, AxisScale
from calibrate.report.drawing import (
    DASHES,
    INK,
    PALETTE,
    SYMBOLS,
    Drawing,
    empty_figure,
    interval,
    marker,
    spans_decade,
)
from calibrate.report.measured.points import end_of

MOST_LINES = len(PALETTE) * len(DASHES)


def lines(rows: pd.DataFrame, x: str, y: str, scale: AxisScale, axis: Axis, *, by: str, sort: bool = True) -> Drawing:
    """``y`` against ``x``, a line for each value of ``by``, with the interval over repeats as error bars.

    A line goes from left to right, or, not sorted, through its points in their order.
    """
    figure = _figure(scale.title, axis.title, axis.of(rows[y].to_numpy(float)))
    for i, (name, group) in enumerate(_groups(rows, by)):
        ordered = group.sort_values(x) if sort else group
        _line(figure, i, name, scale.at(ordered[x].to_numpy(float)), ordered, y, axis)
    scale.apply(figure)
    return figure


def several_lines(rows: pd.DataFrame, x: str, columns: Mapping[str, str], scale: AxisScale, axis: Axis) -> Drawing:
    """Several ``columns`` (name of the column: its label) of the same rows against ``x``."""
    ordered = rows.sort_values(x)
    known = {c: label for c, label in columns.items() if ordered[c].notna().any()}
    values = ordered[list(known)].to_numpy(float)
    figure = _figure(scale.title, axis.title, axis.of(values[np.isfinite(values)]))
    for i, (column, label) in enumerate(known.items()):
        _line(figure, i, label, scale.at(ordered[x].to_numpy(float)), ordered, column, axis)
    scale.apply(figure)
    return figure


def bars(rows: pd.DataFrame, labels: str, columns: Mapping[str, str], axis: Axis) -> Drawing:
    """Bars side by side, one group for each row (named by its column ``labels``), one bar for each of ``columns``.

    Values that span a decade become marks on a logarithmic axis, where a bar has no length.
    """
    values = rows[list(columns)].to_numpy(float)
    marks = spans_decade(values[np.isfinite(values)])
    figure = empty_figure("", axis.title, log_y=marks)
    for i, (column, label) in enumerate(columns.items()):
        trace: dict[str, Any] = {
            "x": [escape(str(v)) for v in rows[labels]],
            "y": axis.of(rows[column].to_numpy(float)),
            "name": label,
            "error_y": _error(rows, column, axis),
            "hovertemplate": "%{x}<br>%{y:.4g}<extra>" + label + "</extra>",
        }
        colour = PALETTE[i % len(PALETTE)]
        if marks:
            figure.add_scatter(mode="markers", marker=marker(colour, SYMBOLS[i % len(SYMBOLS)], 14), **trace)
        else:
            figure.add_bar(marker={"color": colour, "pattern": {"shape": ("", "/", ".", "x")[i % 4]}}, **trace)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category", rangemode=None)
    return figure


def heat(
    cells: pd.DataFrame, axis: Axis, titles: tuple[str, str], names: tuple[Sequence[str], Sequence[str]]
) -> Drawing:
    """A heat map of ``cells`` (rows from the bottom up), the value in every cell; ``names`` of columns and of rows."""
    values = axis.of(cells.to_numpy(float))
    figure = empty_figure(*titles)
    figure.add_heatmap(
        x=list(names[0]),
        y=list(names[1]),
        z=values,
        colorscale="Cividis",
        texttemplate="%{text}",
        text=[[_in_cell(v) for v in row] for row in values],
        colorbar={"title": {"text": axis.title, "side": "right"}},
        hovertemplate="%{y}<br>%{x}<br>%{z:.4g}<extra></extra>",
    )
    figure.update_xaxes(type="category", rangemode=None)
    figure.update_yaxes(type="category", rangemode=None)
    figure.update_layout(height=140 + 60 * max(len(names[1]), 4), margin={"t": 40})
    return figure


def _in_cell(value: float) -> str:
    """Three digits, and no power of ten where a whole number is as short; nothing for what was not measured."""
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"


def _figure(x_title: str, y_title: str, values: Array) -> Drawing:
    """An empty figure whose y axis suits ``values``: in logarithms over a decade."""
    return empty_figure(x_title, y_title, log_y=spans_decade(values))


def _line(figure: Drawing, i: int, name: str, x: Array, rows: pd.DataFrame, y: str, axis: Axis) -> None:
    colour = PALETTE[i % len(PALETTE)]
    figure.add_scatter(
        x=x,
        y=axis.of(rows[y].to_numpy(float)),
        mode="lines+markers",
        name=escape(name) or "all points",
        line={"color": colour, "width": 2, "dash": DASHES[i // len(PALETTE) % len(DASHES)]},
        marker=marker(colour, SYMBOLS[i % len(SYMBOLS)], 9),
        error_y=_error(rows, y, axis),
        showlegend=True,
    )
    flagged = (rows["outlier"] != "").to_numpy() if "outlier" in rows else np.zeros(len(rows), bool)
    if flagged.any():
        figure.add_scatter(
            x=x[flagged],
            y=axis.of(rows[y].to_numpy(float))[flagged],
            mode="markers",
            name="outlier, see the audit",
            legendgroup="outlier",
            showlegend=not any(t.get("legendgroup") == "outlier" for t in figure.data),
            marker={"symbol": "circle-open", "size": 20, "color": INK, "line": {"width": 2}},
            hoverinfo="skip",
        )


def _error(rows: pd.DataFrame, column: str, axis: Axis) -> dict[str, Any] | None:
    low, high = end_of(column, "low"), end_of(column, "high")
    if low not in rows or not rows[low].notna().any():
        return None
    return interval(*(axis.of(rows[c].to_numpy(float)) for c in (column, low, high)), thickness=1.5, width=4)


def _groups(rows: pd.DataFrame, by: str) -> Iterable[tuple[str, pd.DataFrame]]:
    for count, (name, group) in enumerate(rows.groupby(by, sort=False)):
        if count == MOST_LINES:
            return
        yield str(name), group
