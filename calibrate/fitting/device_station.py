"""A calibrated device as a station of a queueing network.

A flow-equivalent server works at the total rate X(n) while n requests are present (Chandy, Herzog and Woo 1975, IBM
Journal of Research and Development 19). In a closed network it reproduces the fitted curve at every load, and under
processor sharing for any law of service (Kelly 1979, section 3.3). The law is that of lone requests, at depth 1, where
their histogram is known, else exponential.

Depths, clients and threads are n itself; for a memory n is X R. An open sweep is already M/G/c, with the most probable
whole number of servers c, and the S and variability that belong to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from calibrate.fitting.fit import PRESENT, Fit
from calibrate.fitting.own_load import DELAYS, GAMMA_WEIGHTS, GAMMAS, collapses_beyond, drawn_devices, own_curve
from calibrate.fitting.predicted_curve import grid
from calibrate.inference.parameters import Array
from calibrate.models.open_models import OpenModel
from calibrate.models.structure import ServersAndDelay, servers_and_think
from calibrate.points import SHORTEST, ClosedFacts, LoneRequests, Points
from measure.errors import DataError
from measure.loads import Bandwidth, ClosedLoad, CountedLoad
from measure.repeats import TIE
from measure.units import format_duration, format_rate
from qsim import Closed, Delay, Deterministic, Distribution, Exponential, Gamma, Network, Station
from qsim.distributions import law_from_dict
from qsim.errors import InvalidParameterError

COVERED = 4
"""A station covers up to this many times the deepest load that was measured; a data sheet's, this many times its N*."""
LEAST_REACH = 16.0
"""Under thinking users or arrivals more are often present than on average."""
MOST = 1 << 16
EVERY, PER_OCTAVE = 32, 8
"""X(n) is predicted at every n up to the first number, then at the second per octave, with log-cubic interpolation."""
LEAST_SCV = 1e-3

SHEET_NOISE = 0.1
"""The relative error of points on a data sheet's curve."""

LIMIT = 1.1
"""A host or a link with a peak below this multiple of the device's is the bottleneck."""

SHORT = 1e-3
"""A delay below this share of the service is left out."""

KNOTS = 48
"""Number of loads at which drawn curves are computed."""


@dataclass(frozen=True, repr=False)
class DeviceStation(Station):
    """The station of a fit, with the fit, so that its uncertainty can be drawn; ``law``: the origin of service times.

    >>> from calibrate import from_datasheet
    >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station(visits=3.0).visits
    3.0
    """

    fit: Fit | None = field(default=None, compare=False)
    law: str = ""

    @property
    def has_closed_fit(self) -> bool:
        """Whether its rates X(n) are those of a fit over closed loads."""
        return self.speeds is not None and self.fit is not None and isinstance(self.fit.load_type, ClosedLoad)

    @property
    def peak(self) -> float:
        """The peak that its fit prints, in servers; it may lie beyond the requests that the station covers."""
        if self.fit is None or not self.has_closed_fit:
            return super().peak
        return (self.fit.asymptotes[1].estimate or 0.0) * self.time.mean

    def __repr__(self) -> str:
        what = self.name or "device"
        if self.speeds is None:
            kind = "one queue" if self.queues == "shared" else "a queue each"
            mean = format_duration(self.time.mean)
            return f"Station {what}: M/G/{self.servers}, {kind}, a mean service of {mean}, {self.law}"
        peak = format_rate(self.peak / self.time.mean)
        known = f"X(n) in total while n are present, to n = {self.most}, {peak} at most"
        visits = "" if self.visits == 1 else f", {self.visits:g} visits"
        return f"Station {what}: {known}; {self.law}{visits}"


def station_of(fit: Fit, visits: float = 1.0, extrapolate: bool = False, at: int | None = None) -> DeviceStation:
    """``fit.station``; ``at`` is a number of requests at which X(n) is exact, not interpolated."""
    fit, name = fit.device, fit.series or "device"
    if isinstance(fit.curve_model, OpenModel):
        return _open_station(fit, fit.curve_model, visits, name)
    covered = reach(fit)
    most = max(MOST if extrapolate else covered, 1)
    top = covered if at is None else max(at, covered)
    throughput = _in_flight(fit, covered) if not isinstance(fit.load_type, ClosedLoad) else _throughput(fit, top, at)
    service, law = law_of(fit, 1 / throughput[0])
    speeds = tuple((throughput / throughput[0]).tolist())
    return DeviceStation(service, visits=visits, speeds=speeds, discipline="PS", name=name, most=most, fit=fit, law=law)


