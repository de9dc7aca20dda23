"""Which columns, loads and axes the views of a measurement share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calibrate.report.drawing import Axis, bandwidth_axis, latency_axis, throughput_axis
from calibrate.report.measured.measured_data import MeasuredData
from calibrate.report.view import FormattedTable, end_of, origin_of, quantity_text, shown
from measure.origin import MEASURED, as_measured
from measure.sweep import PERCENTILES

MOST_LOADS = 3
MOST_LINES = 8


def rate_of(measured: MeasuredData) -> str:
    """The column of throughput: a memory's bandwidth, a drive's requests a second."""
    return "bandwidth_bytes_per_s" if measured.memory else "throughput_per_s"


def axis_of(measured: MeasuredData, column: str, rows: pd.DataFrame) -> Axis:
    """The axis of a column of results."""
    values = rows[column].to_numpy(float)
    if column == "bandwidth_bytes_per_s":
        return bandwidth_axis(values)
    return throughput_axis(values, measured.load_type) if column.endswith("per_s") else latency_axis(values)


def word_of(column: str) -> str:
    """What a column of results is, in a word."""
    return {"throughput_per_s": "throughput", "bandwidth_bytes_per_s": "bandwidth", "latency_s": "latency"}[column]


def text_of(measured: MeasuredData, table: pd.DataFrame, heading: str | None = None) -> FormattedTable:
    """``table`` for display, its load under its name (or the ``heading``) and in its unit."""
    column = measured.load_type.column
    names = {"load": column, "load_origin": f"{column}_origin", "load_published": f"{column}_published"}
    return shown(table.rename(columns=names), {column: heading or measured.load_type.symbol})


def some_loads(rows: pd.DataFrame, most: int = MOST_LOADS) -> list[float]:
    """At most ``most`` of the loads: the ends, and evenly spaced ones between."""
    loads = np.unique(rows["load"].to_numpy(float))
    places = np.unique(np.linspace(0, len(loads) - 1, min(most, len(loads))).round().astype(int))
    return [float(v) for v in loads[places]]


def fewer_lines(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """``rows`` at up to three loads: fewer where there would be too many lines."""
    for most in range(MOST_LOADS, 1, -1):
        chosen = rows[rows["load"].isin(some_loads(rows, most))]
        if len(chosen[[column, "load"]].drop_duplicates()) <= MOST_LINES:
            return chosen
    return rows[rows["load"].isin(some_loads(rows, 1))]


def with_loads(measured: MeasuredData, rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """``rows`` with ``line``: the name in ``column``, and the load where there are several."""
    several = rows["load"].nunique() > 1
    names = [
        ", ".join(part for part in (str(name), measured.load_type.legend(load) if several else "") if part)
        for name, load in zip(rows[column], rows["load"], strict=True)
    ]
    return rows.assign(line=names)


def extremes(measured: MeasuredData, rows: pd.DataFrame, column: str, names: Sequence[str]) -> str:
    """The least and the most of a column of results with their places, in a sentence; "" where they are the same."""
    values = as_measured(rows, column)
    if not np.isfinite(values).any() or np.nanmin(values) == np.nanmax(values):
        return ""
    varying = [name for name in names if rows[name].nunique() > 1]
    parts = []
    for place in (int(np.nanargmin(values)), int(np.nanargmax(values))):
        row = rows.iloc[place]
        where = ", ".join(text for name in varying if (text := _place_text(measured, name, row[name])))
        parts.append(f"{quantity_text(column, float(values[place]))}{f' ({where})' if where else ''}")
    return f"{word_of(column).capitalize()} goes from {parts[0]} to {parts[1]}."


def _place_text(measured: MeasuredData, name: str, value: object) -> str:
    if name == "load":
        return measured.load_type.place_of(float(str(value)))
    if name == "read_fraction":
        return f"{100 * float(str(value)):g} % reads"
    return str(value) if name == "series" else quantity_text(name, float(str(value)))


def columns_of(measured: MeasuredData, *first: str) -> list[str]:
    """Columns for a table: ``first``, then those of results with any value, with their intervals."""
    results = ["throughput_per_s", "bandwidth_bytes_per_s", "latency_s", "latency_sd_s", *PERCENTILES]
    if measured.memory:  # a cache line is no request that anybody counts
        results.remove("throughput_per_s")
    known = [c for c in results if measured.known(c)]
    return [
        *with_origin(measured, [*first]),
        *with_ends(measured, known),
        *(["repeats"] if (measured.table["repeats"] > 1).any() else []),
        *(["outlier"] if (measured.table["outlier"] != "").any() else []),
    ]


def with_ends(measured: MeasuredData, columns: list[str]) -> list[str]:
    """``columns`` and, after each, the ends of its interval where there is one, and its origin (``with_origin``)."""
    return [
        c
        for column in columns
        for c in (*with_origin(measured, [column]), end_of(column, "low"), end_of(column, "high"))
        if c == column or (c in measured.table and measured.table[c].notna().any())
    ]


def with_origin(measured: MeasuredData, columns: list[str]) -> list[str]:
    """``columns`` and, after each of which some were not measured, its origin and what was published."""
    found = []
    for column in columns:
        origin, published = origin_of(column), end_of(column, "published")
        others = origin in measured.table and (measured.table[origin] != MEASURED).any()
        found += [column, origin, *([published] if published in measured.table else [])] if others else [column]
    return found
