"""Further data of one curve for a report besides its comparison, and its key figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from calibrate.fitting.answer import idle_figure, knee_figure, knee_word, peak_figure, peak_word
from calibrate.fitting.fit import Fit
from calibrate.fitting.simulated_queue import SHARES, SimulatedQueue, simulated_queue
from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report.view import KeyFigure
from measure.loads import ClosedLoad, MemoryLoad
from measure.sweep import Sweep, histograms

if TYPE_CHECKING:
    from calibrate.tails.results import Tails


@dataclass(frozen=True)
class QueueAtWork:
    """The calibrated queue simulated at the measured loads (m,), and the measurements there.

    ``measured_s`` (2, m) are the percentiles of ``SHARES``, NaN where no histogram was kept.
    """

    comparison: Comparison
    queue: SimulatedQueue
    measured_s: Array


@dataclass(frozen=True)
class Evidence:
    """A comparison with its tails, and the simulation of the calibrated device.

    ``left_out`` gives the reason for each part that is missing.
    """

    comparison: Comparison
    tails: Tails | None = None
    queue: QueueAtWork | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


def evidence_of(
    comparison: Comparison, sweep: Sweep | None = None, *, tails: Tails | None = None, thorough: bool = False
) -> Evidence:
    """What supports ``comparison``, whose sweep was ``sweep``; ``thorough`` simulates its queue where it is closed."""
    simulated = thorough and isinstance(comparison.points.load_type, ClosedLoad) and comparison.fit.used
    return Evidence(comparison, tails, _queue(comparison, sweep) if simulated else None)


def _queue(comparison: Comparison, sweep: Sweep | None) -> QueueAtWork:
    """The simulated queue, with the percentiles of the sweep's histograms."""
    found, shares = simulated_queue(comparison.fit, comparison.predicted), len(SHARES)
    kept: dict[float, list[list[float]]] = {}
    for (series, load, _), one in histograms(sweep).items() if sweep is not None and sweep.latencies else ():
        if series == comparison.series:
            kept.setdefault(load, []).append([one.quantile(share) for share in SHARES])
    measured = [np.median(kept[n], axis=0) if n in kept else np.full(shares, np.nan) for n in found.load]
    return QueueAtWork(comparison, found, np.array(measured).reshape(-1, shares).T)


def key_figures(fit: Fit) -> list[KeyFigure]:
    """Those that are known, each with its word where it is not sure."""
    load, peak, idle = fit.load_type, "predicted peak throughput", "latency of one request alone"
    if isinstance(load, ClosedLoad):
        ninety = (
            knee_figure(fit, knee=fit.ninety),
            f"{load.heading} with 90 % of the peak",
            knee_word(fit, fit.ninety),
        )
        found = [(knee_figure(fit), f"{load.heading} where queueing starts", knee_word(fit)), ninety]
    else:
        knee = "bandwidth at the knee" if isinstance(load, MemoryLoad) else "arrivals at the knee"
        found = [(knee_figure(fit), knee, knee_word(fit))]
    if isinstance(load, MemoryLoad):
        peak, idle = "predicted peak bandwidth of the memory", "idle latency of the memory"
    found += [(peak_figure(fit), peak, peak_word(fit)), (idle_figure(fit), idle, "")]
    said = {"": "", "sure": ""}
    return [key_figure(text, what + said.get(word, f" ({word})")) for text, what, word in found if text]


def key_figure(text: str, what: str) -> KeyFigure:
    """``73 k/s (54 to 423)``, its interval apart."""
    value, _, interval = text.partition(" (")
    return KeyFigure(value, interval.removesuffix(")"), what)
