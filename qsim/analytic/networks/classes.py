"""A network as its formulas see it: the classes with their visits and demands, and the stations where they queue.

With Vᵢ the visits of a class to station i per passage or cycle and Sᵢ its mean service there, Dᵢ = Vᵢ·Sᵢ is its demand.
Under product form only these matter.

Source: Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import is_one_exponential, open_queue
from qsim.distributions import Distribution, Exponential
from qsim.errors import NoFormulaError
from qsim.models import Network, Station

SHARING = ("PS", "LCFS-PR")
EXPONENTIAL_ORDERS = ("FCFS", *SHARING)
"""Those that keep product form where times are exponential, with one mean for all."""


@dataclass(frozen=True)
class NetworkClass:
    """A class: its visits to each station, and its arrival rate or population."""

    visits: FloatArray
    rate: float = math.nan
    population: int = 0


@dataclass(frozen=True)
class ClassStation:
    """A queueing station: the law of a visit of each class (None where it never comes), and mean visits."""

    name: str
    services: tuple[Distribution | None, ...]
    visits: tuple[float, ...]
    station: Station

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean service time per visit of each class, 0 for one that never comes."""
        return tuple(0.0 if law is None else law.mean for law in self.services)

    @property
    def demands(self) -> tuple[float, ...]:
        """Mean service time per passage or cycle of each class."""
        return tuple(v * s for v, s in zip(self.visits, self.means, strict=True))

    @property
    def in_turn(self) -> bool:
        """Whether customers are served in the order in which they come."""
        return self.station.discipline == "FCFS"

    @property
    def servers(self) -> int:
        """Number of servers; 1 where ``speeds`` describe the station as a whole."""
        return 1 if self.station.speeds is not None else self.station.servers

    @property
    def queues(self) -> int:
        """Number of queues; an arrival picks one at random where there are several."""
        return self.servers if self.station.own_queues else 1

    @property
    def unusual(self) -> str:
        """Why no family of networks solves this station; empty where one does."""
        if self.station.discipline not in EXPONENTIAL_ORDERS:
            return f"serves in the order {self.station.discipline}"
        if self.station.own_queues and self.station.queues != "random":
            return f"has a queue at each server, and sends customers to them in the way {self.station.queues!r}"
        return ""

    @property
    def has_product_form(self) -> bool:
        """Whether the network keeps product form with this station in it, and only mean service times matter."""
        return not self.unusual and (is_insensitive(self.station) or is_one_exponential(self.services))


class Circle(NamedTuple):
    """Customers that think and pass several single servers in each cycle, with the visits to each and its services."""

    network: Network
    population: int
    think_time: float
    visits: list[float]
    services: list[float]


@dataclass(frozen=True)
class ClassNetwork:
    """The classes of a network, open ones first, and the stations where they queue."""

    network: Network
    classes: tuple[NetworkClass, ...]

    @cached_property
    def stations(self) -> tuple[ClassStation, ...]:
        """Those where somebody queues."""
        names, found = self.network.classes, []
        for i, (name, station) in enumerate(self.network.stations.items()):
            visits = tuple(float(each.visits[i]) for each in self.classes)
            if any(visits) and not station.is_delay:
                laws = tuple(station.service_of(c) if v > 0 else None for c, v in zip(names, visits, strict=True))
                found.append(ClassStation(name, laws, visits, station))
        return tuple(found)

    @cached_property
    def circle(self) -> Circle | None:
        """The network as one class among several single servers of exponential times; None for any other."""
        if len(self.classes) != 1 or not self.classes[0].population:
            return None
        (name,), (only,) = self.network.classes, self.classes
        thinking, passed, services = [], [], []
        for station, visits in zip(self.network.stations.values(), only.visits.tolist(), strict=True):
            law = station.service_of(name)
            single = station.servers == 1 and station.speeds is None and station.discipline in EXPONENTIAL_ORDERS
            if single and isinstance(law, Exponential) and visits > 0:
                passed.append(visits)
                services.append(law.mean)
            elif station.is_delay:
                thinking.append(visits * station.mean_of(name))
            else:
                return None
        if len(passed) < 2:
            return None
        return Circle(self.network, only.population, math.fsum(thinking), passed, services)

    @property
    def kendall(self) -> str:
        """The name of the network."""
        return str(self.network.kendall)

    @cached_property
    def arrival_rates(self) -> tuple[float, ...]:
        """Arrival rate of each open class."""
        return tuple(c.rate for c in self.classes if not c.population)

    @cached_property
    def populations(self) -> tuple[int, ...]:
        """Population of each closed class."""
        return tuple(c.population for c in self.classes if c.population)

    @cached_property
    def think_times(self) -> tuple[float, ...]:
        """Mean time per cycle at delays, of each closed class."""
        delays = [(i, s) for i, s in enumerate(self.network.stations.values()) if s.is_delay]
        closed = [(name, c.visits) for name, c in zip(self.network.classes, self.classes, strict=True) if c.population]
        return tuple(math.fsum(visits[i] * s.mean_of(name) for i, s in delays) for name, visits in closed)

    @cached_property
    def visits(self) -> FloatArray:
        """Shape (stations, classes)."""
        return np.array([s.visits for s in self.stations]).reshape(-1, len(self.classes))

    @cached_property
    def means(self) -> FloatArray:
        """Shape (stations, classes)."""
        return np.array([s.means for s in self.stations]).reshape(-1, len(self.classes))

    @cached_property
    def demands(self) -> FloatArray:
        """Shape (stations, classes)."""
        return self.visits * self.means

    @property
    def has_product_form(self) -> bool:
        """Whether every station keeps it."""
        return all(s.has_product_form for s in self.stations)

    def require_usual(self) -> None:
        """Raise NoFormulaError naming a station that no family knows."""
        for s in self.stations:
            if s.unusual:
                raise NoFormulaError(self.kendall, f"{s.name} {s.unusual}")
        if not self.stations:
            raise NoFormulaError(self.kendall, "nobody queues there")


def is_insensitive(station: Station) -> bool:
    """Whether only the mean of each class's service matters: at a delay, under PS and under LCFS-PR (BCMP 1975)."""
    apart = station.servers == 1 or station.queues == "random"
    return station.is_delay or station.discipline == "PS" or (station.discipline == "LCFS-PR" and apart)


def class_network(network: Network) -> ClassNetwork | None:
    """The view of a network without limited places; None for one station that one class passes once."""
    if any(s.capacity is not None for s in network.stations.values()) or open_queue(network) is not None:
        return None
    opens = [NetworkClass(network.mean_visits(c), rate=network.arrival_rate(c)) for c in network.open_classes]
    closed = network.closed_classes.items()
    classes = (*opens, *(NetworkClass(network.mean_visits(c), population=number) for c, number in closed))
    return ClassNetwork(network, classes)
