"""Which views a measurement gives, by the columns that it has and that vary."""

from __future__ import annotations

from collections.abc import Callable, Collection

from calibrate.report.measured.against import datasheet
from calibrate.report.measured.by_load import Answers, against_load, latency_bandwidth
from calibrate.report.measured.by_mix import against_mix, heat_maps, read_against_write
from calibrate.report.measured.by_size import against_size
from calibrate.report.measured.by_statistic import baseline, tails
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import columns_of, text_of
from calibrate.report.view import View


def views_of(
    measured: MeasuredData,
    *,
    kinds: Collection[str] | None = None,
    datasheet_iops: float | None = None,
    progress: Callable[[float], None] | None = None,
    answers: Answers | None = None,
) -> list[View]:
    """The views that apply, in reading order, the table of all points last.

    ``kinds`` keeps those kinds only (and the points). ``datasheet_iops`` is a data sheet's, to stand beside the peak.
    Calls ``progress`` with the share done; what takes time are the models of the knees.
    ``answers`` gives operating points to stand beside the knee of each curve.
    """
    wanted = kinds is None or "latency-bandwidth" in kinds
    views = [
        *baseline(measured), *(latency_bandwidth(measured, progress, answers) if wanted else ()),
        *against_load(measured),
        *against_size(measured), *heat_maps(measured), *against_mix(measured), *read_against_write(measured),
        *tails(measured),
    ]  # fmt: skip
    views = [view for view in views if kinds is None or view.kind in kinds]
    if datasheet_iops is not None:
        views += datasheet(measured, datasheet_iops)
    table = measured.table[columns_of(measured, "series", "load")]
    points = View("points", "points", "Every point", f"{len(table)} workloads, means over their repeats.", table, None,
                  text_of(measured, table))  # fmt: skip
    return [*views, points]
