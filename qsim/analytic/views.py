"""The shapes that formulas know, recognised in a network: each function returns a view, or None for another shape."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from qsim._types import FloatArray
from qsim.arrivals import Source
from qsim.distributions import Distribution, Exponential
from qsim.models import Network, Station
from qsim.models.kendall import station_name


@dataclass(frozen=True)
class OpenQueue:
    """One station fed from outside by one class of customers, each of which it serves once."""

    arrivals: Source
    service: Distribution
    servers: int = 1
    capacity: int | None = None
    discipline: str = "FCFS"
    queues: str = "shared"
    speeds: tuple[float, ...] | None = None

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def service_rate(self) -> float:
        """Customers one busy server finishes per time unit."""
        return 1 / self.service.mean

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs: the servers it would keep busy if there were enough."""
        return self.service.mean / self.arrivals.mean

    @property
    def most_work(self) -> float:
        """The work done per time unit when very many are present, in servers."""
        return self.servers if self.speeds is None else self.speeds[-1]

    @property
    def rho(self) -> float:
        """Offered load per server; with ``speeds``, as a share of the work that can be done."""
        return self.offered_load / self.most_work

    @property
    def plain(self) -> bool:
        """Whether all is as in Kendall's A/S/c/K with nothing added, the case most formulas are for.

        That is: independent times between arrivals, one queue, first come first served, a fixed number of servers
        of fixed speed, and who finds no place is lost.
        """
        return (
            isinstance(self.arrivals, Distribution)
            and self.servers != math.inf
            and (self.queues == "shared" or self.servers == 1)
            and self.discipline == "FCFS"
            and self.speeds is None
        )

    @property
    def own_queues(self) -> bool:
        """Whether each of several servers has a queue of its own."""
        return self.queues != "shared" and self.servers > 1

    @property
    def kendall(self) -> str:
        """Kendall's name, such as M/M/3 or M/M/3/10, and in words what it has no letters for."""
        return station_name(self.arrivals.letter, self.service.letter, self)


@dataclass(frozen=True)
class ClassFlow:
    """One class of customers at a station: how it comes, how long it takes, and how urgent it is (0 before 1)."""

    arrivals: Source
    service: Distribution
    priority: int = 0

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs."""
        return self.service.mean / self.arrivals.mean


@dataclass(frozen=True)
class ClassQueue:
    """One station fed from outside by several classes, first come first served or by priority.

    ``priority``: "none", "non-preemptive" or "preemptive-resume".
    """

    classes: tuple[ClassFlow, ...]
    names: tuple[str, ...]
    servers: int
    priority: str
    kendall: str

    @property
    def arrival_rate(self) -> float:
        """Arrivals of all classes per time unit."""
        return math.fsum(c.arrival_rate for c in self.classes)

    @property
    def service_rate(self) -> float:
        """Customers one busy server finishes per time unit, over the mix of classes that comes."""
        return self.arrival_rate / self.offered_load

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs."""
        return math.fsum(c.offered_load for c in self.classes)

    @property
    def rho(self) -> float:
        """Offered load per server."""
        return self.offered_load / self.servers


@dataclass(frozen=True)
class ClosedChain:
    """One class of customers that circle through stations, by visits in a cycle."""

    population: int
    stations: tuple[Station, ...]
    names: tuple[str, ...]
    """Of the stations where customers queue."""
    kendall: str

    @cached_property
    def queueing(self) -> tuple[Station, ...]:
        """The stations where customers queue."""
        return tuple(s for s in self.stations if not s.is_delay)

    @cached_property
    def delays(self) -> tuple[Station, ...]:
        """The stations where nobody queues."""
        return tuple(s for s in self.stations if s.is_delay)

    @property
    def think_time(self) -> float:
        """Z: the mean time per cycle spent at delays."""
        return math.fsum(d.demand for d in self.delays)


@dataclass(frozen=True)
class OpenChain:
    """One class of Poisson arrivals at stations, by visits or by a matrix of routes."""

    arrival_rates: tuple[float, ...]
    """At each station; the one rate of all where ``routing`` is None."""
    stations: tuple[Station, ...]
    names: tuple[str, ...]
    throughputs: tuple[float, ...]
    kendall: str
    routing: FloatArray | None = None

    @property
    def arrival_rate(self) -> float:
        """Customers from outside per time unit."""
        return math.fsum(self.arrival_rates)


@dataclass(frozen=True)
class VisitedStation:
    """A station as classes see it: the law of each (None where it never comes), and its mean visits."""

    services: tuple[Distribution | None, ...]
    visits: tuple[float, ...]
    servers: int
    queues: str
    discipline: str
    name: str

    @property
    def means(self) -> tuple[float, ...]:
        """Mean service time per visit of each class, 0 for one that never comes."""
        pairs = zip(self.services, self.visits, strict=True)
        return tuple(s.mean if s is not None and v > 0 else 0.0 for s, v in pairs)

    @property
    def demands(self) -> tuple[float, ...]:
        """Mean service time per passage or cycle of each class, all its visits together."""
        return tuple(v * s for v, s in zip(self.visits, self.means, strict=True))


