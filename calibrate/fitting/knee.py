"""The knee: where more load stops buying throughput and starts buying latency.

There is no single knee; each definition answers another question. These are printed:

``N*``       R1 Xpeak, the idle latency times the peak, of a closed system: where queueing starts (Denning and Buzen,
             ACM Computing Surveys 1978, section 4.2; Lazowska et al., Quantitative System Performance, 1984,
             chapter 5). Straight from the two measurements where both were made, else from the model. It is the most
             stable definition: without every second depth it moves by 1.4 % on public sweeps. Other loads have

``tangent``  rho* = 1 / (1 + sqrt(a / L0)) for an open latency curve R = L0 + a rho / (1 - rho): the load of maximal
             power X / R (Kleinrock, ICC 1979), where a line through the origin touches the curve. Power is flat
             there, so that what the model misses moves it far: its interval holds all loads that are as good

``N90``      the first load with 90 % of the peak. For X = [(N/N*)^-p + 1]^(-1/p) Xmax it is
             N* (0.9^-p - 1)^(-1/p): it moves with the sharpness p, so that its interval is wider than that of N*
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.inference.parameters import ROUGH, Array, Mask
from calibrate.inference.weights import SPREAD, middle, reaching, scattered, widened
from calibrate.models.calibration import Calibration
from calibrate.models.closed import ClosedModel
from calibrate.models.curves import CurveModel
from calibrate.points import Z90
from measure.loads import Bandwidth, ClosedLoad, InjectedDelay, ThroughputLoad
from measure.ties import TIE, first_highest
from measure.units import CACHE_LINE_BYTES

PAST = 2.0
"""The peak counts as measured where the deepest point is at least this multiple of R1 Xpeak."""

NEAR = 2.0
"""Two points differ by noise where they lie within this number of standard errors of their difference."""

SOFT = 0.5
"""A knee at which less than this share of the peak is reached is not sharp."""

USUAL = 0.9
"""The share of the peak that most performance reports mean."""

HIGHER = 1.2
"""The peak was not measured where the model's N* is this many times above the interval of the measured one."""

MEASURED = "N* = R1 Xpeak, both measured"

SHEET = "data sheet"
"""The key in a fit's details of a data sheet's figures."""

STEPS = 240
REACH = 64.0
"""The curve is computed up to this multiple of the knee, or of the deepest point."""

CHAINED_STEPS, CHAINED_REACH = 64, 4.0
"""The same where each load costs a chain."""

PEAKS = ("Xmax", "B")

FEW = 64
"""Number of representative devices of a model whose curve is computed by a loop, not a formula."""


@dataclass(frozen=True)
class Knee:
    """A knee with its interval: ``load`` is the estimate, ``low`` and ``high`` the ends of its interval.

    ``throughput_per_s`` and ``response_time_s`` are the predicted ones at that load. ``load`` is None where the knee
    is beyond any possible load; ``note`` then says so. ``identified`` is False where its interval spans more than a
    factor of two, ``sharp`` where the bend is too soft to be a knee.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> round(drive.knee.load), drive.knee.definition
    (48, 'N* = R1 Xpeak, both from the data sheet')
    """

    load: float | None
    low: float | None
    high: float | None
    throughput_per_s: float
    response_time_s: float
    definition: str
    load_name: str
    identified: bool = True
    note: str = ""
    throughput_low_per_s: float | None = None
    throughput_high_per_s: float | None = None
    sharp: bool = True

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return asdict(self)

    def place(self) -> dict[str, float | None]:
        """The load with its interval and the throughput there, JSON-ready."""
        throughput = None if self.load is None else self.throughput_per_s
        return {"load": self.load, "low": self.low, "high": self.high, "throughput_per_s": throughput}


def knee_of(fit: Calibration) -> Knee:
    """The knee of ``fit``: N* for closed loads, else by the definition of its model."""
    model = fit.curve_model
    if isinstance(model, ClosedModel) and isinstance(fit.load_type, ClosedLoad):
        return _closed(fit, model)
    return _tangent(fit)


