"""Tables as people read them; and which columns, loads and axes the views of a measurement share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from calibrate.report.drawing import Axis, bandwidth_axis, latency_axis, throughput_axis
from calibrate.report.measured.points import PERCENTILES, UNIT, MeasuredData, end_of
from calibrate.report.view import FormattedTable
from measure.units import format_bandwidth, format_bytes, format_duration, format_rate

NAMES: Mapping[str, str] = {
    "series": "workload",
    "size_bytes": "size",
    "read_fraction": "reads",
    "throughput_per_s": "throughput",
    "bandwidth_bytes_per_s": "bandwidth",
    "latency_s": "mean latency",
    "latency_sd_s": "deviation",
    "latency_p50_s": "p50",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "latency_p999_s": "p99.9",
    "repeats": "repeats",
}
_FORMATS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes_per_s", format_bandwidth),
    ("_per_s", format_rate),
    ("_s", format_duration),
    ("_bytes", partial(format_bytes, digits=3)),
    ("_fraction", lambda v: f"{100 * v:g} %"),
    ("error_pct", lambda v: f"{round(v, 1) + 0.0:+.1f} %"),
    ("_pct", lambda v: f"{v:.3g} %"),
)


def shown(table: pd.DataFrame, names: Mapping[str, str] | None = None) -> FormattedTable:
    """``table`` as text. Columns that are empty are left out, ``x_low`` and ``x_high`` go into the cell of ``x``.

    ``names`` are headings besides those of NAMES; a column without either keeps its own name in words, without unit.
    """
    ends = {end_of(c, e) for c in map(str, table.columns) for e in ("low", "high")}
    columns = [c for c in map(str, table.columns) if c not in ends and (table[c].notna() & (table[c] != "")).any()]
    headings = {**NAMES, **(names or {})}
    rows = [tuple(_cell(row, c) for c in columns) for row in table.to_dict("records")]
    words = tuple(not pd.api.types.is_numeric_dtype(table[c]) for c in columns)
    return FormattedTable(
        tuple(headings.get(c, UNIT.sub("", c).replace("_", " ")) for c in columns), tuple(rows), words
    )


def quantity_text(column: str, value: float) -> str:
    """A value with the unit in its column's name."""
    if pd.isna(value):
        return ""
    return next((f(value) for ending, f in _FORMATS if column.endswith(ending)), _number(value))


def _number(value: float) -> str:
    """A number without a unit: whole and large ones in full, others to three digits."""
    if math.isinf(value):
        return "..."
    return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def _cell(row: Mapping[Any, Any], column: str) -> str:
    value = row[column]
    if isinstance(value, str) or value is None:
        return value or ""
    text = quantity_text(column, float(value))
    low, high = (row.get(end_of(column, e)) for e in ("low", "high"))
    if low is None or high is None or pd.isna(low) or pd.isna(high) or not text or not value:
        return text
    below, above = float(value) - float(low), float(high) - float(value)
    if above > 0 and 0.8 < below / above < 1.25:
        percent = 100 * (below + above) / 2 / float(value)
        return f"{text} ± {percent:.2g} %" if percent < 99.5 else f"{text} ± {percent:.0f} %"
    return f"{text} ({quantity_text(column, low)} to {quantity_text(column, high)})"


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


def text_of(measured: MeasuredData, table: pd.DataFrame) -> FormattedTable:
    """``table`` for display, its load under its name and in its unit."""
    column, heading = measured.load_type.column, measured.load_type.symbol
    return shown(table.rename(columns={"load": column}), {column: heading})


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


def columns_of(measured: MeasuredData, *first: str) -> list[str]:
    """Columns for a table: ``first``, then those of results with any value, with their intervals."""
    results = ["throughput_per_s", "bandwidth_bytes_per_s", "latency_s", "latency_sd_s", *PERCENTILES]
    if measured.memory:  # a cache line is no request that anybody counts
        results.remove("throughput_per_s")
    known = [c for c in results if measured.known(c)]
    return [
        *first,
        *with_ends(measured, known),
        *(["repeats"] if (measured.table["repeats"] > 1).any() else []),
        *(["outlier"] if (measured.table["outlier"] != "").any() else []),
    ]


def with_ends(measured: MeasuredData, columns: list[str]) -> list[str]:
    """``columns`` and, after each, the ends of its interval where there is one."""
    return [
        c
        for column in columns
        for c in (column, end_of(column, "low"), end_of(column, "high"))
        if c == column or (c in measured.table and measured.table[c].notna().any())
    ]
