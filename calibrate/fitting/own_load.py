"""A fit under its own kind of load: the predicted curve, what new measurements would be, and possible devices.

From three depths on the plain p-norm that is most probable shares the prediction of the default model: a mean of the
two, in logarithms, is nearer than either (the rows of accuracy.md; Bates and Granger, "The combination of forecasts",
Operational Research Quarterly 1969). It does not help from two, nor where latencies tell how sharp the knee is.

**Services** beyond the deepest measured load: throughput may collapse there, at an unpredictable load.
Thread pools, databases and servers lose throughput past some number Nc of clients: X(N) = f(N) max(1, N / Nc)^-gamma.
ln Nc lies an exponential time of mean 1 / ``HAZARD`` beyond the deepest load measured or the knee, whichever is more,
and gamma is log-normal about 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from calibrate.fitting.fit import PEAK, Fit
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, IntArray, Observed, Parameter, carried
from calibrate.inference.tables import most_probable
from calibrate.inference.weights import SPREAD, Known, Predictive, normal_nodes, predictive, quantiles
from calibrate.inference.weights import expected as expected_logs
from calibrate.models.choice import is_open
from calibrate.models.curves import (
    DECLINE_FROM,
    MOST_SHARPNESS,
    SHARPNESS_LOG_SD,
    SHARPNESS_MEDIAN,
    ClosedModel,
    PNorm,
    sharpness_told_by,
)
from calibrate.points import Points
from measure.errors import DataError
from measure.findings import curve_name
from measure.loads import ArrivalRate, Bandwidth, ClosedLoad, CountedLoad, Depth, InjectedDelay, Load, ThroughputLoad
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_rate

Observable = Literal["throughput", "response"]

BEYOND = 1.001
"""Relative tolerance above the highest bandwidth."""

AXES = 4
"""Number of principal axes of the misfit that are drawn evenly."""

PLAIN = "most probable p-norm"
"""The key in a fit's details of N*, Xmax and p of the plain p-norm."""

SHARED = "; the most probable p-norm without an onset has a third of the weight"
"""What a fit with a plain p-norm assumes besides."""

FROM = 3
"""The fewest depths of which the plain p-norm is found."""

MISSED = 0.05
"""The relative standard deviation of a measurement around the plain p-norm."""

LEAST = 0.05
"""Of N* and p: where a lone request finds a device asleep, the curve that follows the points needs no N* of one."""

WEAK_LOG_SD = 2.0
"""Log standard deviation of N* and Xmax around those of the two asymptotes through the points."""

SHARE = 1 / 3
"""The part of the plain p-norm in the prediction: with half, queues of few servers are missed by more."""


def own_curve(fit: Fit, at: Sequence[float] | Array) -> Prediction:
    """Throughput and response time at the loads ``at``, with bands, by a fitted (or data-sheet) model.

    ``at``: loads in the unit of the fit (outstanding requests; injected delay). Raises ValueError for a load that is
    not positive (zero is allowed for an injected delay) or not finite.
    """
    loads = np.atleast_1d(np.asarray(at, dtype=float))
    allows_zero = isinstance(fit.load_type, InjectedDelay)
    bad = ~np.isfinite(loads) | ((loads < 0) if allows_zero else (loads <= 0))
    if loads.size == 0 or bad.any():
        what = f"{loads[bad][0]:g}" if loads.size else "an empty list"
        least = "zero or more" if allows_zero else "greater than zero"
        raise ValueError(f"cannot predict at load {what}: every load must be {least}")
    _check_reach(fit, loads)
    shares = (0.5, *fit.shares)
    if not isinstance(fit.load_type, ThroughputLoad):
        x, x_low, x_high = _throughputs(fit, loads, shares)
    else:  # throughput equals arrivals, up to the peak
        known = fit.table.moments(lambda values: fit.curve_model.curve(values, loads)[0])
        x, x_low, x_high = np.exp(quantiles(*known, fit.table.weight, shares))
    if isinstance(fit.load_type, ClosedLoad):
        r, r_low, r_high = loads / x, loads / x_high, loads / x_low  # N = X R
    else:
        r, r_low, r_high = measurements(fit, loads, "response").quantiles(shares)
        r_high = np.where(_not_served(fit, loads) > 1 - shares[2], np.inf, r_high)
    columns = (loads, x, x_low, x_high, r, r_low, r_high)
    return Prediction(*columns, fit.level, fit.load_type, _not_covered(fit, loads), fit.block_bytes)


