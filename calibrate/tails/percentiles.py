"""Tails at every depth: percentiles of the response time from the histogram at depth 1 and a structure of queues.

The model of a device is c servers whose service times are those of lone requests (drawn from the histogram at depth 1),
on one queue or with a queue each that requests join at random, and perhaps a constant part of every request that keeps
no server busy (the host, the link). A closed network of that kind is simulated at each depth by the compiled engine.
The mean and the percentiles at the calibrated depths decide the number of servers, the queues and the constant: each
structure has a weight, from a normal likelihood with standard deviation ``MISFIT``, which even a right structure has.
The prediction is the weighted mean of the logarithms.

The remaining error of the structures at the calibrated depths is corrected there, and between them in proportion to
the logarithm of the depth. Where no structure fits well, as on a virtual disk with a busy host, the mean is that of the
fitted curve, and the structures give only the ratios of percentiles to it.

An objective for a tail is the deepest queue whose predicted p50, p95, p99 or p99.9 stays within a time, interpolated
between depths half an octave apart. Objectives for the mean are in :mod:`calibrate.fitting.objectives`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from calibrate.fitting.fit import Fit
from calibrate.fitting.objectives import ROUNDING, check_objective, most_within, objective_at
from calibrate.fitting.own_load import own_curve
from calibrate.fitting.predicted_curve import Knee
from calibrate.fitting.readings import NO_FURTHER, first_reaching, load_at, predict
from calibrate.inference.parameters import Array
from calibrate.points import Z90, points_of
from calibrate.tails.results import MISFIT, QUANTILES, Structure, TailPoint, Tails, candidates, response
from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram
from measure.loads import ClosedLoad
from measure.sweep import Sweep, histograms
from measure.units import format_duration
from qsim.errors import InvalidParameterError

CUSTOMERS = 60_000
DRIFT = (0.05, 0.05, 0.05, 0.2)
"""Additional relative errors of the percentiles for each doubling of the depth away from a calibrated one."""
UNTRUSTED_DRIFT = 0.2
"""The same where no structure fits well at the calibrated depths."""
WRONG = 10
"""The trust in a structure is one half where its mean squared error is this multiple of MISFIT squared."""
UNREPEATED = (0.1, 0.3, 0.6, 0.4)
"""Assumed noise of the percentiles of one measurement without repeats, where no structure fits well: that of repeats on
a busy virtual machine."""
KEPT = 6
_TERMS = 2.5  # at each calibrated depth: the mean, and half of each of three percentiles


Seen: TypeAlias = Mapping[float, tuple[float, Array | None]]
"""At each calibrated depth: the mean response time, and the percentiles where there is a histogram."""
Run: TypeAlias = Callable[[Structure, float], tuple[float, Array]]


def predict_tails(
    seen_at: Mapping[float, Histogram],
    used: Mapping[float, float],
    at: Sequence[float],
    *,
    curve: Mapping[float, float] | None = None,
    noise: Array | None = None,
    typical: Mapping[float, Array] | None = None,
    customers: int = CUSTOMERS,
    seed: int = 0,
) -> Tails:
    """The tails at the depths ``at`` from those in ``used``, {depth: mean response time in seconds}.

    ``seen_at`` {depth: histogram} are calibrated on at the depths in ``used`` and compared with at all others; that
    of depth 1 is the law of service. ``curve`` {depth: mean response time} is what a fit predicts, for structures that
    do not do; ``noise`` (4,) the relative standard deviation of one measurement of each percentile, by repeats;
    ``typical`` {depth: percentiles (4,)} the medians over repeats, in place of the histogram's own. Of a histogram of
    one bin only the mean counts. Raises DataError where depth 1 is missing or has one bin, or no deeper one was used.

    >>> import numpy as np
    >>> from measure.formats.fio.latency_bins import Histogram
    >>> bins = np.linspace(60e-6, 140e-6, 9)
    >>> alone = Histogram(bins[:-1], bins[1:], np.array([2, 8, 20, 30, 20, 10, 6, 4]), "lat")
    >>> tails = predict_tails({1: alone}, {1: 97e-6, 16: 400e-6}, [1, 64], customers=2000)
    >>> tails.points[0].predicted["p99_s"] < tails.points[1].predicted["p99_s"]
    True
    """
    if 1 not in used or 1 not in seen_at:
        raise DataError(
            "tails need the histogram at depth 1 among the points calibrated on; measure depth 1 with json+ (qsim "
            "measure fio does) and calibrate on it: --use 1,32"
        )
    deep = sorted(n for n in used if n > 1)
    if not deep:
        raise DataError("tails need a deep point to count the servers by; calibrate on one as well: --use 1,32")
    alone = seen_at[1]
    if not _has_shape(alone):
        raise DataError(
            f"tails need the law of service, and the histogram at depth 1 has one bin "
            f"({format_duration(float(alone.middle_s[0]))}), which has no shape; measure with finer bins: qsim measure "
            "fio TARGET --depths 1 --out DIR (fio --output-format=json+)"
        )
    known: dict[tuple[Structure, float], tuple[float, Array]] = {}

    def run(structure: Structure, depth: float) -> tuple[float, Array]:
        asked = structure if depth > 1 else replace(structure, servers=1)  # a lone request meets no queue
        if (asked, depth) not in known:
            shares = np.array(list(QUANTILES.values()))
            known[asked, depth] = response(alone, asked, depth, shares, customers, seed)
        return known[asked, depth]

    shaped = [n for n, one in seen_at.items() if _has_shape(one)]
    shown = {n: _observed(seen_at[n]) if typical is None or n not in typical else typical[n] for n in shaped}
    seen: Seen = {n: (used[n], shown.get(n)) for n in (1.0, *deep)}
    tried = candidates(alone, deep[-1], used[deep[-1]])
    allowed = np.full(len(QUANTILES), MISFIT) if noise is None else np.hypot(MISFIT, noise)
    misfits = np.array([_misfit(run, c, seen, allowed) for c in tried])
    order = np.argsort(misfits)[:KEPT]
    weights = np.exp(-(misfits[order] - misfits[order[0]]) / 2)
    structures = tuple((tried[i], float(w)) for i, w in zip(order, weights / weights.sum(), strict=True))
    trust = 1 / (1 + (misfits[order[0]] / (_TERMS * len(deep)) / WRONG) ** 2)
    own_noise = (1 - trust) * np.array(UNREPEATED) if noise is None else noise
    sampling = _sampling(alone)
    points = []
    for depth in at:
        centre, spread = _blended(run, structures, depth, seen, trust, (curve or {}).get(depth))
        spread = np.sqrt(spread**2 + own_noise**2 + sampling**2)
        middle, half = np.exp(centre), np.exp(Z90 * spread)
        observed, predicted, low, high = (
            {} if figures is None else dict(zip(QUANTILES, figures.tolist(), strict=True))
            for figures in (shown.get(depth), middle, middle / half, middle * half)
        )
        points.append(TailPoint(float(depth), depth not in used, observed, predicted, low, high))
    p99 = list(QUANTILES).index("p99_s")
    noise_of_p99 = None if noise is None else float(noise[p99])
    return Tails(tuple(points), structures, float(trust), noise_of_p99, float(sampling[p99]))


def _misfit(run: Run, structure: Structure, seen: Seen, allowed: Array) -> float:
    """The sum of squared errors of the structure at the calibrated depths, in units of the ``allowed`` errors."""
    total = 0.0
    for depth, (mean, quantiles) in seen.items():
        own_mean, own = run(structure, depth)
        total += (math.log(own_mean / mean) / MISFIT) ** 2
        if quantiles is not None:
            total += float(np.sum((np.log(own / quantiles) / allowed)[:3] ** 2)) / 2  # halved, as they are correlated
    return total


def _blended(
    run: Run,
    structures: Sequence[tuple[Structure, float]],
    depth: float,
    seen: Seen,
    trust: float,
    mean_s: float | None,
) -> tuple[Array, Array]:
    """The mean of the structures' log percentiles at a depth, corrected, and its standard error."""
    weights = np.array([w for _, w in structures])
    logs = np.array([_corrected(run, s, depth, seen, trust, mean_s) for s, _ in structures])
    centre = weights @ logs
    away = float(np.min(np.abs(np.log2(list(seen)) - math.log2(depth))))
    between = weights @ (logs - centre) ** 2
    drift = trust * np.array(DRIFT) + (1 - trust) * UNTRUSTED_DRIFT
    return centre, np.sqrt(between + MISFIT**2 / 4 + (drift * away) ** 2)


