"""What is simulated of a calibrated device, over its curve: the tails of the structures behind it, and its queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.fitting.simulated_queue import CUSTOMERS, SHARES, SimulatedQueue, simulated_queue
from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report import drawing
from calibrate.report.compared.figure_elements import axes_of
from calibrate.report.lines import Line, figure_of, lines_of
from calibrate.report.view import FormattedTable, View, shown
from calibrate.tails.results import QUANTILES, Tails
from measure.loads import ClosedLoad
from measure.sweep import Sweep, histograms
from measure.units import format_duration, missed_text

_CAPTION = (
    "Lines are simulated from the histogram at depth 1; the shade is where 90 % of what is measured should lie. "
    "Circles were held out, squares were calibrated on. 1 request in 100 takes longer than p99."
)
NAMES = {"p50_s": "p50", "p95_s": "p95", "p99_s": "p99", "p999_s": "p99.9"}


def tail_view(tails: Tails) -> View:
    """Drawing and table of the tails of one curve."""
    return View(
        "tails",
        "Tails against depth",
        f"{tails.sentence()} {_CAPTION}",
        tails.to_frame(),
        tail_figure(tails),
        tail_text(tails),
    )


def tail_text(tails: Tails) -> FormattedTable:
    """Each percentile observed and predicted, with the error of the prediction."""
    alone = not any(p.observed for p in tails.points)
    words = [("", label, "") if alone else (label, "predicted", "error") for label in NAMES.values()]
    header = ["depth", *(word for three in words for word in three), ""]
    rows = []
    for p in tails.points:
        row = [f"{p.load:g}"]
        for name in NAMES:
            seen = (
                (format_duration(p.observed[name]), missed_text(p.residual_pct[name]))
                if name in p.observed
                else ("", "")
            )
            row += [seen[0], format_duration(p.predicted[name]), seen[1]]
        rows.append([*row, "" if p.held_out else "calibrated on"])
    return FormattedTable.of(header, rows, words=(len(header) - 1,))


def tail_figure(tails: Tails) -> drawing.Drawing:
    """Percentiles over the depth, observed and predicted, with their bands."""
    table = tails.to_frame()
    load = table["load"].to_numpy(float)
    axis = drawing.latency_axis(table[[f"{name.removesuffix('_s')}_predicted_s" for name in QUANTILES]].to_numpy(float))
    figure = drawing.empty_figure("outstanding requests N", axis.title, log_x=True, log_y=True)
    drawing.depth_ticks(figure, load)
    for colour, (name, label) in zip(drawing.PALETTE, NAMES.items(), strict=False):
        column = name.removesuffix("_s")
        low, high = (axis.of(table[f"{column}_{end}_s"].to_numpy(float)) for end in ("low", "high"))
        figure.add_band(load, low, high, colour, 0.12)
        figure.add_line(load, axis.of(table[f"{column}_predicted_s"].to_numpy(float)), label, drawing.solid(colour))
        symbols = ["circle" if held else "square-open" for held in table["held_out"]]
        figure.add_points(
            load,
            axis.of(table[f"{column}_observed_s"].to_numpy(float)),
            f"{label} observed",
            {**drawing.marker(colour), "symbol": symbols},
            showlegend=False,
        )
    return figure


_OF_QUEUE = (
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


def queue_at_work(comparison: Comparison, sweep: Sweep | None) -> QueueAtWork | None:
    """The simulated queue of a closed load, with the percentiles of the sweep's histograms; None of other loads."""
    kind = comparison.points.load_type
    if not isinstance(kind, ClosedLoad) or kind.thinking_s or not comparison.fit.used:
        return None
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
    drawing.depth_ticks(figure, queue.load)
    table = queue_table(found)
    return View(
        "queue-simulated",
        "The calibrated queue, simulated",
        _OF_QUEUE.format(customers=CUSTOMERS, law=queue.law),
        table,
        figure,
        shown(table, {"load": comparison.fit.load_name}),
    )


def add_simulated(figure: drawing.Drawing, found: QueueAtWork) -> None:
    """The simulated throughput with its interval, over the curve of throughput against load."""
    axis, _ = axes_of([found.comparison])
    middle, low, high = axis.of(found.queue.throughput_per_s)
    figure.add_points(
        found.queue.load,
        middle,
        "the queue, simulated",
        drawing.marker(drawing.INK, "x-thin-open", 9),
        error_y=drawing.interval(middle, low, high, color=drawing.INK, thickness=1),
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
