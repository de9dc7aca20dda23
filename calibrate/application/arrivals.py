"""An application under arrivals at a rate, with bands: each station by its own chain.

Under Poisson arrivals a network of product form is a number of independent stations (Jackson 1957), each of which
serves at its rate X(n) while n are present (:mod:`qsim.analytic.any_load`). The estimate is that of ``qsim.solve``; the
bands are those of networks of possible devices. Other stations and other gaps are simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.application import many_networks
from calibrate.application.many_networks import Places, as_simulated, run_with, with_two
from calibrate.application.system import (
    MOST_SIMULATED,
    NINETY,
    SIMULATED,
    System,
    doubts_of,
    drawn_stations,
    network_of,
    over_clients,
)
from calibrate.fitting.device_station import DeviceStation
from calibrate.fitting.other_loads import both_states, highest_rate, often_deeper
from calibrate.inference.parameters import LEVEL, Array, Estimate
from measure.loads import ArrivalRate, ClosedLoad
from measure.units import format_rate
from qsim import Arrivals, Exponential, Network, Station
from qsim.analytic.any_load import Curves, nodes
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    import pandas as pd

OWN_QUEUES = 64
"""The rate X(n) of servers with a queue each is followed to this many times their number."""

FOLLOWED = np.linspace(0.1, 0.98, 23)
"""Shares of the highest stable rate at which the response is known, beside the rates that were asked for."""


@dataclass(frozen=True, repr=False)
class UnderArrivals(System):
    """An application over the rate of arrivals; ``loads`` are the rates that were asked for.

    >>> from calibrate import from_datasheet, system
    >>> from qsim import Exponential, Station
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> stations = {"cpu": Station(Exponential(1e-3), servers=4), "disk": drive.station(visits=3)}
    >>> system(stations, rates=[1e3, 3e3])
    BOTTLENECK  cpu in all draws: stable below 4.00 k/s
    RESPONSE    1.75 ms (1.70 to 1.83) at 3.00 k/s, 75 % of that
    DOUBLED     cpu: stable below 8.00 k/s, +100 %; at 3.00 k/s the response falls with cpu by 29 %, disk by 0 %
    """

    @property
    def rates(self) -> Array:
        """The arrival rates (m,) that were asked for, 1/s."""
        return self.loads

    @property
    def ninety(self) -> Estimate:
        """90 % of the highest stable rate."""
        return self._estimate(NINETY * self.peaks.min(axis=1), "1/s")

    def within(self, response_s: float, share: float | None = None) -> Estimate:
        """The highest rate with a mean response, or a simulated percentile, within a time; None beyond all known."""
        times = self._times(share)
        rising = np.maximum.accumulate(np.where(np.isfinite(times), times, np.finfo(float).max), axis=1)
        most = [0.0 if t[0] > response_s else np.interp(response_s, t, self.known_at, right=np.inf) for t in rising]
        return self._estimate(np.array(most), "1/s", f"{format_rate(self.known_at[-1])} at least")

    def gain(self, station: str) -> float:
        """The factor on the response at the highest rate with two of that station."""
        last = int(np.searchsorted(self.known_at, self.loads[-1]))
        return float(self.doubled[station][last] / self.responses[0, last])

    def _band(self, rows: Array) -> Array:
        ends = np.quantile(rows, self._shares, axis=0, method="inverted_cdf")  # some draws may not be stable
        return np.stack([rows[0], np.minimum(ends[0], rows[0]), np.maximum(ends[1], rows[0])])

    def to_frame(self) -> pd.DataFrame:
        """A row for each rate: response and utilisations with their bands, SI units."""
        frame = super().to_frame().rename(columns={"clients": "arrivals_per_s"})
        return frame.drop(columns=[c for c in frame if str(c).startswith("throughput_per_s")])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units; a response that grows without end is null."""
        found = super().to_dict()
        points = [{k: v if np.isfinite(v) else None for k, v in row.items()} for row in found["points"]]
        return {k: v for k, v in {**found, "points": points}.items() if k != "knee"}


