"""What a page tells of one comparison in words and tables: verdict, key numbers, parameters, every point, the truth."""

from __future__ import annotations

from typing import Any

from calibrate.prediction.answer import points_rows, truth_rows
from calibrate.prediction.comparison import Comparison
from calibrate.report.key_figures import key_figures
from calibrate.report.view import FormattedTable, KeyFigure, parameter_table
from measure.findings import SEVERITIES
from measure.units import format_duration, format_percent


def curve_output(comparison: Comparison) -> dict[str, Any]:
    """Everything that the template of a comparison says, as text and tables."""
    fit, points = comparison.fit, points_rows(comparison, range(len(comparison.points)))
    return {
        "name": comparison.series,
        "verdict": comparison.verdict(),
        "key_numbers": _key_numbers(comparison),
        "model": fit.model,
        "split": comparison.split,
        "assumption": fit.assumption,
        "level": f"{100 * fit.level:g} %",
        "parameters": parameter_table(fit.parameters, fit.sureness),
        "truth": None
        if comparison.truth is None
        else FormattedTable.of(*truth_rows(comparison.truth), words=(0, 3, 4)),
        "points": FormattedTable.of(*points, words=(len(points[0]) - 1,)),
        "banded": "response times" if comparison.is_open else "throughputs",
        "summary": comparison.summary(),
        "audit": sorted(comparison.audit, key=lambda f: -SEVERITIES.index(f.severity)),
        "notes": fit.notes,
    }


def _key_numbers(comparison: Comparison) -> list[KeyFigure]:
    """The few numbers that stand at the top: those of the fit, and by how much the held-out points are missed."""
    summary = comparison.summary()
    at_knee = KeyFigure(format_duration(comparison.knee.response_time_s), "", "response time at the knee")
    numbers = [*key_figures(comparison.fit), at_knee]
    throughput, response, repeats = (
        None if v is None else format_percent(v)
        for v in (summary.held_out_mape_throughput_pct, summary.held_out_mape_response_pct, summary.repeat_noise_pct)
    )
    noise = "" if repeats is None else f"repeats differ by {repeats}"
    if throughput is not None and not comparison.is_open:
        numbers.append(KeyFigure(throughput, noise, "held-out error, throughput"))
    if response is not None:
        numbers.append(KeyFigure(response, noise, "held-out error, response time"))
    return numbers
