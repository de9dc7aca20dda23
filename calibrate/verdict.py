"""The result of a comparison in two or three sentences with numbers: the knee, the error, the truth, the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.probe_depths import next_depth
from measure.units import format_bandwidth, format_duration, format_percent, format_rate

if TYPE_CHECKING:
    from calibrate.comparison import Comparison

FLAGGED = {"outlier": "outliers", "warm-up": "warming up", "drift-within-run": "drifting", "never-settled": "unsettled"}
"""Checks of the audit on single runs, in words: what measuring again may mend."""


def verdict(comparison: Comparison) -> str:
    """The result in two or three sentences with numbers."""
    truth = comparison.truth.sentence() if comparison.truth is not None else ""
    knee = _open_knee_sentence(comparison) if comparison.is_open else _knee_sentence(comparison)
    parts = [knee, _error_sentence(comparison), truth, _flagged_sentence(comparison), _audit_sentence(comparison)]
    return " ".join(part for part in parts if part)


def _open_knee_sentence(comparison: Comparison) -> str:
    knee = comparison.knee
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    known = "" if knee.identified else "not identifiable from these points; the best guess is "
    if comparison.points.load_kind == "bandwidth":
        at, low, high = (format_bandwidth(v) for v in (knee.load, knee.low, knee.high))
        return (
            f"The knee is {known}at {at} [{low}, {high}], by the tangent: an access takes "
            f"{format_duration(knee.response_time_s)} there, and more traffic buys mostly latency."
        )
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    return (
        f"The knee is {known}at {rate} [{format_rate(knee.low)}, {format_rate(knee.high)}], by the tangent: a "
        f"request takes {time} there, "
        "and more arrivals lengthen the queue faster than they raise the throughput."
    )


def _knee_sentence(comparison: Comparison) -> str:
    knee, memory = comparison.knee, comparison.points.load_kind == "injected_delay"
    rate, time = format_rate(knee.throughput_per_s), format_duration(knee.response_time_s)
    if memory:
        bandwidth = f"{knee.throughput_per_s * 64 / 1e9:.3g} GB/s"
        if knee.load is None:
            return (
                f"The knee, about {bandwidth} at {time}, is beyond this sweep: {knee.note}; more loaders, on a machine "
                "with more cores, might."
            )
        if not knee.identified:
            return f"The knee is not identifiable from these points; the best guess is {bandwidth} at {time}."
        low, high = (v * 64 / 1e9 for v in (knee.throughput_low_per_s or 0, knee.throughput_high_per_s or 0))
        return f"The knee is at {bandwidth} [{low:.3g}, {high:.3g}], where an access takes {time}."
    if knee.load is None or knee.low is None or knee.high is None:
        return f"No knee: {knee.note}."
    interval = f"[{knee.low:.3g}, {knee.high:.3g}]"
    if not knee.identified:
        return (
            f"The knee is not identifiable from these points: N* = {knee.load:.3g} is the best guess, anywhere in "
            f"{interval} outstanding requests fits; {_where_to_measure(comparison, knee.high)}."
        )
    return (
        f"The knee is at N* = {knee.load:.3g} outstanding requests {interval}: {rate} at {time}. "
        "Deeper queues buy mostly latency."
    )


def _where_to_measure(comparison: Comparison, high: float) -> str:
    if comparison.fit.used and high > max(comparison.fit.used):
        beyond = [n for n in comparison.points.load if n >= 1.5 * high]
        deeper = f"calibrating on depth {min(beyond):g} too" if beyond else f"a depth of {round(2 * high)}"
        return f"{deeper} would pin it"
    wanted = next_depth(comparison.fit)
    return "more repeats would narrow it" if wanted is None else f"measure depth {wanted.load:g} next"


def _error_sentence(comparison: Comparison) -> str:
    s, used = comparison.summary, ", ".join(f"{n:g}" for n in comparison.fit.used)
    if s.held_out_mape_throughput_pct is None or s.held_out_mape_response_pct is None:
        return f"Calibrated on every point ({used}), so nothing is left to check the prediction with."
    noise = ""
    if s.repeat_noise_pct is not None:
        noise = f" (repeats of one point differ by {format_percent(s.repeat_noise_pct)})"
    if comparison.is_open:
        if comparison.points.load_kind == "bandwidth":
            used = ", ".join(format_bandwidth(x) for x in comparison.fit.used)
        return (
            f"Calibrated on the loads {used} alone, the model predicts the {s.held_out_points} other point(s) with "
            f"a mean error of {format_percent(s.held_out_mape_response_pct)} in response time{noise}."
        )
    return (
        f"Calibrated on {used} alone, the model predicts the {s.held_out_points} other point(s) with a mean error "
        f"of {format_percent(s.held_out_mape_throughput_pct)} in throughput and "
        f"{format_percent(s.held_out_mape_response_pct)} in response time{noise}."
    )


def _flagged_sentence(comparison: Comparison) -> str:
    """Which runs the audit flags, each kind with the load where it is worst."""
    flagged = [f for f in comparison.audit if f.check in FLAGGED and f.load is not None]
    if not flagged:
        return ""
    told = ", ".join(f"{FLAGGED[f.check]} (worst at {f.load:g})" for f in flagged)
    return f"Some runs are flagged, and no model can be expected to hit them: {told}."


def _audit_sentence(comparison: Comparison) -> str:
    errors = [f for f in comparison.audit if f.severity == "error"]
    if not errors:
        return ""
    first = errors[0].hypothesis or errors[0].message
    return f"The data contradict themselves in {len(errors)} finding(s): {first}"
