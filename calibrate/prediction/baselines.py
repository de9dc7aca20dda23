"""Baselines: the simplest predictions of a curve. A useful model must beat them on held-out points.

Every baseline takes the same arguments and returns the same two arrays::

    baseline(load, throughput_per_s, response_time_s, at) -> (throughput_per_s, response_time_s)

``load``, ``throughput_per_s`` and ``response_time_s`` (k,) are the points to calibrate on, in SI units and any order;
``at`` (m,) are the loads to predict, and both results are (m,). Repeats of a load are allowed; one point is enough. All
baselines are deterministic, take milliseconds, and their throughputs scale with those of the points.

All values are positive and finite (an injected delay may be zero). Raises ValueError for a load beyond the capacity of
an open queue.

>>> x, r = BASELINES["queue_depth"]["plain bound"]([1, 32], [1e4, 8e4], [1e-4, 4e-4], [4, 64])
>>> x.tolist(), (1e6 * r).round().tolist()
([40000.0, 80000.0], [100.0, 800.0])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
from numpy.typing import ArrayLike

from calibrate.fitting.calibrating import fit_points
from calibrate.fitting.fit import Fit
from calibrate.fitting.own_load import expected
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, Mask
from calibrate.models.choice import models_of
from calibrate.models.curves import SHARPNESS_LOG_SD, SHARPNESS_MEDIAN, CurveModel, log_p_norm, shows_decline
from calibrate.points import Points, residuals_pct
from measure.loads import ClosedLoad, ThroughputLoad

Baseline = Callable[[ArrayLike, ArrayLike, ArrayLike, ArrayLike], tuple[Array, Array]]

WEAK_LOG_SD = 2.0
"""Log standard deviation of R1 and Xmax around their values in the plain bound."""

MISFIT = 0.05
"""The standard deviation of the logarithm of one measurement around its curve: usually 3 to 6 %."""

PEAKS, PEAK_MEDIAN, PEAK_LOG_SD = np.geomspace(1.005, 2, 60), 1.1, 0.2
"""The peak bandwidth of a memory over the highest measured: values to try, and their log-normal prior."""


def _baseline(predict: Callable[[Array, Array, Array, Array], tuple[Array, Array]]) -> Baseline:
    """The baseline of points in any order that ``predict`` takes in ascending order of load."""

    @wraps(predict)
    def baseline(load: ArrayLike, throughput: ArrayLike, response: ArrayLike, at: ArrayLike) -> tuple[Array, Array]:
        n, x, r, wanted = (np.atleast_1d(np.asarray(v, dtype=float)) for v in (load, throughput, response, at))
        order = np.lexsort((r, x, n))
        return predict(n[order], x[order], r[order], wanted)

    return baseline


@_baseline
def plain_bound(n: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """X(N) = min(N / R1, Xmax): the asymptotic bound, with R1 the least n / x and Xmax the highest x of the points.

    Source: Muntz and Wong 1974, "Asymptotic properties of closed queueing network models"; Denning and Buzen 1978, "The
    operational analysis of queueing network models", ACM Computing Surveys 10(3).
    """
    return _closed(at, np.minimum(at / np.min(n / x), x.max()))


@_baseline
def most_probable_p_norm(n: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """X(N) = [(N / R1)^-p + Xmax^-p]^(-1/p) at the most probable R1, Xmax and p, in ten lines.

    p is log-normal around 2.6, R1 and Xmax widely log-normal around those of :func:`plain_bound` (the limit of this
    curve for large p), and a measurement deviates from the curve by ``MISFIT``.
    """
    from scipy.optimize import least_squares

    top = x.max()
    slope, log_x = np.log(np.max(x / top / n)), np.log(x / top)

    def log_curve(values: Array, loads: Array) -> Array:
        rise, peak, sharper = values
        return np.asarray(peak + log_p_norm(slope + rise + np.log(loads) - peak, SHARPNESS_MEDIAN * np.exp(sharper)))

    def missed(values: Array) -> Array:
        from_prior = values / (WEAK_LOG_SD, WEAK_LOG_SD, SHARPNESS_LOG_SD)
        return np.concatenate([(log_curve(values, n) - log_x) / MISFIT, from_prior])

    found = least_squares(missed, np.zeros(3), method="lm", ftol=1e-12, xtol=1e-12)
    return _closed(at, top * np.exp(log_curve(found.x, at)))


@_baseline
def scalability_law(n: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """X(N) = g N / (1 + a (N - 1) + b N (N - 1)): contention a and coherency b, both between 0 and 1.

    Least squares in logarithms; b is 0 where there are two different loads, and a too where there is one. Above 1, a or
    b would put the peak below N = 1. Source: Gunther 2007, "Guerrilla Capacity Planning", the Universal Scalability
    Law.
    """
    from scipy.optimize import nnls

    known = (1, 2, 4)[min(len(np.unique(n)), 3) - 1]

    def corners(n: Array) -> Array:  # N / X where a and b are 0 or 1; that of others is a sum of these
        return np.column_stack([np.ones_like(n), n, 1 + n * (n - 1), n**2])[:, :known]

    rows, time = corners(n), n / x
    weights = nnls(rows / time[:, None], np.ones_like(n))[0]
    miss = np.log(rows @ weights / time)
    for _ in range(50):  # Gauss-Newton, where a step that does not help is halved
        step = nnls(rows / (rows @ weights)[:, None], 1 - miss)[0] - weights
        for share in 0.5 ** np.arange(12):
            tried = np.log(rows @ (weights + share * step) / time)
            if tried @ tried < miss @ miss:
                break
        else:
            break
        weights, miss = weights + share * step, tried
    return _closed(at, at / (corners(at) @ weights))


@_baseline
def interpolation(n: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """log X is linear in log N between the points; X grows as N below the first and is flat above the last."""
    return _closed(at, _between(np.log(n), x, np.log(at)) * np.minimum(at / n[0], 1))


@_baseline
def interpolation_over_delay(d: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """log X is linear in log(d + the least d above 0), and log R in X; both are flat beyond the ends."""
    unit = d[d > 0].min(initial=d.max()) or 1.0
    found = _between(np.log(d + unit), x, np.log(at + unit))
    return found, _between(x, r, found)


@_baseline
def interpolation_over_rate(rate: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """log R is linear in the arrival rate or the bandwidth, and flat beyond the ends."""
    return at * np.mean(x / rate), _between(rate, r, at)


@_baseline
def single_server(rate: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """R = S / (1 - lambda S), the open queue M/M/1, with S = R / (1 + lambda R) at the lowest rate.

    Source: Denning and Buzen 1978, as above. ValueError where a rate of ``at`` is 1 / S or more.
    """
    service = r[0] / (1 + rate[0] * r[0])
    _check_capacity(at, 1 / service, "M/M/1")
    return at * np.mean(x / rate), service / (1 - at * service)


@_baseline
def three_parameter_queue(b: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """R = L0 + a rho / (1 - rho), rho = x / B: a memory's latency over its bandwidth x, by least relative squares.

    B is the most probable of ``PEAKS``. ValueError where a load reaches it.
    """
    from scipy.optimize import nnls

    found = []
    for top in b.max() * PEAKS:
        weights, miss = nnls(np.column_stack([np.ones_like(b), b / (top - b)]) / r[:, None], np.ones_like(b))
        unlikely = np.log(top / b.max() / PEAK_MEDIAN) / PEAK_LOG_SD
        found.append(((miss / MISFIT) ** 2 + unlikely**2, top, weights))
    _, top, (idle, queueing) = min(found, key=lambda one: one[0])
    _check_capacity(at, top, "the three-parameter queue")
    return at * np.mean(x / b), idle + queueing * at / (top - at)


@_baseline
def three_parameter_queue_over_delay(d: Array, x: Array, r: Array, at: Array) -> tuple[Array, Array]:
    """:func:`interpolation_over_delay` for the throughput, and :func:`three_parameter_queue` for the response there."""
    found, _ = interpolation_over_delay(d, x, r, at)
    return found, three_parameter_queue(x, x, r, found)[1]


BASELINES: Mapping[str, Mapping[str, Baseline]] = {
    "queue_depth": {
        "plain bound": plain_bound,
        "p-norm, most probable": most_probable_p_norm,
        "Universal Scalability Law": scalability_law,
        "interpolation": interpolation,
    },
    "injected_delay": {
        "three-parameter queue": three_parameter_queue_over_delay,
        "interpolation": interpolation_over_delay,
    },
    "bandwidth": {"three-parameter queue": three_parameter_queue, "interpolation": interpolation_over_rate},
    "arrival_rate": {"M/M/1": single_server, "interpolation": interpolation_over_rate},
}


def _closed(loads: Array, throughput: Array) -> tuple[Array, Array]:
    """Throughput and response time of a closed system: N = X R (Little 1961)."""
    return throughput, loads / throughput


def _between(places: Array, values: Array, at: Array) -> Array:
    """Log-linear interpolation through the mean logarithms at equal places; flat beyond the ends."""
    known, which = np.unique(places, return_inverse=True)
    means = np.bincount(which, np.log(values)) / np.bincount(which)
    return np.exp(np.interp(at, known, means))


def _check_capacity(loads: Array, capacity: float, queue: str) -> None:
    if loads.max(initial=0) >= capacity:
        raise ValueError(f"{queue} has no answer at load {loads.max():.3g}: its capacity is {capacity:.3g}")


@dataclass(frozen=True)
class BaselineError:
    """Absolute errors in percent over ``points`` held-out points: the median, and the 90th percentile.

    Throughput errors are None where the load is the throughput itself (arrival rates, bandwidths). All errors are None
    where the baseline has no prediction; ``why`` gives the reason.
    """

    name: str
    points: int
    throughput_median_pct: float | None = None
    throughput_p90_pct: float | None = None
    response_median_pct: float | None = None
    response_p90_pct: float | None = None
    why: str = ""


def baseline_errors(points: Points, held_out: Mask) -> tuple[BaselineError, ...]:
    """Every baseline for this kind of load, calibrated on the points where ``held_out`` (m,) is False.

    Empty where no point is held out, or all are.
    """
    baselines = BASELINES.get(points.load_type.kind, {})
    if held_out.all() or not held_out.any():
        return ()
    used, unseen = points.at(~held_out), points.at(held_out)
    found = []
    for name, baseline in baselines.items():
        try:
            predicted = baseline(used.load, used.throughput_per_s, used.response_time_s, unseen.load)
        except ValueError as error:
            found.append(BaselineError(name, len(unseen), why=str(error)))
        else:
            found.append(error_of(name, predicted, unseen))
    return tuple(found)


def error_of(name: str, predicted: tuple[Array, Array], unseen: Points) -> BaselineError:
    """The errors of a predicted (throughput, response time), (m,) each, at the points ``unseen``."""
    throughput, response = predicted
    x: tuple[float | None, float | None] = (None, None)
    if not isinstance(unseen.load_type, ThroughputLoad):
        x = _median_and_p90(throughput, unseen.throughput_per_s, unseen.measured("throughput_per_s"))
    r = _median_and_p90(response, unseen.response_time_s, unseen.measured("latency_s"))
    return BaselineError(name, len(unseen), *x, *r)


def _median_and_p90(predicted: Array, observed: Array, measured: Mask) -> tuple[float | None, float | None]:
    if not measured.any():
        return None, None
    predicted, observed = predicted[measured], observed[measured]
    median, p90 = np.percentile(np.abs(residuals_pct(predicted, observed)), (50, 90))
    return float(median), float(p90)


@dataclass(frozen=True)
class Rung:
    """One model of the ladder: mean absolute errors in percent; None where no such point was measured."""

    name: str
    assumption: str
    parameters: dict[str, float]
    in_sample_mape_throughput_pct: float | None
    in_sample_mape_response_pct: float | None
    held_out_mape_throughput_pct: float | None
    held_out_mape_response_pct: float | None
    rank: int = 0


def ladder(points: Points, fitted: Fit, predicted: Prediction) -> list[Rung]:
    """Every model for the kind of load of these points, calibrated on the points of ``fitted``, best first.

    ``predicted`` is what ``fitted`` predicts at the loads of ``points``.
    """
    calibrated = fitted.was_used(points)
    chosen = fitted.points or points.at(calibrated)  # its own, whose structure may be known already
    deepest = float(points.load.max())
    models = [model for model in models_of(points.load_type.kind) if _may_hold(model, chosen, deepest)]
    if points.load_type.thinking_s:  # the others take users for requests present
        models = []
    if fitted.model not in {m.name for m in models}:
        models.append(fitted.curve_model)
    climbed = []
    for model in models:
        if model.name == fitted.model:
            climbed.append(_rung(fitted, points, calibrated, (predicted.throughput_per_s, predicted.response_time_s)))
        else:
            made = fit_points(chosen, model)
            climbed.append(_rung(made, points, calibrated, _expected(made, points.load)))
    given = isinstance(points.load_type, ThroughputLoad) or not points.measured("throughput_per_s").any()
    what = "response" if given else "throughput"

    def errors(rung: Rung) -> tuple[float, float]:
        kinds = (getattr(rung, f"{kind}_mape_{what}_pct") for kind in ("held_out", "in_sample"))
        held, own = (np.inf if error is None else round(error, 9) for error in kinds)
        return held, own

    return [replace(rung, rank=i) for i, rung in enumerate(sorted(climbed, key=errors), 1)]


def _may_hold(model: CurveModel, points: Points, deepest: float) -> bool:
    """Whether the points support the model's extra term: a falling response, a decline, a number of servers."""
    match model.name:
        case "M/G/c with setup":
            from calibrate.models.open_models import falls

            return falls(points)
        case "p-norm with onset and decline":
            return shows_decline(points.load, points.throughput_per_s)
        case "servers and delay":
            from calibrate.models.structure import MOST_CROSSING

            return deepest <= MOST_CROSSING and len(points) > 1  # the asymptotes cross before the deepest
        case _:
            return True


