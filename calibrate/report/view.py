"""What a report is made of: views (a figure, its data and its table), sections of views, and tables to be read.

A table to be read has quantities with units, and an interval in the cell of its quantity.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Estimate, how_sure, quantity
from measure.findings import Finding
from measure.origin import MEASURED, Provenance, foot_lines, marked
from measure.units import format_bandwidth, format_bytes, format_duration, format_rate, missed_text
from qsim.result import table as aligned

if TYPE_CHECKING:
    from calibrate.prediction.comparison import Comparison
    from calibrate.report.drawing import Drawing

UNIT = re.compile(r"_(bytes_per_s|per_s|bytes|s)$")
NAMES: Mapping[str, str] = {
    "series": "workload",
    "size_bytes": "size",
    "read_fraction": "reads",
    "throughput_per_s": "throughput",
    "bandwidth_bytes_per_s": "bandwidth",
    "latency_s": "mean latency",
    "latency_sd_s": "deviation",
    "latency_p50_s": "p50",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "latency_p999_s": "p99.9",
    "repeats": "repeats",
}
_FORMATS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes_per_s", format_bandwidth),
    ("_per_s", format_rate),
    ("_s", format_duration),
    ("_bytes", partial(format_bytes, digits=3)),
    ("_fraction", lambda v: f"{100 * v:g} %"),
    ("error_pct", missed_text),
    ("_pct", lambda v: f"{v:.3g} %"),
)


@dataclass(frozen=True)
class FormattedTable:
    """A table as text: header, rows, which columns are words (flush left) and not numbers, and lines at its foot."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[bool, ...]
    foot: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        header: Sequence[str],
        rows: Iterable[Sequence[str]],
        words: Collection[int] = (0,),
        foot: Iterable[str] = (),
    ) -> FormattedTable:
        """The rows below their ``header``, without empty columns; those at ``words`` are words, not numbers."""
        lines = [tuple(row) for row in rows]
        kept = [i for i in range(len(header)) if any(line[i] for line in lines)] if lines else range(len(header))
        return cls(
            tuple(header[i] for i in kept),
            tuple(tuple(line[i] for i in kept) for line in lines),
            tuple(i in words for i in kept),
            tuple(foot),
        )

    def text(self, most: int | None = None) -> str:
        """The first ``most`` rows (all without it) as plain text, and the foot."""
        return "\n".join([aligned(self.header, self.rows[:most], left=self.words), *self.foot])


def parameter_table(
    found: Mapping[str, Estimate],
    word: Callable[[str, Estimate], str] = lambda _, e: how_sure(e.identified, e.low, e.high),
) -> FormattedTable:
    """Parameters with their intervals, their sureness by ``word``, and their notes."""
    header = ("parameter", "estimate", "low", "high", "sure?", "")
    rows = (
        (name, *(quantity(v, e.unit) for v in (e.estimate, e.low, e.high)), word(name, e), e.note)
        for name, e in found.items()
    )
    return FormattedTable.of(header, rows, words=(0, 4, 5))


def shown(table: pd.DataFrame, names: Mapping[str, str] | None = None) -> FormattedTable:
    """``table`` as text. Columns that are empty are left out, ``x_low`` and ``x_high`` go into the cell of ``x``.

    So do its origin and what was published (:mod:`measure.origin`); the foot explains their marks. ``names`` are
    headings besides those of NAMES; a column without either keeps its own name in words, without unit.
    """
    ends = {end_of(c, e) for c in map(str, table.columns) for e in ("low", "high", "published")}
    ends |= {origin_of(c) for c in map(str, table.columns)}
    columns = [c for c in map(str, table.columns) if c not in ends and (table[c].notna() & (table[c] != "")).any()]
    headings = {**NAMES, **(names or {})}
    rows = [tuple(_cell(row, c) for c in columns) for row in table.to_dict("records")]
    words = tuple(not pd.api.types.is_numeric_dtype(table[c]) for c in columns)
    header = tuple(headings.get(c, UNIT.sub("", c).replace("_", " ")) for c in columns)
    return FormattedTable(header, tuple(rows), words, tuple(foot_lines(table)))


def quantity_text(column: str, value: float) -> str:
    """A value with the unit in its column's name."""
    if pd.isna(value):
        return ""
    return next((f(value) for ending, f in _FORMATS if column.endswith(ending)), _number(value))


def _number(value: float) -> str:
    """A number without a unit: whole and large ones in full, others to three digits."""
    if math.isinf(value):
        return "..."
    return f"{value:.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.3g}"


def _cell(row: Mapping[Any, Any], column: str) -> str:
    value = row[column]
    if isinstance(value, str) or value is None:
        return value or ""
    published = row.get(end_of(column, "published"), math.nan)
    return marked(_interval_text(row, column), row.get(origin_of(column), MEASURED), quantity_text(column, published))


def origin_of(column: str) -> str:
    """The column with the origin of another: ``latency_s`` gives ``latency_origin``."""
    return f"{UNIT.sub('', column)}_origin"


def _interval_text(row: Mapping[Any, Any], column: str) -> str:
    value = row[column]
    text = quantity_text(column, float(value))
    low, high = (row.get(end_of(column, e)) for e in ("low", "high"))
    if low is None or high is None or pd.isna(low) or pd.isna(high) or not text or not value:
        return text
    if np.isinf(high):
        return f"{text} ({quantity_text(column, low)} and more)"
    ends = quantity_text(column, low), quantity_text(column, high)
    if ends == (text, text):
        return text
    below, above = float(value) - float(low), float(high) - float(value)
    percent = 100 * (below + above) / 2 / float(value)
    if above > 0 and 0.8 < below / above < 1.25 and percent < 99.5:
        return f"{text} ± {percent:.2g} %"
    return f"{text} ({ends[0]} to {ends[1]})"


def end_of(column: str, end: str) -> str:
    """The column with an end of an interval: ``latency_s``, ``low`` gives ``latency_low_s``; ``knee`` ``knee_low``."""
    return UNIT.sub(rf"_{end}_\1", column) if UNIT.search(column) else f"{column}_{end}"


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
    """What stands under one heading: views of it all, the ``curves`` that were compared, why others were not."""

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
        return {"device": self.device, "figures": [vars(f) for f in self.figures], "verdict": list(self.verdict)}
