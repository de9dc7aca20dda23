"""A comparison as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from calibrate.estimates import quantity
from calibrate.open_queue import waiting, waiting_rows
from measure.dataset import CACHE_LINE_BYTES, LoadKind
from measure.units import format_bandwidth, format_duration, format_rate

if TYPE_CHECKING:
    from calibrate.comparison import Comparison


def comparison_text(comparison: Comparison) -> str:
    """The fit, observed against predicted at every load, the waiting requests, the truth, and the verdict."""
    rows = [f"{'load':>10}  {'observed':>10} {'predicted':>10} {'error':>8}   "
            f"{'observed':>9} {'predicted':>9} {'error':>8}"]  # fmt: skip
    points, predicted, show = comparison.points, comparison.predicted, throughput_text(comparison.points.load_kind)
    for i in range(len(points)):
        x, r = points.throughput_per_s[i], points.response_time_s[i]
        rows.append(
            f"{points.load[i]:>10g}  {show(x):>10} {show(predicted.throughput_per_s[i]):>10} "
            f"{_signed(comparison.residual_throughput_pct[i]):>8}   {format_duration(r):>9} "
            f"{format_duration(predicted.response_time_s[i]):>9} {_signed(comparison.residual_response_pct[i]):>8}"
            f"{'' if comparison.held_out[i] else '   calibrated on'}"
        )
    queue = waiting_rows(waiting(comparison.fit, points))
    return "\n".join([str(comparison.fit), "", *rows, *queue, *_truth_rows(comparison), "", comparison.verdict()])


def _truth_rows(comparison: Comparison) -> list[str]:
    """Estimate against truth, in a table."""
    check = comparison.truth
    if check is None:
        return []
    rows = ["", f"{'':>12}  {'truth':>10} {'estimate':>10}  {'interval':<24}"]
    for a in (*check.parameters, check.knee):
        interval = "" if a.inside is None else f"[{quantity(a.low, a.unit)}, {quantity(a.high, a.unit)}]"
        outcome = "" if a.inside is None else "inside" if a.inside else "OUTSIDE"
        values = f"{quantity(a.truth, a.unit):>10} {quantity(a.estimate, a.unit):>10}"
        rows.append(f"{a.name:>12}  {values}  {interval:<24} {outcome}")
    rows += ["", f"{'load':>12}  {'in truth':>10} {'by its log':>12} {'observed':>10}"]
    for i, load in enumerate(comparison.points.load):
        times = (check.response_time_s[i], comparison.served(i), comparison.points.response_time_s[i])
        true, log, seen = ("" if t is None else format_duration(t) for t in times)
        rows.append(f"{load:>12.6g}  {true:>10} {log:>12} {seen:>10}")
    return [row.rstrip() for row in rows]


def throughput_text(kind: LoadKind) -> Callable[[float], str]:
    """How a throughput is written: requests a second, or a memory's cache lines as a bandwidth."""
    if kind in ("injected_delay", "bandwidth"):
        return lambda lines_per_s: format_bandwidth(lines_per_s * CACHE_LINE_BYTES)
    return format_rate


def _signed(percent: float) -> str:
    return f"{round(percent, 1) + 0.0:+.1f}%"  # + 0.0: a rounded minus zero is just zero