def measured_crossing(
    loads: Array, throughput: Array, response: Array, noise: Array | float = 0.0
) -> tuple[float, float] | None:
    """R1 Xpeak of points (m,), ascending in load, and its relative standard error.

    None where depth 1 or the peak was not measured. ``noise`` (m,) are the relative standard errors of the throughputs:
    the highest of several noisy points is too high, so the peak is the mean of the points of ``at_peak``.

    >>> measured_crossing(np.array([1.0, 8, 64]), np.array([10e3, 60e3, 80e3]), np.array([1e-4, 1.3e-4, 8e-4]))[0]
    8.0
    """
    if len(loads) < 2 or loads[0] != 1:
        return None
    if loads[-1] < PAST * max(float(response[0] * throughput.max()), 1.0):
        return None
    errors = np.maximum(np.broadcast_to(noise, throughput.shape), TIE)
    here = at_peak(loads, throughput, float(response[0]), errors)
    precision = errors[here] ** -2.0
    peak = np.exp(np.average(np.log(throughput[here] / throughput.max()), weights=precision)) * throughput.max()
    return max(float(response[0] * peak), 1.0), float(np.sqrt(errors[0] ** 2 + 1 / precision.sum()))


def at_peak(loads: Array, throughput: Array, lone_s: float, errors: Array) -> Mask:
    """True (m,) at the highest throughput, and at those far beyond the knee that equal it within noise."""
    top = first_highest(throughput)
    near = np.log(throughput[top] / throughput) <= NEAR * np.hypot(errors, errors[top]) + TIE
    far = loads >= PAST * max(lone_s * float(throughput[top]), 1.0)
    return np.asarray((near & far) | (np.arange(len(loads)) == top))


def _closed(fit: Calibration, model: ClosedModel) -> Knee:
    used, x, r = (np.array(c) for c in (fit.used, fit.used_throughput_per_s, fit.used_response_s))
    chained = fit.is_seen_through_chain
    crossing = None if chained else measured_crossing(used, x, r, np.array(fit.used_noise))
    definition = MEASURED
    expected, low, most = middle(fit.table, model.knee_load, fit.level)
    peak = fit.table.quantiles(model.peak, (0.5,))[0]
    if crossing is not None:
        load = crossing[0]
        low, high = scattered(fit.table, *crossing, 2 * fit.curve_model.process.own, fit.level)
    elif (sheet := fit.details.get(SHEET)) is not None:
        load, high = sheet["idle_latency_s"] * sheet["peak_per_s"], most
        definition = "N* = R1 Xpeak, both from the data sheet"
    else:
        load, high = expected, most
        definition = f"{model.knee_definition}, from the model{'' if chained else _lacking(fit)}"
    low, high = widened(low, load, high, fit.between_runs, fit.level)
    low = float(np.exp(reaching(np.log(low), np.log(high), 0.0, fit.level)))
    if crossing is not None and expected > HIGHER * high:
        high, definition = most, f"{MEASURED}; the model's throughput still rises at {fit.load_type.at(max(used))}"
    at = min(fit.measurements(np.array([load])).quantiles((0.5,))[0, 0], peak)
    return Knee(
        load=load,
        low=low,
        high=high,
        throughput_per_s=float(at),
        response_time_s=float(load / at) - fit.load_type.thinking_s,
        definition=definition,
        load_name=fit.load_name,
        identified=bool(high / low < ROUGH),
        note=beyond(fit, load),
        sharp=bool(at >= SOFT * peak),
    )


def _lacking(fit: Calibration) -> str:
    """Why the knee does not follow from measurements alone."""
    if not fit.used:
        return ""
    return f": {fit.load_type.at(1)} was not measured" if min(fit.used) != 1 else ": the peak was not measured"


def _tangent(fit: Calibration) -> Knee:
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
    ends = (x_low, x_high) if delay else (low, high)
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
        throughput_high_per_s=x_high,
    )


