"""An objective for a tail: the deepest queue whose predicted p50, p95, p99 or p99.9 stays within a time.

The tails are those of ``calibrate.tails.percentiles``, simulated at depths half an octave apart and joined by straight
lines of the logarithms. The interval has its ends where the limits of the prediction reach the time.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import predict
from calibrate.inference.parameters import Array
from calibrate.knees.definitions import NamedKnee
from calibrate.knees.knee import Knee
from calibrate.tails.percentiles import fitted_tails
from calibrate.tails.results import QUANTILES, Tails
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

REACH = 4
"""So many times the deepest point calibrated on is looked at."""
TAIL_LEVEL = 0.9
"""The level of the intervals of ``Tails``."""


def tail_knee(fit: Fit, sweep: Sweep, series: str, quantile: str, time_s: float, *, seed: int = 0) -> NamedKnee:
    """The deepest queue at which ``quantile`` ("p99") of the response time is predicted to be within ``time_s``.

    ``fit`` was calibrated on points of this ``series`` of ``sweep``, whose histograms tell the tails. Raises ValueError
    for a quantile that is not predicted or a time that is not positive, DataError where no histogram tells the tails.

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


def deepest_within(fit: Fit, tails: Tails, quantile: str, time_s: float) -> NamedKnee:
    """The same from ``tails`` at ascending depths, of which the first is 1: whole requests, rounded down.

    The knee has no load where already the first depth takes longer, or the last does not; its note then says so.
    """
    _check(quantile, time_s)
    name = _names()[quantile]
    depths = np.array([p.load for p in tails.points])
    centre, low, high = (
        np.array([getattr(p, which)[name] for p in tails.points]) for which in ("predicted", "low", "high")
    )
    wider = float(ndtri((1 + fit.level) / 2) / ndtri((1 + TAIL_LEVEL) / 2))
    at, least, most = (
        _reached(depths, times, time_s)
        for times in (centre, centre * (high / centre) ** wider, centre * (low / centre) ** wider)
    )
    definition = f"{quantile} of the response time within {format_duration(time_s)}"
    asked = f"{quantile} under {format_duration(time_s)}"
    ends = (_whole(least), _whole(most))
    if not 0 < at < math.inf:
        note = (
            f"even at depth {depths[0]:g} {quantile} takes {format_duration(float(centre[0]))}"
            if at == 0
            else f"met at every depth up to {depths[-1]:g}"
        )
        nothing = Knee(None, *ends, math.nan, math.nan, definition, fit.load_name, False, note)
        return NamedKnee("tail objective", nothing, asked=asked)
    load = float(math.floor(at))
    there = predict(fit, [load])
    taken = float(np.exp(np.interp(math.log(load), np.log(depths), np.log(centre))))
    note = f"{quantile} takes {format_duration(taken)} there"
    if load > max(fit.used, default=math.inf):
        note = f"{note}; beyond the deepest point calibrated on ({max(fit.used):g})"
    known = ends[0] is not None and ends[1] is not None and ends[1] / ends[0] < 2
    found = Knee(
        load,
        *ends,
        float(there.throughput_per_s[0]),
        float(there.response_time_s[0]),
        definition,
        fit.load_name,
        known,
        note,
    )
    return NamedKnee("tail objective", found, asked=asked)


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
    if not (math.isfinite(time_s) and time_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {time_s!r}", value=time_s)


def _reached(depths: Array, times: Array, time_s: float) -> float:
    """Where the times first exceed ``time_s``, log-linear between depths: 0 before the first, infinity for nowhere."""
    over = np.flatnonzero(times > time_s)
    if not len(over):
        return math.inf
    i = int(over[0])
    if i == 0:
        return 0.0
    part = math.log(time_s / times[i - 1]) / math.log(times[i] / times[i - 1])
    return float(depths[i - 1] * (depths[i] / depths[i - 1]) ** part)


def _whole(load: float) -> float | None:
    return float(math.floor(load)) if 0 < load < math.inf else None
