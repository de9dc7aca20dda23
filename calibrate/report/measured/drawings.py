"""Lines of what was measured, with their intervals over repeats."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from calibrate.report.axes import Axis, AxisScale
from calibrate.report.drawing import DASHES, PALETTE, SYMBOLS, Drawing, empty_figure, interval, marker, spans_decade
from calibrate.report.measured.points import end_of

MOST_LINES = len(PALETTE) * len(DASHES)


def lines(parts: Sequence[tuple[str, pd.DataFrame, str]], x: str, scale: AxisScale, axis: Axis) -> Drawing:
    """The first parts (name, rows in the order of the line, column of y) against the column ``x``.

    The y axis is in logarithms where the values span a decade.
    """
    values = np.concatenate([rows[column].to_numpy(float) for _, rows, column in parts])
    figure = empty_figure(scale.title, axis.title, log_y=spans_decade(values[np.isfinite(values)]))
    for i, (name, rows, column) in enumerate(parts[:MOST_LINES]):
        colour = PALETTE[i % len(PALETTE)]
        figure.add_scatter(
            x=scale.at(rows[x].to_numpy(float)),
            y=axis.of(rows[column].to_numpy(float)),
            mode="lines+markers",
            name=escape(name) or "all points",
            line={"color": colour, "width": 2, "dash": DASHES[i // len(PALETTE) % len(DASHES)]},
            marker=marker(colour, SYMBOLS[i % len(SYMBOLS)], 9),
            error_y=_error(rows, column, axis),
            showlegend=True,
        )
    scale.apply(figure)
    return figure


def _error(rows: pd.DataFrame, column: str, axis: Axis) -> dict[str, Any] | None:
    low, high = end_of(column, "low"), end_of(column, "high")
    if low not in rows or not rows[low].notna().any():
        return None
    return interval(*(axis.of(rows[c].to_numpy(float)) for c in (column, low, high)), thickness=1.5, width=4)
