"""An objective: the heaviest load whose predicted response time stays within a time, in the mean or in a tail.

Tails (p50, p95, p99, p99.9) are those of ``calibrate.tails.percentiles``, simulated at depths half an octave apart and
interpolated linearly in logarithms. The interval ends where the limits of the prediction reach the time.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from calibrate.fitting.fit import Fit
from calibrate.fitting.knee import Knee, ends_of, first_reaching, load_at
from calibrate.fitting.predicted_curve import predict
from calibrate.inference.parameters import ROUGH
from calibrate.tails.percentiles import fitted_tails
from calibrate.tails.results import QUANTILES, Tails
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

REACH = 4
"""The deepest queue tried, as a multiple of the deepest calibrated depth."""
ROUNDING = 1e-9
"""Relative tolerance for rounding a depth up to a whole number."""
TAIL_LEVEL = 0.9
"""The level of the intervals of ``Tails``."""


def objective_knee(fit: Fit, time_s: float) -> Knee:
    """The heaviest load whose predicted mean response time stays within ``time_s``.

    It is where the predicted curve, with its misfit, reaches the time; its interval is that of the same crossing on
    possible curves of the device. Its load is None where no load meets the objective. Raises ValueError for a time
    that is not positive.

    >>> from calibrate import from_datasheet, objective_knee
    >>> round(objective_knee(from_datasheet(idle_latency=80e-6, peak_iops=600e3), 200e-6).load)
    110
    """
    _check_time(time_s)
    definition, loads = f"mean response time within {format_duration(time_s)}", fit.paths.load
    closed = fit.load_type.is_closed
    logs, _ = fit.drawn(loads, "throughput" if closed else "response")
    responses = loads / np.exp(logs) if closed else np.exp(logs)
    low, high = ends_of(load_at(loads, first_reaching(responses / time_s)), fit.level)
    times = fit.predict(loads).response_time_s
    beyond = np.flatnonzero(times > time_s)
    if not len(beyond) or beyond[0] == 0:
        lightest = f"even at load {loads[0]:.3g} the response takes {format_duration(times[0])}"
        note = lightest if len(beyond) else "met at every load"
        return Knee(None, low, high, np.nan, np.nan, definition, fit.load_name, False, note)

    def over(load: float) -> float:
        return float(np.log(fit.predict([load]).response_time_s[0] / time_s))

    load = float(brentq(over, float(loads[beyond[0] - 1]), float(loads[beyond[0]]), rtol=1e-6))
    there = fit.predict([load])
    note = ""
    if fit.used and not fit.load_type.is_delay and load > max(fit.used):
        note = f"beyond the heaviest load calibrated on ({max(fit.used):g})"
    low, high = None if low is None else min(low, load), None if high is None else max(high, load)
    known = low is not None and high is not None and high / low < ROUGH
    at = float(there.throughput_per_s[0]), float(there.response_time_s[0])
    return Knee(load, low, high, *at, definition, fit.load_name, known, note)


def tail_knee(fit: Fit, sweep: Sweep, series: str, quantile: str, time_s: float, *, seed: int = 0) -> Knee:
    """The deepest queue at which ``quantile`` ("p99") of the response time is predicted to be within ``time_s``.

    ``fit`` was calibrated on points of this ``series`` of ``sweep``, whose histograms give the tails. Raises ValueError
    for a quantile that is not predicted or a time that is not positive, DataError without histograms.

    >>> from calibrate import fit
    >>> from measure import DataError, load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> try:
    ...     tail_knee(fit(sweep), sweep, "4 KiB read", "p99", 1e-3)
    ... except DataError as error:
    ...     print(str(error)[:36])
    4 KiB read: p99 cannot be predicted,
    """
    _check(quantile, time_s)
    if not fit.load_type.is_closed:
        raise DataError(
            f"{series}: tails are predicted over queue depths, and the load here is {fit.load_type.name}; give "
            "an objective for the mean, as --slo 1ms"
        )
    tails = fitted_tails(fit, sweep, series, depths_for(fit), seed=seed)
    if tails is None:
        raise DataError(
            f"{series}: {quantile} cannot be predicted, as the sweep holds no latency histograms at two depths or "
            "more; measure with json+ (qsim measure fio does; fio --output-format=json+)"
        )
    return deepest_within(fit, tails, quantile, time_s)


def deepest_within(fit: Fit, tails: Tails, quantile: str, time_s: float) -> Knee:
    """As :func:`tail_knee`, from ``tails`` at ascending depths from 1 on: whole requests, rounded down.

    The knee has no load where the first depth already takes longer, or the last does not; its note then says so.
    """
    _check(quantile, time_s)
    name = _names()[quantile]
    depths = np.array([p.load for p in tails.points])
    centre, low, high = (
        np.array([getattr(p, which)[name] for p in tails.points]) for which in ("predicted", "low", "high")
    )
    wider = float(ndtri((1 + fit.level) / 2) / ndtri((1 + TAIL_LEVEL) / 2))
    times = np.array([centre, centre * (high / centre) ** wider, centre * (low / centre) ** wider])
    at, least, most = (load_at(depths, first_reaching(times / time_s)) * (1 + ROUNDING)).tolist()
    definition = f"{quantile} of the response time within {format_duration(time_s)}"
    ends = (_whole(least), _whole(most))
    if not 0 < at < math.inf:
        note = (
            f"even at depth {depths[0]:g} {quantile} takes {format_duration(float(centre[0]))}"
            if at == 0
            else f"met at every depth up to {depths[-1]:g}"
        )
        return Knee(None, *ends, math.nan, math.nan, definition, fit.load_name, False, note)
    load = float(math.floor(at))
    there = predict(fit, [load])
    taken = float(np.exp(np.interp(math.log(load), np.log(depths), np.log(centre))))
    note = f"{quantile} takes {format_duration(taken)} there"
    if load > max(fit.used, default=math.inf):
        note = f"{note}; beyond the deepest point calibrated on ({max(fit.used):g})"
    known = ends[0] is not None and ends[1] is not None and ends[1] / ends[0] < ROUGH
    gives = float(there.throughput_per_s[0]), float(there.response_time_s[0])
    return Knee(load, *ends, *gives, definition, fit.load_name, known, note)


def depths_for(fit: Fit) -> list[float]:
    """1, 2, 3, 4, 6, 8, 12...: to ``REACH`` times the deepest point of ``fit``."""
    deepest = REACH * max(fit.used, default=1.0)
    steps = range(math.ceil(math.log2(deepest)) + 1)
    return sorted({1.0, *(float(n) for k in steps for n in (2**k, 3 * 2**k // 2) if n <= deepest)})


def _names() -> dict[str, str]:
    return {f"p{100 * share:g}": name for name, share in QUANTILES.items()}


def _check(quantile: str, time_s: float) -> None:
    if quantile not in _names():
        raise InvalidParameterError(
            "slo", f"for {quantile} is unknown", f"tails are predicted for {', '.join(_names())}"
        )
    _check_time(time_s)


def _check_time(time_s: float) -> None:
    if not (math.isfinite(time_s) and time_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {time_s!r}", value=time_s)


def _whole(load: float) -> float | None:
    return float(math.floor(load)) if 0 < load < math.inf else None
