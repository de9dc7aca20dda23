"""The comparisons of one sweep under one heading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.evidence import Evidence, evidence_of
from calibrate.report.compared.views import SeriesViews, overview, views_of
from calibrate.report.view import Group, View


@dataclass(frozen=True)
class Section:
    """Comparisons, the series that could not be compared with the reason, and what else is known of each, by its name.

    Of a curve without ``evidence`` what the comparison itself tells is shown.
    """

    title: str
    comparisons: Sequence[Comparison]
    refused: Mapping[str, str]
    evidence: Mapping[str, Evidence] = field(default_factory=dict)

    @cached_property
    def overview(self) -> View | None:
        """All curves in one plot; None where there is one curve only."""
        return overview(list(self.comparisons)) if len(self.comparisons) > 1 else None

    @cached_property
    def views(self) -> tuple[SeriesViews, ...]:
        """The views of each comparison."""
        return tuple(views_of(self.evidence.get(c.series) or evidence_of(c)) for c in self.comparisons)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The views by what they are of, to be written as files."""
        together = () if self.overview is None else (Group("all series", (self.overview,)),)
        each = zip(self.comparisons, self.views, strict=True)
        return (*together, *(Group(c.series, v.all) for c, v in each))
