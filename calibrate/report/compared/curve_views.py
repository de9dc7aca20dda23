"""The section of the comparisons of one sweep, and the views of each, by its load and further data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_answer import (
    figure_word,
    idle_figure,
    idle_word,
    knee_figure,
    knee_word,
    ninety_word,
    peak_figure,
    peak_word,
)
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.comparison_answer import curve_rows, mean_text, points_rows, truth_rows
from calibrate.report.compared import curve_figures
from calibrate.report.compared.diagnostics import diagnosis
from calibrate.report.compared.simulated import QueueAtWork, add_simulated, queue_view, tail_view
from calibrate.report.view import ComparedCurve, FormattedTable, KeyFigure, Section, View, parameter_table, shown
from measure.findings import SEVERITIES
from measure.loads import Bandwidth, ClosedLoad, InjectedDelay, MemoryLoad
from measure.origin import IN_PLOTS, Provenance, by_littles_law, foot_lines, rows_to_judge
from measure.units import counted, format_duration, format_percent

if TYPE_CHECKING:
    from calibrate.tails.results import Tails

FEW = 4  # curves that one plot shows clearly
_SUMMARY = "Knee, peak and misses of each; ranges are intervals."
_HOW = "Lines are predicted, circles were held out, open squares were calibrated on."
_SQUARES = (
    "Squares were used to calibrate. Circles were held out: the line knew nothing of them. The star is the knee. The "
    "shade, or the crossbars of a load, are where a new point is expected, repeated as often as these."
)
_BOUNDS = "Dashed: the asymptotic bounds, which no busy device of this latency and peak can pass."
_ONSET = " They cross at {} Xmax; the knee is {} Xmax, as a lone request takes another time than one of a few."
_RESIDUALS = "Predicted over observed, minus one. Filled: held out. Open: calibrated on, and so no evidence."
_NO_FLOOR = " Nothing was repeated, so the noise floor is unknown: measure with --repeats."
_FLOOR = " No model can be expected to come below the grey noise floor."


def compared_section(title: str, curves: Sequence[ComparedCurve], refused: Mapping[str, str] | None = None) -> Section:
    """The curves of one sweep, all in one plot first, and the series that could not be compared, with the reason."""
    first, provenance = next((one.comparison for one in curves), None), Provenance()
    if first is not None:
        provenance = replace(first.provenance, source=first.provenance.source or first.points.source)
    return Section(
        title,
        _overview(curves) if len(curves) > 1 else (),
        name="all series",
        curves=curves,
        refused=refused or {},
        provenance=provenance,
    )


def views_of(
    comparison: Comparison, tails: Tails | None = None, queue: QueueAtWork | None = None, left_out: Sequence[str] = ()
) -> ComparedCurve:
    """Every view of one curve, with its tails and its simulated queue; ``left_out`` says why a part is missing."""
    floor = _NO_FLOOR if comparison.summary().repeat_noise_pct is None else _FLOOR
    residuals, words = curve_figures.misses(comparison), _RESIDUALS + floor + diagnosis(comparison)
    main = [*_curves(comparison), View("residuals-load", "Residuals", words, comparison.to_frame(), residuals)]
    if queue is not None and len(queue.queue.load):
        add_simulated(next(view.figure for view in main if view.name == "throughput" and view.figure), queue)
        main.append(queue_view(queue))
    if tails is not None:
        main.append(tail_view(tails))
    checks = [_little(comparison)] if isinstance(comparison.points.load_type, ClosedLoad) else []
    if comparison.models:
        checks.append(_ladder(comparison))
    return ComparedCurve(comparison, tuple(main), tuple(checks), tuple(left_out))


def _overview(found: Sequence[ComparedCurve]) -> tuple[View, ...]:
    """The table of all curves, all of them in one plot, and beyond a handful a small plot of each."""
    done = [one.comparison for one in found]
    header, rows = curve_rows(done)
    table = pd.concat([one.main[0].table.assign(series=one.comparison.series) for one in found], ignore_index=True)
    summary = pd.DataFrame(rows, columns=["series", *header[1:]])
    marked = foot_lines(pd.concat([c.measured for c in done]), IN_PLOTS)
    how = " ".join([_HOW, *(f"{line}." for line in marked)])
    views = (
        View("summary", "Every curve", _SUMMARY, summary, None, FormattedTable.of(header, rows)),
        View("overview", "All curves in one plot", how, table, curve_figures.overview(done)),
    )
    if len(done) <= FEW:
        return views
    seen = table[table["what"].str.startswith("observed")]
    return (*views, View("small-multiples", "Each curve alone", how, seen, curve_figures.small_multiples(done)))


def _curves(comparison: Comparison) -> list[View]:
    load, table = comparison.points.load_type, curve_figures.curve_table(comparison)
    squares = " ".join([_SQUARES, *(f"{line}." for line in foot_lines(comparison.measured, IN_PLOTS))])
    curve = curve_figures.latency_against_throughput(comparison)
    if isinstance(load, Bandwidth):
        return [View("curve", "Latency against bandwidth", squares, table, curve)]
    if comparison.is_open:
        return [View("curve", "Response time against arrival rate", squares, table, curve)]
    memory = isinstance(load, InjectedDelay)
    return [
        View("curve", f"Latency against {'bandwidth' if memory else 'throughput'}", squares, table, curve),
        View(
            "throughput",
            "Bandwidth against delay" if memory else "Throughput against load",
            "Less delay, more load: the loaders pause longer to the right." if memory else _BOUNDS + _onset(comparison),
            table[[c for c in table if "response" not in str(c)]],
            curve_figures.against_load(comparison, "throughput"),
        ),
        View(
            "response",
            "Latency against delay" if memory else "Response time against load",
            "With long delays the memory is idle and an access takes its idle latency."
            if memory
            else "Left of the knee more load costs little time; right of it, mostly time.",
            table[[c for c in table if "throughput" not in str(c)]],
            curve_figures.against_load(comparison, "response"),
        ),
    ]


def _onset(comparison: Comparison) -> str:
    """Where the drawn bounds cross, if that is not the knee."""
    if "Rbusy" not in comparison.fit.curve_parameters:
        return ""
    return _ONSET.format(*("(Rbusy + Z)", "(R1 + Z)") if comparison.points.load_type.thinking_s else ("Rbusy", "R1"))


def _little(comparison: Comparison) -> View:
    table = comparison.to_frame()
    can = rows_to_judge(comparison.measured, judges=lambda origin: not by_littles_law(origin))
    left_out, think = int((~can).sum()), comparison.points.load_type.thinking_s
    times = "response and think time together" if think else "response time"
    unchecked = f" It cannot be checked at {counted(left_out, 'point')}, where it gave a figure." if left_out else ""
    return View(
        "little",
        "Little's law",
        f"Throughput times {times} must give the load that was asked for; the number at a point is their ratio."
        + unchecked,
        table.assign(in_flight=(table["throughput_per_s"] * (table["response_time_s"] + think)).where(can)),
        curve_figures.little_check(comparison),
    )


def _ladder(comparison: Comparison) -> View:
    what = "response" if comparison.is_open else "throughput"
    columns = (f"in_sample_mape_{what}_pct", "held_out_mape_throughput_pct", "held_out_mape_response_pct")
    table = pd.DataFrame(
        [
            {"rank": m.rank, "model": m.name, **{c: getattr(m, c) for c in columns}, "assumption": m.assumption}
            for m in comparison.models
        ]
    )
    headings = ("calibration error", "held-out error, throughput", "response")
    caption = (
        f"Ranked by mean error at the held-out points; {comparison.fit.model} was fixed before they were looked at."
    )
    text = shown(table, {**dict(zip(columns, headings, strict=True)), "assumption": "assumes"})
    return View("models", "Other models on the same points", caption, table, None, text)


def curve_output(comparison: Comparison) -> dict[str, Any]:
    """All values of the template of a comparison, as text and tables."""
    fit, points = comparison.fit, points_rows(comparison, range(len(comparison.points)))
    return {
        "name": comparison.series,
        "verdict": comparison.verdict(),
        "key_numbers": _key_numbers(comparison),
        "model": fit.model,
        "split": comparison.split,
        "assumption": fit.assumption,
        "level": f"{100 * fit.level:g} %",
        "parameters": parameter_table(fit.parameters, partial(figure_word, fit)),
        "truth": None
        if comparison.truth is None
        else FormattedTable.of(*truth_rows(comparison.truth), words=(0, 3, 4)),
        "points": FormattedTable.of(*points, words=(len(points[0]) - 1,), foot=foot_lines(comparison.measured)),
        "banded": "response times" if comparison.judges_response[comparison.held_out].all() else "throughputs",
        "summary": comparison.summary(),
        "audit": sorted(comparison.audit, key=lambda f: -SEVERITIES.index(f.severity)),
        "notes": fit.notes,
    }


def _key_numbers(comparison: Comparison) -> list[KeyFigure]:
    """The key figures at the top: those of the fit, and the errors at the held-out points."""
    summary = comparison.summary()
    numbers = key_figures(comparison.fit)
    if comparison.knee.load is not None:
        numbers.append(KeyFigure(format_duration(comparison.knee.response_time_s), "", "response time at the knee"))
    throughput, response = (
        None if v is None else mean_text(v)
        for v in (summary.held_out_mape_throughput_pct, summary.held_out_mape_response_pct)
    )
    repeats = summary.repeat_noise_pct
    noise = "" if repeats is None else f"repeats have a standard deviation of {format_percent(repeats)}"
    if throughput is not None and not comparison.is_open:
        numbers.append(KeyFigure(throughput, noise, "held-out error, throughput"))
    if response is not None:
        numbers.append(KeyFigure(response, noise, "held-out error, response time"))
    return numbers


def key_figures(fit: Fit) -> list[KeyFigure]:
    """Those that are known, each with its word where it is not sure."""
    load, peak, idle = fit.load_type, "predicted peak throughput", "latency of one request alone"
    if isinstance(load, ClosedLoad):
        ninety = (knee_figure(fit, knee=fit.ninety), f"{load.heading} with 90 % of the peak", ninety_word(fit))
        found = [(knee_figure(fit), f"{load.heading} where queueing starts", knee_word(fit)), ninety]
    else:
        knee = "bandwidth at the knee" if isinstance(load, MemoryLoad) else "arrivals at the knee"
        found = [(knee_figure(fit), knee, knee_word(fit))]
    if isinstance(load, MemoryLoad):
        peak, idle = "predicted peak bandwidth of the memory", "idle latency of the memory"
    found += [(peak_figure(fit), peak, peak_word(fit)), (idle_figure(fit), idle, idle_word(fit))]
    said = {"": "", "sure": ""}
    return [key_figure(text, what + said.get(word, f" ({word})")) for text, what, word in found if text]


def key_figure(text: str, what: str) -> KeyFigure:
    """``73 k/s (54 to 423)``, its interval apart."""
    value, _, interval = text.partition(" (")
    return KeyFigure(value, interval.removesuffix(")"), what)
