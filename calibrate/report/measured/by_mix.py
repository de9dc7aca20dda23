"""Views over the mix of reads and writes: heat maps of size and mix, curves over the mix, reads against writes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.report.axes import AxisScale, mix_scale
from calibrate.report.measured.drawings import bars, heat, lines
from calibrate.report.measured.points import MeasuredData, end_of
from calibrate.report.measured.tables import (
    axis_of,
    columns_of,
    fewer_lines,
    load_text,
    rate_of,
    shown,
    some_loads,
    with_ends,
    with_loads,
    word_of,
)
from calibrate.report.view import View
from measure.units import format_bytes

MOST_GROUPS = 12
FULL_ENOUGH = 0.75  # of the cells of a heat map; with fewer it is no map


def heat_maps(measured: MeasuredData) -> list[View]:
    """Size against mix, throughput and latency, at the least and the largest load."""
    views: list[View] = []
    known = measured.table.dropna(subset=["size_bytes", "read_fraction"])
    for workload, of_workload in known.groupby("workload", sort=False):
        for load in some_loads(of_workload, 2):
            rows = of_workload[of_workload["load"] == load]
            sizes, mixes = rows["size_bytes"].nunique(), rows["read_fraction"].nunique()
            cells = len(rows[["size_bytes", "read_fraction"]].drop_duplicates())
            if sizes < 2 or mixes < 3 or cells < FULL_ENOUGH * sizes * mixes:
                continue
            where = ", ".join(p for p in (str(workload), load_text(measured, load)) if p)
            for column in (rate_of(measured), "latency_s"):
                if rows[column].notna().any():
                    views.append(_heat_map(measured, rows, column, where, f"{len(views) + 1}"))
    return views


def _heat_map(measured: MeasuredData, rows: pd.DataFrame, column: str, where: str, number: str) -> View:
    cells = rows.pivot_table(index="read_fraction", columns="size_bytes", values=column, aggfunc="mean")
    names = ([format_bytes(float(c)) for c in cells.columns], [f"{100 * float(r):g} % reads" for r in cells.index])
    what = word_of(column)
    return View(
        "heat-map",
        f"heat-map-{number}-{what}",
        f"{what.capitalize()} by {measured.size_name} and mix: {where}",
        "Every cell is one workload; brighter is more.",
        rows[columns_of(measured, "series", "size_bytes", "read_fraction", "load")],
        heat(cells, axis_of(measured, column, rows), (measured.size_name, ""), names),
    )


def against_mix(measured: MeasuredData) -> list[View]:
    """Throughput and latency against the share of reads, a line for each size and some of the loads.

    Where reads and writes of a mix have latencies of their own, they get figures of their own.
    """
    rows = measured.table.dropna(subset=["read_fraction"])
    rows = rows[rows.groupby(["place", "load"])["read_fraction"].transform("nunique") > 2]
    if rows.empty:
        return []
    rows = with_loads(measured, fewer_lines(rows, "place"), "place")
    scale = mix_scale(rows["read_fraction"].to_numpy(float))
    together = [
        View(
            "mix",
            f"{word_of(column)}-against-mix",
            f"{word_of(column).capitalize()} against the share of reads",
            "From writes alone (0 %) to reads alone (100 %).",
            rows[columns_of(measured, "series", "size_bytes", "read_fraction", "load")],
            lines(
                rows[rows[column].notna()], "read_fraction", column, scale, axis_of(measured, column, rows), by="line"
            ),
        )
        for column in (rate_of(measured), "latency_s")
        if rows[column].notna().any()
    ]
    return [*together, *_by_direction(measured, rows, scale)]


def _by_direction(measured: MeasuredData, rows: pd.DataFrame, scale: AxisScale) -> list[View]:
    """Throughput and latency of the reads and of the writes of each mix; the ends of a curve have one of them."""
    columns = ("throughput_per_s", "latency_s")
    if measured.memory or not (measured.known("read_latency_s") and measured.known("write_latency_s")):
        return []
    parts = [
        rows.assign(
            line=rows["line"] + f", {direction}s",
            **{c: rows[_directed(c, direction)].where(rows["read_fraction"] != alone, rows[c]) for c in columns},
        )[["line", "size_bytes", "read_fraction", "load", *columns]]
        for direction, alone in (("read", 1.0), ("write", 0.0))
    ]
    parted = pd.concat(parts, ignore_index=True).dropna(subset=list(columns))
    return [
        View(
            "mix",
            f"{word_of(column)}-by-direction",
            f"{word_of(column).capitalize()} of the reads and of the writes",
            "What each got of the mix, and what it took.",
            parted,
            lines(parted, "read_fraction", column, scale, axis_of(measured, column, parted), by="line"),
        )
        for column in columns
    ]


def read_against_write(measured: MeasuredData) -> list[View]:
    """Reads alone against writes alone, wherever both were measured of the same size and load."""
    results = with_ends(measured, [c for c in (rate_of(measured), "latency_s") if measured.known(c)])
    keys = ["place", "size_bytes", "load"]
    reads, writes = (
        measured.table.loc[measured.table["read_fraction"] == share, [*keys, *results]] for share in (1.0, 0.0)
    )
    both = reads.merge(writes, on=keys, suffixes=(" of reads", " of writes"))
    if both.empty or not results:
        return []
    both = with_loads(measured, both, "place")
    few = both[both["load"].isin(some_loads(both))] if len(both) > MOST_GROUPS else both
    views = []
    for column in (c for c in (rate_of(measured), "latency_s") if c in results):
        renamed = {f"{c} of {d}s": _directed(c, d) for d in ("read", "write") for c in results}
        rows = few.rename(columns=renamed).head(MOST_GROUPS)
        pair = [_directed(column, d) for d in ("read", "write")]
        axis = axis_of(measured, column, pd.DataFrame({column: rows[pair].to_numpy(float).ravel()}))
        views.append(
            View(
                "read-write",
                f"{word_of(column)}-read-write",
                f"{word_of(column).capitalize()}: reads against writes",
                "Reads alone and writes alone, all else equal.",
                _ratios(both.rename(columns=renamed), [column]),
                bars(rows, "line", dict(zip(pair, ("reads", "writes"), strict=True)), axis),
            )
        )
    table = _ratios(both.rename(columns=renamed), [c for c in (rate_of(measured), "latency_s") if c in results])
    views.append(
        View(
            "read-write",
            "read-write-table",
            "Reads and writes side by side",
            "The ratio is reads over writes.",
            table,
            None,
            shown(table, _NAMES),
        )
    )
    return views


_NAMES = {
    "line": "workload",
    "read_throughput_per_s": "read throughput",
    "write_throughput_per_s": "write throughput",
    "read_latency_s": "read latency",
    "write_latency_s": "write latency",
    "throughput_ratio": "ratio",
    "read_bandwidth_bytes_per_s": "read bandwidth",
    "write_bandwidth_bytes_per_s": "write bandwidth",
    "bandwidth_ratio": "ratio",
    "latency_ratio": "ratio",
}


def _directed(column: str, direction: str) -> str:
    return f"{direction}_{column}"


def _ratios(both: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """The pairs of ``columns`` with the ratio of reads to writes after each pair."""
    table = both[["line"]].copy()
    for column in columns:
        for name in (_directed(column, d) for d in ("read", "write")):
            for c in (name, end_of(name, "low"), end_of(name, "high")):
                if c in both:
                    table[c] = both[c]
        with np.errstate(divide="ignore"):
            table[f"{word_of(column)}_ratio"] = both[_directed(column, "read")] / both[_directed(column, "write")]
    return table
