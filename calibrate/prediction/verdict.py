"""The result of a comparison in two or three sentences with numbers: the knee, the error, the truth, the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrate.fitting.answer import at_load, knee_figure, knee_word, ninety_line, there
from calibrate.fitting.fitted import Fit
from calibrate.load_text import listed, loads_text, throughput_figure
from calibrate.next.load import NextLoad
from calibrate.points import Points
from calibrate.prediction.summary import Summary
from measure.findings import Finding
from measure.units import counted, format_percent

if TYPE_CHECKING:
    from calibrate.prediction.truth import TruthCheck

FLAGGED = {"outlier": "outliers", "warm-up": "warming up", "drift-within-run": "drifting", "never-settled": "unsettled"}
"""Checks of the audit on single runs, in words: what measuring again may mend."""


def verdict(
    fit: Fit,
    points: Points,
    summary: Summary,
    truth: TruthCheck | None,
    findings: Sequence[Finding],
    wanted: NextLoad | None,
) -> str:
    """The result in a few sentences with numbers; ``findings`` are those of the audit, ``wanted`` is the next load."""
    parts = [
        _knee_sentence(fit),
        _error_sentence(fit, points, summary),
        truth.sentence() if truth is not None else "",
        _flagged_sentence(points, findings),
        _audit_sentence(findings),
        _next_sentence(wanted),
    ]
    return " ".join(part for part in parts if part)


def _knee_sentence(fit: Fit) -> str:
    """Where the knee is, what the device does there, and where 90 % of the peak is had."""
    knee, load = fit.knee, fit.load_type
    if knee.load is None:
        bandwidth = f", about {throughput_figure(fit.load_kind)(knee.throughput_per_s, 2)}," if load.is_delay else ""
        return f"The knee{bandwidth} is not reached: {knee.note}."
    place = f"{at_load(load, knee_figure(fit))}: {there(fit.load_kind, knee)}"
    if not load.is_closed:
        where = {"sure": "is at", "rough": "is roughly at", "assumed": "is assumed at"}[knee_word(fit)]
        return f"The knee {where} {place}."
    where = {"sure": "starts at", "rough": "starts roughly at", "assumed": "is assumed to start at"}[knee_word(fit)]
    ninety = f"; 90 % of the peak at {ninety_line(fit)}" if fit.ninety.load is not None else ""
    last = f"More {load.things} buy mostly latency." if knee.sharp else "The bend is soft: there is no sharp knee."
    return f"Queueing {where} {place}{ninety}. {last}"


def _next_sentence(wanted: NextLoad | None) -> str:
    """What to measure next, where something would tell more."""
    return "" if wanted is None else f"{str(wanted)[0].upper()}{str(wanted)[1:]}."


def _error_sentence(fit: Fit, points: Points, s: Summary) -> str:
    if s.held_out_mape_throughput_pct is None or s.held_out_mape_response_pct is None:
        return "Every point was used to calibrate, so none is left to check the prediction with."
    used = f"Predicted from {listed(fit.load_type, fit.used)} alone, " if fit.used else ""
    other = "other " if fit.used else ""
    response = f"{format_percent(s.held_out_mape_response_pct)} in response time"
    missed = response
    if not points.throughput_is_given:
        missed = f"{format_percent(s.held_out_mape_throughput_pct)} in throughput and {response}"
    noise = ""
    if s.repeat_noise_pct is not None:
        noise = f" (repeats of one point differ by {format_percent(s.repeat_noise_pct)})"
    one = s.held_out_points == 1
    count = f"{'the' if used else 'The'} {other}{'point is' if one else f'{s.held_out_points} points are'}"
    inside = round((s.inside_band_pct or 0.0) * s.held_out_points / 100)
    bands = f"{inside} of {s.held_out_points} inside {'its band' if one else 'their bands'}"
    return f"{used}{count} missed by {missed}{'' if one else ' on average'}{noise}; {bands}."


def _flagged_sentence(points: Points, findings: Sequence[Finding]) -> str:
    """Which runs the audit flags: each kind once, with the loads where these are named."""
    loads: dict[str, set[float]] = {}
    for f in findings:
        if f.check in FLAGGED:
            loads.setdefault(FLAGGED[f.check], set()).update([] if f.load is None else [f.load])
    if not loads:
        return ""
    kind = points.load_kind
    told = (f"{what} (at {loads_text(kind, sorted(at))})" if at else what for what, at in loads.items())
    return f"Some runs are flagged, and no model can be expected to hit them: {', '.join(told)}."


def _audit_sentence(findings: Sequence[Finding]) -> str:
    errors = [f for f in findings if f.severity == "error"]
    if not errors:
        return ""
    first = errors[0].hypothesis or errors[0].message
    return f"The audit finds {counted(len(errors), 'error')} in the data: {first}"
