"""What little of a sweep predicts of the rest: curves over the load with their tails, a surface.

A curve whose points contradict themselves is not modelled: its model would be one of the mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrate.prediction.comparison import Comparison, compare_all
from calibrate.report.compared import Evidence, compared_section, evidence_of
from calibrate.report.measured import MeasuredData
from calibrate.report.surface import lead_of, views_of
from calibrate.report.view import Section
from calibrate.surface import compare_surface, surface_points
from calibrate.tails.percentiles import fitted_tails
from measure.errors import DataError
from measure.sweep import Sweep

_NOISE = "repeats-disagree"
"""A finding that is severe, too, but says that the points scatter, and not that they are wrong."""
LEAST_OF_A_SURFACE = 15
"""Points below which the corners of a surface leave too few to be predicted."""


def predicted_parts(shown: MeasuredData) -> list[Section]:
    """The predictions from what was measured."""
    sweep = shown.sweep
    has_curves = not sweep.load_type.is_size and bool(sweep.points.groupby("series")["load"].nunique().max() > 1)
    parts = [curve_part(shown)] if has_curves else []
    if any(part.is_compared and not part.curves for part in parts):  # all of them contradict themselves
        return parts
    surface = surface_part(shown)
    return parts if surface is None else [*parts, surface]


def curve_part(shown: MeasuredData, use: Sequence[float] | None = None) -> Section:
    """Every curve from the loads ``use``, with its tails where histograms were kept; why others are not."""
    try:
        done, refused = compare_all(shown.sweep, use)
    except DataError as error:
        note = f"No curve of it could be predicted: {error}"
        return Section(f"{shown.title}: not predicted", (), notes=(note,), name=f"{shown.name}-not-predicted")
    wrong = {c.series: "; ".join(_mistakes(c)) for c in done if _mistakes(c)}
    refused |= {series: f"the points contradict themselves: {why}" for series, why in wrong.items()}
    evidence = [_evidence(c, shown.sweep) for c in done if c.series not in wrong]
    return compared_section(f"{shown.title}: predicted from a few points", evidence, refused)


def surface_part(shown: MeasuredData) -> Section | None:
    """Size, mix and depth at once, from the corners; None where the sweep varies one of them only, or little."""
    try:
        points = surface_points(replace(shown.sweep, name=shown.name))
        if len(points) < LEAST_OF_A_SURFACE:
            return None
        compared = compare_surface(points)
    except DataError:  # a curve or a table, and no surface: its own sections tell it
        return None
    return Section(
        f"{shown.title}: predicted as one surface",
        views_of(compared),
        lead=lead_of(compared),
        notes=compared.notes,
        name=f"{shown.name}-surface",
    )


def _mistakes(comparison: Comparison) -> list[str]:
    """What the audit holds to be wrong of a curve over depths; of rates it leaves out those that were not taken."""
    if comparison.is_open:
        return []
    return [f.message for f in comparison.audit if f.contradicts and f.check != _NOISE]


def _evidence(comparison: Comparison, sweep: Sweep) -> Evidence:
    """What the page shows with a curve: its tails where the histograms allow."""
    try:
        return evidence_of(comparison, sweep, tails=fitted_tails(comparison.fit, sweep, comparison.series))
    except DataError as error:
        found = evidence_of(comparison, sweep)
        return replace(found, left_out={**found.left_out, "the tails": str(error)})
