"""Readings of one curve: each line that a fit prints is read off the same curve, its interval off the same draws.

``N*``       (R1 + Z) Xpeak, the idle latency (and the think time) times the peak: where the two asymptotes cross and
             queueing starts (Denning and Buzen, ACM Computing Surveys 1978, section 4.2; Lazowska et al., Quantitative
             System Performance, 1984, chapter 5). It is the product of the printed figures; its interval is that of
             the product in each possible device, which is narrower than theirs together where the two move against
             each other, and wider than the points alone where the peak lies beyond them.

``N90``      the first load with 90 % of the printed peak on the predicted curve. For X = [(N/N*)^-p + 1]^(-1/p) Xmax
             it is N* (0.9^-p - 1)^(-1/p): it moves with the sharpness p, so that its interval is wider than that of
             N*, and it is sure only where points near it show the bend

``tangent``  of loads that are not closed: rho* = 1 / (1 + sqrt(a / L0)) for a latency curve R = L0 + a rho / (1 - rho):
             the load of maximal power X / R (Kleinrock, ICC 1979), where a line through the origin touches the curve.
             Power is flat there, so that what the model misses moves it far: its interval holds all loads as good
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrate.fitting.fit import BANDWIDTH, PEAK, Fit
from calibrate.fitting.own_load import expected, is_own_kind, measurements, own_curve, require_served
from calibrate.fitting.predicted_curve import Knee, Prediction
from calibrate.inference.parameters import ROUGH, Array, Estimate
from calibrate.inference.weights import SPREAD, Quantity, middle, reaching, widened
from calibrate.models.curves import ClosedModel, CurveModel, estimates
from calibrate.points import Z90
from measure.errors import DataError
from measure.loads import ArrivalRate, Bandwidth, ClosedLoad, InjectedDelay, Load, PeakShare, ThroughputLoad
from measure.repeats import TIE
from measure.units import CACHE_LINE_BYTES

SOFT = 0.5
"""A knee at which less than this share of the peak is reached is not sharp."""

USUAL = 0.9
"""The share of the peak that most performance reports mean."""

GAIN = 1.05
"""Throughput still rises at a load where twice the load raises it by this factor."""

STAYS_BELOW = "the predicted curve stays below it"
"""Of the load at 90 % of the peak: it is where possible devices reach their own."""

SHEET = "data sheet"
"""The key in a fit's details of a data sheet's figures."""

STEPS = 240
REACH = 64.0
"""The curve is computed up to this multiple of the knee, or of the deepest point."""

CHAINED_STEPS, CHAINED_REACH = 64, 4.0
"""The same where each load costs a chain."""

AMONG, BEYOND, HIGHEST = 32, np.geomspace(1.1, 32.0, 16), 3
"""Number of loads among the points, and multiples of the deepest one, whose highest so many are predicted."""

FEW = 64
"""Number of representative devices of a model whose curve is computed by a loop, not a formula."""

AROUND, BESIDE, TRIED, PASSES = 8.0, 1.2, 14, 2
"""Loads tried on the predicted curve to either side of an estimate, their number, and how often, closer each time."""

CLOSE = 1.02
"""The ratio of two loads between which a curve is straight."""

NO_FURTHER = 4
"""No objective beyond this multiple of the deepest calibrated load is identified."""

Ends = tuple[float | None, float | None]


def predict(fit: Fit, at: Sequence[float] | Array | Load | PeakShare, *, refuse: bool = True) -> Prediction:
    """Throughput and response time with bands, by a fitted (or data-sheet) model.

    ``at``: loads in the unit of the fit (outstanding requests; injected delay), or a load of another kind with its
    values: ``ArrivalRate([2e3, 8e3])``, ``Clients([10, 100], think=1.0)``, or shares of the peak, as
    ``PeakShare([0.6, 0.8])``. Without ``refuse`` a rate that is not served has a response time of a million lone
    requests, as beside one that was measured.

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
    if isinstance(at, PeakShare):
        from calibrate.fitting.other_loads import load_at_share

        at = load_at_share(fit, at)
    if fit.is_seen_through_chain:
        at = at if isinstance(at, Load) else replace(fit.load_type, values=tuple(np.atleast_1d(at)))
    elif not isinstance(at, Load) or is_own_kind(fit.load_type, at):
        loads = at.values if isinstance(at, Load) else at
        if refuse:
            require_served(fit, loads)
        return own_curve(fit, loads)
    if not isinstance(at, (ArrivalRate, ClosedLoad)):
        raise DataError(f"a device is predicted at depths, clients or arrival rates, not at {at.plural}")
    from calibrate.fitting.other_loads import predict_under

    return predict_under(fit, at, refuse=refuse)