def _corrected(run: Run, structure: Structure, depth: float, seen: Seen, trust: float, mean_s: float | None) -> Array:
    """A structure's log percentiles at a depth, less its errors at the calibrated ones; untrusted, with ``mean_s``."""
    at_mean, at_quantiles = [], []
    for n, (mean, quantiles) in seen.items():
        own_mean, own = run(structure, n)
        at_mean.append(math.log(mean / own_mean))
        at_quantiles.append(np.full(len(QUANTILES), at_mean[-1]) if quantiles is None else np.log(quantiles / own))
    x, here = np.log(list(seen)), math.log(depth)
    own_mean, own = run(structure, depth)
    found = np.log(own) + [np.interp(here, x, column) for column in np.transpose(at_quantiles)]
    if mean_s is None:
        return np.asarray(found)
    drawn = math.log(own_mean) + float(np.interp(here, x, at_mean))
    return np.asarray(found + (1 - trust) * (math.log(mean_s) - drawn))


def _sampling(histogram: Histogram) -> Array:
    """Relative standard errors of the percentiles by the number of requests, from the times on either side of them."""
    shares = np.array(list(QUANTILES.values()))
    error = np.sqrt(shares * (1 - shares) / histogram.total)
    low, high = (
        np.array([histogram.quantile(float(q)) for q in np.clip(shares + side * error, 0, 1)]) for side in (-1, 1)
    )
    return np.asarray(np.log(high / low) / 2)


