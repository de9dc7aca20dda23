"""The result of a comparison in two or three sentences with numbers: the knee, the error, the truth, the audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.fitted import Fit
from calibrate.further_loads import next_load
from calibrate.load_text import loads_text
from calibrate.points import Points
from calibrate.probe_depths import next_depth
from calibrate.summary import Summary
from calibrate.truth import TruthCheck
from measure.findings import Finding
from measure.units import format_bandwidth, format_duration, format_percent, format_rate

FLAGGED = {"outlier": "outliers", "warm-up": "warming up", "drift-within-run": "drifting", "never-settled": "unsettled"}
"""Checks of the audit on single runs, in words: what measuring again may mend."""

DEEPEST_ADVISED = 256
"""Deeper queues are seldom asked for, and many drives lose throughput there."""


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
    further = _next(fit)
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
                f"The knee is not identifiable from these points; the best guess is {bandwidth} at {time}{_next(fit)}."
            )
        low, high = (v * 64 / 1e9 for v in (knee.throughput_low_per_s or 0, knee.throughput_high_per_s or 0))
        return f"The knee is at {bandwidth} [{low:.3g}, {high:.3g}], where an access takes {time}."
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    interval = f"[{knee.low:.3g}, {knee.high:.3g}]"
    if not knee.identified:
        return (
            f"The knee is not identifiable from these points: N* = {knee.load:.3g} is the best guess, anywhere in "
            f"{interval} outstanding requests fits; {_where_to_measure(fit, points, knee.high)}."
        )
    return (
        f"The knee is at N* = {knee.load:.3g} outstanding requests {interval}: {rate} at {time}. "
        "Deeper queues buy mostly latency."
    )


def _next(fit: Fit) -> str:
    """What to measure next where a knee over delays, bandwidths or rates is open: the end of a sentence."""
    wanted = None if fit.knee.identified else next_load(fit)
    return "" if wanted is None else f"; measure {wanted.where} next"


def _where_to_measure(fit: Fit, points: Points, high: float) -> str:
    if fit.used and high > max(fit.used):
        beyond = [n for n in points.load if n >= 1.5 * high]
        if beyond:
            return f"calibrating on depth {min(beyond):g} too would pin it"
        if points.load.max() > max(fit.used):
            return f"calibrating on depth {points.load.max():g} too would narrow it"
        if 2 * high <= DEEPEST_ADVISED:
            return f"a depth of {round(2 * high)} would pin it"
        if max(fit.used) < DEEPEST_ADVISED:
            return f"a depth of {DEEPEST_ADVISED} would narrow it"
        return "it may lie deeper than drives are usually asked"
    return _between(fit, points)


def _between(fit: Fit, points: Points) -> str:
    """The depth that the model asks for next: one to calibrate on where it was measured already, else to measure."""
    wanted = next_depth(fit)
    if wanted is None:
        return "more repeats would narrow it"
    if np.isclose(points.load, wanted.load).any():
        return f"calibrating on depth {wanted.load:g} too would narrow it"
    return f"measure depth {wanted.load:g} next"


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
