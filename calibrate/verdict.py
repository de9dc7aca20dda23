"""The result of a comparison in two or three sentences with numbers: the knee, the error, the truth, the audit."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.fitted import Fit
from calibrate.fitting import fit_points, needed
from calibrate.load_text import loads_text
from calibrate.model_names import model_for
from calibrate.next.load import NextLoad, next_load
from calibrate.points import Points
from calibrate.summary import Summary
from calibrate.truth import TruthCheck
from measure.findings import Finding
from measure.units import format_bandwidth, format_duration, format_percent, format_rate

FLAGGED = {"outlier": "outliers", "warm-up": "warming up", "drift-within-run": "drifting", "never-settled": "unsettled"}
"""Checks of the audit on single runs, in words: what measuring again may mend."""


def verdict(fit: Fit, points: Points, summary: Summary, truth: TruthCheck | None, findings: Sequence[Finding]) -> str:
    """The result in a few sentences with numbers; ``findings`` are those of the audit."""
    given = points.throughput_is_given
    parts = [
        _open_knee_sentence(fit, points) if given else _knee_sentence(fit, points),
        _error_sentence(fit, points, summary), truth.sentence() if truth is not None else "",
        _flagged_sentence(points, findings), _audit_sentence(findings),
    ]  # fmt: skip
    return " ".join(part for part in parts if part)


def _open_knee_sentence(fit: Fit, points: Points) -> str:
    knee = fit.knee
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    known = "" if knee.identified else "not identifiable from these points; the best guess is "
    further = _next(fit, points)
    if points.load_kind == "bandwidth":
        at, low, high = (format_bandwidth(v) for v in (knee.load, knee.low, knee.high))
        return (
            f"The knee is {known}at {at} [{low}, {high}], by the tangent: an access takes "
            f"{format_duration(knee.response_time_s)} there, and more traffic buys mostly latency{further}."
        )
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    return (
        f"The knee is {known}at {rate} [{format_rate(knee.low)}, {format_rate(knee.high)}], by the tangent: a "
        f"request takes {time} there, "
        f"and more arrivals lengthen the queue faster than they raise the throughput{further}."
    )


def _knee_sentence(fit: Fit, points: Points) -> str:
    knee, memory = fit.knee, points.load_kind == "injected_delay"
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    if memory:
        bandwidth = f"{knee.throughput_per_s * 64 / 1e9:.3g} GB/s"
        if knee.load is None:
            return (
                f"The knee, about {bandwidth} at {time}, is beyond this sweep: {knee.note}; more loaders, on a machine "
                "with more cores, might."
            )
        if not knee.identified:
            return (
                f"The knee is not identifiable from these points; the best guess is {bandwidth} at {time}"
                f"{_next(fit, points)}."
            )
        low, high = (v * 64 / 1e9 for v in (knee.throughput_low_per_s or 0, knee.throughput_high_per_s or 0))
        return f"The knee is at {bandwidth} [{low:.3g}, {high:.3g}], where an access takes {time}."
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    interval = f"[{knee.low:.3g}, {knee.high:.3g}]"
    if not knee.identified:
        return (
            f"The knee is not identifiable from these points: N* = {knee.load:.3g} is the best guess, anywhere in "
            f"{interval} outstanding requests fits{_next(fit, points)}."
        )
    return (
        f"The knee is at N* = {knee.load:.3g} outstanding requests {interval}: {rate} at {time}. "
        "Deeper queues buy mostly latency."
    )


def _next(fit: Fit, points: Points) -> str:
    """What to measure next where a knee is open: the end of a sentence."""
    wanted = None if fit.knee.identified else advice(points)
    return "" if wanted is None else f"; measure {wanted.where} next"


def advice(points: Points) -> NextLoad | None:
    """The load to measure next, by all of ``points``: whichever of them a command calibrates on, it is the same."""
    usable = points if points.not_poisson is None else points.at(~points.not_poisson)
    if len(usable) < needed(points):
        return None
    return next_load(fit_points(usable, model_for(usable, None)), measured=points.load.tolist())


def _error_sentence(fit: Fit, points: Points, s: Summary) -> str:
    used = loads_text(fit.load_kind, fit.calibrated_on)
    made = f"Calibrated on {used} alone" if used else "Calibrated on none of these points"
    if s.held_out_mape_throughput_pct is None or s.held_out_mape_response_pct is None:
        return f"Calibrated on every point ({used}), so nothing is left to check the prediction with."
    noise = ""
    if s.repeat_noise_pct is not None:
        noise = f" (repeats of one point differ by {format_percent(s.repeat_noise_pct)})"
    if points.throughput_is_given:
        return (
            f"Calibrated on the loads {used} alone, the model predicts the {s.held_out_points} other point(s) with "
            f"a mean error of {format_percent(s.held_out_mape_response_pct)} in response time{noise}."
        )
    return (
        f"{made}, the model predicts the {s.held_out_points} {'other ' if used else ''}point(s) with a mean error "
        f"of {format_percent(s.held_out_mape_throughput_pct)} in throughput and "
        f"{format_percent(s.held_out_mape_response_pct)} in response time{noise}."
    )


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
    return f"The audit finds {len(errors)} {'error' if len(errors) == 1 else 'errors'} in the data: {first}"
