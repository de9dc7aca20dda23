"""The sections of a report that show predictions alone: of a device and of the changed one, and of an application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from calibrate.application.system import System
from calibrate.application.system_answer import answer_parts
from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_answer import figure_word, knee_sentence, method_text
from calibrate.fitting.predicted_curve import Prediction, grid
from calibrate.inference.parameters import Array
from calibrate.prediction.what_if import Scenario
from calibrate.report.drawing import Drawing, spans_decade
from calibrate.report.lines import Line, figure_of, lines_of, over_load
from calibrate.report.view import Section, View, end_of, parameter_table, shown
from measure.loads import ArrivalRate, Clients, Load, MemoryLoad
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES

_CAPTION = "Lines are predictions, shades the {level:g} % bands in which a single new measurement is expected."
_BANDS = "Shades are {level:g} % bands: what the calibrated stations leave open."


def predicted_section(fit: Fit, load: Load, scenario: Scenario | None = None) -> Section:
    """Throughput and response time of ``fit`` over the values of ``load``, those of the scenario, and assumptions."""
    low, high = min(load.values), max(load.values)
    at = np.linspace(low, high, 120) if isinstance(load, ArrivalRate) else grid(low, high)
    at = np.unique(np.rint(at)) if isinstance(load, Clients) and load.think else at
    first = "as it is" if scenario else "predicted"
    fits = {first: fit} | ({", ".join(scenario.changes): scenario.fit} if scenario else {})
    curves = {name: one.predict(replace(load, values=at.tolist()), refuse=False) for name, one in fits.items()}
    table = pd.concat([curve.to_frame().assign(device=name) for name, curve in curves.items()], ignore_index=True)
    title, caption = f"{load.rate_name.capitalize()} and response time", _CAPTION.format(level=100 * fit.level)
    named = "Parameters" if scenario is None else "Parameters of the device as it is"
    parameters = parameter_table(fit.parameters, partial(figure_word, fit))
    intervals = f"With their {100 * fit.level:g} % intervals."
    views = [
        View("predicted", title, caption, table, _figure(load, curves)),
        _points(fits, load),
        View("predicted-parameters", named, intervals, fit.to_frame(), text=parameters),
    ]
    method, changed = method_text(fit), () if scenario is None else scenario.assumptions
    lead = f"{method[0].upper()}{method[1:]}. {knee_sentence(fit)}."
    if scenario is not None:
        lead += f" What if: {', '.join(scenario.changes)}? {knee_sentence(scenario.fit)}."
    return Section(
        fit.series or "device",
        views,
        lead=lead,
        notes=(
            f"It assumes: {fit.assumption}.",
            *(f"Of the change it is assumed: {a}." for a in changed),
            *(f"Note: {note}." for note in fit.notes),
        ),
        name="predicted",
    )


def arrivals_in_words(fit: Fit, sweep: Sweep) -> str:
    """How well a fit to a closed test predicted a sweep over arrival rates."""
    told, seen = _at_rates_of(fit, sweep)
    missed = 100 * float(np.median(np.abs(told.response_time_s / seen - 1)))
    inside = int(((told.response_time_low_s <= seen) & (seen <= told.response_time_high_s)).sum())
    depths = ", ".join(f"{n:g}" for n in fit.used)
    return (
        f"Predicted from depths {depths} of a closed test alone, which saw no arrivals, it missed the response time by "
        f"{missed:.2g} % (median of {len(seen)} rates). {inside} of {len(seen)} lie in its {100 * fit.level:g} % band."
    )


def arrivals_view(fit: Fit, sweep: Sweep) -> View:
    """Response time over arrival rates: measured, and predicted by a fit to a closed test."""
    told, seen = _at_rates_of(fit, sweep)
    rates = np.linspace(told.load.min(), told.load.max(), 60)
    curve = fit.predict(ArrivalRate(rates.tolist()), refuse=False)
    predicted = lines_of(curve, sweep.load_type, "predicted from the closed test")[1]
    measured = Line("measured under arrivals", "W", told.load, seen, measured=True)
    table = told.to_frame().assign(measured_s=seen)
    return View(
        "arrivals",
        "Response time of strangers",
        arrivals_in_words(fit, sweep),
        table,
        figure_of([predicted, measured], sweep.load_type.named),
    )


def _at_rates_of(fit: Fit, sweep: Sweep) -> tuple[Prediction, Array]:
    """The prediction at the rates of a sweep, and the measured response times (m,) there."""
    points = sweep.points.sort_values("load")
    told = fit.predict(ArrivalRate(points["load"].tolist()), refuse=False)
    return told, points["latency_s"].to_numpy(float)


def _points(fits: Mapping[str, Fit], load: Load) -> View:
    """The predictions at the requested loads, with bands; a column names the device where there are two."""
    first = next(iter(fits.values()))
    table = pd.concat([f.predict(load).to_frame().assign(device=n) for n, f in fits.items()], ignore_index=True)
    read = table.copy() if len(fits) > 1 else table.drop(columns="device")
    if isinstance(load, MemoryLoad):
        for end in ("", "_low", "_high"):
            read[f"bandwidth{end}_bytes_per_s"] = CACHE_LINE_BYTES * read.pop(f"throughput{end}_per_s")
    text = shown(read, {"load": load.named})
    return View("predicted-points", "Predicted", f"With {100 * first.level:g} % bands.", table, text=text)


def _figure(load: Load, curves: Mapping[str, Prediction]) -> Drawing:
    """Throughput and response time over the loads, a panel each; in logarithms where the times span a decade."""
    drawn = [line for name, curve in curves.items() for line in lines_of(curve, load, name, name)]
    return over_load(drawn, load, log_y=spans_decade(np.concatenate([c.response_time_s for c in curves.values()])))


# --- an application on calibrated devices -----------------------------------------------------------------------------


def system_lines(found: System) -> list[Line]:
    """Throughput, response and utilisations over the clients."""
    x, curves = found.clients, [Line("", "X", found.clients, *found.throughput())]
    curves.append(Line("mean", "W", x, *found.response()))
    curves += [Line(f"p{100 * q:g}", "W", x, *found.percentile(q)) for q in found.percentiles]
    return [*curves, *_busy(found)]


def system_section(found: System) -> Section:
    """Latency against throughput, utilisation over clients, and the table."""
    caption = _BANDS.format(level=100 * found.level)
    rate, time = found.throughput(), found.response()
    figure = figure_of([Line("the application", "W", rate[0], *time)], "throughput (1/s)")
    busy = _busy(found)
    frame = found.to_frame()
    columns = ["clients", "throughput_per_s", "response_time_s", *(f"p{100 * q:g}_s" for q in found.percentiles)]
    kept = [c for name in columns for c in (name, f"{name}_low", f"{name}_high") if c in frame]
    text = shown(frame[kept].rename(columns=_ends_last))
    parameters = {"peak": found.peak, "knee (clients)": found.knee, "90 % of the peak (clients)": found.ninety}
    views = [
        View("latency-throughput", "Latency against throughput", caption, frame, figure),
        View(
            "utilization",
            "How busy each station is",
            f"The share of what each can serve. {caption}",
            frame[["clients", *(c for c in frame if "utilization_" in str(c))]],
            figure_of(busy, "clients"),
        ),
        View("system", "Over the clients", caption, frame, text=text),
        View("system-knee", "Knee", "", frame, text=parameter_table(parameters)),
    ]
    lead = " ".join(f"{label.capitalize()}: {words}." for label, words in answer_parts(found).items())
    return Section("The application", views, lead=lead, name="application")


def _ends_last(column: str) -> str:
    """``throughput_per_s_low`` as a table to read has it, ``throughput_low_per_s``."""
    name, _, end = column.rpartition("_")
    return end_of(name, end) if end in ("low", "high") else column


def _busy(found: System) -> list[Line]:
    names = sorted(found.stations, key=lambda name: name != found.bottleneck)
    return [Line(name, "rho", np.asarray(found.clients), *found.utilization(name)) for name in names]
