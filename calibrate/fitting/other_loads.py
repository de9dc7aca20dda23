"""A calibrated device under another kind of load than the one that it was measured under.

The curve X(n) is the device's, the load is the test's. Possible devices are drawn from the fit, each with its misfit,
and the chain of :mod:`qsim.analytic.any_load` gives each of them its response time under the load. Where requests are
served first come, first served, their wait depends on the spread of service times: that of lone requests where their
latencies tell it, more where the curve's soft bend shows that these pass several stations, and else any that storage
and services have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrate.fitting.device_station import COVERED, KNOTS, reach
from calibrate.fitting.fit import LONE_SCV, PEAK, Fit
from calibrate.fitting.own_load import drawn_devices, is_own_kind, not_served, own_curve
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array
from calibrate.inference.weights import SPREAD, normal_nodes
from calibrate.models.choice import ANY_LOAD
from calibrate.models.curves import ONSET, OnsetPNorm
from calibrate.models.through_chain import NOT_SERVED, SCV, SCV_LOG_SD
from measure.errors import DataError
from measure.findings import curve_name
from measure.loads import ArrivalRate, Clients, ClosedLoad, Load, PeakShare
from measure.sweep import way_of_coming
from measure.units import format_duration, format_rate
from qsim.analytic.any_load import COARSE, FINE, Curves, Present, nodes
from qsim.distributions import law_from_dict

RARE = 0.01
"""The largest share of time with more requests present than the points cover, without a remark."""

CONSTANT = 0.05
"""The squared coefficient of variation below which service times are constant."""

TOLD_APART = 1.1
"""Ratio of two squared coefficients of variation from which on both are named."""

MOSTLY = 0.25
"""A bend is taken for no softer than in all but this share of the possible devices."""

BATCHED, SURELY = 0.9, 0.95
"""An onset below the first with this probability."""

MOST_ERROR = 50.0
"""Beyond this error of a logarithm a response time is endless."""

STEPS = 24
"""Bisections to the highest rate that the points cover."""

NEAR = 1e-5
"""The relative distance at which two loads are one."""

FARTHEST = 1e6
"""No load beyond this is tried."""


@dataclass(frozen=True)
class PossibleDevices:
    """Devices (w,) drawn from a fit.

    ``curves`` are X(n), known up to the deepest point; ``middle`` is the curve of medians; ``scv`` (w,) are the squared
    coefficients of variation of their service times, ``own`` (w,) the relative standard deviations of one measurement.
    """

    curves: Curves
    scv: Array
    own: Array

    @cached_property
    def middle(self) -> Curves:
        """The medians of the devices' curves, as one device."""
        return replace(self.curves, log_rate=np.median(self.curves.log_rate, axis=0)[None])

    @cached_property
    def middle_scv(self) -> float:
        """The median of ``scv``."""
        return float(np.median(self.scv))


def predict_under(fit: Fit, load: ArrivalRate | ClosedLoad, *, refuse: bool = True) -> Prediction:
    """``predict`` at a load of another kind than the fit's."""
    if not load.values:
        raise ValueError(f"cannot predict at no load: give values, as {type(load).__name__}([1000, 2000])")
    if isinstance(load, Clients) and load.think is None:
        raise ValueError("a think time is needed to predict: Clients([10, 100], think=1.0)")
    found = possible_devices(fit)
    values = np.array(load.values)
    doubts = [*doubts_under(fit, found, load)]
    if fit.never_waits:
        doubts.append("not supported by these data, but where nobody waits: no rate that was measured tells the peak")
    if isinstance(load, ArrivalRate):
        try:
            _require_served(fit, found, load)
        except DataError as error:
            if refuse:
                raise
            doubts.append(str(error).removeprefix(f"{fit.series}: "))
    drawn = drawn_under(fit, load, found)
    response = np.array([drawn(n) for n in load.values])
    shares = (0.5, *fit.shares)
    r, r_low, r_high = np.quantile(response, shares, axis=1, method="inverted_cdf")
    r = np.array([within_the_peak(fit, load, n, time) for n, time in zip(load.values, r.tolist(), strict=True)])
    endless = NOT_SERVED * np.exp(-found.middle.log_rate[0, 0])  # a rate that a possible device does not serve
    if fit.hides_its_peak:  # nor does it end a band: nobody may wait
        r_low = np.minimum(r_low, fit.asymptotes[0].low or 0.0)
    r_high = np.where((r_high >= endless) & (r < endless), np.inf, np.maximum(r, r_high))
    if isinstance(load, ArrivalRate):
        x = x_low = x_high = values
    else:
        x, x_high, x_low = (values / (time + load.thinking_s) for time in (r, r_low, r_high))  # N = X (R + Z)
    columns = (values, x, x_low, x_high, r, r_low, r_high)
    notes = (*_remarks(fit, found, load),)
    return Prediction(*columns, fit.level, replace(load, values=()), notes, fit.block_bytes, doubts=tuple(doubts))


