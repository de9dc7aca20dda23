"""Views of the results, throughput and latency, against what was varied."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from calibrate.report.axes import AxisScale
from calibrate.report.measured.drawings import lines
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import axis_of, columns_of, rate_of, word_of
from calibrate.report.view import View

VARIED = {"load": "load", "size_bytes": "size", "read_fraction": "mix"}
"""What a column of the table is called in the name of a view."""


def results_of(measured: MeasuredData, rows: pd.DataFrame) -> list[str]:
    """The columns that ``rows`` have results in: how much was done, and the mean latency."""
    return [column for column in (rate_of(measured), "latency_s") if rows[column].notna().any()]


def against(
    measured: MeasuredData,
    rows: pd.DataFrame,
    kind: str,
    what: str,
    scale: AxisScale,
    caption: str,
    *,
    x: str,
    by: str,
    columns: Sequence[str] | None = None,
) -> list[View]:
    """A view for each result (or each of ``columns``) of ``rows`` against the column ``x``, a line for each ``by``.

    ``what`` says in words what was varied.
    """
    shown = columns_of(measured, *dict.fromkeys(("series", "size_bytes", "read_fraction", "load", x)))
    views = []
    for column in results_of(measured, rows) if columns is None else columns:
        known, word = rows[rows[column].notna()], word_of(column)
        figure = lines(known, x, column, scale, axis_of(measured, column, known), by=by)
        views.append(
            View(kind, f"{word}-against-{kind}", f"{word.capitalize()} against {what}", caption, known[shown], figure)
        )
    return views
