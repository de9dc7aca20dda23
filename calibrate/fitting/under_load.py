"""Readings of a fit's curve under a load of another kind: an objective in users or arrivals, shares of the peak.

They lie on the curve that ``predict`` prints under that load, their intervals on those of the possible devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from calibrate.fitting.other_loads import drawn_responses, drawn_under, within_the_peak
from calibrate.fitting.other_loads import predict as predict_at
from calibrate.fitting.predicted_curve import Prediction, is_own_kind
from calibrate.fitting.readings import (
    PAST,
    ROUNDING,
    Knee,
    check_objective,
    ends_of,
    first_reaching,
    load_at,
    mean_objective,
    objective_knee,
)
from calibrate.inference.parameters import Array
from calibrate.models.calibration import PEAK, Calibration
from measure.errors import DataError
from measure.loads import ArrivalRate, ClosedLoad, Load, PeakShare
from measure.units import format_rate

NEAR = 1e-5
"""The relative distance at which two loads are one."""

AROUND, TRIED = 3.0, 40
"""Loads tried to either side of an estimate for its interval, to this factor, and their number."""

FARTHEST = 1e6
"""No load beyond this is tried."""


def predict(fit: Calibration, at: Sequence[float] | Array | Load | PeakShare, *, refuse: bool = True) -> Prediction:
    """Throughput and response time with bands, by a fitted (or data-sheet) model.

    ``at``: loads in the unit of the fit (outstanding requests; injected delay), or a load of another kind with its
    values: ``ArrivalRate([2e3, 8e3])``, ``Clients([10, 100], think=1.0)``, or shares of the peak, as
    ``PeakShare([0.6, 0.8])``. Without ``refuse`` a rate that is not served
    has a response time of a million lone requests, as beside one that was measured.

    Raises ValueError for a load that is not positive (zero is allowed for an injected delay) or not finite, and for
    clients with an unknown think time; DataError for a rate that is not served, or that needs more requests present
    than the fit covers, and for a kind of load that the fit does not predict.

    >>> from calibrate import from_datasheet, predict
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> predict(drive, [1, 8, 64]).load.tolist()
    [1.0, 8.0, 64.0]
    >>> strangers = predict(drive, ArrivalRate([60e3, 400e3]))
    >>> [f"{1e6 * time:.0f}" for time in strangers.response_time_s]
    ['82', '96']
    """
    return predict_at(fit, load_at_share(fit, at) if isinstance(at, PeakShare) else at, refuse=refuse)


def load_at_share(fit: Calibration, asked: PeakShare) -> ArrivalRate | ClosedLoad:
    """The loads whose predicted throughput is each share of the printed peak: rates, or as few as reach it.

    Raises DataError for a fit without a peak throughput, and for a share that no load reaches.

    >>> from calibrate import from_datasheet
    >>> load_at_share(from_datasheet(idle_latency=80e-6, peak_iops=600e3), PeakShare([0.5]))
    ArrivalRate([300000])
    """
    peak = fit.figures.get(PEAK)
    if peak is None or not peak.estimate:
        raise DataError(
            f"{fit.series or 'the fit'} has no peak throughput to take a share of; give {fit.load_type.plural}"
        )
    rates = [share * peak.estimate for share in asked.shares]
    if isinstance(asked.of, ClosedLoad):
        rates = [_fewest_with(fit, rate, asked.of) for rate in rates]
    return replace(asked.of, values=tuple(rates))


def objective_under(fit: Calibration, time_s: float, load: ArrivalRate | ClosedLoad) -> Knee:
    """The heaviest ``load`` of its kind under which the predicted mean response time stays within ``time_s``.

    As ``objective_knee``, in users or arrivals a second, whatever was measured.

    >>> from calibrate import from_datasheet
    >>> from measure import ArrivalRate
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> round(objective_under(drive, 100e-6, ArrivalRate()).load / 1e3)
    424
    """
    if is_own_kind(fit.load_type, load):
        return objective_knee(fit, time_s)
    check_objective(time_s)
    loads, longest = _looked_at(fit, time_s, load), time_s * (1 + ROUNDING)
    first, last = float(loads[0]), float(loads[-1])
    response = _response(fit, load)
    lightest = response(first)
    if lightest > longest:
        found = 0.0
    elif response(last) <= longest:
        found = math.inf
    else:
        whole = load.thinking_s > 0
        found = _first(lambda n: response(n) > longest, first, last, whole=whole) - whole  # the last that meets it
    near = loads
    if 0 < found < math.inf:
        near = np.geomspace(max(found / AROUND, first), min(found * AROUND, last), TRIED)
    times = np.minimum(drawn_responses(fit, replace(load, values=tuple(near))), FARTHEST * time_s)
    ends = ends_of(load_at(near, first_reaching(times / longest)), fit.level)
    return mean_objective(fit, time_s, found, ends, np.array([first, last]), lightest, load)


def _looked_at(fit: Calibration, time_s: float, load: ArrivalRate | ClosedLoad) -> Array:
    """Loads from light to heavy, to where even the peak takes the time."""
    peak = fit.figures[PEAK].estimate or 1.0
    if isinstance(load, ArrivalRate):
        return np.linspace(0.001, 0.999, TRIED) * peak
    deepest = PAST * (time_s + load.thinking_s) * peak
    return np.geomspace(1.0, min(max(deepest, 2.0), FARTHEST), TRIED)


def _response(fit: Calibration, load: ArrivalRate | ClosedLoad) -> Callable[[float], float]:
    """The predicted mean response time at a load of this kind."""
    if is_own_kind(fit.load_type, load) and not fit.is_seen_through_chain:
        return lambda n: float(predict_at(fit, [n]).response_time_s[0])
    drawn = drawn_under(fit, load)
    return lambda n: within_the_peak(fit, load, n, float(np.quantile(drawn(n), 0.5, method="inverted_cdf")))


def _fewest_with(fit: Calibration, rate: float, load: ClosedLoad) -> float:
    """The least load of this kind with the throughput ``rate``, N = X (R + Z); whole where they think."""
    response, whole = _response(fit, load), load.thinking_s > 0

    def reaches(n: float) -> bool:
        return n >= rate * (response(n) + load.thinking_s)

    low = high = max(math.floor(rate * load.thinking_s), 1.0)
    while not reaches(high):
        low, high = high, 1.5 * high
        if high > FARTHEST:
            raise DataError(f"{fit.series or 'the fit'}: {format_rate(rate)} is beyond {load.at(FARTHEST)}")
    found = _first(reaches, low, high, whole=whole)
    return found if whole else float(f"{found:.3g}")


def _first(reached: Callable[[float], bool], low: float, high: float, *, whole: bool) -> float:
    """The first load from which on it is ``reached``; it is so at ``high``."""
    low, high = (math.floor(low), math.ceil(high)) if whole else (low, high)
    while high - low > (1 if whole else NEAR * high):
        middle = math.sqrt(low * high)
        middle = min(max(round(middle), low + 1), high - 1) if whole else middle
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(high)
