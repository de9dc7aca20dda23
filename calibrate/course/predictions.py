"""What little of a sweep predicts of the rest: curves over the load, tails, lines over the size, mixes, a surface.

A curve whose points contradict themselves is not modelled: its model would be one of the mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrate.course.demands import mix_view, size_view
from calibrate.prediction.comparison import Comparison, compare_all
from calibrate.report.compared import Evidence, compared_section, evidence_of
from calibrate.report.measured import MeasuredData
from calibrate.report.surface import lead_of
from calibrate.report.surface import views_of as surface_views
from calibrate.report.view import Section
from calibrate.surface import compare_surface, surface_points
from calibrate.tails.percentiles import tails_of
from measure.errors import DataError
from measure.sweep import Sweep

_NOISE = "repeats-disagree"
"""A finding that is severe, too, but says that the points scatter, and not that they are wrong."""
LEAST_OF_A_SURFACE = 15
"""Points below which the corners of a surface leave too few to be predicted."""


def predicted_parts(shown: MeasuredData, sweep: Sweep, use: Sequence[float] | None = None) -> list[Section]:
    """The predictions from what was measured, curves calibrated on the loads ``use``."""
    predicted = [*(v for v in (size_view(sweep), mix_view(shown)) if v is not None)]
    parts: list[Section] = []
    if predicted:
        parts.append(
            Section(
                f"{shown.title}: predicted",
                predicted,
                name=f"{_name(shown)}-predicted",
                lead="What a few points say of the rest: two of them, another sweep, or what the system reports.",
            )
        )
    curves = curve_part(shown, sweep, use) if _has_curves(sweep) else None
    parts += [] if curves is None else [curves]
    surface = None if _contradicts(curves) else surface_part(shown, sweep)
    return [*parts, *([] if surface is None else [surface])]


def curve_part(shown: MeasuredData, sweep: Sweep, use: Sequence[float] | None) -> Section:
    """Every curve from a few of its points, with its tails where histograms were kept; why others are not."""
    try:
        done, refused = compare_all(sweep, use)
    except DataError as error:
        note = f"No curve of it could be predicted: {error}"
        return Section(f"{shown.title}: not predicted", (), notes=(note,), name=f"{_name(shown)}-not-predicted")
    kept = [c for c in done if not _mistakes(c)]
    refused |= {c.series: f"the points contradict themselves: {'; '.join(_mistakes(c))}" for c in done if _mistakes(c)}
    return compared_section(f"{shown.title}: predicted from a few points", [_evidence(c, sweep) for c in kept], refused)


def surface_part(shown: MeasuredData, sweep: Sweep) -> Section | None:
    """Size, mix and depth at once, from the corners; None where the sweep varies one of them only, or little."""
    try:
        points = surface_points(replace(sweep, name=sweep.name or shown.name))
        if len(points) < LEAST_OF_A_SURFACE:
            return None
        compared = compare_surface(points)
    except DataError:  # a curve or a table, and no surface: its own sections tell it
        return None
    return Section(
        f"{shown.title}: predicted as one surface",
        surface_views(compared),
        lead=lead_of(compared),
        notes=compared.notes,
        name=f"{_name(shown)}-surface",
    )


def _name(shown: MeasuredData) -> str:
    return shown.name or shown.title


def _has_curves(sweep: Sweep) -> bool:
    return not sweep.load_type.is_size and bool(sweep.points.groupby("series")["load"].nunique().max() > 1)


def _mistakes(comparison: Comparison) -> list[str]:
    """What the audit holds to be wrong of a curve over depths; of rates it leaves out those that were not taken."""
    if comparison.is_open:
        return []
    return [f.message for f in comparison.audit if f.contradicts and f.check != _NOISE]


def _contradicts(part: Section | None) -> bool:
    return part is not None and part.is_compared and not part.curves


def _evidence(comparison: Comparison, sweep: Sweep) -> Evidence:
    """What the page shows with a curve: its tails where the histograms allow."""
    try:
        tails, missing = tails_of(comparison, sweep), ""
    except DataError as error:
        tails, missing = None, str(error)
    found = evidence_of(comparison, sweep, tails=tails)
    return replace(found, left_out={**found.left_out, "the tails": missing}) if missing else found
