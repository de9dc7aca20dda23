"""The first page of a report that folds the rest: what was measured on what, five figures, a verdict, one plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrate.report.view import View


@dataclass(frozen=True)
class KeyFigure:
    """A number as it is printed, its interval ("" where none is known), and what it is."""

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
