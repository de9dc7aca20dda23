"""A calibrated device as a station of a queueing network.

A flow-equivalent server works at the total rate X(n) while n requests are present (Chandy, Herzog and Woo 1975, IBM
Journal of Research and Development 19). In a closed network it reproduces the fitted curve at every load, and under
processor sharing for any law of service (Kelly 1979, section 3.3). The law is that of the requests that were alone, at
depth 1, where their histogram is known, else exponential.

Depths, clients and threads are n itself; of a memory n is X R. An open sweep is M/G/c already: whole c, S and the
variability of its most probable number of servers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from calibrate.fitting.calibration import Calibration
from calibrate.fitting.predicted_curve import grid, predict
from calibrate.inference.misfit import carried
from calibrate.inference.parameters import Array
from calibrate.knees.knee import knee_of
from calibrate.models.open import OpenModel
from measure.errors import DataError
from measure.units import format_duration, format_rate
from qsim import Closed, Deterministic, Distribution, Exponential, Gamma, Network, Station
from qsim.distributions.as_dict import law_from_dict
from qsim.errors import InvalidParameterError

COVERED = 4
"""A station covers up to so many times the deepest load that was measured; a data sheet's, so many times its N*."""
MOST = 1 << 16
EVERY, PER_OCTAVE = 32, 8
"""X(n) is predicted at every n up to the first, then at so many an octave; between them log X is a cubic of log n."""
LEAST_SCV = 1e-3

C = TypeVar("C", bound=Calibration)


@dataclass(frozen=True, repr=False)
class DeviceStation(Station):
    """The station of a fit, which it keeps so that its uncertainty can be drawn; ``law`` says where service is from.

    >>> from calibrate import from_datasheet
    >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station(visits=3.0).visits
    3.0
    """

    fit: Calibration | None = field(default=None, compare=False)
    law: str = ""

    def __repr__(self) -> str:
        what = self.name or "device"
        if self.speeds is None:
            kind = "one queue" if self.queues == "shared" else "a queue each"
            mean = format_duration(self.time.mean)
            return f"Station {what}: M/G/{self.servers}, {kind}, a mean service of {mean}, {self.law}"
        peak = format_rate(max(self.speeds) / self.time.mean)
        known = f"X(n) in total while n are present, to n = {self.most}, {peak} at most"
        visits = "" if self.visits == 1 else f", {self.visits:g} visits"
        return f"Station {what}: {known}; {self.law}{visits}"


def station_of(
    fit: Calibration, visits: float = 1.0, extrapolate: bool = False, at: int | None = None
) -> DeviceStation:
    """``fit.station``; ``at`` is a number of requests at which the curve must be met exactly."""
    name = fit.series or "device"
    if isinstance(fit.curve_model, OpenModel):
        return _open_station(fit, fit.curve_model, visits, name)
    covered = reach(fit)
    most = max(MOST if extrapolate else covered, 1)
    top = covered if at is None else max(at, covered)
    throughput = _in_flight(fit, covered) if not fit.load_type.is_closed else _throughput(fit, top, at)
    service, law = _law(fit, 1 / throughput[0])
    speeds = tuple((throughput / throughput[0]).tolist())
    return DeviceStation(service, visits=visits, speeds=speeds, discipline="PS", name=name, most=most, fit=fit, law=law)


def queue_of(fit: Calibration, n: int, extrapolate: bool = False) -> Network:
    """``fit.queue``: a closed loop of n requests on the station."""
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise InvalidParameterError("n", f"must be a whole number of requests, 1 or more, not {n!r}", value=n)
    if not fit.load_type.is_closed:
        raise DataError(
            f"{fit.series or 'the fit'} varies the {fit.load_type.name}, so no loop of requests was measured; "
            "take fit.station() into a network of your own, or fit a sweep over depths or clients"
        )
    if n > reach(fit) and not extrapolate:
        raise InvalidParameterError(
            "n",
            f"must be at most {reach(fit)}, {COVERED} times the deepest load measured, not {n}",
            "measure it deeper, or give extrapolate=True",
            value=n,
        )
    return Closed(int(n), [station_of(fit, extrapolate=extrapolate, at=int(n))])


def reach(fit: Calibration) -> int:
    """The largest number of requests that a station of ``fit`` covers."""
    if not fit.load_type.is_closed:
        delays = predict(fit, _delays(fit))
        return math.ceil(COVERED * float((delays.throughput_per_s * delays.response_time_s).max()))
    deepest = max(fit.used) if fit.used else knee_of(fit).load
    if deepest is None:
        raise DataError(f"{fit.series or 'the fit'} has no measured load and no knee, so no station; measure a depth")
    return math.ceil(COVERED * deepest)


def _throughput(fit: Calibration, top: int, at: int | None) -> Array:
    """X (top,) at 1, 2, ... requests."""
    octaves = max(math.log2(top / EVERY), 0.0)
    knots = {*range(1, min(top, EVERY) + 1), top, *([] if at is None else [at])}
    knots |= {round(EVERY * 2 ** (i / PER_OCTAVE)) for i in range(math.ceil(octaves * PER_OCTAVE))}
    loads = np.array(sorted(n for n in knots if n <= top), dtype=float)
    return _between(loads, predict(fit, loads).throughput_per_s, top)