def _has_shape(histogram: Histogram) -> bool:
    """Whether more than one bin is not empty."""
    return int(np.count_nonzero(histogram.counts)) > 1


def _observed(histogram: Histogram) -> Array:
    return np.array([histogram.quantile(q) for q in QUANTILES.values()])


def fitted_tails(
    fit: Fit, sweep: Sweep, series: str, at: Sequence[float] | None = None, *, seed: int = 0
) -> Tails | None:
    """The tails of one curve of ``sweep`` at the depths ``at`` (None: those measured), by the points that ``fit`` used.

    None where the sweep does not vary the depth or has fewer than two histograms. Raises DataError as
    ``predict_tails``, where the calibration points do not determine the tails.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> print(fitted_tails(fit(sweep), sweep, "4 KiB read"))  # a published table has no histograms
    None
    """
    if not isinstance(sweep.load_type, ClosedLoad) or not sweep.latencies:
        return None
    by_depth: dict[float, list[Histogram]] = {}
    for (name, load, _), one in histograms(sweep).items():
        if name == series:
            by_depth.setdefault(load, []).append(one)
    if len(by_depth) < 2:
        return None
    points = points_of(sweep, series)
    pooled = {load: _together(several) for load, several in by_depth.items()}
    used = {
        float(load): float(response)
        for load, response, was_used in zip(points.load, points.response_time_s, fit.was_used(points), strict=True)
        if was_used
    }
    typical = {n: np.exp(np.median([np.log(_observed(h)) for h in several], axis=0)) for n, several in by_depth.items()}
    noise = _repeat_noise([by_depth[load] for load, one in pooled.items() if load in used and _has_shape(one)])
    depths = sorted(pooled) if at is None else [float(n) for n in at]
    curve = dict(zip(depths, map(float, own_curve(fit, depths).response_time_s), strict=True))
    return predict_tails(pooled, used, depths, curve=curve, noise=noise, typical=typical, seed=seed)


def _repeat_noise(at_depths: Sequence[Sequence[Histogram]]) -> Array | None:
    """The standard deviation of the log percentiles of one repeat, of all the depths repeated (root mean square)."""
    variances = [np.var([np.log(_observed(h)) for h in s], axis=0, ddof=1) for s in at_depths if len(s) > 1]
    return np.asarray(np.sqrt(np.mean(variances, axis=0))) if variances else None


def _together(several: Sequence[Histogram]) -> Histogram:
    """The joint histogram of all repeats."""
    if len(several) == 1:
        return several[0]
    if len({(h.lower_s[0], h.upper_s[-1]) for h in several}) == 1 and not any(_has_shape(h) for h in several):
        return replace(several[0], counts=np.sum([h.counts for h in several], axis=0))
    from calibrate.service.observed_times import of_histogram

    times = of_histogram(several)
    return Histogram(times.lower_s, times.upper_s, np.rint(times.counts).astype(np.int64), several[0].kind)


# --- an objective for a tail ------------------------------------------------------------------------------------------

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
