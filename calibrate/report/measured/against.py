"""Views that hold a measurement against something else: a data sheet, or another kind of device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calibrate.report.axes import AxisScale, bandwidth_axis, latency_axis, throughput_axis
from calibrate.report.drawing import dashed, empty_figure
from calibrate.report.measured.drawings import bars, lines
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import shown, with_ends
from calibrate.report.view import View
from measure.units import format_bytes, format_rate


def datasheet(measured: MeasuredData, iops: float) -> list[View]:
    """The peak of each curve of the smallest block beside the data sheet's ``iops``."""
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
    return [View(
        "datasheet", "datasheet", "Peak IOPS beside the data sheet",
        f"The largest throughput at any load.{block} A data sheet states it for the drive alone, fresh or "
        "preconditioned as it says, mostly for 4 KiB, often from several jobs.", peaks, figure, shown(peaks, names),
    )]  # fmt: skip


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
        if len(rows) else empty_figure(x_axis.title, "")
    )  # fmt: skip
    return [View(
        "memory-storage", "memory-against-storage", "Memory against storage",
        "Both axes in logarithms: memory answers in nanoseconds what a drive answers in microseconds.", rows, figure,
    )]  # fmt: skip