def within_the_peak(fit: Fit, load: ArrivalRate | ClosedLoad, value: float, response_s: float) -> float:
    """The response time at a value of a closed load, at least that at which the printed peak is served."""
    peak = fit.peak
    if isinstance(load, ArrivalRate) or peak is None or not peak.estimate:
        return response_s
    return max(response_s, value / peak.estimate - load.thinking_s)  # N = X (R + Z)


def drawn_under(
    fit: Fit, load: ArrivalRate | ClosedLoad, found: PossibleDevices | None = None
) -> Callable[[float], Array]:
    """One measurement of the response (w,) of each possible device, at a value of the load."""
    devices = possible_devices(fit) if found is None else found
    run = 0.0 if is_own_kind(fit.load_type, load) else fit.between_runs  # another kind of load is another run
    slowest = NOT_SERVED * np.exp(-devices.middle.log_rate[0, 0])

    def drawn(value: float) -> Array:
        present = load.present(devices.curves, value, devices.scv)
        return np.asarray(np.minimum(_drawn_responses(devices, present, run), slowest))

    return drawn


def drawn_responses(fit: Fit, load: Load) -> Array:
    """Mean response times (w, m) under the values of ``load`` of possible devices, without the error of measurement."""
    if not isinstance(load, ArrivalRate | ClosedLoad):
        raise DataError(f"a device is predicted at depths, clients or arrival rates, not at {load.plural}")
    found = possible_devices(fit)
    return np.array([load.present(found.curves, n, found.scv).response for n in load.values]).T


def possible_devices(fit: Fit, count: int = SPREAD) -> PossibleDevices:
    """``count`` devices drawn evenly from ``fit``, with their misfit along the curve."""
    chained = fit.is_seen_through_chain
    if not (chained or isinstance(fit.load_type, ClosedLoad)):
        name, so = curve_name(fit.series) or "the fit", f"qsim fit --model '{ANY_LOAD}'"
        raise DataError(
            f"{name} is over {fit.load_type.plural}, and only a fit over depths, clients or threads predicts another "
            f"kind of load; where it is over rates, fit it so: {so}"
        )
    top = reach(fit)
    deepest = fit.deepest if fit.used and not chained else top / COVERED
    loads = np.unique(np.rint(np.geomspace(1, top, KNOTS)))
    logs, rows = drawn_devices(fit.device, loads, count=count)
    own = np.sqrt(fit.curve_model.process.own) * fit.table.misfit[rows]
    known, spacing = lone_scv(fit), COARSE if chained else FINE
    n = nodes(top, spacing)
    curves = Curves(n, Curves(loads, logs).log_rates_at(n), deepest, spacing)
    if fit.is_under_any_load:
        scv = fit.table.values[rows, SCV]
    elif known is None:
        scv = np.exp(SCV_LOG_SD * normal_nodes(count, 2)[:, 1])
    else:
        scv = np.full(count, np.quantile(curves.service_scv(known), MOSTLY))
    return PossibleDevices(curves, scv, own)


