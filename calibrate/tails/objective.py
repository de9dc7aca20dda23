"""An objective for a tail: the deepest queue whose predicted p50, p95, p99 or p99.9 stays within a time.

Tails are those of ``calibrate.tails.percentiles``, simulated at depths half an octave apart and interpolated linearly
in logarithms. The interval ends where the limits of the prediction reach the time. Objectives for the mean are in
:mod:`calibrate.fitting.objectives`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from calibrate.fitting.fit import Fit
from calibrate.fitting.objectives import ROUNDING, check_objective, most_within, objective_at
from calibrate.fitting.predicted_curve import Knee
from calibrate.fitting.readings import NO_FURTHER, first_reaching, load_at, predict
from calibrate.tails.percentiles import fitted_tails
from calibrate.tails.results import QUANTILES, Tails
from measure.errors import DataError
from measure.loads import ClosedLoad
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

NAMES = {f"p{100 * share:g}": name for name, share in QUANTILES.items()}
TAIL_LEVEL = 0.9
"""The level of the intervals of ``Tails``."""


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
    _check(time_s, quantile)
    if not isinstance(fit.load_type, ClosedLoad):
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

    At the end of its interval no more is served than at the peak's, as of an objective for the mean.

    The knee has no load where the first depth already takes longer, or the last does not; its note then says so.
    """
    _check(time_s, quantile)
    depths = np.array([p.load for p in tails.points])
    centre, low, high = (
        np.array([getattr(p, which)[NAMES[quantile]] for p in tails.points]) for which in ("predicted", "low", "high")
    )
    wider = float(ndtri((1 + fit.level) / 2) / ndtri((1 + TAIL_LEVEL) / 2))
    times = np.array([centre, centre * (high / centre) ** wider, centre * (low / centre) ** wider])
    load, *ends = np.floor(load_at(depths, first_reaching(times / (time_s * (1 + ROUNDING)))) * (1 + ROUNDING)).tolist()
    low_end, high_end = (end if 0 < end < math.inf else None for end in ends)
    definition = f"{quantile} of the response time within {format_duration(time_s)}"
    taken = float(np.exp(np.interp(np.log(max(load, 1.0)), np.log(depths), np.log(centre))))
    lightest = f"{quantile} takes {format_duration(float(centre[0]))}"
    note = f"{quantile} takes {format_duration(taken)} there"
    mean_s = float(predict(fit, [load], refuse=False).response_time_s[0]) if 0 < load < math.inf else 0.0
    most = float(np.floor(most_within(fit, max(time_s, mean_s), fit.load_type)))  # the mean may exceed a median
    return objective_at(fit, load, (low_end, high_end), definition, depths, lightest, note, most=most)


def depths_for(fit: Fit) -> list[float]:
    """1, 2, 3, 4, 6, 8, 12...: to ``NO_FURTHER`` times the deepest point of ``fit``."""
    deepest = NO_FURTHER * max(fit.used, default=1.0)
    steps = range(math.ceil(math.log2(deepest)) + 1)
    return sorted({1.0, *(float(n) for k in steps for n in (2**k, 3 * 2**k // 2) if n <= deepest)})


def _check(time_s: float, quantile: str) -> None:
    if quantile not in NAMES:
        raise InvalidParameterError("slo", f"for {quantile} is unknown", f"tails are predicted for {', '.join(NAMES)}")
    check_objective(time_s)