def _rung(made: Fit, points: Points, calibrated: Mask, expected: tuple[Array, Array]) -> Rung:
    """The rung of a fit to the points ``calibrated`` (m,), from its throughput and response (m,) at all points."""
    model = made.curve_model
    parameters = {
        name: float(np.exp(made.table.weight @ np.log(np.maximum(values, 1e-300))))
        for name, (_, values) in model.report(made.table.values).items()
    }
    x_in, r_in = _missed(points, expected, calibrated)
    x_out, r_out = (None, None) if calibrated.all() else _missed(points, expected, ~calibrated)
    return Rung(model.name, model.assumption, parameters, x_in, r_in, x_out, r_out)


def _expected(fit: Fit, loads: Array) -> tuple[Array, Array]:
    """Throughput and response (m,) at ``loads``: means of the logarithm."""
    if isinstance(fit.load_type, ClosedLoad):
        throughput = expected(fit, loads)
        return throughput, loads / throughput
    response = expected(fit, loads, "response")
    if isinstance(fit.load_type, ThroughputLoad):
        return np.exp(fit.table.weight @ np.log(fit.curve_model.curve(fit.table.values, loads)[0])), response
    return expected(fit, loads), response


def _missed(points: Points, expected: tuple[Array, Array], at: Mask) -> tuple[float | None, float | None]:
    """Errors of throughput and response, where they were measured."""
    (throughput, response), measured = expected, map(points.measured, ("throughput_per_s", "latency_s"))
    of_x, of_r = (at & known for known in measured)
    return (
        _mean_error(throughput[of_x], points.throughput_per_s[of_x]) if of_x.any() else None,
        _mean_error(response[of_r], points.response_time_s[of_r]) if of_r.any() else None,
    )


def _mean_error(predicted: Array, observed: Array) -> float:
    """Mean absolute error in percent of the observed values."""
    return float(np.mean(np.abs(residuals_pct(predicted, observed))))
