"""What a report is made of: views (a figure, its data and its table), and sections of views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from measure.findings import Finding
from measure.origin import Provenance

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.prediction.comparison import Comparison
    from calibrate.report.drawing import Drawing
    from calibrate.report.table_text import FormattedTable


@dataclass(frozen=True)
class View:
    """``name`` is unique in a section, and valid as a file name.

    ``table`` holds what is shown, columns in SI units; ``text`` the table as people read it, None where the figure
    says it all; ``figure`` is None where there is nothing to draw. The first sentence of the caption belongs to the
    answer where the view ``answers``.
    """

    name: str
    title: str
    caption: str
    table: pd.DataFrame
    figure: Drawing | None = None
    text: FormattedTable | None = None
    answers: bool = False


@dataclass(frozen=True)
class ComparedCurve:
    """What is shown of one curve: the ``main`` views, and the ``checks`` of whether the model may be believed."""

    comparison: Comparison
    main: tuple[View, ...]
    checks: tuple[View, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """What stands under one heading: views of it all, then the ``curves`` that were compared, and why others were not.

    ``lead`` says in a sentence what it is for, or the outcome; ``notes`` what to mind.
    """

    title: str
    views: Sequence[View] = ()
    findings: Sequence[Finding] = ()
    provenance: Provenance = field(default_factory=Provenance)
    lead: str = ""
    notes: Sequence[str] = ()
    name: str = ""
    curves: Sequence[ComparedCurve] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def comparisons(self) -> list[Comparison]:
        """Whether the section compares predictions with measurements."""
        return [curve.comparison for curve in self.curves]

    @property
    def is_compared(self) -> bool:
        """Whether it is of curves that were compared, or could not be."""
        return bool(self.curves or self.refused)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready but for NaN: every view's rows in SI units, the audit, the provenance."""
        return {
            "title": self.title,
            "name": self.name,
            "notes": list(self.notes),
            "views": [
                {"name": v.name, "title": v.title, "caption": v.caption, "rows": _rows(v.table)} for v in self.views
            ],
            "audit": [f.to_dict() for f in self.findings],
            "provenance": self.provenance.to_dict(),
        }


def _rows(table: pd.DataFrame) -> list[Mapping[str, Any]]:
    import pandas as pd

    return [{str(k): v for k, v in row.items() if not pd.isna(v)} for row in table.to_dict("records")]


@dataclass(frozen=True)
class KeyFigure:
    """A number as printed, its interval ("" where unknown), and its meaning."""

    value: str
    interval: str
    what: str


@dataclass(frozen=True)
class FrontPage:
    """What stands before the folded parts. ``view`` is the one plot that is worth a first look."""

    device: str
    figures: tuple[KeyFigure, ...]
    verdict: tuple[str, ...]
    view: View | None = None

    def lines(self) -> list[str]:
        """The same for a terminal.

        >>> FrontPage("a drive", (KeyFigure("7.2", "4 to 11", "knee"),), ("All is well.",)).lines()
        ['DEVICE  a drive', '7.2      4 to 11  knee', 'VERDICT All is well.']
        """
        value, interval = (max((len(getattr(f, a)) for f in self.figures), default=0) for a in ("value", "interval"))
        rows = [f"{f.value:<{max(value, 7)}}  {f.interval:<{interval}}  {f.what}".rstrip() for f in self.figures]
        verdict = [f"{'' if i else 'VERDICT':<8}{line}" for i, line in enumerate(self.verdict)]
        return [f"DEVICE  {self.device}", *rows, *verdict]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        figures = [{"value": f.value, "interval": f.interval, "what": f.what} for f in self.figures]
        return {"device": self.device, "figures": figures, "verdict": list(self.verdict)}
