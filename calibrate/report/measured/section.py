"""A section of a report that shows what was measured: which views, by the columns that vary, audit, provenance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from calibrate.report.files import write_tables
from calibrate.report.measured.against import datasheet, memory_against_storage
from calibrate.report.measured.by_load import Answers, against_load, latency_bandwidth
from calibrate.report.measured.by_mix import against_mix, heat_maps, read_against_write
from calibrate.report.measured.by_size import against_size
from calibrate.report.measured.by_statistic import baseline, tails
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import columns_of, text_of
from calibrate.report.view import Group, View
from measure.findings import Finding
from measure.sweep import Provenance


@dataclass(frozen=True)
class MeasuredSection:
    """One measurement under one heading. ``lead`` says in a sentence what it is for; ``notes`` what to mind."""

    title: str
    views: Sequence[View]
    findings: Sequence[Finding] = ()
    provenance: Provenance = field(default_factory=Provenance)
    lead: str = ""
    notes: Sequence[str] = ()
    load_kind: str = ""
    load_unit: str = ""
    name: str = ""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The views, to be written as files."""
        return (Group(self.name, self.views),)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready but for NaN: every view's rows in SI units, the audit, the provenance."""
        return {
            "title": self.title, "name": self.name, "load_kind": self.load_kind, "load_unit": self.load_unit,
            "notes": list(self.notes),
            "views": [
                {"kind": v.kind, "name": v.name, "title": v.title, "caption": v.caption, "rows": _rows(v.table)}
                for v in self.views
            ],
            "audit": [f.to_dict() for f in self.findings], "provenance": self.provenance.to_dict(),
        }  # fmt: skip


def section_of(measured: MeasuredData, views: Sequence[View], lead: str = "") -> MeasuredSection:
    """The section of one measurement."""
    return MeasuredSection(
        measured.title, views, measured.findings, measured.provenance, lead, measured.notes, measured.load_kind,
        measured.load_unit, measured.name,
    )  # fmt: skip


def together(shown: Sequence[MeasuredData]) -> list[MeasuredSection]:
    """The section that holds several measurements against each other; none where nothing can be."""
    views = memory_against_storage(shown)
    return [MeasuredSection("Memory and storage", views, name="memory-and-storage")] if views else []


def write_csv(sections: Sequence[MeasuredSection], directory: Path) -> list[Path]:
    """Write each view's data as a CSV table, see :func:`calibrate.report.files.write_tables`."""
    return write_tables([group for section in sections for group in section.groups], directory)


def _rows(table: pd.DataFrame) -> list[Mapping[str, Any]]:
    """The rows without what is unknown."""
    return [{str(k): v for k, v in row.items() if not pd.isna(v)} for row in table.to_dict("records")]


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