def queue_of(fit: Fit, n: int, extrapolate: bool = False, structure: bool = False) -> Network:
    """``fit.queue``: a closed loop of n requests on the station, or on the ``structure`` behind the curve."""
    fit = fit.device
    if structure:
        return structure_queue(fit, n)
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise InvalidParameterError("n", f"must be a whole number of requests, 1 or more, not {n!r}", value=n)
    if not isinstance(fit.load_type, ClosedLoad):
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


def reach(fit: Fit) -> int:
    """The largest number of requests that a station of ``fit`` covers."""
    if PRESENT in fit.device.details:
        return math.ceil(COVERED * max(float(fit.device.details[PRESENT]), LEAST_REACH))
    if not isinstance(fit.load_type, ClosedLoad):
        delays = own_curve(fit, _delays(fit))
        return math.ceil(COVERED * float((delays.throughput_per_s * delays.response_time_s).max()) * (1 - TIE))
    deepest = fit.deepest or fit.crossing
    if deepest is None:
        raise DataError(f"{fit.series or 'the fit'} has no measured load and no knee, so no station; measure a depth")
    return math.ceil(COVERED * deepest * (1 - TIE))


def _throughput(fit: Fit, top: int, at: int | None) -> Array:
    """X (top,) at 1, 2, ... requests."""
    octaves = max(math.log2(top / EVERY), 0.0)
    knots = {*range(1, min(top, EVERY) + 1), top, *([] if at is None else [at])}
    knots |= {round(EVERY * 2 ** (i / PER_OCTAVE)) for i in range(math.ceil(octaves * PER_OCTAVE))}
    loads = np.array(sorted(n for n in knots if n <= top), dtype=float)
    return _between(loads, own_curve(fit, loads).throughput_per_s, top)


def _between(loads: Array, throughput: Array, top: int) -> Array:
    """X (top,) at every whole number, interpolated monotonically in log X against log n."""
    every = np.arange(1.0, top + 1)
    if len(loads) < 2:
        return np.full(top, throughput[0])
    from scipy.interpolate import PchipInterpolator

    found = np.exp(PchipInterpolator(np.log(loads), np.log(throughput))(np.log(every)))
    whole = loads.astype(int) - 1
    found[whole] = throughput
    return np.asarray(found)


def _in_flight(fit: Fit, top: int) -> Array:
    """X (top,) of a memory with 1, 2, ... accesses in flight, n = X R: proportional below measured ones, flat above."""
    curve = own_curve(fit, _delays(fit))
    n, x = curve.throughput_per_s * curve.response_time_s, curve.throughput_per_s
    order = np.argsort(n)
    n, x = n[order], np.maximum.accumulate(x[order])
    every = np.arange(1.0, top + 1)
    return np.asarray(np.minimum(np.interp(every, n, x), every * x[0] / n[0]))


def _delays(fit: Fit) -> Array:
    """Delays of a memory from the lightest load to the heaviest."""
    low, high = (min(fit.used), max(fit.used)) if fit.used else (0.0, 1e4)
    return np.linspace(low, high, 64) if isinstance(fit.load_type, Bandwidth) else grid(low, high, 64)


def law_of(fit: Fit, mean: float) -> tuple[Distribution, str]:
    """The law of service with this mean, and its origin in words."""
    if fit.law is None:
        return Exponential(mean), "exponential service (no histogram of depth 1)"
    law = law_from_dict(fit.law)
    return law.scaled(mean / law.mean), "service as the histogram of depth 1"


def gamma_law(mean: float, scv: float) -> Distribution:
    """The gamma law with this mean and scv; constant times where that is next to nothing."""
    return Gamma(mean, scv) if scv > LEAST_SCV else Deterministic(mean)