@dataclass(frozen=True)
class ClassNetwork:
    """Several classes that pass or circle through stations by visits: Poisson ones first, then those that circle."""

    arrival_rates: tuple[float, ...]
    populations: tuple[int, ...]
    think_times: tuple[float, ...]
    """Of the classes that circle."""
    stations: tuple[VisitedStation, ...]
    names: tuple[str, ...]
    kendall: str

    @property
    def population(self) -> int:
        """Customers of all classes that circle."""
        return sum(self.populations)


PRIORITIES = {"FCFS": "none", "priority": "non-preemptive", "preemptive priority": "preemptive-resume"}


def open_queue(network: Network) -> OpenQueue | None:
    """One station fed from outside by one class of customers."""
    if network.closed_classes or len(network.stations) != 1 or len(network.classes) > 1 or network.lists_stations:
        return None
    ((station,), (name,)) = network.stations.values(), network.classes
    law, (arrivals,) = station.service_of(name), network.sources_of(name).values()
    if law is None:
        return None
    order = "FCFS" if station.discipline in PRIORITIES else station.discipline
    speeds = None if station.speeds is None else tuple(station.speeds)
    return OpenQueue(arrivals, law, station.servers, station.capacity, order, station.queues, speeds)


def class_queue(network: Network) -> ClassQueue | None:
    """One station fed from outside by several classes, which pass it once."""
    if network.closed_classes or len(network.stations) != 1 or len(network.names) < 2 or network.lists_stations:
        return None
    (station,) = network.stations.values()
    alike = station.discipline in PRIORITIES and station.speeds is None and station.capacity is None
    if not alike or station.own_queues or station.is_delay:
        return None
    flows = []
    for name in network.names:
        law, (arrivals,) = station.service_of(name), network.sources_of(name).values()
        if law is None:
            return None
        flows.append(ClassFlow(arrivals, law, station.priority.get(name, 0)))
    return ClassQueue(tuple(flows), network.names, station.servers, PRIORITIES[station.discipline], network.kendall)


def closed_chain(network: Network) -> ClosedChain | None:
    """One class of customers that circle, described by visits."""
    if network.open_classes or len(network.closed_classes) != 1 or network.routing is not None:
        return None
    (name,) = network.closed_classes
    stations = {at: _for_class(at, s, name) for at, s in network.stations.items() if s.visits_of(name) > 0}
    queueing = tuple(at for at, s in stations.items() if not s.is_delay)
    return ClosedChain(network.population, tuple(stations.values()), queueing, network.kendall)


def open_chain(network: Network) -> OpenChain | None:
    """One class of Poisson arrivals at several stations, or at one that is visited more than once."""
    if network.closed_classes or len(network.classes) != 1 or not is_poisson(network):
        return None
    (name,) = network.classes
    stations = {at: _for_class(at, s, name) for at, s in network.stations.items() if s.service_of(name) is not None}
    throughputs = tuple(
        float(row[0]) for row, at in zip(network.open_rates(), network.stations, strict=True) if at in stations
    )
    if network.routing is None:
        rates, routing = (network.arrival_rate(name),), None
    else:
        rates, routing = tuple(network.outside(name).tolist()), network.routes.P
        if len(stations) < len(network.stations):
            return None
    return OpenChain(rates, tuple(stations.values()), tuple(stations), throughputs, network.kendall, routing)


def class_network(network: Network) -> ClassNetwork | None:
    """Classes described by visits at stations of constant speeds; of open ones, several."""
    if network.routing is not None or not is_poisson(network):
        return None
    if network.open_classes and len(network.names) < 2:
        return None
    queueing = {at: s for at, s in network.stations.items() if not s.is_delay}
    if any(s.speeds is not None or s.capacity is not None or not is_usual(s) for s in queueing.values()):
        return None
    delays = [s for s in network.stations.values() if s.is_delay]
    if any(s.visits_of(c) > 0 for s in delays for c in network.open_classes):
        return None
    stations = tuple(
        VisitedStation(
            tuple(s.service_of(c) if s.visits_of(c) > 0 else None for c in network.names),
            tuple(s.visits_of(c) for c in network.names),
            s.servers,
            s.queues,
            s.discipline,
            at,
        )
        for at, s in queueing.items()
    )
    return ClassNetwork(
        tuple(network.arrival_rate(c) for c in network.open_classes),
        tuple(each.number for each in network.closed_classes.values()),
        tuple(math.fsum(s.visits_of(c) * s.mean_of(c) for s in delays) for c in network.closed_classes),
        stations,
        network.names,
        network.kendall,
    )


def network(given: Network) -> Network | None:
    """Any network."""
    return given


def is_usual(station: Station) -> bool:
    """Whether formulas of networks know its order of service and its queues."""
    usual = station.discipline in ("FCFS", "PS", "LCFS-PR")
    return station.is_delay or (usual and (station.queues in ("shared", "random") or not station.own_queues))


def is_poisson(network: Network) -> bool:
    """Whether every class that comes from outside is a Poisson stream."""
    return all(isinstance(law, Exponential) for c in network.open_classes for law in network.sources_of(c).values())


def _for_class(at: str, station: Station, name: str) -> Station:
    """The station as one class sees it."""
    law, visits = station.service_of(name), station.visits_of(name)
    assert law is not None  # noqa: S101  (its visits are positive)
    return replace(station, service=law, visits=visits, priority={}, name=at)