def lone_scv(fit: Fit) -> float | None:
    """The squared coefficient of variation of lone requests; None where nothing tells it."""
    if fit.law is not None:
        return law_from_dict(fit.law).scv
    return fit.details.get(LONE_SCV)


def knows_spread(fit: Fit) -> bool:
    """Whether the spread of service times is measured or fitted."""
    return fit.is_under_any_load or lone_scv(fit) is not None


def _drawn_responses(found: PossibleDevices, present: Present, run: float) -> Array:
    """One measurement of the response (w,) of each device in one ``run``; no shorter than that of a lone request."""
    served = np.isfinite(present.response)
    own = np.hypot(found.own, run) * normal_nodes(len(found.own), 3)[:, 2]
    error = np.minimum(np.where(served, present.sensitivity, 0.0) * own, MOST_ERROR)
    least = np.minimum(present.response, np.exp(-found.curves.log_rate[:, 0])) * np.exp(np.minimum(own, 0.0))
    return np.asarray(np.where(served, np.maximum(present.response * np.exp(error), least), np.inf))


def _require_served(fit: Fit, found: PossibleDevices, load: ArrivalRate) -> None:
    """Raise DataError for a rate that the device does not serve, or that needs more present than the fit covers."""
    rate, middle = max(load.values), found.middle
    last = float(np.exp(middle.log_rate[0, -1]))
    covered = f"with {middle.n[-1]:g} requests present, {COVERED} times the deepest that was measured"
    if rate >= last:
        peak, why = float(np.exp(middle.log_rate[0].max())), f"it completes {format_rate(last)} {covered}; ask for less"
        if rate < peak:
            states = both_states(middle, load, found.middle_scv)
            why = f"{why}; up to {format_rate(peak)} it is metastable: {states}"
        raise not_served(fit, rate, last, why)
    most = highest_rate(replace(middle, known=middle.n[-1]), load, found.middle_scv)
    if most is not None:
        raise DataError(
            f"{curve_name(fit.series) or 'the device'}: at {format_rate(rate)} there are often more requests "
            f"present than the points cover ({middle.n[-1]:g}); ask for {format_rate(most)} at most, or measure deeper"
        )


def both_states(curve: Curves, load: ArrivalRate, scv: float) -> str:
    """What a rate above a falling ``curve`` gives: while few are present, and once too many are."""
    rate = max(load.values)
    above = np.flatnonzero(np.exp(curve.log_rate[0]) > rate)
    few = Curves(curve.n[: above[-1] + 1], curve.log_rate[:, : above[-1] + 1])
    good = few.under_arrivals(rate, 0.5 * (load.gap_scv + scv), gap_scv=load.gap_scv, limited=True)
    return (
        f"{format_duration(float(good.response[0]))} while fewer than {curve.n[above[-1]]:g} are present, and a queue "
        f"that grows once more are"
    )


def highest_rate(curve: Curves, load: ArrivalRate | ClosedLoad, scv: float) -> float | None:
    """The highest rate, or clients who think, at which more than ``curve.known`` are rarely present; None: all are."""
    low, high = 0.0, max(load.values)
    if load.present(curve, high, scv).beyond[0] <= RARE:
        return None
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if load.present(curve, middle, scv).beyond[0] > RARE else (middle, high)
    return low


def _remarks(fit: Fit, found: PossibleDevices, load: Load) -> Iterator[str]:
    """What the prediction assumes."""
    known = lone_scv(fit)
    spread = "service times may vary little or much (measure depth 1 with a histogram to narrow this)"
    if fit.is_under_any_load:
        spread = f"service times have an scv near {found.middle_scv:.2g}, as fitted"
    if known is not None:
        spread = f"service times have an scv of {known:.2g}, as the latencies at depth 1"
        if found.middle_scv > TOLD_APART * known:
            spread += f", and of {found.middle_scv:.2g} where they wait, as the curve bends softly"
    if isinstance(load, ArrivalRate):
        yield f"{load.arrivals}; {spread}"
    elif load.thinking_s:
        yield f"a think time of {format_duration(load.thinking_s)}; {spread}"
    elif measured := fit.load_type.thinking_s:
        yield f"no think time, while those measured think for {format_duration(measured)}"