def _open_station(fit: Fit, model: OpenModel, visits: float, name: str) -> DeviceStation:
    """M/G/c with the most probable whole number of servers, and the medians given that number."""
    given = model.given(fit.table.values)
    counts = np.maximum(np.rint(given["c"]), 1.0)
    each = {float(c): float(fit.table.weight[counts == c].sum()) for c in np.unique(counts)}
    servers = max(each, key=lambda c: each[c])
    rows = counts == servers
    service_s, scv = (
        float(np.exp(np.average(np.log(v[rows]), weights=fit.table.weight[rows])))
        for v in (given["c"] / given["Xmax"], np.maximum(given["cs2"], LEAST_SCV / 10))
    )
    return DeviceStation(
        gamma_law(service_s, scv),
        servers=int(servers),
        visits=visits,
        queues="random" if model.a_queue_each and servers > 1 else "shared",
        name=name,
        fit=fit,
        law=f"scv {scv:.2g} as fitted",
    )


def structure_queue(fit: Fit, n: int) -> Network:
    """``n`` requests on the delay and the servers behind the curve; DataError where the points do not determine them.

    Host and link are parts of the delay: the host by fio's processor time of a request and its number of jobs, the link
    by the bandwidth that two block sizes both reach. A remark says what would measure the others.
    """
    points = points_again(fit)
    known = servers_and_think(points, fit.level)
    if not all(e.identified and e.estimate is not None for e in known.values()):
        why = next(e.note for e in known.values() if e.note)
        raise DataError(f"{fit.series or 'the fit'} does not determine its stations: {why}")
    servers, service, delay = (float(known[name].estimate or 0.0) for name in ("c", "S", "Z"))
    table = ServersAndDelay(round(servers)).weights(points)
    own, scv = (float(table.weight @ table.values[:, column]) for column in (3, 4))
    law: Distribution = gamma_law(service, scv) if points.closed.alone is not None else Exponential(service)
    way, unknown = dict[str, Station](), ""
    if not isinstance(fit.load_type, CountedLoad):
        way, unknown = _way(points.closed, servers / service, fit.series or "the fit")
    rest = delay - sum(station.demand for station in way.values())
    device = DeviceStation(
        law,
        servers=round(servers),
        queues="random" if own > 0.5 and servers > 1 else "shared",
        fit=fit,
        law=f"scv {law.scv:.2g}{unknown}",
    )
    return Network({**({"delay": Delay(rest)} if rest > SHORT * service else {}), **way, "device": device}, n)


def _way(known: ClosedFacts, peak: float, name: str) -> tuple[dict[str, Station], str]:
    """Host and link where they were measured, and how to measure the others; DataError where one limits the curve."""
    found, unknown = dict[str, Station](), list[str]()
    if known.host_cpu_s is not None and known.jobs is not None and np.ptp(known.jobs) == 0:
        found["host"] = Station(Exponential(float(np.median(known.host_cpu_s))), servers=round(float(known.jobs[0])))
    else:
        unknown.append("the host by fio's processor time (qsim measure fio)")
    if known.link_bytes_per_s is not None and known.block_bytes is not None:
        transfer = Deterministic(known.block_bytes / known.link_bytes_per_s)
        found["link"] = Station(transfer, discipline="PS")
    else:
        unknown.append("the link by two large blocks (--block 256KiB,1MiB)")
    remedy = {"host": "measure with more --jobs", "link": "measure a smaller block"}
    for what, station in found.items():
        if (most := station.peak / station.demand) < LIMIT * peak:
            raise DataError(
                f"{name} does not determine its stations: the {what} serves {format_rate(most)} at most, so that "
                f"this curve says nothing of the servers behind it; {remedy[what]}"
            )
    return found, f"; what it leaves in the delay would be measured: {' and '.join(unknown)}" if unknown else ""


def points_again(fit: Fit) -> Points:
    """The calibration points of a fit, or points on the curve of a data sheet.

    Raises DataError for a fit that is not of a closed sweep.
    """
    if not isinstance(fit.load_type, ClosedLoad):
        raise DataError(
            f"{fit.series or 'the fit'} varies the {fit.load_type.name}, and only a sweep over depths, clients or "
            "threads distinguishes stations"
        )
    if fit.points is not None:
        return fit.points
    noise = np.array(fit.used_noise)
    load, rate = np.array(fit.used), np.array(fit.used_throughput_per_s)
    if not fit.used:
        knee = float(fit.curve_model.knee(fit.table.most_probable[None, :]).load[0])
        load = np.unique([1.0, max(round(knee), 2.0), max(round(8 * knee), 16.0)])
        rate, noise = own_curve(fit, load).throughput_per_s, np.full(len(load), SHEET_NOISE)
    law = None if fit.law is None else law_from_dict(fit.law)
    facts = ClosedFacts(None if law is None else LoneRequests(law.scv, law.quantile(SHORTEST)))
    columns = (load, rate, load / rate, np.ones(len(load)), noise, noise)
    return Points(fit.series, fit.load_type, *columns, source=fit.source, facts=facts)


