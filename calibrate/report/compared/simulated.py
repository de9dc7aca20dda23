"""The calibrated queue, simulated, over its curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.fitting.simulated_queue import CUSTOMERS, SHARES, SimulatedQueue, simulated_queue
from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.figure_elements import axes_of
from calibrate.report.drawing import INK, Drawing, depth_ticks, interval, marker
from calibrate.report.lines import Line, figure_of, lines_of
from calibrate.report.table_text import shown
from calibrate.report.view import View
from measure.sweep import Sweep, histograms

_CAPTION = (
    "The fitted curve as a station that serves at X(n) while n requests are present, {customers:,} requests of it "
    "simulated at each load: {law}. Its throughput and mean must lie on the curve. All present share the device, so "
    "percentiles spread wider than those of a device that serves in order."
)


@dataclass(frozen=True)
class QueueAtWork:
    """The calibrated queue simulated at the measured loads (m,), and the measurements there.

    ``measured_s`` (2, m) are the percentiles of ``SHARES``, NaN where no histogram was kept.
    """

    comparison: Comparison
    queue: SimulatedQueue
    measured_s: Array


def queue_at_work(comparison: Comparison, sweep: Sweep | None) -> QueueAtWork:
    """The simulated queue, with the percentiles of the sweep's histograms."""
    found, shares = simulated_queue(comparison.fit, comparison.predicted), len(SHARES)
    kept: dict[float, list[list[float]]] = {}
    for (series, load, _), one in histograms(sweep).items() if sweep is not None and sweep.latencies else ():
        if series == comparison.series:
            kept.setdefault(load, []).append([one.quantile(share) for share in SHARES])
    measured = [np.median(kept[n], axis=0) if n in kept else np.full(shares, np.nan) for n in found.load]
    return QueueAtWork(comparison, found, np.array(measured).reshape(-1, shares).T)


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