def require_served(fit: Fit, loads: Sequence[float] | Array) -> None:
    """Raise DataError for a rate of arrivals above the peak, as far as that is known."""
    rates = np.atleast_1d(np.asarray(loads, dtype=float))
    beyond = rates[_not_served(fit, rates) > 0.5]
    if beyond.size:
        peak = fit.figures[PEAK].estimate or 0.0
        raise not_served(fit, beyond.max(), peak, f"the peak is {format_rate(peak)}; ask for less")


def not_served(fit: Fit, rate: float, peak: float, why: str) -> DataError:
    """The refusal of a rate above a ``peak``, with the reason ``why``; where that is assumed, with this."""
    said = f"is not served: {why}"
    if fit.never_waits:
        said = f"is above {format_rate(peak)}, what is assumed of the peak, as no measured rate tells it; measure there"
    return DataError(f"{curve_name(fit.series) or 'the device'}: {format_rate(rate)} {said}")


def _not_served(fit: Fit, loads: Array) -> Array:
    """The probability (m,) that the peak lies below each of ``loads``, where these are rates of arrivals."""
    if not isinstance(fit.load_type, ArrivalRate):
        return np.zeros(len(loads))
    served = fit.curve_model.curve(fit.table.values, loads)[0] >= loads
    return np.asarray(fit.table.weight @ ~served)


def _check_reach(fit: Fit, loads: Array) -> None:
    """Raise DataError for a bandwidth above the highest measured: the peak is unknown, and errors are 70 % and more."""
    if not isinstance(fit.load_type, Bandwidth) or not fit.used:
        return
    highest = max(*fit.used, (fit.known_peak_per_s or 0.0) * CACHE_LINE_BYTES)
    if loads.max() > highest * BEYOND:
        what = "the highest calibrated on" if highest == max(fit.used) else "the known peak"
        raise DataError(
            f"{fit.series}: {format_bandwidth(float(loads.max()))} is beyond {what}, {format_bandwidth(highest)}; "
            "calibrate on a higher bandwidth"
        )


def _throughputs(fit: Fit, loads: Array, shares: tuple[float, ...]) -> Array:
    """Quantiles (k, m) of the throughput: a closed median, ``shares[0]``, is at most the peak; services collapse."""
    found = measurements(fit, loads).quantiles(shares)
    if isinstance(fit.load_type, ClosedLoad) and isinstance(fit.curve_model, ClosedModel):
        found[0] = np.minimum(found[0], fit.asymptotes[1].estimate or np.inf)
        found[1] = np.minimum(found[1], found[0])
    if fit.collapse is not None:
        start, power = fit.collapse
        return np.asarray(found * np.minimum(start / loads, 1.0) ** power)
    if (origin := collapses_beyond(fit)) is not None and (beyond := loads > origin).any():
        deeper = loads[beyond]
        found[:, beyond] = collapsing(measurements(fit, deeper).quantiles(EVENLY), deeper, origin, shares)
    return found


def collapses_beyond(fit: Fit) -> float | None:
    """The load beyond which the throughput of a service may collapse; None for a device without that hazard."""
    if not (isinstance(fit.load_type, CountedLoad) and fit.used) or fit.curve_model.declines:
        return None
    return max(fit.deepest, fit.crossing or 0.0)


