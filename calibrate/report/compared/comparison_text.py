"""What a page tells of one comparison in words and tables: verdict, key numbers, parameters, every point, the truth."""

from __future__ import annotations

from typing import Any

from calibrate.fitting.answer import knee_word
from calibrate.fitting.curve_fit import quantity
from calibrate.load_text import load_text, throughput_text
from calibrate.prediction.comparison import Comparison
from measure.findings import SEVERITIES
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_duration, format_percent, format_rate


def told(comparison: Comparison) -> dict[str, Any]:
    """Everything that the template of a comparison says, as text."""
    fit = comparison.fit
    return {
        "name": comparison.series,
        "verdict": comparison.verdict(),
        "key_numbers": _key_numbers(comparison),
        "assumption": fit.assumption,
        "model": fit.model,
        "split": comparison.split,
        "load_name": fit.load_name,
        "parameters": [
            {"name": name, "unit": e.unit, "value": quantity(e.estimate, e.unit), "low": quantity(e.low, e.unit),
             "high": quantity(e.high, e.unit), "identified": e.identified, "note": e.note}
            for name, e in fit.parameters.items()
        ],
        "level": f"{100 * fit.level:g} %",
        "banded": "response times" if comparison.is_open else "throughputs",
        "points": _points(comparison),
        "summary": comparison.summary(),
        "truth": _truth(comparison),
        "audit": sorted(comparison.audit, key=lambda f: -SEVERITIES.index(f.severity)),
        "notes": fit.notes,
    }  # fmt: skip


def _truth(comparison: Comparison) -> list[dict[str, str]]:
    """The rows of "estimate against truth"; empty where the truth is not known."""
    check = comparison.truth
    if check is None:
        return []
    return [
        {
            "name": a.name, "truth": quantity(a.truth, a.unit), "estimate": quantity(a.estimate, a.unit),
            "low": quantity(a.low, a.unit), "high": quantity(a.high, a.unit),
            "inside": "" if a.inside is None else "inside" if a.inside else "outside",
        }
        for a in (*check.parameters, check.knee)
    ]  # fmt: skip


def _key_numbers(comparison: Comparison) -> list[tuple[str, str, str]]:
    """(value, its interval, what it is), the few numbers that stand at the top."""
    knee, summary = comparison.knee, comparison.summary()
    numbers: list[tuple[str, str, str]] = []
    load, word = comparison.points.load_type, knee_word(comparison.fit)
    doubt = "" if word == "sure" else f" ({word or 'not reached'})"
    if load.is_memory:
        low, high = knee.throughput_low_per_s or 0.0, knee.throughput_high_per_s or 0.0
        numbers.append((
            format_bandwidth(knee.throughput_per_s * CACHE_LINE_BYTES),
            f"{format_bandwidth(low * CACHE_LINE_BYTES)} to {format_bandwidth(high * CACHE_LINE_BYTES)}",
            f"bandwidth at the knee{doubt}",
        ))  # fmt: skip
    elif knee.load is not None:
        show = format_rate if comparison.is_open else "{:.3g}".format
        interval = f"{show(knee.low)} to {show(knee.high)}" if knee.low is not None and knee.high is not None else ""
        name = "knee λ*, arrivals" if comparison.is_open else "knee N*" if knee.sharp else "N* (no sharp knee)"
        numbers.append((show(knee.load), interval, f"{name}{doubt}"))
        if load.is_closed and (ninety := comparison.fit.ninety).load is not None:
            ends = " to ".join("..." if end is None else show(end) for end in (ninety.low, ninety.high))
            noun = load.plural if load.is_counted else load.noun
            numbers.insert(
                1 if knee.sharp else 0,
                (show(ninety.load), ends, f"{noun} with 90 % of the peak"),
            )
    numbers.append((format_duration(knee.response_time_s), "", "response time at the knee"))
    for name, what in (("R1", "idle response time R1"), ("L0", "idle latency L0"), ("S", "mean service time S"),
                       ("Xmax", "peak throughput Xmax")):  # fmt: skip
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


def _points(comparison: Comparison) -> list[dict[str, Any]]:
    points, predicted = comparison.points, comparison.predicted
    show = throughput_text(points.load_kind)
    return [
        {
            "load": load_text(points.load_kind, points.load[i]),
            "held_out": bool(comparison.held_out[i]),
            "x": show(points.throughput_per_s[i]),
            "x_predicted": show(predicted.throughput_per_s[i]),
            "x_error": _percent(comparison.residual_throughput_pct[i]),
            "r": format_duration(points.response_time_s[i]),
            "r_predicted": format_duration(predicted.response_time_s[i]),
            "r_error": _percent(comparison.residual_response_pct[i]),
        }
        for i in range(len(points))
    ]


def _percent(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f} %"  # + 0.0: a rounded minus zero is just zero
