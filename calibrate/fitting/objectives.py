"""What more load buys: the heaviest load whose response stays within a time, and what twice a load gives.

They are readings of the predicted curve, of the load that was measured or of another kind, their intervals those of the
same readings of possible devices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from calibrate.fitting.device_station import falls
from calibrate.fitting.fit import PEAK, Fit
from calibrate.fitting.other_loads import FARTHEST, drawn_responses, first_load, response_under
from calibrate.fitting.own_load import drawn_devices, is_own_kind
from calibrate.fitting.predicted_curve import Knee
from calibrate.fitting.readings import (
    AROUND,
    NO_FURTHER,
    PASSES,
    TRIED,
    Ends,
    beyond,
    ends_of,
    first_reaching,
    interval_with,
    load_at,
    paths,
    predict,
)
from calibrate.inference.parameters import Array
from measure.loads import ArrivalRate, Bandwidth, ClosedLoad, InjectedDelay, Load, ThroughputLoad
from measure.units import format_duration
from qsim.errors import InvalidParameterError

AT_THE_PEAK = 0.99
"""The share of the peak from which a load is said to reach it."""

PAST = 2.0
"""An objective is sought to this multiple of the load at which the peak itself takes the time."""

FURTHER = 64
"""Loads tried beyond those of the fit's own curves."""

DEEPEST = 2.0**14
"""The deepest queue tried on a curve that is computed step by step."""

ROUNDING = 1e-9
"""Relative tolerance of an objective for rounding."""

WITHIN, OTHERS = 3.0, 40
"""Loads of another kind tried to either side of an estimate for its interval, to this factor, and their number."""


@dataclass(frozen=True)
class Doubling:
    """What twice a ``load`` buys: throughput and response at both, and the factor on the throughput with its interval.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> bought = doubling(drive, 8.0)
    >>> round(bought.gain, 2), bought.low < bought.gain < bought.high
    (1.94, True)
    """

    load: float
    throughput_per_s: tuple[float, float]
    response_time_s: tuple[float, float]
    low: float
    high: float

    @property
    def gain(self) -> float:
        """The factor on the throughput."""
        return self.throughput_per_s[1] / self.throughput_per_s[0]


def doubling(fit: Fit, load: float) -> Doubling:
    """What twice a closed ``load`` buys on the predicted curve of ``fit``."""
    loads = np.array([load, 2 * load])
    curve = predict(fit, loads, refuse=False)
    x, r = curve.throughput_per_s.tolist(), curve.response_time_s.tolist()
    logs, gain = np.log(loads / possible_responses(fit, loads)), x[1] / x[0]
    low, high = np.exp(np.quantile(logs[:, 1] - logs[:, 0], fit.shares)).tolist()
    return Doubling(load, (x[0], x[1]), (r[0], r[1]), min(low, gain), max(high, gain))


def objective_knee(fit: Fit, time_s: float) -> Knee:
    """The heaviest load whose predicted mean response time stays within ``time_s``.

    It is where the predicted curve, with its misfit, reaches the time; its interval is that of the same crossing on
    possible curves of the device. Its load is None where no load meets the objective, or all that are looked at do.
    Raises ValueError for a time that is not positive.

    >>> from calibrate import from_datasheet, objective_knee
    >>> round(objective_knee(from_datasheet(idle_latency=80e-6, peak_iops=600e3), 200e-6).load)
    110
    """
    check_objective(time_s)
    loads = _looked_at(fit, time_s)
    longest = time_s * (1 + ROUNDING)
    load, lightest_s = _last_within(fit, loads, longest)
    if fit.load_type.thinking_s and 1 <= load < math.inf:  # whole users
        load = float(math.floor(load))
    near = loads if not 0 < load < math.inf else loads[(loads >= load / AROUND) & (loads <= load * AROUND)]
    ends = ends_of(load_at(near, first_reaching(possible_responses(fit, near) / longest)), fit.level)
    return mean_objective(fit, time_s, load, ends, loads, lightest_s)


def _last_within(fit: Fit, loads: Array, longest: float) -> tuple[float, float]:
    """The load among ``loads`` at which the predicted response takes ``longest``; the response at the lightest."""
    tried, load, lightest_s = loads, math.nan, math.nan
    for number in range(PASSES + 1):
        times = predict(fit, tried, refuse=False).response_time_s
        place = first_reaching(times[None] / longest)
        load, lightest_s = float(load_at(tried, place)[0]), lightest_s if number else float(times[0])
        if not 0 < load < math.inf or int(place[0]) == place[0]:
            break
        before = int(place[0])
        tried = load_at(tried, np.linspace(before, before + 1, TRIED))
    return load, lightest_s


def mean_objective(
    fit: Fit, time_s: float, load: float, ends: Ends, loads: Array, lightest_s: float, under: Load | None = None
) -> Knee:
    """``objective_at`` for the mean response time, ``lightest_s`` at the lightest of the ``loads``."""
    most = most_within(fit, time_s, fit.load_type if under is None else under)
    definition = f"mean response time within {format_duration(time_s)}"
    lightest = f"the predicted response takes {format_duration(lightest_s)}"
    return objective_at(fit, load, ends, definition, loads, lightest, under=under, most=most)


def most_within(fit: Fit, time_s: float, kind: Load) -> float:
    """The load of that kind at which the highest possible peak serves each request within ``time_s`` on average."""
    peak = fit.peak
    if peak is None or peak.high is None or isinstance(kind, InjectedDelay):
        return math.inf
    return peak.high * (1.0 if isinstance(kind, ThroughputLoad) else time_s + kind.thinking_s)  # N = X (R + Z)


