"""A section of a report that shows what was measured: views, audit, provenance; and its numbers for JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from calibrate.report.measured.against import memory_against_storage
from calibrate.report.measured.points import Measured
from calibrate.report.view import View
from measure.dataset import Provenance
from measure.errors import MeasureError
from measure.findings import Finding


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


def section_of(measured: Measured, views: Sequence[View], lead: str = "") -> MeasuredSection:
    """The section of one measurement."""
    return MeasuredSection(
        measured.title, views, measured.findings, measured.provenance, lead, measured.notes, measured.load_kind,
        measured.load_unit, measured.name,
    )  # fmt: skip


def together(shown: Sequence[Measured]) -> list[MeasuredSection]:
    """The section that holds several measurements against each other; none where nothing can be."""
    views = memory_against_storage(shown)
    return [MeasuredSection("Memory and storage", views, name="memory-and-storage")] if views else []


def write_csv(sections: Sequence[MeasuredSection], directory: Path) -> list[Path]:
    """Write each view's data as a CSV table, SI units in the column names; a folder for each of several sections.

    Raises MeasureError where a file is there already or cannot be written; nothing is replaced.
    """
    places = [directory] if len(sections) == 1 else [directory / _slug(s.name, i) for i, s in enumerate(sections, 1)]
    written: list[Path] = []
    for place, section in zip(places, sections, strict=True):
        for view in section.views:
            path = place / f"{view.name}.csv"
            try:
                place.mkdir(parents=True, exist_ok=True)
                with path.open("x", encoding="utf-8", newline="") as file:
                    view.table.to_csv(file, index=False, lineterminator="\n")
            except FileExistsError as error:
                raise MeasureError(f"{path} exists and is not replaced; choose another --csv directory") from error
            except OSError as error:
                raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
            written.append(path)
    return written


def _slug(name: str, number: int) -> str:
    """A folder's name from that of a measurement."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).lower().split()
    return "-".join([f"{number:02d}", *words])[:60]


def _rows(table: pd.DataFrame) -> list[Mapping[str, Any]]:
    """The rows without what is unknown."""
    return [{str(k): v for k, v in row.items() if not pd.isna(v)} for row in table.to_dict("records")]