def _not_covered(fit: Fit, loads: Array) -> tuple[str, ...]:
    """Notes on unmeasured depths where throughput may decline."""
    load = fit.load_type
    is_service = isinstance(load, CountedLoad) and bool(fit.used)
    covered = fit.deepest if is_service else max((*fit.used, DECLINE_FROM - 1))
    if not isinstance(load, ClosedLoad) or fit.curve_model.declines or loads.max() <= covered:
        return ()
    if is_service:
        return (
            f"nothing is known beyond {load.place(load.estimated_text(covered))}, the most that were measured: many "
            f"servers lose throughput there, and the bands allow for it; measure {load.more}",
        )
    return (
        f"not covered beyond N = {covered:g}: many drives lose throughput there, which no shallower point foretells; "
        f"measure {load.at(loads.max())}, and the curve follows it",
    )


def is_own_kind(measured: Load, asked: Load) -> bool:
    """Whether a load is of the kind that was measured; depths and clients who do not think are one kind."""
    closed = all(isinstance(load, ClosedLoad) and getattr(load, "think", 0.0) == 0 for load in (measured, asked))
    return (closed and is_open(measured) == is_open(asked)) or replace(measured, values=()) == replace(asked, values=())


def measurements(fit: Fit, loads: Array, what: Observable = "throughput") -> Predictive:
    """The predictive distribution of new measurements at ``loads`` (m,), in logarithms."""
    known = _known(fit, what)
    found = predictive(known, loads)
    plain = _plain_over(fit, known, loads, what, found.weight @ found.mean)
    return found if plain is None else found.shared_with(plain, SHARE)


def expected(fit: Fit, loads: Array, what: Observable = "throughput") -> Array:
    """The geometric mean (m,) of new measurements at ``loads`` (m,)."""
    known = _known(fit, what)
    found = expected_logs(known, loads)
    plain = _plain_over(fit, known, loads, what, found)
    return np.asarray(np.exp(found if plain is None else found + SHARE * plain))


def drawn_devices(
    fit: Fit, loads: Array, what: Observable = "throughput", count: int = SPREAD
) -> tuple[Array, IntArray]:
    """Logarithms (count, m) of the observable of possible devices at ``loads`` (m,), and each device's row.

    Evenly spread rows, each with a draw of its misfit along the loads, without the noise of a single measurement.
    """
    known = measurements(fit, loads, what)
    z = normal_nodes(count, 1 + AXES + known.slopes.shape[2])
    rows = fit.table.rows(count)[np.argsort(np.argsort(z[:, 0]))]
    process, sizes = fit.curve_model.process, fit.table.misfit[rows]
    each = np.unique(sizes)
    noise = np.array(fit.used_noise if what == "throughput" else fit.used_response_noise)
    missed = np.empty((count, len(loads)))
    _, left = carried(process, np.array(fit.used), noise, each, loads)
    for size, covariance in zip(each, left, strict=True):
        smooth = covariance - process.own * size**2 * np.eye(len(loads))
        variance, vectors = np.linalg.eigh(smooth)
        axes = vectors[:, -AXES:] * np.sqrt(np.maximum(variance[-AXES:], 0.0))
        missed[sizes == size] = z[sizes == size, 1 : 1 + axes.shape[1]] @ axes.T
    along = np.einsum("kmr,kr->km", known.slopes[rows], z[:, 1 + AXES :])
    return known.mean[rows] + along + missed, rows


def _known(fit: Fit, what: Observable) -> Known:
    """The table and the calibration points' ``what``."""
    which = 0 if what == "throughput" else 1
    seen = (fit.used_throughput_per_s, fit.used_response_s)[which]
    noise = (fit.used_noise, fit.used_response_noise)[which]
    columns = np.array(fit.used), np.array(noise), np.array(seen)
    model = fit.curve_model
    return Known(fit.table, lambda values, at: model.curve(values, at)[which], model.process, *columns)