def figures_of(fit: Fit) -> Mapping[str, Estimate]:
    """``fit.figures``: those of a closed load are read off its curve."""
    if fit.given is not None:
        return fit.given
    columns = (np.array(c) for c in (fit.used, fit.used_throughput_per_s, fit.used_response_s))
    priors = {p.name: p.prior_log_sd for p in fit.curve_model.parameters(*columns) if p.prior_log_sd is not None}
    found = estimates(fit.curve_model, fit.table, priors, fit.level, fit.between_runs)
    if fit.hides_its_peak:  # intervals of the peak and N* begin at what was served, and no point tells an end
        served = min(max(fit.used_throughput_per_s) / (found[PEAK].low or math.inf), 1.0)
        for name in {PEAK, "N*"} & found.keys():
            low = served * (found[name].low or 0.0)
            found[name] = replace(found[name], low=low, high=None, identified=False)
    if not isinstance(fit.curve_model, ClosedModel):
        return found
    return {**found, **{name: e for name, e in _read_off(fit, found).items() if name in found}}


def asymptotes_of(fit: Fit) -> tuple[Estimate, Estimate]:
    """``fit.asymptotes``: the idle latency and the peak of a closed model."""
    found = fit.figures
    both = found if {"R1", PEAK} <= found.keys() else _read_off(fit, found)
    return both["R1"], both[PEAK]