def possible_responses(fit: Fit, loads: Array) -> Array:
    """Mean response times (w, m) at ``loads`` (m,) of possible devices."""
    if fit.is_seen_through_chain:
        return drawn_responses(fit, replace(fit.load_type, values=tuple(loads)))
    closed = isinstance(fit.load_type, ClosedLoad)
    logs, _ = drawn_devices(fit, loads, "throughput" if closed else "response")
    return loads / np.exp(logs + falls(fit, loads, len(logs))) if closed else np.exp(logs)


def objective_at(
    fit: Fit,
    load: float,
    ends: Ends,
    definition: str,
    loads: Array,
    lightest: str,
    note: str = "",
    under: Load | None = None,
    most: float = math.inf,
) -> Knee:
    """The reading of an objective at ``load``, 0 where none of the ``loads`` meets it, infinity where all do.

    The load is of the kind ``under``, else of that of ``fit``, and no possible device has more than ``most``.
    """
    kind = fit.load_type if under is None else under
    if not 0 < load < math.inf:
        first, last = (kind.place(kind.estimated_text(n)) for n in loads[[0, -1]])
        highest = ", which reaches the peak" if load and _reaches_the_peak(fit, loads[-1], kind) else ""
        note = f"met up to {last}, the heaviest load looked at{highest}" if load else f"even at {first} {lightest}"
        return Knee(None, *ends, math.nan, math.nan, definition, kind.named, False, note)
    low, high, known = interval_with(fit, load, ends, most=most)
    throughput, response = _had_at(fit, load, kind)
    outstanding = load if under is None else throughput * response  # as deep as the fit's own load, which is closed
    if not isinstance(fit.load_type, InjectedDelay) and (further := beyond(fit, outstanding)):
        note = "; ".join(filter(None, (note, further)))
        known = known and outstanding <= NO_FURTHER * max(fit.used)
    return Knee(load, low, high, throughput, response, definition, kind.named, known, note)


def _had_at(fit: Fit, load: float, kind: Load) -> tuple[float, float]:
    """The predicted throughput and response time at one load of that kind."""
    found = predict(fit, replace(kind, values=(load,)), refuse=False)
    return float(found.throughput_per_s[0]), float(found.response_time_s[0])


def _reaches_the_peak(fit: Fit, load: float, kind: Load) -> bool:
    """Whether the throughput at a load of that kind is that of the printed peak, to a hundredth; False for memories."""
    if fit.peak is None or not fit.peak.estimate or not isinstance(kind, ClosedLoad | ArrivalRate):
        return False
    served = load if isinstance(kind, ArrivalRate) else _had_at(fit, load, kind)[0]
    return served >= AT_THE_PEAK * fit.peak.estimate


def check_objective(time_s: float) -> None:
    """Raise InvalidParameterError for a time that is not positive."""
    if not (math.isfinite(time_s) and time_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {time_s!r}", value=time_s)


def _looked_at(fit: Fit, time_s: float) -> Array:
    """Loads from light to heavy: of a closed load to where even the peak takes the time, as far as that is feasible."""
    path = paths(fit, fit.crossing)
    loads = path.load
    if not isinstance(fit.load_type, ClosedLoad):  # no bandwidth is predicted beyond the highest
        return loads[loads <= max(fit.used)] if isinstance(fit.load_type, Bandwidth) else loads
    if fit.is_seen_through_chain:
        deepest = PAST * (time_s + fit.load_type.thinking_s) * float(path.peak.max())
        return np.unique(np.rint(np.geomspace(1, min(max(deepest, loads[-1]), DEEPEST), FURTHER)))
    most = fit.load_type.most if fit.closed_model.is_formula else DEEPEST
    deepest = min(PAST * time_s * float(path.peak.max()), most)
    return np.append(loads, np.geomspace(loads[-1], max(deepest, loads[-1]), FURTHER + 1)[1:])


def objective_under(fit: Fit, time_s: float, load: ArrivalRate | ClosedLoad) -> Knee:
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
    peak, longest = fit.figures[PEAK].estimate or 1.0, time_s * (1 + ROUNDING)
    if isinstance(load, ArrivalRate):
        loads = np.linspace(0.001, 0.999, OTHERS) * peak
    else:  # to where even the peak takes the time
        deepest = PAST * (time_s + load.thinking_s) * peak
        loads = np.geomspace(1.0, min(max(deepest, 2.0), FARTHEST), OTHERS)
    first, last = float(loads[0]), float(loads[-1])
    response = response_under(fit, load)
    lightest = response(first)
    if lightest > longest:
        found = 0.0
    elif response(last) <= longest:
        found = math.inf
    else:
        whole = load.thinking_s > 0
        found = first_load(lambda n: response(n) > longest, first, last, whole=whole) - whole  # the last that meets it
    near = loads
    if 0 < found < math.inf:
        near = np.geomspace(max(found / WITHIN, first), min(found * WITHIN, last), OTHERS)
    times = np.minimum(drawn_responses(fit, replace(load, values=tuple(near))), FARTHEST * time_s)
    ends = ends_of(load_at(near, first_reaching(times / longest)), fit.level)
    return mean_objective(fit, time_s, found, ends, np.array([first, last]), lightest, load)
