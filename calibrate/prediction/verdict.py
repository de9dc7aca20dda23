"""The result of a comparison in two or three sentences with numbers: the knee, the error, the truth, the audit."""

from __future__ import annotations

from collections.abc import Sequence

from calibrate.fitting.fitted import Fit
from calibrate.knees.peak_share import share_text
from calibrate.load_text import knee_text, loads_text
from calibrate.next.load import NextLoad
from calibrate.points import Points
from calibrate.prediction.summary import Summary
from calibrate.prediction.truth import TruthCheck
from measure.findings import Finding
from measure.units import counted, format_bandwidth, format_duration, format_percent, format_rate

FLAGGED = {"outlier": "outliers", "warm-up": "warming up", "drift-within-run": "drifting", "never-settled": "unsettled"}
"""Checks of the audit on single runs, in words: what measuring again may mend."""


def verdict(
    fit: Fit, points: Points, summary: Summary, truth: TruthCheck | None, findings: Sequence[Finding],
    wanted: NextLoad | None,
) -> str:  # fmt: skip
    """The result in a few sentences with numbers; ``findings`` are those of the audit, ``wanted`` is the next load."""
    if points.throughput_is_given:
        knee = _open_knee_sentence(fit, points)
    else:
        knee = _memory_knee_sentence(fit) if points.load_type.is_delay else _depth_knee_sentence(fit)
    parts = [
        knee,
        _error_sentence(fit, points, summary), truth.sentence() if truth is not None else "",
        _flagged_sentence(points, findings), _audit_sentence(findings), _next_sentence(wanted),
    ]  # fmt: skip
    return " ".join(part for part in parts if part)


def _open_knee_sentence(fit: Fit, points: Points) -> str:
    knee = fit.knee
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    known = "" if knee.identified else "not identifiable from these points; the best guess is "
    if points.load_type.is_bandwidth:
        at, low, high = (format_bandwidth(v) for v in (knee.load, knee.low, knee.high))
        return (
            f"The knee is {known}at {at} [{low}, {high}], by the tangent: an access takes "
            f"{format_duration(knee.response_time_s)} there, and more traffic buys mostly latency."
        )
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    return (
        f"The knee is {known}at {rate} [{format_rate(knee.low)}, {format_rate(knee.high)}], by the tangent: a "
        f"request takes {time} there, "
        f"and more arrivals lengthen the queue faster than they raise the throughput."
    )


def _memory_knee_sentence(fit: Fit) -> str:
    knee = fit.knee
    bandwidth, time = f"{knee.throughput_per_s * 64 / 1e9:.3g} GB/s", format_duration(knee.response_time_s)
    if knee.load is None:
        return (
            f"The knee, about {bandwidth} at {time}, is beyond this sweep: {knee.note}; more loaders, on a machine "
            "with more cores, might."
        )
    if not knee.identified:
        return f"The knee is not identifiable from these points; the best guess is {bandwidth} at {time}."
    low, high = (v * 64 / 1e9 for v in (knee.throughput_low_per_s or 0, knee.throughput_high_per_s or 0))
    return f"The knee is at {bandwidth} [{low:.3g}, {high:.3g}], where an access takes {time}."


def _depth_knee_sentence(fit: Fit) -> str:
    """N* and where 90 % of the peak is had; that first where the bend is soft."""
    knee, at_ninety = fit.knee, fit.ninety
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    interval, ninety = f"[{knee.low:.3g}, {knee.high:.3g}]", share_text(at_ninety, _depth)
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    if not knee.sharp:
        point = f": {ninety}, where a request takes {format_duration(at_ninety.response_time_s)}" if ninety else ""
        return f"There is no sharp knee{point}. N* = {knee.load:.3g} {interval} gives less than half of the peak."
    more = f"; {ninety}" if ninety else ""
    if not knee.identified:
        return (
            f"The knee is not identifiable from these points: N* = {knee.load:.3g} is the best guess, anywhere in "
            f"{interval} {fit.load_type.things} fits{more}."
        )
    return (
        f"The knee is at N* = {knee.load:.3g} {fit.load_type.things} {interval}: {rate} at {time}{more}. "
        f"{'More ' + fit.load_type.things if fit.load_type.is_counted else 'Deeper queues'} buy mostly latency."
    )


def _depth(load: float) -> str:
    return knee_text("queue_depth", load)


def _next_sentence(wanted: NextLoad | None) -> str:
    """What to measure next, where something would tell more."""
    return "" if wanted is None else f"{str(wanted)[0].upper()}{str(wanted)[1:]}."


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
            f"Calibrated on the loads {used} alone, the model predicts the other {counted(s.held_out_points, 'point')} "
            f"with a mean error of {format_percent(s.held_out_mape_response_pct)} in response time{noise}."
        )
    return (
        f"{made}, the model predicts the {'other ' if used else ''}{counted(s.held_out_points, 'point')} with a mean "
        f"error of {format_percent(s.held_out_mape_throughput_pct)} in throughput and "
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
