"""Views over the mix of reads and writes: heat maps of size and mix, curves over the mix, reads against writes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.report.axes import mix_scale
from calibrate.report.measured.against import against, results_of
from calibrate.report.measured.drawings import bars, heat
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import (
    axis_of,
    columns_of,
    fewer_lines,
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
            where = ", ".join(p for p in (str(workload), measured.load_type.legend(load)) if p)
            for column in results_of(measured, rows):
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
    """Throughput and latency against the share of reads, a line for each size and some of the loads."""
    rows = measured.table.dropna(subset=["read_fraction"])
    rows = rows[rows.groupby(["place", "load"])["read_fraction"].transform("nunique") > 2]
    if rows.empty:
        return []
    rows = with_loads(measured, fewer_lines(rows, "place"), "place")
    scale = mix_scale(rows["read_fraction"].to_numpy(float))
    caption = "From writes alone (0 %) to reads alone (100 %)."
    return against(measured, rows, "mix", "the share of reads", scale, caption, x="read_fraction", by="line")


def read_against_write(measured: MeasuredData) -> list[View]:
    """Reads alone against writes alone, wherever both were measured of the same size and load."""
    columns = [c for c in (rate_of(measured), "latency_s") if measured.known(c)]
    keys, results = ["place", "size_bytes", "load"], with_ends(measured, columns)
    reads, writes = (
        measured.table.loc[measured.table["read_fraction"] == share, [*keys, *results]].rename(
            columns={c: f"{direction}_{c}" for c in results}
        )
        for direction, share in (("read", 1.0), ("write", 0.0))
    )
    both = reads.merge(writes, on=keys)
    if both.empty or not results:
        return []
    both = with_loads(measured, both, "place")
    few = (both[both["load"].isin(some_loads(both))] if len(both) > MOST_GROUPS else both).head(MOST_GROUPS)
    table, views = both[["line"]].copy(), []
    for column in columns:
        pair, word = [f"read_{column}", f"write_{column}"], word_of(column)
        table = table.join(
            both[
                [
                    c
                    for c in both
                    if str(c).removeprefix("read_").removeprefix("write_") in with_ends(measured, [column])
                ]
            ]
        )
        with np.errstate(divide="ignore"):
            table[f"{word}_ratio"] = both[pair[0]] / both[pair[1]]
        axis = axis_of(measured, column, pd.DataFrame({column: few[pair].to_numpy(float).ravel()}))
        figure = bars(few, "line", dict(zip(pair, ("reads", "writes"), strict=True)), axis)
        title, caption = f"{word.capitalize()}: reads against writes", "Reads alone and writes alone, all else equal."
        views.append(View("read-write", f"{word}-read-write", title, caption, few, figure))
    title, caption = "Reads and writes side by side", "The ratio is reads over writes."
    return [*views, View("read-write", "read-write-table", title, caption, table, None, shown(table, _NAMES))]


_NAMES = {"line": "workload", **dict.fromkeys(("throughput_ratio", "bandwidth_ratio", "latency_ratio"), "ratio")} | {
    f"{direction}_{column}": f"{direction} {word}"
    for direction in ("read", "write")
    for column, word in (
        ("throughput_per_s", "throughput"),
        ("bandwidth_bytes_per_s", "bandwidth"),
        ("latency_s", "latency"),
    )
}
