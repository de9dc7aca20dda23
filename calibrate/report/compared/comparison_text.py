"""What a page tells of one comparison in words and tables: verdict, key numbers, parameters, every point, the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrate.fitting.answer import knee_word
from calibrate.inference.parameters import quantity
from calibrate.prediction.answer import points_rows, truth_rows
from calibrate.prediction.comparison import Comparison
from calibrate.report.view import FormattedTable, parameter_table
from measure.findings import SEVERITIES
from measure.units import (
    CACHE_LINE_BYTES,
    format_bandwidth,
    format_duration,
    format_percent,
    format_rate,
    interval_text,
)

if TYPE_CHECKING:
    pass


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


def _key_numbers(comparison: Comparison) -> list[tuple[str, str, str]]:
    """(value, its interval, what it is), the few numbers that stand at the top."""
    knee, summary = comparison.knee, comparison.summary()
    numbers: list[tuple[str, str, str]] = []
    load, word = comparison.points.load_type, knee_word(comparison.fit)
    doubt = "" if word == "sure" else f" ({word or 'not reached'})"
    if load.is_memory:
        low, high = knee.throughput_low_per_s or 0.0, knee.throughput_high_per_s or 0.0
        numbers.append(
            (
                format_bandwidth(knee.throughput_per_s * CACHE_LINE_BYTES),
                f"{format_bandwidth(low * CACHE_LINE_BYTES)} to {format_bandwidth(high * CACHE_LINE_BYTES)}",
                f"bandwidth at the knee{doubt}",
            )
        )
    elif knee.load is not None:
        show = format_rate if comparison.is_open else "{:.3g}".format
        interval = f"{show(knee.low)} to {show(knee.high)}" if knee.low is not None and knee.high is not None else ""
        name = "knee λ*, arrivals" if comparison.is_open else "knee N*" if knee.sharp else "N* (no sharp knee)"
        numbers.append((show(knee.load), interval, f"{name}{doubt}"))
        if load.is_closed and (ninety := comparison.fit.ninety).load is not None:
            ends = interval_text(*(None if end is None else show(end) for end in (ninety.low, ninety.high)))
            noun = load.plural if load.is_counted else load.noun
            numbers.insert(1 if knee.sharp else 0, (show(ninety.load), ends, f"{noun} with 90 % of the peak"))
    numbers.append((format_duration(knee.response_time_s), "", "response time at the knee"))
    for name, what in (
        ("R1", "idle response time R1"),
        ("L0", "idle latency L0"),
        ("S", "mean service time S"),
        ("Xmax", "peak throughput Xmax"),
    ):
        if (e := comparison.fit.parameters.get(name)) is not None and e.estimate is not None:
            numbers.append(
                (quantity(e.estimate, e.unit), f"{quantity(e.low, e.unit)} to {quantity(e.high, e.unit)}", what)
            )
    throughput, response, repeats = (
        None if v is None else format_percent(v)
        for v in (summary.held_out_mape_throughput_pct, summary.held_out_mape_response_pct, summary.repeat_noise_pct)
    )
    noise = "" if repeats is None else f"repeats differ by {repeats}"
    if throughput is not None and not comparison.is_open:
        numbers.append((throughput, noise, "held-out error, throughput"))
        noise = ""
    if response is not None:
        numbers.append((response, noise, "held-out error, response time"))
    return numbers
