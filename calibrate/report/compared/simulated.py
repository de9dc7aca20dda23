"""The calibrated queue, simulated, over its curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.fitting.simulated_queue import CUSTOMERS, SHARES
from calibrate.report.compared.evidence import QueueAtWork
from calibrate.report.compared.figure_elements import axes_of
from calibrate.report.drawing import INK, Drawing, depth_ticks, interval, marker
from calibrate.report.lines import Line, figure_of, lines_of
from calibrate.report.table_text import shown
from calibrate.report.view import View

_CAPTION = (
    "The fitted curve as a station that serves at X(n) while n requests are present, {customers:,} requests of it "
    "simulated at each load: {law}. Its throughput and mean must lie on the curve. All present share the device, so "
    "percentiles spread wider than those of a device that serves in order."
)


def queue_view(found: QueueAtWork) -> View:
    """Throughput and response time simulated, next to the curve and the measured percentiles."""
    comparison, queue, curve = found.comparison, found.queue, found.comparison.smooth
    _, predicted = lines_of(curve, comparison.fit.load_type, series="mean")
    drawn = [predicted, Line("mean, simulated", "W", queue.load, queue.response_s, measured=True, curve="mean")]
    for share, simulated, measured in zip(SHARES, queue.percentiles_s, found.measured_s, strict=True):
        name = f"p{100 * share:g}"
        drawn.append(Line(f"{name}, simulated", "W", queue.load, simulated, curve=name))
        if np.isfinite(measured).any():
            drawn.append(Line(f"{name}, measured", "W", queue.load, measured, measured=True, curve=name))
    figure = figure_of(drawn, comparison.fit.load_name, log_x=True, log_y=True)
    depth_ticks(figure, queue.load)
    table = queue_table(found)
    return View(
        "queue-simulated",
        "The calibrated queue, simulated",
        _CAPTION.format(customers=CUSTOMERS, law=queue.law),
        table,
        figure,
        shown(table, {"load": comparison.fit.load_name}),
    )


def add_simulated(figure: Drawing, found: QueueAtWork) -> None:
    """The simulated throughput with its interval, over the curve of throughput against load."""
    axis, _ = axes_of([found.comparison])
    middle, low, high = axis.of(found.queue.throughput_per_s)
    figure.add_scatter(
        x=found.queue.load,
        y=middle,
        mode="markers",
        name="the queue, simulated",
        marker=marker(INK, "x-thin-open", 9),
        error_y=interval(middle, low, high, color=INK, thickness=1),
    )


def queue_table(found: QueueAtWork) -> pd.DataFrame:
    """A row for each load, SI units; NaN where there is no histogram."""
    queue = found.queue
    columns = {
        "load": queue.load,
        "predicted_per_s": queue.predicted_per_s,
        **dict(
            zip(("simulated_per_s", "simulated_low_per_s", "simulated_high_per_s"), queue.throughput_per_s, strict=True)
        ),
        "simulated_response_s": queue.response_s,
    }
    for i, share in enumerate(SHARES):
        columns[f"p{100 * share:g}_simulated_s"] = queue.percentiles_s[i]
        columns[f"p{100 * share:g}_measured_s"] = found.measured_s[i]
    return pd.DataFrame(columns)
