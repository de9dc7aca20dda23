"""Which views a measurement gives: whatever varies in it and is told by it decides."""

from __future__ import annotations

from collections.abc import Callable, Collection

from calibrate.report.measured.against import datasheet
from calibrate.report.measured.by_load import against_load, latency_bandwidth
from calibrate.report.measured.by_mix import against_mix, heat_maps, read_against_write
from calibrate.report.measured.by_size import against_size
from calibrate.report.measured.by_statistic import baseline, tails
from calibrate.report.measured.points import Measured
from calibrate.report.measured.tables import shown
from calibrate.report.measured.view import View, columns_of, load_heading

_VIEWS: tuple[Callable[[Measured], list[View]], ...] = (
    baseline, latency_bandwidth, against_load, against_size, heat_maps, against_mix, read_against_write, tails,
)  # fmt: skip


def views_of(
    measured: Measured, *, kinds: Collection[str] | None = None, datasheet_iops: float | None = None
) -> list[View]:
    """The views that apply, in reading order, the table of all points last.

    ``kinds`` keeps those kinds only (and the points). ``datasheet_iops`` is a data sheet's, to stand beside the peak.
    """
    views = [view for make in _VIEWS for view in make(measured) if kinds is None or view.kind in kinds]
    if datasheet_iops is not None:
        views += datasheet(measured, datasheet_iops)
    table = measured.table[columns_of(measured, "series", "load")]
    points = View("points", "points", "Every point", f"{len(table)} workloads, means over their repeats.", table, None,
                  shown(table, {"load": load_heading(measured)}))  # fmt: skip
    return [*views, points]