def plain_p_norm(points: Points) -> tuple[float, ...] | None:
    """N*, Xmax and p of the most probable p-norm; None where it does not help."""
    loads, throughput = points.load, points.throughput_per_s
    plain = isinstance(points.load_type, Depth) and not points.also
    if not plain or len(np.unique(loads)) < FROM or sharpness_told_by(points) is not None:
        return None
    model = PNorm()
    crossing, peak, _ = model.parameters(loads, throughput, points.response_time_s)
    known = (
        replace(crossing, low=LEAST, prior_log_sd=WEAK_LOG_SD),
        replace(peak, prior_median=float(throughput.max()), prior_log_sd=WEAK_LOG_SD),
        Parameter("p", "", LEAST, MOST_SHARPNESS, SHARPNESS_MEDIAN, SHARPNESS_LOG_SD),
    )
    observed = Observed(loads, np.log(throughput), np.full(len(loads), MISSED))
    return tuple(most_probable(known, lambda values: model.log_throughput(values, loads), observed).tolist())


def _plain_over(fit: Fit, known: Known, loads: Array, what: Observable, middle: Array) -> Array | None:
    """Logarithms (m,) of the plain p-norm, following the known points, over the ``middle`` of what it shares."""
    model, values = fit.curve_model.plain, fit.details.get(PLAIN)
    if model is None or values is None or len(fit.table) == 1 or what != "throughput":
        return None
    at = np.concatenate([known.used, loads])
    there, k = np.log(model.curve(np.array(values)[None], at)[0][0]), len(known.used)
    gain = known.carried(np.array([MISSED]), loads)[0][0]
    return np.asarray(there[k:] + gain @ (np.log(known.observed) - there[:k]) - middle)


# --- services that may collapse ---------------------------------------------------------------------------------------

HAZARD = 0.2
"""Expected number of collapses in a factor e of the load."""

GAMMA_LOG_SD = 0.5
"""The median of gamma is 1: throughput falls as 1 / N."""

DELAYS = -np.log1p(-(np.arange(10) + 0.5) / 10) / HAZARD
"""Even quantiles of ln Nc minus its origin."""

GAMMAS = np.exp(GAMMA_LOG_SD * np.array([-1.2, 0.0, 1.2]))
GAMMA_WEIGHTS = np.array([0.25, 0.5, 0.25])

EVENLY: tuple[float, ...] = tuple(((np.arange(400) + 0.5) / 400).tolist())
"""A distribution is represented by this many even quantiles."""


def losses(loads: Array, origin: float) -> tuple[Array, Array]:
    """Logarithms (k, m) of possible factors on throughput at ``loads`` (m,), and the probability of each row (k,).

    >>> log_loss, weight = losses(np.array([64.0, 1e5]), 64.0)
    >>> log_loss.max(axis=0).round(1).tolist(), round(float(weight.sum()), 9)
    ([0.0, 12.9], 1.0)
    """
    beyond = np.maximum(np.log(loads / origin)[None, :] - DELAYS[:, None], 0.0)
    log_loss = (GAMMAS[:, None, None] * beyond).reshape(-1, len(loads))
    return log_loss, np.repeat(GAMMA_WEIGHTS, len(DELAYS)) / len(DELAYS)


def collapsing(known: Array, loads: Array, origin: float, shares: tuple[float, ...]) -> Array:
    """Quantiles (k, m) of the throughput at ``loads`` (m,) where it may collapse.

    ``known`` are the quantiles (len(EVENLY), m) of the throughput without a collapse.
    """
    log_loss, weight = losses(loads, origin)
    logs = np.log(known)[:, None, :] - log_loss[None, :, :]
    weights = np.broadcast_to(weight / len(EVENLY), logs.shape[:2]).ravel()
    found = np.empty((len(shares), len(loads)))
    for i, column in enumerate(logs.reshape(-1, len(loads)).T):
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(weights[order]) - 0.5 * weights[order]
        found[:, i] = np.exp(np.interp(shares, reached, column[order]))
    return found
