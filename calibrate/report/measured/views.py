"""Which views show what was measured, by the columns that vary, and the section that they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pandas as pd

from calibrate.report.axes import AxisScale, bandwidth_axis, latency_axis, throughput_axis
from calibrate.report.drawing import dashed, empty_figure
from calibrate.report.measured.by_load import Answers, against_load, baseline, latency_bandwidth, tails
from calibrate.report.measured.by_mix import against_mix, heat_maps, read_against_write
from calibrate.report.measured.by_size import against_size
from calibrate.report.measured.drawings import bars, lines
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import columns_of, shown, text_of, with_ends
from calibrate.report.view import Section, View
from measure.units import format_bytes, format_rate


def section_of(measured: MeasuredData, views: Sequence[View], lead: str = "") -> Section:
    """The section of one measurement."""
    return Section(
        measured.title,
        views,
        measured.findings,
        measured.provenance,
        lead,
        measured.notes,
        measured.load_kind,
        measured.load_unit,
        measured.name,
    )


def together(shown: Sequence[MeasuredData]) -> list[Section]:
    """The section that holds several measurements against each other; none where nothing can be."""
    views = memory_against_storage(shown)
    return [Section("Memory and storage", views, name="memory-and-storage")] if views else []


def views_of(
    measured: MeasuredData,
    *,
    kinds: Collection[str] | None = None,
    datasheet_iops: float | None = None,
    progress: Callable[[float], None] | None = None,
    answers: Answers | None = None,
) -> list[View]:
    """The views that apply, in reading order, the table of all points last.

    ``kinds`` keeps those kinds only (and the points). ``datasheet_iops`` is a data sheet's, to hold the peak against.
    Calls ``progress`` with the share done; what takes time are the models of the knees.
    ``answers`` gives operating points to stand with the knee of each curve.
    """
    wanted = kinds is None or "latency-bandwidth" in kinds
    views = [
        *baseline(measured),
        *(latency_bandwidth(measured, progress, answers) if wanted else ()),
        *against_load(measured),
        *against_size(measured),
        *heat_maps(measured),
        *against_mix(measured),
        *read_against_write(measured),
        *tails(measured),
    ]
    views = [view for view in views if kinds is None or view.kind in kinds]
    if datasheet_iops is not None:
        views += datasheet(measured, datasheet_iops)
    table = measured.table[columns_of(measured, "series", "load")]
    points = View(
        "points",
        "points",
        "Every point",
        f"{len(table)} workloads, means over their repeats.",
        table,
        None,
        text_of(measured, table),
    )
    return [*views, points]


def datasheet(measured: MeasuredData, iops: float) -> list[View]:
    """The peak of each curve of the smallest block against the data sheet's ``iops``."""
    table = measured.table[measured.table["throughput_per_s"].notna()]
    if measured.memory or table.empty:
        return []
    if measured.size_name == "block size" and table["size_bytes"].notna().any():
        table = table[table["size_bytes"] == table["size_bytes"].min()]  # data sheets state the smallest blocks
    peaks = table.loc[table.groupby("series", sort=False)["throughput_per_s"].idxmax()]
    peaks = peaks[["series", "load", *with_ends(measured, ["throughput_per_s"])]].assign(
        datasheet_per_s=iops, share_pct=100 * peaks["throughput_per_s"] / iops
    )
    axis = throughput_axis(np.append(peaks["throughput_per_s"].to_numpy(float), iops))
    figure = bars(peaks, "series", {"throughput_per_s": "measured peak"}, axis)
    figure.add_level(axis.factor * iops, dashed())
    figure.add_to_legend(f"data sheet, {format_rate(iops)}", dashed())
    blocks = sorted(table["block_bytes"].dropna().unique())
    block = f" Here with requests of {', '.join(map(format_bytes, blocks))}." if blocks else ""
    names = {
        "throughput_per_s": "measured peak",
        "load": "at load",
        "datasheet_per_s": "data sheet",
        "share_pct": "share",
    }
    return [
        View(
            "datasheet",
            "datasheet",
            "Peak IOPS against the data sheet",
            f"The largest throughput at any load.{block} A data sheet states it for the drive alone, fresh or "
            "preconditioned as it says, mostly for 4 KiB, often from several jobs.",
            peaks,
            figure,
            shown(peaks, names),
        )
    ]


def memory_against_storage(shown_together: Sequence[MeasuredData]) -> list[View]:
    """Latency against bandwidth of memories and drives on one pair of axes; nothing where there is only one kind."""
    if len({m.memory for m in shown_together}) < 2:
        return []
    parts = [
        m.table.assign(line=[f"{'memory' if m.memory else 'storage'}: {s}" for s in m.table["series"]])
        for m in shown_together
    ]
    rows = pd.concat(parts, ignore_index=True).dropna(subset=["bandwidth_bytes_per_s", "latency_s"])
    rows = rows[["line", "load", "bandwidth_bytes_per_s", "latency_s"]]
    bandwidth, latency = rows["bandwidth_bytes_per_s"].to_numpy(float), rows["latency_s"].to_numpy(float)
    x_axis = bandwidth_axis(bandwidth)
    scale = AxisScale(x_axis.title, bandwidth, (), log=True, factor=x_axis.factor)
    figure = (
        lines(rows, "bandwidth_bytes_per_s", "latency_s", scale, latency_axis(latency), by="line", sort=False)
        if len(rows)
        else empty_figure(x_axis.title, "")
    )
    return [
        View(
            "memory-storage",
            "memory-against-storage",
            "Memory against storage",
            "Both axes in logarithms: memory answers in nanoseconds what a drive answers in microseconds.",
            rows,
            figure,
        )
    ]