def _between(loads: Array, throughput: Array, top: int) -> Array:
    """X (top,) at every whole number, from some: log X over log n, without over- or undershoot."""
    every = np.arange(1.0, top + 1)
    if len(loads) < 2:
        return np.full(top, throughput[0])
    from scipy.interpolate import PchipInterpolator

    found = np.exp(PchipInterpolator(np.log(loads), np.log(throughput))(np.log(every)))
    whole = loads.astype(int) - 1
    found[whole] = throughput
    return np.asarray(found)


def _in_flight(fit: Calibration, top: int) -> Array:
    """X (top,) of a memory with 1, 2, ... accesses in flight, n = X R: in proportion below what was seen, then flat."""
    curve = predict(fit, _delays(fit))
    n, x = curve.throughput_per_s * curve.response_time_s, curve.throughput_per_s
    order = np.argsort(n)
    n, x = n[order], np.maximum.accumulate(x[order])
    every = np.arange(1.0, top + 1)
    return np.asarray(np.minimum(np.interp(every, n, x), every * x[0] / n[0]))


def _delays(fit: Calibration) -> Array:
    """Loads of a memory from its lightest to its heaviest."""
    low, high = (min(fit.used), max(fit.used)) if fit.used else (0.0, 1e4)
    return np.linspace(low, high, 64) if fit.load_type.is_bandwidth else grid(low, high, 64)


def _law(fit: Calibration, mean: float) -> tuple[Distribution, str]:
    """The law of service with this mean, and where it is from."""
    if fit.law is None:
        return Exponential(mean), "exponential service (no histogram of depth 1)"
    law = law_from_dict(fit.law)
    return law.scaled(mean / law.mean), "service as the histogram of depth 1"


def _open_station(fit: Calibration, model: OpenModel, visits: float, name: str) -> DeviceStation:
    """M/G/c with the most probable whole number of servers, and the medians that belong to it."""
    given = model.given(fit.table.values)
    counts = np.maximum(np.rint(given["c"]), 1.0)
    each = {float(c): float(fit.table.weight[counts == c].sum()) for c in np.unique(counts)}
    servers = max(each, key=lambda c: each[c])
    rows = counts == servers
    service_s, scv = (
        float(np.exp(np.average(np.log(v[rows]), weights=fit.table.weight[rows])))
        for v in (given["c"] / given["Xmax"], np.maximum(given["cs2"], LEAST_SCV / 10))
    )
    law: Distribution = Deterministic(service_s) if scv < LEAST_SCV else Gamma(service_s, scv)
    return DeviceStation(
        law,
        servers=int(servers),
        visits=visits,
        queues="random" if model.a_queue_each and servers > 1 else "shared",
        name=name,
        fit=fit,
        law=f"scv {scv:.2g} as fitted",
    )


def draws_of(fit: C, count: int, seed: int | list[int] = 0) -> list[C]:
    """``fit.draws``: fits of one row each, drawn from the table of weights; the same seed draws the same."""
    if isinstance(count, bool) or count != int(count) or count < 1:
        raise InvalidParameterError("k", f"must be a whole number of draws, 1 or more, not {count!r}", value=count)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(fit.table), size=int(count), p=fit.table.weight)
    made = []
    for row in rows:
        one = fit.table.at(np.arange(len(fit.table)) == row)
        z = rng.standard_normal(one.directions.shape[2])
        values = one.values * np.exp(one.directions @ z)
        table = replace(one, values=values, directions=np.zeros((1, values.shape[1], 0)), scale=None)
        made.append(replace(fit, table=table, told=None, points=None))
    return made


def drawn_throughputs(fit: Calibration, top: int, count: int, seed: int | list[int] = 0) -> Array:
    """X (count, top) at 1, 2, ... requests of devices drawn from the fit, with what its curve misses.

    Beyond what the station covers the last value holds.
    """
    covered = min(top, reach(fit))
    loads = np.unique(np.rint(np.geomspace(1, covered, 48)))
    known = fit.measurements(loads)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(known.weight), size=count, p=known.weight / known.weight.sum())
    along = rng.standard_normal((count, known.slopes.shape[2]))
    missed, misfit = rng.standard_normal((count, len(loads))), fit.table.misfit[rows]
    sizes = np.unique(misfit)
    left = carried(fit.curve_model.process, np.array(fit.used), np.array(fit.used_noise), sizes, loads).covariance
    for size, covariance in zip(sizes, left, strict=True):
        variance, axes = np.linalg.eigh(covariance)
        missed[misfit == size] @= (axes * np.sqrt(np.maximum(variance, 0.0))).T
    logs = known.mean[rows] + np.einsum("kmr,kr->km", known.slopes[rows], along) + missed
    every = np.log(np.arange(1, covered + 1))
    drawn = np.exp([np.interp(every, np.log(loads), one) for one in logs])
    return np.concatenate([drawn, np.repeat(drawn[:, -1:], top - covered, axis=1)], axis=1)
