"""A table of latencies alone, as tables and pictures: percentiles over the depth, and bars with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate.report.drawing import BLUE, GREY, RED, AxisScale, latency_axis, powers_of_two
from calibrate.report.measured.directions import POOLED, SPREAD, add_bars, bar_figure, pooled
from calibrate.report.measured.measured_views import lines
from calibrate.report.view import Section, View, shown
from measure.datasets import about, dataset_latencies
from measure.formats.tables.latencies import LatencyTable
from measure.origin import MEASURED, Provenance, assumed, computed
from measure.sweep import PERCENTILES
from measure.units import format_duration

_COLOURS = {1.0: BLUE, 0.0: RED}
_OF_BOTH = {
    "read_fraction_origin": assumed("as many reads as writes"),
    "latency_origin": computed("law of total variance"),
    "latency_sd_origin": computed("law of total variance"),
}


def latency_section(table: LatencyTable, title: str = "", notes: Sequence[str] = ()) -> Section:
    """The section of a table of latencies: percentiles over the load, bars with their spread, the table."""
    views = [*_percentiles(table), *_spread(table), _points(table)]
    provenance = Provenance(tool="csv", source=table.name)
    name, why = Path(table.name).stem, f"No knee is fitted: the table has {table.lacks}."
    return Section(title or table.name, views, table.findings, provenance, notes=(*notes, why), name=name)


def published_latencies(name: str) -> tuple[LatencyTable, str, tuple[str, ...]]:
    """A dataset of the catalogue that has latencies alone, its title, and what to mind."""
    info = about(name)
    note = f"As published, {info.source}. {info.anomaly}".strip()
    return dataset_latencies(name), f"{info.title} ({name})", (note,)


def _points(table: LatencyTable) -> View:
    known = [c for c in table.points if c != "read_fraction" and table.points[c].notna().any()]
    rows = table.points[known]
    return View("points", "Every point", "", rows, None, shown(rows, {"load": table.load_name}))


def _percentiles(table: LatencyTable) -> list[View]:
    """A picture for each workload whose percentiles are known at several loads."""
    views = []
    for number, (series, rows) in enumerate(table.points.dropna(subset=["load"]).groupby("series", sort=False), 1):
        known = {c: label for c, label in PERCENTILES.items() if c in rows and rows[c].notna().any()}
        if rows["load"].nunique() < 2 or not known:
            continue
        ordered, values = rows.sort_values("load"), rows[list(known)].to_numpy(float)
        places = powers_of_two(ordered["load"].to_numpy(float))
        scale = AxisScale(table.load_name, tuple((float(n), f"{n:,}") for n in places))
        figure = lines([(label, ordered, c) for c, label in known.items()], "load", scale, latency_axis(values))
        last, label = list(known.items())[-1]
        low, high = (ordered.loc[ordered[last].agg(end)] for end in ("idxmin", "idxmax"))
        said = (
            f"{series}: the {label} goes from {format_duration(low[last])} at {table.load_name} {low['load']:g} to "
            f"{format_duration(high[last])} at {high['load']:g}."
        )
        title = f"Percentiles over {table.load_name}: {series}"
        views.append(View(f"tails-{number}", title, said, ordered, figure, answers=True))
    return views


def _spread(table: LatencyTable) -> list[View]:
    """Bars of the means with their standard deviations, and reads and writes together, at the first load of each."""
    points = table.points
    if not {"latency_s", "latency_sd_s"} <= set(points) or points["latency_s"].isna().all():
        return []
    rows = pd.concat(_by_block(points.drop_duplicates("series")), ignore_index=True)
    rows = rows.fillna({column: MEASURED for column in _OF_BOTH if column in rows})
    mean, deviation = (rows[c].to_numpy(float) for c in ("latency_s", "latency_sd_s"))
    axis = latency_axis(mean)
    figure = bar_figure("", axis.title)
    figure.update_layout(showlegend=False)
    names = [[name.rpartition(" ")[part] for name in rows["series"]] for part in (0, 2)]
    colours = [_COLOURS.get(share, GREY) for share in rows["read_fraction"]]
    add_bars(figure, names, "mean", axis, mean, deviation, colours)
    text = shown(rows, {"read_fraction": "reads"})
    return [View("spread", "Mean latency with its spread", _spread_caption(rows), rows, figure, text, answers=True)]


def _by_block(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The workloads by their names but for the last word, a read and a write with what they are together."""
    found = []
    for block, group in rows.groupby(rows["series"].str.rpartition(" ")[0], sort=False):
        pair = group[group["read_fraction"].isin([0.0, 1.0])]
        found.append(group)
        if sorted(pair["read_fraction"]) == [0.0, 1.0]:
            mean, deviation = pooled(pair["latency_s"].tolist(), pair["latency_sd_s"].tolist(), [1, 1])
            row = {"series": f"{block} both", "read_fraction": 0.5, "latency_s": mean, "latency_sd_s": deviation}
            found.append(pd.DataFrame([{**dict.fromkeys(group.columns, np.nan), **row, **_OF_BOTH}]))
    return found


def _spread_caption(rows: pd.DataFrame) -> str:
    measured = pd.Series(rows.get("latency_origin", MEASURED), rows.index) == MEASURED
    alone = rows[measured].dropna(subset=["latency_s"]).sort_values("latency_s")
    names, times = list(alone["series"]), [format_duration(value) for value in alone["latency_s"]]
    said = f"{names[0]} takes {times[0]}{f', {names[-1]} {times[-1]}' if len(names) > 1 else ''}. {SPREAD}"
    return said if measured.all() else f"{said} {POOLED}"
