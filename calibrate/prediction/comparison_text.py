"""A comparison as text for a terminal."""

from __future__ import annotations

from calibrate.fitting.fitted import Fit
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.estimates import quantity
from calibrate.inference.parameters import Mask
from calibrate.load_text import load_text, throughput_text
from calibrate.points import Points
from calibrate.prediction.open_queue import waiting, waiting_rows
from calibrate.prediction.summary import residuals_pct
from calibrate.prediction.truth import TruthCheck
from measure.units import format_duration


def comparison_text(
    fitted: str, fit: Fit, points: Points, predicted: Prediction, held_out: Mask, truth: TruthCheck | None, verdict: str
) -> str:
    """``fitted``, the text of the fit; observed against predicted at every load, the waiting requests, the truth,
    and the verdict.
    """
    rows = [f"{'load':>10}  {'observed':>10} {'predicted':>10} {'error':>8}   "
            f"{'observed':>9} {'predicted':>9} {'error':>8}"]  # fmt: skip
    show = throughput_text(points.load_kind)
    missed = residuals_pct(predicted.throughput_per_s, points.throughput_per_s)
    missed_response = residuals_pct(predicted.response_time_s, points.response_time_s)
    for i in range(len(points)):
        x, r = points.throughput_per_s[i], points.response_time_s[i]
        load = load_text(points.load_kind, points.load[i])
        rows.append(
            f"{load:>10}  {show(x):>10} {show(predicted.throughput_per_s[i]):>10} "
            f"{_signed(missed[i]):>8}   {format_duration(r):>9} "
            f"{format_duration(predicted.response_time_s[i]):>9} {_signed(missed_response[i]):>8}"
            f"{'' if held_out[i] else '   calibrated on'}"
        )
    told = [] if truth is None else _truth_rows(truth, points)
    return "\n".join([fitted, "", *rows, *waiting_rows(waiting(fit, points)), *told, "", verdict])


def _truth_rows(check: TruthCheck, points: Points) -> list[str]:
    """Estimate against truth, in a table."""
    rows = ["", f"{'':>12}  {'truth':>10} {'estimate':>10}  {'interval':<24}"]
    for a in (*check.parameters, check.knee):
        interval = "" if a.inside is None else f"[{quantity(a.low, a.unit)}, {quantity(a.high, a.unit)}]"
        outcome = "" if a.inside is None else "inside" if a.inside else "OUTSIDE"
        values = f"{quantity(a.truth, a.unit):>10} {quantity(a.estimate, a.unit):>10}"
        rows.append(f"{a.name:>12}  {values}  {interval:<24} {outcome}")
    rows += ["", f"{'load':>12}  {'in truth':>10} {'by its log':>12} {'observed':>10}"]
    for i, load in enumerate(points.load):
        times = (check.response_time_s[i], points.served(i), points.response_time_s[i])
        true, log, seen = ("" if t is None else format_duration(t) for t in times)
        rows.append(f"{load_text(points.load_kind, load):>12}  {true:>10} {log:>12} {seen:>10}")
    return [row.rstrip() for row in rows]


def _signed(percent: float) -> str:
    return f"{round(percent, 1) + 0.0:+.1f}%"  # + 0.0: a rounded minus zero is just zero
