"""What one part of a course predicts of another: two ends the points between, one sweep another, caches.

With one request at a time nothing queues, so a throughput is one over a mean time, and means add up: a block of b bytes
takes alpha + beta b (:mod:`calibrate.surface`), and a share f of reads among writes takes f R(1) + (1 - f) R(0).
What is missed says what the ends do not know of each other: caches, turning from reads to writes, several channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calibrate.report.lines import Line, figure_of
from calibrate.report.measured import MeasuredData, shown
from calibrate.report.view import View
from calibrate.surface import SurfaceComparison, size_lines, surface_points
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import format_bytes

_MIXES, _SIZES = 3, 4  # how many are enough to hold two against the others
_NAMES = {"predicted_per_s": "predicted", "throughput_per_s": "observed", "error_pct": "error"}


def size_view(sweep: Sweep) -> View | None:
    """Throughput over the block size from the smallest and the largest; None where fewer than four were measured."""
    patterns = sorted(set(sweep.points["pattern"].dropna())) or [None]
    rows = []
    for pattern in patterns:
        try:
            found = size_lines(surface_points(sweep, pattern))
        except DataError:  # no drive, or one block size
            continue
        rows += [row for line in found if len(line.points) >= _SIZES for row in _line_rows(line)]
    if not rows:
        return None
    table = pd.DataFrame(rows)
    lines = _pairs(table.assign(name=table["series"] + ", depth " + table["at_depth"].map("{:g}".format)), "size_bytes")
    figure = figure_of(lines, "block size", log_x=True, log_y=True)
    sizes = sorted(set(table["size_bytes"]))
    figure.update_xaxes(tickvals=sizes, ticktext=[format_bytes(size) for size in sizes])
    caption = (
        "N / X = alpha + beta b, from the smallest and the largest size (marked as calibrated). A shade is where a "
        f"single new measurement is expected. {_missed(table)}"
    )
    return View(
        "predicted-sizes",
        "predicted-sizes",
        "Throughput over the block size, from two sizes",
        caption,
        table,
        figure,
        shown(table, _NAMES),
    )


def _line_rows(line: SurfaceComparison) -> list[dict[str, object]]:
    places = line.points.places
    name = f"{line.points.pattern} {100 * places.read_fraction[0]:g} % read".strip()
    return [
        {
            "series": name,
            "at_depth": row["outstanding"],
            "size_bytes": row["block_bytes"],
            "throughput_per_s": row["throughput_per_s"],
            "predicted_per_s": row["predicted_throughput_per_s"],
            "predicted_low_per_s": row["predicted_throughput_low_per_s"],
            "predicted_high_per_s": row["predicted_throughput_high_per_s"],
            "error_pct": round(row["error_pct"], 3) + 0.0,
            "calibrated": "yes" if row["use"] == "calibrated on" else "",
        }
        for row in line.rows()
    ]


def mix_view(measured: MeasuredData) -> View | None:
    """Throughput of mixes from pure reads and pure writes; None where not all is at depth 1, or no size has a mix."""
    if not measured.load_type.is_closed or set(measured.table["load"]) != {1.0}:
        return None
    alone = measured.table[measured.table["throughput_per_s"].notna()]
    rows = []
    for size, group in alone.groupby(["size_bytes", "workload"], dropna=False, sort=False):
        rate = group.groupby("read_fraction")["throughput_per_s"].mean()
        if len(rate) < _MIXES or not {0.0, 1.0} <= set(rate.index):
            continue
        for share, observed in zip(rate.index.astype(float), rate.to_numpy(float), strict=True):
            predicted = 1 / (share / rate[1.0] + (1 - share) / rate[0.0])
            rows.append(
                {
                    "size_bytes": size[0],
                    "read_fraction": share,
                    "throughput_per_s": observed,
                    "predicted_per_s": predicted,
                    "error_pct": round(100 * (predicted / observed - 1), 3) + 0.0,
                    "calibrated": "yes" if share in (0.0, 1.0) else "",
                }
            )
    if not rows:
        return None
    table = pd.DataFrame(rows).sort_values(["size_bytes", "read_fraction"], ignore_index=True)
    lines = _pairs(table.assign(name=table["size_bytes"].map(format_bytes)), "read_fraction")
    figure = figure_of(lines, "share of reads")
    caption = (
        "A request takes the mean of what a read and a write take alone, in the shares in which they come: nothing "
        f"else is assumed. {_missed(table)}"
    )
    return View(
        "predicted-mixes",
        "predicted-mixes",
        "Throughput of mixes, from pure reads and pure writes",
        caption,
        table,
        figure,
        shown(table, _NAMES),
    )


def _pairs(table: pd.DataFrame, x: str) -> list[Line]:
    """The predicted line and the observed points of each name, in one colour."""
    lines: list[Line] = []
    for name, group in table.groupby("name", sort=False):
        ordered = group.sort_values(x)
        at, predicted = ordered[x].to_numpy(float), ordered["predicted_per_s"].to_numpy(float)
        ends = [
            ordered[c].to_numpy(float) if c in ordered else None
            for c in ("predicted_low_per_s", "predicted_high_per_s")
        ]
        observed = ordered["throughput_per_s"].to_numpy(float)
        lines.append(Line(f"{name}, predicted", "X", "rate", at, predicted, ends[0], ends[1], curve=str(name)))
        lines.append(Line(f"{name}, observed", "X", "rate", at, observed, measured=True, curve=str(name)))
    return lines


def _missed(table: pd.DataFrame) -> str:
    held: Sequence[float] = np.abs(table.loc[table["calibrated"] == "", "error_pct"].to_numpy(float)).tolist()
    middle, worst = (f"{v:.0f}" if v >= 100 else f"{v:.2g}" for v in (float(np.median(held)), max(held)))
    if len(held) == 1:
        return f"The other point is missed by {middle} %."
    return f"The {len(held)} other points are missed by {middle} % at the median, {worst} % at worst."