def _flatness(fit: Calibration) -> float:
    """The relative standard deviation of the load of maximal power X / R due to the misfit.

    All loads whose power is within the typical misfit of the maximum are equally good: they are taken as a 90 %
    interval.
    """
    model, row = fit.curve_model, fit.table.most_probable[None, :]
    if model.process.own >= 1 or not fit.used:  # a misfit of single loads does not move the bend
        return 0.0
    loads = _followed(fit, _peak(model, row), None)
    throughput, response = (one[0] for one in model.curve(row, loads))
    power = np.log(throughput / response)
    near = throughput[power >= power.max() - fit.table.typical_misfit()]
    return float(0.5 * np.log(near.max() / near.min()) / Z90)


def beyond(fit: Calibration, load: float) -> str:
    """A remark on a load beyond all that were calibrated on; empty for others."""
    if not fit.used or load <= max(fit.used):
        return ""
    return f"beyond {fit.load_type.at(max(fit.used))}, the last that was calibrated on: an extrapolation"


@dataclass(frozen=True)
class CurvePaths:
    """Curves from light to heavy load: ``load`` (m,), throughput and response (w, m), the peak (w,).

    A position on them is a fractional index: NaN before the beginning, infinity beyond the end.
    """

    load: Array
    throughput: Array
    response: Array
    peak: Array
    is_closed: bool


def paths(fit: Calibration, knee: float | None) -> CurvePaths:
    """Curves of representative devices of the fit, far beyond the load of its ``knee``."""
    model = fit.curve_model
    values, _ = fit.table.spread(SPREAD if model.is_formula else FEW)
    peak = _peak(model, values)
    loads = _followed(fit, peak, knee)
    throughput, response = model.curve(values, loads)
    reached = throughput.max(axis=1) if peak is None else peak
    if isinstance(fit.load_type, Bandwidth) and peak is not None:
        reached = peak / CACHE_LINE_BYTES  # throughputs of a memory are lines a second
    return CurvePaths(
        loads, throughput, np.broadcast_to(response, throughput.shape), reached, isinstance(fit.load_type, ClosedLoad)
    )


def _peak(model: CurveModel, values: Array) -> Array | None:
    """The peak (n,) that a model reports, in the unit of the load where that is a throughput."""
    named = model.report(values)
    return next((named[name][1] for name in PEAKS if name in named), None)


def _followed(fit: Calibration, peak: Array | None, knee: float | None) -> Array:
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


def ninety_of(fit: Calibration, path: CurvePaths) -> Knee:
    """The load at 90 % of the peak of ``fit``: the median over the devices' curves, and its interval.

    ``load`` is None where no load reaches it.
    """
    definition = f"{100 * USUAL:g} % of the peak throughput"
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
        note = f"beyond {fit.load_type.estimated_text(path.load[-1])}"
    if not 0 < load < np.inf:
        return Knee(None, low, high, float("nan"), float("nan"), definition, fit.load_name, False, note)
    throughput, response = (float(np.median(_along(v, places))) for v in (path.throughput, path.response))
    if path.is_closed:
        response = load / throughput - fit.load_type.thinking_s  # medians of X and R over devices break N = X (R + Z)
    if not isinstance(fit.load_type, InjectedDelay):
        note = note or beyond(fit, load)
    if low is not None and high is not None:
        low, high = widened(low, load, high, fit.between_runs, fit.level)
        low = max(low, float(path.load[0])) if path.is_closed else low
    known = low is not None and high is not None and high / low < ROUGH
    return Knee(load, low, high, throughput, response, definition, fit.load_name, known, note)


def _along(values: Array, index: Array) -> Array:
    """Values (w, m) at the fractional indices (w,), where they exist."""
    inside = np.isfinite(index)
    place, rows = index[inside], values[inside]
    before = np.clip(place.astype(int), 0, values.shape[1] - 2)
    every = np.arange(len(rows))
    step = rows[every, before + 1] - rows[every, before]
    return np.asarray(rows[every, before] + (place - before) * step)