def draws_of(fit: Fit, count: int, seed: int | list[int] = 0) -> list[Fit]:
    """``fit.draws``: fits of one representative row each, in random order, each one device in one run.

    Its misfit, its variation between runs and, for a service, the load from which its throughput falls are drawn too.
    """
    if isinstance(count, bool) or count != int(count) or count < 1:
        raise InvalidParameterError("k", f"must be a whole number of draws, 1 or more, not {count!r}", value=count)
    fit, rng = fit.device, np.random.default_rng(seed)
    rows = rng.permutation(fit.table.rows(int(count)))
    noise, own = np.array(fit.used_noise), fit.curve_model.process.own
    collapses = _collapses(fit, int(count), seed)
    made = []
    for row, collapse in zip(rows, collapses, strict=True):
        one = fit.table.at(np.arange(len(fit.table)) == row)
        z = rng.standard_normal(one.directions.shape[2])
        run = math.exp(fit.between_runs * rng.standard_normal())
        values = one.values * np.exp(one.directions @ z)
        if one.scale is not None:
            values[:, one.scale] *= run
        deviation = np.sqrt(noise**2 + own * fit.table.misfit[row] ** 2 + 0.5 * fit.between_runs**2)
        each = deviation * rng.standard_normal(len(noise))
        moved = run * np.exp(each) if isinstance(fit.load_type, ClosedLoad) else np.ones(len(noise))
        made.append(
            replace(
                fit,
                table=replace(one, values=values, directions=np.zeros((1, values.shape[1], 0)), scale=None),
                given=None,
                points=None,
                collapse=collapse,
                between_runs=0.0,
                used_throughput_per_s=tuple((np.array(fit.used_throughput_per_s) * moved).tolist()),
                used_response_s=tuple((np.array(fit.used_response_s) / moved).tolist()),
            )
        )
    return made


def _collapses(fit: Fit, count: int, seed: int | list[int]) -> list[tuple[float, float] | None]:
    """(load from which throughput falls, power of the fall) of each drawn device; None for devices without collapse."""
    origin = collapses_beyond(fit)
    if origin is None:
        return [None] * count
    rng = np.random.default_rng(np.append(seed, count))
    starts = origin * np.exp(rng.choice(DELAYS, count))
    return [*zip(starts.tolist(), rng.choice(GAMMAS, count, p=GAMMA_WEIGHTS).tolist(), strict=True)]


def falls(fit: Fit, loads: Array, count: int, seed: int | list[int] = 0) -> Array:
    """What is added to the logarithms (count, m) of drawn throughputs at ``loads``, as a service may collapse."""
    found = ((math.inf, 0.0) if one is None else one for one in _collapses(fit, count, seed))
    return np.array([power * np.log(np.minimum(start / loads, 1.0)) for start, power in found])


def drawn_throughputs(fit: Fit, top: int, count: int, seed: int | list[int] = 0) -> tuple[Array, Array]:
    """X (count, top) at 1, 2, ... requests of drawn devices, and the peak (count,) of each.

    They are those of ``drawn_devices`` in an order by the seed, each in one run; beyond the covered loads X stays.
    """
    loads = np.unique(np.rint(np.geomspace(1, reach(fit), KNOTS)))  # the same devices for any top
    logs, rows = drawn_devices(fit, loads, count=count)
    rng = np.random.default_rng(seed)
    order, run = rng.permutation(count), fit.between_runs * rng.standard_normal(count)
    logs, rows = logs[order] + run[:, None] + falls(fit, loads, count, seed), rows[order]
    every = np.log(np.arange(1, top + 1))
    drawn = np.exp([np.interp(every, np.log(loads), one) for one in logs])
    middle, deviation = fit.table.moments(fit.closed_model.peak)
    along = deviation[rows, 0] * rng.standard_normal(count)
    peaks = np.exp(middle[rows, 0] + along + run)
    return drawn, peaks