def system(
    network: Network | Mapping[str, Station],
    clients: Sequence[int] | None = None,
    *,
    rates: Sequence[float] | None = None,
    draws: int = 200,
    simulate: bool = False,
    seed: int = 0,
    customers: int = SIMULATED,
    level: float = LEVEL,
) -> System:
    """The application ``network`` with each number of ``clients`` in it: throughput, response, bottleneck, knee.

    Or under arrivals at each of the ``rates``, 1/s (UnderArrivals): those of a Network with Arrivals by default.
    ``network`` holds stations and delays by name (a qsim.Network without customers, or a mapping), in seconds; those
    of a fit (``fit.station(visits=3)``) include their uncertainty. Solved by formula where every station has product
    form, else, or with ``simulate``, by simulation of ``customers`` responses at each load, which also gives
    percentiles; the bands then hold the simulation's own error too.

    Raises ValueError for clients below 1, for both clients and rates, for a network of delays alone, and where a device
    would get more requests than its fit covers, or than it serves.

    >>> from calibrate import from_datasheet
    >>> from qsim import Delay
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> system({"think": Delay(0.01), "disk": drive.station(visits=3)}, [1, 10, 100]).bottleneck
    'disk'
    """
    network = network_of(network)
    if isinstance(draws, bool) or draws != int(draws) or draws < 1:
        raise InvalidParameterError("draws", f"must be a whole number, 1 or more, not {draws!r}", value=draws)
    if rates is not None or (network.customers is not None and network.open_classes):
        if clients is not None:
            given = "rates are given" if rates is not None else "the network has arrivals from outside"
            raise InvalidParameterError(
                "clients", f"must be left out where {given}", "customers circulate, or they arrive"
            )
        return under_arrivals(network, rates, draws, simulated=simulate, seed=seed, customers=customers, level=level)
    if clients is None:
        raise InvalidParameterError("clients", "must be given, or rates", "as clients=[1, 64] or rates=[100, 200]")
    return over_clients(network, clients, draws, simulate=simulate, seed=seed, customers=customers, level=level)


def under_arrivals(
    network: Network,
    rates: Sequence[float] | None,
    draws: int,
    *,
    simulated: bool = False,
    seed: int = 0,
    customers: int = SIMULATED,
    level: float = LEVEL,
) -> UnderArrivals:
    """The application ``network`` at each of the ``rates``, by default that of its own arrivals.

    Raises ValueError for a network with classes, for customers that circulate, and for a rate that is not stable.
    """
    network = _of_one_open_class(network, rates)
    (arrivals,) = network.open_classes.items()
    own = network.arrival_rate(arrivals[0])
    asked = [own] if rates is None else rates
    wanted = np.unique(np.asarray(asked, dtype=float))
    if wanted.size == 0 or not (np.isfinite(wanted) & (wanted > 0)).all():
        raise InvalidParameterError("rates", f"must be positive numbers a second, not {list(asked)!r}")
    visits = dict(zip(network.stations, network.mean_visits(arrivals[0]), strict=True))
    places = {n: replace(s, visits=float(visits[n])) for n, s in network.stations.items() if visits[n] > 0}
    queues = {name: s for name, s in places.items() if not s.is_delay}
    drawn = drawn_stations(places, {name: _reach(s) for name, s in places.items()}, draws, seed)
    alone = {name: drawn[name][0] for name in queues}
    peaks = np.column_stack([np.broadcast_to(drawn[name][1], draws + 1) for name in queues])
    _require_stable(queues, alone, float(wanted[-1]))
    known_at = np.unique([*wanted, *(FOLLOWED * min(rows[0, -1] for rows in alone.values()))])
    poisson = all(isinstance(law, Exponential) for law in arrivals[1].sources.values())
    if not simulated and poisson and all(many_networks.has_product_form(s) for s in queues.values()):
        each = {name: _responses(rows, known_at) for name, rows in alone.items()}
        responses = np.full((draws + 1, len(known_at)), sum(s.demand for s in places.values() if s.is_delay))
        for found in each.values():
            responses = responses + found
        doubled = {}
        for name in queues:
            two = many_networks.doubled(np.pad(alone[name][:1], ((0, 0), (0, alone[name].shape[1])), mode="edge"))
            doubled[name] = responses[0] - each[name][0] + _responses(two, known_at)[0]
        throughputs = np.broadcast_to(known_at, responses.shape)
        known = (wanted, (*queues,), known_at, throughputs, responses, peaks, doubled, level)
        return UnderArrivals(*known, doubts=_doubts(queues, alone, float(wanted[-1])))
    count = 1 + min(draws, MOST_SIMULATED) * any(len(d[0]) > 1 for d in drawn.values())
    made = [{n: replace(d[2](i), visits=network.stations[n].visits) for n, d in drawn.items()} for i in range(count)]
    scaled = [_scaled(arrivals[1], rate / own) for rate in wanted]
    run = run_with(scaled, network.routing and network.routing[next(iter(network.classes))])
    _, means, percentiles = many_networks.simulated(made, run, seed, customers)
    doubled = with_two(network.stations, queues, run, seed, customers, "W")
    throughputs = np.broadcast_to(wanted, means.shape)
    peaks = as_simulated(peaks, count - 1)
    simulations = (wanted, (*queues,), wanted, throughputs, means, peaks, doubled, level, percentiles)
    return UnderArrivals(*simulations, _doubts(queues, alone, float(wanted[-1])))


