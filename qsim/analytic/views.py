"""What a family of formulas offers, and the single stations that formulas know, recognised in a network.

A family (:class:`Formula`) looks at a network through a *view*, such as one open station.  A function that makes one
returns None for a network of another shape, so a family need not check the shape again.  Networks of several stations
are seen by their classes: :mod:`qsim.analytic.networks.classes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from qsim.distributions import Distribution, Exponential
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import Network
from qsim.models.kendall import station_name

ROUNDING = 1e-12
"""Rates are stored as mean times, so rounding may put 9 arrivals on 3 servers of rate 3 just below rho = 1."""

BY_SIZE = ("SJF", "PSJF", "SRPT")  # orders of service that depend on service times

View = TypeVar("View")


@dataclass(frozen=True)
class Formula(Generic[View]):
    """One family: the ``view`` it takes of a network, whether its theory ``applies`` to it, and how to ``solve`` it."""

    view: Callable[[Network], View | None]
    applies: Callable[[View], bool]
    solve: Callable[[View], Metrics]


def of_network(network: Network, answer: Metrics) -> Metrics:
    """Metrics of a view, with the whole network as their model; a network of one unnamed station lists no stations."""
    if answer.model is network and network.lists_stations:
        return answer
    return replace(
        answer,
        model=network,
        stations=tuple(of_network(network, part) for part in answer.stations) if network.lists_stations else (),
        classes=tuple(of_network(network, part) for part in answer.classes),
    )


@dataclass(frozen=True)
class OpenQueue:
    """One station fed from outside by one class of customers, each of which it serves once."""

    arrivals: Distribution
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
        """Arriving work per time unit, in erlangs: the mean number of servers it keeps busy if there are enough."""
        return self.service.mean / self.arrivals.mean

    @property
    def most_work(self) -> float:
        """Work done per time unit with very many customers present, in servers."""
        return self.servers if self.speeds is None else self.speeds[-1]

    @property
    def rho(self) -> float:
        """Offered load per server; with ``speeds``, as a share of the work that can be done."""
        return self.offered_load / self.most_work

    @property
    def plain(self) -> bool:
        """Whether all is as in Kendall's A/S/c/K with nothing added, the case most formulas are for.

        That is: independent times between arrivals, one queue, first come first served, a fixed number of servers
        of fixed speed, and an arrival that finds no place is lost.
        """
        return (self.queues == "shared" or self.servers == 1) and self.discipline == "FCFS" and self.speeds is None

    @property
    def poisson(self) -> bool:
        """Whether customers arrive as a Poisson process."""
        return isinstance(self.arrivals, Exponential)

    @property
    def markovian(self) -> bool:
        """Whether arrivals are Poisson and service times exponential."""
        return self.poisson and isinstance(self.service, Exponential)

    @property
    def own_queues(self) -> bool:
        """Whether each of several servers has a queue of its own."""
        return self.queues != "shared" and self.servers > 1

    def require_stable(self) -> None:
        """Raise UnstableQueueError unless rho < 1 or places are limited."""
        if self.capacity is None and self.rho > 1 - ROUNDING:
            pace = self.most_work / self.servers  # 1 unless the speed depends on how many are present
            raise UnstableQueueError(self.kendall, self.arrival_rate, self.service_rate * pace, self.servers)

    @property
    def kendall(self) -> str:
        """The queue in Kendall's notation, such as M/M/3 or M/M/3/10; words where the notation has no letters."""
        return station_name(self.arrivals.letter, self.service.letter, self)

    def metrics(self, Wq: float | None = None, **more: Any) -> Metrics:
        """Its Metrics where nobody is lost, from the mean wait, or ``W`` among ``more`` fields of Metrics."""
        X, S, c = self.arrival_rate, self.service.mean, self.servers
        return Metrics.from_times(self, throughput=X, service=S, servers=c, Wq=Wq, **more)


@dataclass(frozen=True)
class ClassFlow:
    """One class of customers at a station: its arrivals, its service times and its priority (0 before 1)."""

    arrivals: Distribution
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
        """Customers one busy server finishes per time unit, over the mix of arriving classes."""
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
class ClosedQueue:
    """One station that customers of one class visit once a cycle; between visits they think for ``think_time``."""

    population: int
    think_time: float
    service: Distribution
    servers: int
    queues: str
    capacity: int | None
    kendall: str

    @property
    def places(self) -> int:
        """The most customers that can be present."""
        return self.population if self.capacity is None else min(self.population, self.capacity)


PRIORITIES = {"FCFS": "none", "priority": "non-preemptive", "preemptive priority": "preemptive-resume"}


def open_queue(network: Network) -> OpenQueue | None:
    """One station fed from outside by one class of customers, which may have to wait there."""
    if network.closed_classes or len(network.stations) != 1 or len(network.classes) > 1 or network.lists_stations:
        return None
    ((station,), (name,)) = network.stations.values(), network.classes
    if station.is_delay:
        return None
    law, (arrivals,) = station.service_of(name), network.sources_of(name).values()
    if law is None:
        return None
    order = "FCFS" if station.discipline in PRIORITIES else station.discipline
    speeds = None if station.speeds is None else tuple(station.speeds)
    return OpenQueue(arrivals, law, station.servers, station.capacity, order, station.queues, speeds)


def class_queue(network: Network) -> ClassQueue | None:
    """One station fed from outside by several classes, which pass it once."""
    if network.closed_classes or len(network.stations) != 1 or len(network.classes) < 2 or network.lists_stations:
        return None
    (station,) = network.stations.values()
    alike = station.discipline in PRIORITIES and station.speeds is None and station.capacity is None
    if not alike or station.own_queues or station.is_delay:
        return None
    flows = []
    for name in network.classes:
        law, (arrivals,) = station.service_of(name), network.sources_of(name).values()
        if law is None:
            return None
        flows.append(ClassFlow(arrivals, law, station.priority.get(name, 0)))
    return ClassQueue(tuple(flows), network.classes, station.servers, PRIORITIES[station.discipline], network.kendall)


def closed_queue(network: Network) -> ClosedQueue | None:
    """One station of one speed, first come first served, where one class circles without routes."""
    if network.open_classes or len(network.closed_classes) != 1 or network.routing is not None:
        return None
    (name,) = network.closed_classes
    queueing = (s for s in network.stations.values() if not s.is_delay and s.visits_of(name) > 0)
    station = next(queueing, None)
    if station is None or station.visits_of(name) != 1 or next(queueing, None) is not None:
        return None
    law = station.service_of(name)
    if law is None or station.speeds is not None or station.discipline != "FCFS":
        return None
    think = math.fsum(s.visits_of(name) * s.mean_of(name) for s in network.stations.values() if s.is_delay)
    queues = station.queues if station.own_queues else "shared"
    return ClosedQueue(network.population, think, law, station.servers, queues, station.capacity, network.kendall)


def is_poisson(network: Network) -> bool:
    """Whether every class that comes from outside is a Poisson stream."""
    return all(isinstance(law, Exponential) for c in network.open_classes for law in network.sources_of(c).values())


def is_one_exponential(laws: Sequence[Distribution | None]) -> bool:
    """Whether all these services are exponential with one mean, but for rounding."""
    known = [law for law in laws if law is not None]
    means = [law.mean for law in known if isinstance(law, Exponential)]
    return len(means) == len(known) and all(math.isclose(mean, means[0]) for mean in means)
