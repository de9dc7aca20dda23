"""An objective: the heaviest load whose predicted response time stays within a time, in the mean or in a tail.

Tails (p50, p95, p99, p99.9) are those of ``calibrate.tails.percentiles``, simulated at depths half an octave apart and
interpolated linearly in logarithms. The interval ends where the limits of the prediction reach the time.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from calibrate.fitting.any_load import drawn_responses
from calibrate.fitting.fit import Fit
from calibrate.fitting.knee import PAST, Knee, beyond, ends_of, first_reaching, load_at
from calibrate.fitting.station import falls
from calibrate.inference.parameters import ROUGH, Array
from calibrate.tails.percentiles import fitted_tails
from calibrate.tails.results import QUANTILES, Tails
from measure.errors import DataError
from measure.loads import Bandwidth, ClosedLoad, InjectedDelay
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

FURTHER = 64
"""Loads tried beyond those of the fit's own curves."""
Ends = tuple[float | None, float | None]
DEEPEST = 2.0**14
"""The deepest queue tried on a curve that is computed step by step."""
REACH = 4
"""No tail is tried beyond this multiple of the deepest calibrated depth, and no objective identified."""
NAMES = {f"p{100 * share:g}": name for name, share in QUANTILES.items()}
ROUNDING = 1e-9
"""Relative tolerance for rounding a depth up to a whole number."""
TAIL_LEVEL = 0.9
"""The level of the intervals of ``Tails``."""


def objective_knee(fit: Fit, time_s: float) -> Knee:
    """The heaviest load whose predicted mean response time stays within ``time_s``.

    It is where the predicted curve, with its misfit, reaches the time; its interval is that of the same crossing on
    possible curves of the device. Its load is None where no load meets the objective, or all that are looked at do.
    Raises ValueError for a time that is not positive.

    >>> from calibrate import from_datasheet, objective_knee
    >>> round(objective_knee(from_datasheet(idle_latency=80e-6, peak_iops=600e3), 200e-6).load)
    110
    """
    _check(time_s)
    definition, loads = f"mean response time within {format_duration(time_s)}", _looked_at(fit, time_s)
    responses = _possible_responses(fit, loads)
    longest = time_s * (1 + ROUNDING)
    ends = ends_of(load_at(loads, first_reaching(responses / longest)), fit.level)
    times = np.median(responses, axis=0) if fit.is_seen_through_chain else fit.predict(loads).response_time_s
    load = float(load_at(loads, first_reaching(times[None] / longest))[0])
    return _knee(fit, load, ends, definition, loads, f"the response takes {format_duration(times[0])}")


def _possible_responses(fit: Fit, loads: Array) -> Array:
    """Mean response times (w, m) at ``loads`` (m,) of possible devices."""
    if fit.is_seen_through_chain:
        return drawn_responses(fit, replace(fit.load_type, values=tuple(loads)))
    closed = isinstance(fit.load_type, ClosedLoad)
    logs, _ = fit.drawn(loads, "throughput" if closed else "response")
    return loads / np.exp(logs + falls(fit, loads, len(logs))) if closed else np.exp(logs)


def _knee(fit: Fit, load: float, ends: Ends, definition: str, loads: Array, lightest: str, note: str = "") -> Knee:
    """The knee of an objective at ``load``, 0 where none of the ``loads`` meets it, infinity where all do."""
    if not 0 < load < math.inf:
        first, last = (fit.load_type.place(fit.load_type.estimated_text(n)) for n in loads[[0, -1]])
        note = f"met up to {last}, the heaviest load looked at" if load else f"even at {first} {lightest}"
        return Knee(None, *ends, math.nan, math.nan, definition, fit.load_name, False, note)
    low, high = (None if end is None else pick(end, load) for pick, end in zip((min, max), ends, strict=True))
    known = low is not None and high is not None and high / low < ROUGH
    if not isinstance(fit.load_type, InjectedDelay) and (further := beyond(fit, load)):
        note = "; ".join(filter(None, (note, further)))
        known = known and load <= REACH * max(fit.used)
    there = fit.predict([load])
    gives = float(there.throughput_per_s[0]), float(there.response_time_s[0])
    return Knee(load, low, high, *gives, definition, fit.load_name, known, note)


def _looked_at(fit: Fit, time_s: float) -> Array:
    """Loads from light to heavy: of a closed load to where even the peak takes the time, as far as that is feasible."""
    loads = fit.paths.load
    if not isinstance(fit.load_type, ClosedLoad):  # no bandwidth is predicted beyond the highest
        return loads[loads <= max(fit.used)] if isinstance(fit.load_type, Bandwidth) else loads
    if fit.is_seen_through_chain and isinstance(fit.load_type, ClosedLoad):
        deepest = PAST * (time_s + fit.load_type.thinking_s) * float(fit.paths.peak.max())
        return np.unique(np.rint(np.geomspace(1, min(max(deepest, loads[-1]), DEEPEST), FURTHER)))
    most = fit.load_type.most if fit.closed_model.is_formula else DEEPEST
    deepest = min(PAST * time_s * float(fit.paths.peak.max()), most)
    return np.append(loads, np.geomspace(loads[-1], max(deepest, loads[-1]), FURTHER + 1)[1:])


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
    return _knee(fit, load, (low_end, high_end), definition, depths, lightest, note)


def depths_for(fit: Fit) -> list[float]:
    """1, 2, 3, 4, 6, 8, 12...: to ``REACH`` times the deepest point of ``fit``."""
    deepest = REACH * max(fit.used, default=1.0)
    steps = range(math.ceil(math.log2(deepest)) + 1)
    return sorted({1.0, *(float(n) for k in steps for n in (2**k, 3 * 2**k // 2) if n <= deepest)})


def _check(time_s: float, quantile: str = "p50") -> None:
    if quantile not in NAMES:
        raise InvalidParameterError("slo", f"for {quantile} is unknown", f"tails are predicted for {', '.join(NAMES)}")
    if not (math.isfinite(time_s) and time_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {time_s!r}", value=time_s)