def _of_one_open_class(network: Network, rates: Sequence[float] | None) -> Network:
    """The network with its arrivals; where it has none, they pass its stations by their visits."""
    if network.customers is None:
        if rates is None:
            raise InvalidParameterError("rates", "must be given", "as rates=[100, 200]")
        return network.with_population(Arrivals(1.0))
    if network.closed_classes or len(network.open_classes) > 1:
        raise InvalidParameterError(
            "network",
            "must have arrivals of one class and nothing that circulates, for bands under arrivals",
            "qsim.solve and qsim.simulate take several classes",
        )
    return network


def _reach(station: Station) -> int:
    """The number present from which the rate X(n) is the last."""
    if station.is_delay:
        return 1
    if station.speeds is not None:
        return len(station.speeds)
    return int(station.servers) * (OWN_QUEUES if station.own_queues else 1)


def _require_stable(queues: Places, alone: Mapping[str, Array], rate: float) -> None:
    """Raise InvalidParameterError for a rate that a station does not serve, or at which it has more than is known."""
    load = ArrivalRate([rate])
    for name, station in queues.items():
        curve = _curves(alone[name][:1])
        last, peak = (float(np.exp(v)) for v in (curve.log_rate[0, -1], curve.log_rate[0].max()))
        if rate >= last:
            why = f"must be below {format_rate(last)}, which {name} serves"
            if rate < peak:
                why += f"; up to {format_rate(peak)} it is metastable: {both_states(curve, load, 1.0)}"
            raise InvalidParameterError("rates", why, value=rate)
        if station.most is None:
            continue
        known = replace(curve, known=station.most)
        if (most := highest_rate(known, load, 1.0)) is not None:
            raise InvalidParameterError(
                "rates",
                f"must be at most {format_rate(most)}: above, {name} often has more requests than it is known up to, "
                f"{station.most}",
                "measure it deeper, or make the station with extrapolate=True",
                value=rate,
            )


def _doubts(queues: Places, alone: Mapping[str, Array], rate: float) -> tuple[str, ...]:
    """What speaks against devices as stations, and at which more are often present than were measured."""
    said = list(doubts_of(queues))
    for name, station in queues.items():
        fit = station.fit if isinstance(station, DeviceStation) else None
        if fit is None or not fit.used or not isinstance(fit.load_type, ClosedLoad):
            continue
        measured = replace(_curves(alone[name][:1]), known=fit.deepest)
        if (most := highest_rate(measured, ArrivalRate([rate]), 1.0)) is not None:
            said.append(f"{name}: {often_deeper(format_rate(most), fit.deepest)}")
    return tuple(said)


def _curves(rates: Array) -> Curves:
    n = nodes(rates.shape[1])
    return Curves(n, np.log(rates[:, n.astype(int) - 1]))


def _responses(alone: Array, rates: Array) -> Array:
    """Time at a station (rows, m) of a passage, at each arrival rate (m,)."""
    curves = _curves(alone)
    return np.array([curves.under_arrivals(rate).response for rate in rates]).T


def _scaled(arrivals: Arrivals, factor: float) -> Arrivals:
    """The same arrivals at ``factor`` times the rate."""
    laws = {at: law.scaled(1 / factor) for at, law in arrivals.sources.items()}
    return Arrivals(laws[None]) if None in laws else Arrivals({str(at): law for at, law in laws.items()})
