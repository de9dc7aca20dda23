"""What a report may show of one curve besides its comparison, gathered before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from calibrate.fitting.simulated_queue import SHARES, SimulatedQueue, simulated_queue
from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from measure.errors import DataError
from measure.sweep import Sweep, histograms

if TYPE_CHECKING:
    from calibrate.service import ServiceFit
    from calibrate.tails.results import Tails


@dataclass(frozen=True)
class QueueAtWork:
    """The calibrated queue simulated at the measured loads (m,), and what was measured there.

    ``measured_s`` (2, m) are the percentiles of ``SHARES``, NaN where no histogram was kept.
    """

    comparison: Comparison
    queue: SimulatedQueue
    measured_s: Array


@dataclass(frozen=True)
class Evidence:
    """A comparison, and what is known besides; whatever is None or empty is left out of the page.

    ``service`` is the law of the times at the smallest load; ``queue`` the calibrated device, simulated; ``host`` the
    time in the host and in the device; ``left_out`` gives the reason for each part that is missing.
    """

    comparison: Comparison
    tails: Tails | None = None
    service: ServiceFit | None = None
    queue: QueueAtWork | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


def evidence_of(
    comparison: Comparison, sweep: Sweep | None = None, *, tails: Tails | None = None, thorough: bool = False
) -> Evidence:
    """Gather what supports ``comparison``, whose sweep was ``sweep``.

    ``tails`` are taken as they are. The law of service and the simulated queue take seconds; a ``thorough`` report has
    them, where the points allow.
    """
    fit, points = comparison.fit, comparison.points
    left_out: dict[str, str] = {}
    law = None
    if thorough and sweep is not None and points.load_type.is_closed:
        try:
            law = _law(comparison, sweep)
        except DataError as error:
            left_out["the law of the service times"] = str(error)
    queue = _queue(comparison, sweep) if thorough and points.load_type.is_closed and fit.used else None
    return Evidence(comparison, tails, law, queue, left_out)


def _queue(comparison: Comparison, sweep: Sweep | None) -> QueueAtWork:
    """The queue at work, with the percentiles of the histograms that the sweep kept."""
    found, shares = simulated_queue(comparison.fit, comparison.points.load), len(SHARES)
    kept: dict[float, list[list[float]]] = {}
    for (series, load, _), one in histograms(sweep).items() if sweep is not None and sweep.latencies else ():
        if series == comparison.series:
            kept.setdefault(load, []).append([one.quantile(share) for share in SHARES])
    measured = [np.median(kept[n], axis=0) if n in kept else np.full(shares, np.nan) for n in found.load]
    return QueueAtWork(comparison, found, np.array(measured).reshape(-1, shares).T)


def _law(comparison: Comparison, sweep: Sweep) -> ServiceFit:
    """The law of the service times at depth 1. DataError where no histogram or log tells them."""
    least, load = float(comparison.points.load[0]), comparison.points.load_type
    if least > 1:
        raise DataError(
            f"{comparison.series}: it is seen at {load.at(1.0)} alone, and the least here is {load.at(least)}"
        )
    from calibrate.service import fit_service
    from calibrate.service.sources import service_times

    times = service_times(sweep, comparison.series)
    if times.kind == "percentiles":
        raise DataError(f"{comparison.series}: percentiles are too few to draw; measure with qsim measure fio")
    return fit_service(times)
