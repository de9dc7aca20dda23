"""The section of a report that shows an application on calibrated devices."""

from __future__ import annotations

import numpy as np

from calibrate.application.system import System
from calibrate.application.system_answer import answer_parts
from calibrate.report.lines import Line, figure_of
from calibrate.report.view import Section, View, end_of, parameter_table, shown

BANDS = "Shades are {level:g} % bands: what the calibrated stations leave open."


def system_lines(found: System) -> list[Line]:
    """Throughput, response and utilisations over the clients."""
    x, curves = found.clients, [Line("", "X", found.clients, *found.throughput())]
    curves.append(Line("mean", "W", x, *found.response()))
    curves += [Line(f"p{100 * q:g}", "W", x, *found.percentile(q)) for q in found.percentiles]
    return [*curves, *_busy(found)]


def system_section(found: System) -> Section:
    """Latency against throughput, utilisation over clients, and the table."""
    caption = BANDS.format(level=100 * found.level)
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
    """The utilisation of each station; the bottleneck first."""
    names = sorted(found.stations, key=lambda name: name != found.bottleneck)
    return [Line(name, "rho", np.asarray(found.clients), *found.utilization(name)) for name in names]
