"""Which views show what was measured, by the columns that vary, and the section that they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from calibrate.report.measured.against import datasheet, memory_against_storage
from calibrate.report.measured.by_load import Answers, against_load, latency_bandwidth
from calibrate.report.measured.by_mix import against_mix, heat_maps, read_against_write
from calibrate.report.measured.by_size import against_size
from calibrate.report.measured.by_statistic import baseline, tails
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import columns_of, text_of
from calibrate.report.view import Section, View


def section_of(measured: MeasuredData, views: Sequence[View], lead: str = "") -> Section:
    """The section of one measurement."""
    return Section(
        measured.title, views, measured.findings, measured.provenance, lead, measured.notes, measured.load_kind,
        measured.load_unit, measured.name,
    )  # fmt: skip


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