def doubts_under(fit: Fit, found: PossibleDevices, load: Load) -> Iterator[str]:
    """What speaks against a prediction under ``load`` by the number present alone."""
    kinds = [(fit.load_type, list(fit.used)), *((kind, seen[:, 0].tolist()) for kind, seen in fit.also)]
    measured = [n for kind, loads in kinds if way_of_coming(kind) == way_of_coming(load) for n in loads]
    varies = isinstance(load, ArrivalRate) or load.thinking_s > 0
    if isinstance(load, ArrivalRate | ClosedLoad) and varies and max(load.values) > max(measured, default=0.0):
        which = "the deepest load measured" if fit.used else "the knee of the data sheet"
        if (most := highest_rate(found.middle, load, found.middle_scv)) is not None:
            yield often_deeper(load.where([math.floor(most) if load.thinking_s else most]), found.middle.known, which)
    yield from doubts_of_batches(fit)


def often_deeper(load: str, known: float, which: str = "the deepest load measured") -> str:
    """What speaks against more than a ``load``, in words: more are present than is ``known``."""
    return f"above {load} more than {known:.3g} requests, {which}, are present over 1 % of the time"


def doubts_of_batches(fit: Fit) -> Iterator[str]:
    """A remark where a lone request is surely faster than others, as in batches, and service times may vary."""
    known = lone_scv(fit)
    if not fit.used or not isinstance(fit.curve_model, OnsetPNorm) or (known is not None and known < CONSTANT):
        return
    onset = fit.table.values[:, ONSET]
    if float(fit.table.weight @ (onset < BATCHED)) > SURELY:
        middle = float(np.exp(fit.table.weight @ np.log(onset)))
        yield (
            f"a lone request takes {middle:.2g} times as long as others, as where they are handled in batches: what is "
            "present does not tell all then, and under other loads responses may be far longer"
        )


def load_at_share(fit: Fit, asked: PeakShare) -> ArrivalRate | ClosedLoad:
    """The loads whose predicted throughput is each share of the printed peak: rates, or as few as reach it.

    Raises DataError for a fit without a peak throughput, and for a share that no load reaches.
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


def response_under(fit: Fit, load: ArrivalRate | ClosedLoad) -> Callable[[float], float]:
    """The predicted mean response time at a load of this kind."""
    if is_own_kind(fit.load_type, load) and not fit.is_seen_through_chain:
        return lambda n: float(own_curve(fit, [n]).response_time_s[0])
    drawn = drawn_under(fit, load)
    return lambda n: within_the_peak(fit, load, n, float(np.quantile(drawn(n), 0.5, method="inverted_cdf")))


def _fewest_with(fit: Fit, rate: float, load: ClosedLoad) -> float:
    """The least load of this kind with the throughput ``rate``, N = X (R + Z); whole where they think."""
    response, whole = response_under(fit, load), load.thinking_s > 0

    def reaches(n: float) -> bool:
        return n >= rate * (response(n) + load.thinking_s)

    low = high = max(math.floor(rate * load.thinking_s), 1.0)
    while not reaches(high):
        low, high = high, 1.5 * high
        if high > FARTHEST:
            raise DataError(f"{fit.series or 'the fit'}: {format_rate(rate)} is beyond {load.at(FARTHEST)}")
    found = first_load(reaches, low, high, whole=whole)
    return found if whole else float(f"{found:.3g}")


def first_load(reached: Callable[[float], bool], low: float, high: float, *, whole: bool) -> float:
    """The first load from which on it is ``reached``; it is so at ``high``."""
    low, high = (math.floor(low), math.ceil(high)) if whole else (low, high)
    while high - low > (1 if whole else NEAR * high):
        middle = math.sqrt(low * high)
        middle = min(max(round(middle), low + 1), high - 1) if whole else middle
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(high)