def _read_off(fit: Fit, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """The idle latency and the peak of a closed model: of points under closed loads, those of the predicted curve.

    Where all that is predicted lies below the peak that the model tends to, the peak is that. A drawn device has its
    row's own.
    """
    model = fit.closed_model
    idle = found.get("R1") or _estimate(fit, "s", model.lone)
    peak = found.get(PEAK) or _estimate(fit, "1/s", model.peak)
    if fit.given is not None or not fit.used or fit.is_seen_through_chain or len(fit.table) == 1:
        return {"R1": idle, PEAK: peak}
    served, highest, deepest = fit.used_throughput_per_s, peak.estimate or 0.0, max(fit.used)
    among = np.unique([*fit.used, *np.geomspace(min(fit.used), deepest, AMONG)])
    best = (loads[np.argsort(expected(fit, loads))[-HIGHEST:]] for loads in (among, deepest * BEYOND))
    lone, *others = measurements(fit, np.concatenate([[1.0], *best])).quantiles((0.5,))[0].tolist()
    if fit.known_peak_per_s is None:
        highest = max(highest, lone, *others)
    seen = [] if model.declines else [max(served)]
    return {"R1": idle.moved_to(1 / lone), PEAK: peak.moved_to(highest, *seen)}


def _estimate(fit: Fit, unit: str, quantity_of: Quantity) -> Estimate:
    estimate, low, high = middle(fit.table, quantity_of, fit.level)
    low, high = widened(low, estimate, high, fit.between_runs, fit.level)
    return Estimate(estimate, low, high, high < ROUGH * low, unit)


def knee_of(fit: Fit) -> Knee:
    """The knee of ``fit``: N* for closed loads, else by the definition of its model."""
    load = fit.crossing
    return _tangent(fit) if load is None else _closed(fit, load)


def still_rises(fit: Fit) -> bool:
    """Whether twice the deepest load of a closed fit would still raise its throughput by ``GAIN``.

    Where the curve misses its own points, whether the last of them did so over those of half the load or less.
    """
    if not fit.used or not isinstance(fit.load_type, ClosedLoad):
        return False
    loads, rates = np.array(fit.used), np.array(fit.used_throughput_per_s)
    if fit.is_far_off and len(half := rates[loads <= loads.max() / 2]):
        return bool(rates[loads.argmax()] > GAIN * half.max())
    now, twice = predict(fit, [max(fit.used), 2 * max(fit.used)], refuse=False).throughput_per_s
    return bool(twice > GAIN * now)


def _closed(fit: Fit, load: float) -> Knee:
    (idle, most), model = fit.asymptotes, fit.closed_model
    _, low, high = middle(fit.table, model.knee_load, fit.level)
    low, high = widened(min(low, load), load, max(high, load), fit.between_runs, fit.level)
    low = float(np.exp(reaching(np.log(low), np.log(high), 0.0, fit.level)))
    at = own_curve(fit, [load]).throughput_per_s[0]
    return Knee(
        load=load,
        low=low,
        high=high,
        throughput_per_s=float(at),
        response_time_s=float(load / at) - fit.load_type.thinking_s,
        definition=f"{model.knee_definition}{_lacking(fit)}",
        load_name=fit.load_name,
        identified=bool(high / low < ROUGH) and idle.identified and most.identified and not fit.rises,
        note=beyond(fit, load),
        sharp=bool(at >= SOFT * (most.estimate or np.inf)),
    )


def users_at_knee(fit: Fit, think_s: float) -> tuple[float, float, float]:
    """The number of users who think for ``think_s`` seconds from which they queue, (R1 + Z) Xpeak, with its interval.

    Of a fit to a closed load: the printed figures, and the same in each possible device.

    >>> from calibrate import from_datasheet
    >>> [round(users) for users in users_at_knee(from_datasheet(80e-6, 600e3), 0.001)[:1]]
    [648]
    """
    _, peak = fit.asymptotes
    model, thinks = fit.closed_model, max(think_s - fit.load_type.thinking_s, 0.0)
    load = (fit.crossing or 1.0) + thinks * (peak.estimate or 0.0)
    rows, _ = fit.table.spread(SPREAD)
    low, high = np.quantile(model.knee_load(rows) + thinks * model.peak(rows), fit.shares).tolist()
    return load, *widened(min(low, load), load, max(high, load), fit.between_runs, fit.level)


def _lacking(fit: Fit) -> str:
    """What of the product was not measured."""
    if not fit.used:
        return ", both from the data sheet" if SHEET in fit.details else ""
    lone = "" if min(fit.used) == 1 or fit.load_type.thinking_s else f"{fit.load_type.at(1)} was not measured"
    peak = f"throughput still rises at {fit.load_type.at(max(fit.used))}" if fit.rises else ""
    lacking = "; ".join(filter(None, (lone, peak)))
    return f": {lacking}" if lacking else ""


def _tangent(fit: Fit) -> Knee:
    """The knee by the model's own definition."""
    model, delay = fit.curve_model, isinstance(fit.load_type, InjectedDelay)
    moves = float(np.hypot(fit.between_runs, _flatness(fit)))
    throughput, x_low, x_high = middle(fit.table, lambda v: model.knee(v).throughput, fit.level)
    x_low, x_high = widened(x_low, throughput, x_high, moves, fit.level)
    response = float(fit.table.quantiles(lambda v: model.knee(v).response, (0.5,))[0])
    reached = np.isfinite(model.knee(fit.table.values).load)
    share = float(fit.table.weight[reached].sum())
    load, low, high, note = None, None, None, ""
    if share > 1 - fit.level:
        load, low, high = middle(fit.table.at(reached), lambda v: np.nan_to_num(model.knee(v).load), fit.level)
        high = high if np.isfinite(high) else None  # points that contradict each other leave it open
    if load is not None and low is not None and high is not None and not delay:
        low, high = widened(low, load, high, moves, fit.level)
    if load is None or share < 0.5:
        load, note = None, "the loaders of this sweep do not reach the knee"
    elif not delay:
        note = beyond(fit, load)
    high, most = (None, None) if fit.hides_its_peak else (high, x_high)
    ends = (x_low, most) if delay else (low, high)
    return Knee(
        load=load,
        low=low,
        high=high,
        throughput_per_s=throughput,
        response_time_s=response,
        definition=model.knee_definition,
        load_name=fit.load_name,
        identified=ends[0] is not None and ends[1] is not None and ends[1] / ends[0] < ROUGH,
        note=note,
        throughput_low_per_s=x_low,
        throughput_high_per_s=most,
    )


def _flatness(fit: Fit) -> float:
    """The relative standard deviation of the load of maximal power X / R: those within the misfit are as good."""
    model, row = fit.curve_model, fit.table.most_probable[None, :]
    if model.process.own >= 1 or not fit.used:  # a misfit of single loads does not move the bend
        return 0.0
    loads = _followed(fit, _peak(model, row), None)
    throughput, response = (one[0] for one in model.curve(row, loads))
    power = np.log(throughput / response)
    near = throughput[power >= power.max() - fit.table.typical_misfit()]
    return float(0.5 * np.log(near.max() / near.min()) / Z90)


def beyond(fit: Fit, load: float) -> str:
    """A remark on a load beyond all that were calibrated on; empty for others."""
    if not fit.used or load <= max(fit.used):
        return ""
    return f"beyond {fit.load_type.at(max(fit.used))}, the last that was calibrated on: an extrapolation"


@dataclass(frozen=True)
class CurvePaths:
    """Curves from light to heavy load: ``load`` (m,), throughput and response (w, m), the peak (w,)."""

    load: Array
    throughput: Array
    response: Array
    peak: Array
    is_closed: bool


def paths(fit: Fit, knee: float | None) -> CurvePaths:
    """Curves of representative devices of the fit, far beyond the load of its ``knee``."""
    model = fit.curve_model
    values, _ = fit.table.spread(SPREAD if model.is_formula else FEW)
    peak = _peak(model, values)
    loads = _followed(fit, peak, knee)
    throughput, response = model.curve(values, loads)
    reached = throughput.max(axis=1) if peak is None else peak
    if isinstance(fit.load_type, Bandwidth) and peak is not None:
        reached = peak / CACHE_LINE_BYTES  # throughputs of a memory are lines a second
    response = np.broadcast_to(response, throughput.shape)
    return CurvePaths(loads, throughput, response, reached, isinstance(fit.load_type, ClosedLoad))


def _peak(model: CurveModel, values: Array) -> Array | None:
    """The peak (n,) that a model reports, in the unit of the load where that is a throughput."""
    named = model.report(values)
    return next((named[name][1] for name in (PEAK, BANDWIDTH) if name in named), None)


def _followed(fit: Fit, peak: Array | None, knee: float | None) -> Array:
    """Loads from light to heavy: depths and rates rise, delays fall."""
    used = max(fit.used) if fit.used else 1.0
    if isinstance(fit.load_type, ThroughputLoad):  # the load is the throughput
        top = float(np.median(peak)) if peak is not None else 2 * used
        return np.linspace(0.002, 0.999, STEPS) * top
    if isinstance(fit.load_type, InjectedDelay):
        return np.append(np.geomspace(max(used, 1.0) * 4, 1e-3, STEPS - 1), 0.0)
    if fit.is_seen_through_chain:
        return np.unique(np.rint(np.geomspace(1.0, CHAINED_REACH * max(knee or 1.0, used), CHAINED_STEPS)))
    most = (knee or 1.0) * REACH
    most = most if fit.curve_model.is_formula else min(most, 4096.0)
    return np.geomspace(1.0, max(most, 2 * used, 64.0), STEPS)


def first_reaching(ratio: Array) -> Array:
    """The fractional index (w,) at which each row first reaches 1, log-linear; NaN before, infinity beyond."""
    reached = ratio >= 1
    at = reached.argmax(axis=1)
    rows, before = np.arange(len(ratio)), np.maximum(at - 1, 0)
    low, high = np.log(ratio[rows, before]), np.log(ratio[rows, at])
    part = np.divide(-low, high - low, out=np.zeros_like(low), where=high > low)
    place = np.where(at == 0, np.nan, before + part)
    return np.asarray(np.where(reached.any(axis=1), place, np.inf))


def load_at(load: Array, index: Array) -> Array:
    """The loads (w,) at fractional indices of ``load`` (m,); 0 before its beginning, infinity beyond its end."""
    inside = np.isfinite(index)
    positive = load > 0
    logs = np.log(np.where(positive, load, load[positive].min()))
    loads = np.exp(np.interp(np.where(inside, index, 0.0), np.arange(len(load)), logs))
    return np.asarray(np.where(np.isnan(index), 0.0, np.where(inside, loads, np.inf)))


def ends_of(loads: Array, level: float) -> tuple[float | None, float | None]:
    """The ends of the interval of loads at ``level``; None for an end that is 0 or infinite."""
    tails = [50 * (1 - level), 50 * (1 + level)]
    low, high = (float(v) for v in np.percentile(loads, tails, method="nearest"))
    return (low if 0 < low < np.inf else None), (high if 0 < high < np.inf else None)


def ninety_of(fit: Fit) -> Knee:
    """The load at 90 % of the printed peak of ``fit`` on its predicted curve, and its interval over possible devices.

    ``load`` is None where no load reaches it, and the devices' median where the predicted curve stays below it.
    """
    definition, path = f"{100 * USUAL:g} % of the peak throughput", paths(fit, fit.knee.load)
    places = first_reaching(path.throughput / (USUAL * path.peak[:, None]))
    if path.is_closed:  # the least load is one request
        places = np.where(np.isnan(places), 0.0, places)
    loads = load_at(path.load, places)
    load = float(np.percentile(loads, 50, method="nearest"))
    low, high = ends_of(loads, fit.level)
    note = ""
    if isinstance(fit.load_type, InjectedDelay):  # the knee is a throughput: a delay of 0 is not a knee
        note = "" if 0 < load < np.inf else "the loaders of this sweep do not reach it"
    elif not np.isfinite(load):
        note = f"beyond {fit.load_type.place(fit.load_type.estimated_text(path.load[-1]))}, the last computed"
    if not 0 < load < np.inf:
        return Knee(None, low, high, float("nan"), float("nan"), definition, fit.load_name, False, note)
    load, throughput, response = _where_it_is_had(fit, path, load, places)
    if not isinstance(fit.load_type, InjectedDelay):
        note = note or beyond(fit, load)
    low, high, known = interval_with(fit, load, (low, high), float(path.load[0]) if path.is_closed else 0.0)
    if stays_below(fit, throughput):
        note, known = "; ".join(filter(None, (STAYS_BELOW, note))), False
    elif path.is_closed:
        known = known and fit.asymptotes[1].identified and not fit.rises and measured_near(fit, load, low, high)
    return Knee(load, low, high, throughput, response, definition, fit.load_name, known, note)


def stays_below(fit: Fit, throughput_per_s: float) -> bool:
    """Whether the predicted curve has less than 90 % of the printed peak where possible devices reach theirs."""
    if not (isinstance(fit.load_type, ClosedLoad) and isinstance(fit.curve_model, ClosedModel)):
        return False
    return throughput_per_s < USUAL * (1 - TIE) * (fit.asymptotes[1].estimate or math.inf)


def measured_near(fit: Fit, load: float, low: float | None, high: float | None) -> bool:
    """Whether ``load`` rests on points near it: one in its interval, or on either side, ``ROUGH`` apart at most.

    Further apart, noisy ones may agree by chance, and make a soft bend look sharp. True without points.
    """
    used = np.array(fit.used)
    if not len(used) or ((used >= (low or 0.0)) & (used <= (high or np.inf))).any():
        return True
    return bool(used[used > load].min(initial=np.inf) <= ROUGH * used[used < load].max(initial=0.0))


def ninety_of_p_norm(crossing: Array, sharpness: Array) -> Array:
    """The load at 90 % of the peak of a p-norm whose asymptotes cross at ``crossing``, without misfit or onset.

    Solved for N where X / Xmax = 0.9: N / N* = (0.9^-p - 1)^(-1/p).

    >>> ninety_of_p_norm(np.array([10.0]), np.array([1.0])).round(9).tolist()
    [90.0]
    """
    return np.asarray(np.maximum(crossing * np.expm1(-sharpness * np.log(USUAL)) ** (-1 / sharpness), 1.0))


def ninety_among(loads: Array, throughput: Array, *, delays: bool = False) -> float:
    """The first of the points (m,) with 90 % of the highest throughput, interpolated in logarithms between two.

    Over ``delays``, which may be zero, the longest with it, interpolated linearly.

    >>> round(ninety_among(np.array([1.0, 2.0, 8.0]), np.array([50.0, 80.0, 100.0])), 2)
    4.16
    """
    order = np.argsort(-loads if delays else loads, kind="stable")
    n, x = loads[order], throughput[order] / (USUAL * throughput.max())
    at = int(np.argmax(x >= 1))
    if at == 0:
        return float(n[0])
    ends, heights = n[at - 1 : at + 1], x[at - 1 : at + 1]
    if delays:
        return float(np.interp(1.0, heights, ends))
    return float(np.exp(np.interp(0.0, np.log(heights), np.log(ends))))


def _where_it_is_had(fit: Fit, path: CurvePaths, near: float, places: Array) -> tuple[float, float, float]:
    """The load at 90 % of the peak, ``near`` the median of possible devices, with throughput and response there."""
    if not isinstance(fit.curve_model, ClosedModel) or not path.is_closed:
        throughput, response = (float(np.median(_along(v, places))) for v in (path.throughput, path.response))
        return near, throughput, response
    wanted = USUAL * (fit.asymptotes[1].estimate or math.nan)
    found = _first_on_the_curve(fit, wanted, near)
    load, there = found or near, wanted
    if found is None or (load == 1 and _on_the_curve(fit, [1.0])[0] > wanted):  # no load is less
        there = float(_on_the_curve(fit, [load])[0])
    return load, there, load / there - fit.load_type.thinking_s


def _on_the_curve(fit: Fit, loads: Sequence[float] | Array) -> Array:
    """The predicted throughput at ``loads``."""
    return predict(fit, loads, refuse=False).throughput_per_s


def _first_on_the_curve(fit: Fit, wanted: float, near: float) -> float | None:
    """The first load around ``near`` with the throughput ``wanted`` on the predicted curve; None beyond all of them."""

    def reached(loads: Array) -> float:
        return float(first_reaching(_on_the_curve(fit, loads)[None] / wanted)[0])

    loads = np.unique(np.maximum(near * _tried_beside(fit, near), 1.0))
    place = reached(loads)
    if not math.isfinite(place):
        first, last = (loads[-1], max(AROUND * near, loads[-1])) if place > 0 else (1.0, loads[0])
        loads = np.unique(np.geomspace(float(first), float(last), TRIED))
        place = reached(loads)
    if not math.isfinite(place):
        return None if place > 0 else 1.0
    while loads[(before := min(int(place), len(loads) - 2)) + 1] > CLOSE * loads[before]:
        closer = np.geomspace(loads[before], loads[before + 1], TRIED)
        if not math.isfinite(again := reached(closer)):
            break
        loads, place = closer, again
    return float(load_at(loads, np.array([place]))[0])


def _tried_beside(fit: Fit, near: float) -> Array:
    """The loads, as multiples of ``near``, among which one is sought first."""
    if fit.is_seen_through_chain:  # each load costs a chain
        return np.array([1 / BESIDE, BESIDE])
    farthest = max(AROUND, NO_FURTHER * max(fit.used, default=1.0) / near)
    beside, further = np.geomspace(1 / AROUND, AROUND, TRIED), np.geomspace(AROUND, farthest, TRIED)
    bends = np.array(fit.used) / near  # the curve bends sharply at the loads that were calibrated on
    return np.concatenate([[1.0 / near], beside, further, bends[bends <= farthest]])


def interval_with(
    fit: Fit, load: float, ends: Ends, least: float = 0.0, most: float = math.inf
) -> tuple[float | None, float | None, bool]:
    """An interval with the estimate and what moves between runs, from ``least`` to ``most``; whether it is narrow."""
    low, high = ends  # where one is open, the other moves between runs no less
    if low is not None:
        low = max(widened(min(low, load), load, load, fit.between_runs, fit.level)[0], least)
    if high is not None:
        high = widened(load, load, max(high, load), fit.between_runs, fit.level)[1]
    last = min(high or math.inf, max(most, load))
    return low, last if math.isfinite(last) else None, low is not None and last < ROUGH * low


def _along(values: Array, index: Array) -> Array:
    """Values (w, m) at the fractional indices (w,), where they exist."""
    inside = np.isfinite(index)
    place, rows = index[inside], values[inside]
    before = np.clip(place.astype(int), 0, values.shape[1] - 2)
    every = np.arange(len(rows))
    step = rows[every, before + 1] - rows[every, before]
    return np.asarray(rows[every, before] + (place - before) * step)
