"""A finding: a fact that a reader of the data should know, with its evidence and a possible cause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")

LEFT_OUT = frozenset({"unreadable-file", "job-failed", "no-requests", "no-latency", "point-failed", "overloaded"})
"""Checks of files and points that are left out: their errors do not concern the points that remain."""
LOAD_KIND = "load-kind"
"""The check that says which load was found (:mod:`measure.formats.which_kind`); an error where it is unknown."""
UNNAMED = "all points"
"""The name of a curve of which nothing else is known; lines that name curves leave it out."""
MOST_NAMED = 10
"""Names in a message, of curves or of files."""


@dataclass(frozen=True)
class Finding:
    """One finding of the audit or of an importer.

    ``check`` is a short stable name (``"littles-law"``), ``load`` the point it concerns (None: the series or
    the whole sweep), ``message`` the evidence with its numbers, ``hypothesis`` a possible cause (or ``""``),
    ``remedy`` what to do or which measurement would decide it (or ``""``).

    >>> print(Finding("little", "warning", "L is 8 % above the depth"))
    [warning] little: L is 8 % above the depth.
    """

    check: str
    severity: Severity
    message: str
    hypothesis: str = ""
    remedy: str = ""
    series: str | None = None
    load: float | None = None
    place: str = field(default="", compare=False)
    """The load in words, as "depth 16" or "16 clients"; set by the sweep, which knows the kind of load."""

    @property
    def where(self) -> str:
        """The curve and the place, as "4 KiB, depth 2"; empty where it concerns the whole sweep."""
        place = "" if self.load is None else self.place or f"load {self.load:g}"
        return ", ".join(part for part in (curve_name(self.series), place) if part)

    @property
    def contradicts(self) -> bool:
        """Whether it is an error of points in the table, so that these data contradict themselves: no open question."""
        return self.severity == "error" and self.check not in {*LEFT_OUT, LOAD_KIND}

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain JSON-ready values."""
        return {name: value for name, value in asdict(self).items() if name != "place"}

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        text = _sentence(f"[{self.severity}] {self.check}{where}: {self.message}")
        if self.hypothesis:
            text += f" Likely: {_sentence(self.hypothesis)}"
        if self.remedy:
            text += f" To settle it: {_sentence(self.remedy)}"
        return text


def curve_name(series: str | None) -> str:
    """The name of a curve, empty where it has none.

    >>> curve_name("4 KiB read"), curve_name("all points")
    ('4 KiB read', '')
    """
    return "" if series in (None, UNNAMED) else str(series)


def unanswered(findings: Iterable[Finding], series: str) -> str:
    """What must be said of the load of this curve before a model can be fitted; empty where its kind is known."""
    asked = (f for f in findings if f.check == LOAD_KIND and f.severity == "error" and f.series in (None, series))
    found = next(asked, None)
    parts = () if found is None else (found.message, found.hypothesis, found.remedy)
    return "; ".join(part.rstrip(".") for part in parts)


def unreadable(message: str, severity: Severity = "warning") -> Finding:
    """A file among others that could not be read, or belongs to none of them; the message says why."""
    return Finding(
        "unreadable-file",
        severity,
        message,
        "it is not a measurement, or it was cut off or edited after it was written",
        "name that file alone, as in qsim audit FILE, or take it out of the directory",
    )


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with those of three curves or more that differ only in numbers merged into the first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for f in findings:
        says = re.sub(r"[\d.]+ ?[kmunKMGT]?(?:iB|B|s|/s)?", "#", f.hypothesis)
        groups.setdefault((f.check, f.severity, says), []).append(f)
    found: list[Finding] = []
    for group in groups.values():
        names = list(dict.fromkeys(f.series for f in group if f.series))
        if len(names) < 3:
            found += group
            continue
        first = group[0]
        shown = ", ".join(names[1:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        more = f"Likewise {len(names) - 1} more curves: {shown}."
        found.append(
            replace(first, message=f"{names[0]}: {_sentence(first.message)} {more}", series=None, load=None, place="")
        )
    return found


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
