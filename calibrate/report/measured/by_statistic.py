"""Views of how latencies are distributed: the baseline at depth 1, and the tails over the load."""

from __future__ import annotations

import numpy as np

from calibrate.report.axes import latency_axis, load_scale
from calibrate.report.measured.by_load import curves
from calibrate.report.measured.drawings import bars, several_lines
from calibrate.report.measured.points import PERCENTILES, MeasuredData
from calibrate.report.measured.tables import columns_of, shown, text_of, with_ends
from calibrate.report.view import View
from measure.repeats import LEVEL

MOST_FIGURES = 6
MOST_WORKLOADS = 8  # with more, depth 1 is no baseline but a point of something else


def baseline(measured: MeasuredData) -> list[View]:
    """One request at a time: mean, deviation and percentiles of each workload."""
    table = measured.table
    told = [c for c in ("latency_sd_s", "latency_p95_s", "latency_p99_s") if measured.known(c)]
    rows = table[(table["load"] == 1) & table["latency_s"].notna()] if told else table.head(0)
    rows = rows[rows[told].notna().any(axis=1)]
    if not 0 < len(rows) <= MOST_WORKLOADS or not measured.load_type.is_closed:
        return []
    columns = {"latency_s": "mean"} | {c: PERCENTILES[c] for c in told if c in PERCENTILES}
    axis = latency_axis(rows["latency_s"].to_numpy(float))
    shown_table = rows[columns_of(measured, "series")]
    return [
        View(
            "baseline",
            "baseline",
            "Baseline: one request at a time",
            "The latency of a lone request, the device idle before it." + _level(measured),
            shown_table,
            bars(rows, "series", columns, axis),
            shown(shown_table),
        )
    ]


def tails(measured: MeasuredData) -> list[View]:
    """Percentiles against the load, a figure for each of the first curves, and the table of all."""
    known = [c for c in PERCENTILES if measured.known(c)]
    rows = curves(measured)
    rows = rows[rows[known].notna().any(axis=1)] if known else rows.head(0)
    if rows.empty or not {"latency_p99_s", "latency_p999_s"} & set(known):
        return []
    views = []
    scale = load_scale(measured)
    labels = {c: PERCENTILES[c] for c in known}
    if rows["latency_s"].notna().any():
        labels = {"latency_s": "mean", **labels}
    for number, (series, group) in enumerate(rows.groupby("series", sort=False), 1):
        if number > MOST_FIGURES:
            break
        values = group[list(labels)].to_numpy(float)
        views.append(
            View(
                "tails",
                f"tails-{number}",
                f"Tail latency: {series}",
                "1 request in 100 takes longer than p99, 1 in 1000 longer than p99.9." + _level(measured),
                group[["series", "load", *with_ends(measured, list(labels))]],
                several_lines(group, "load", labels, scale, latency_axis(values[np.isfinite(values)])),
            )
        )
    table = rows[["series", "load", *with_ends(measured, list(labels))]]
    views.append(
        View(
            "tails",
            "tail-table",
            "Tail table",
            f"Percentiles of the latency.{_level(measured)}",
            table,
            None,
            text_of(measured, table, {"latency_s": "mean"}),
        )
    )
    return views


def _level(measured: MeasuredData) -> str:
    repeated = (measured.table["repeats"] > 1).any()
    return f" Intervals over repeats are {100 * LEVEL:g} %." if repeated else ""
