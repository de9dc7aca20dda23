"""A network as its chains see it: classes that customers change between form one chain, and its visits say all.

With vᵢₖ the visits of class k to station i per passage or cycle, a chain visits Vᵢ = Σₖ vᵢₖ times and brings
Sᵢ = Σₖ vᵢₖ·Sᵢₖ/Vᵢ a visit.  Under product form only these matter.  A class then stays Wᵢₖ = Wᵢ·Sᵢₖ/Sᵢ where servers
are shared, and waits as long as its chain where they are not.  Where nobody changes class, each is a chain.

Source: Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; Bruell & Balbo (1980), Computational Algorithms for Closed
Queueing Networks, chapter 3 (chains).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import is_one_exponential, open_queue
from qsim.distributions import Distribution, Exponential, Mixture
from qsim.errors import NoFormulaError
from qsim.models import Network, Station

SHARING = ("PS", "LCFS-PR")


@dataclass(frozen=True)
class Chain:
    """Its visits, shape (stations, classes), and the rate from outside or how many circulate."""

    visits: FloatArray
    rate: float = 0.0
    population: int = 0


@dataclass(frozen=True)
class ChainStation:
    """A queueing station: the law of a visit of each chain (None where it never comes), and mean visits."""

    name: str
    services: tuple[Distribution | None, ...]
    visits: tuple[float, ...]
    station: Station

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean service time per visit of each chain, 0 for one that never comes."""
        return tuple(0.0 if law is None else law.mean for law in self.services)

    @property
    def demands(self) -> tuple[float, ...]:
        """Mean service time per passage or cycle of each chain."""
        return tuple(v * s for v, s in zip(self.visits, self.means, strict=True))

    @property
    def in_turn(self) -> bool:
        """Whether customers are served in the order in which they come."""
        return self.station.discipline == "FCFS"

    @property
    def servers(self) -> int:
        """How many; 1 where speeds are those of the station as a whole."""
        return 1 if self.station.speeds is not None else self.station.servers

    @property
    def queues(self) -> int:
        """How many queues its servers have, picked at random where there are several."""
        return self.servers if self.station.own_queues else 1

    @property
    def unusual(self) -> str:
        """Why no family of networks solves this station; empty where one does."""
        if self.station.discipline not in ("FCFS", *SHARING):
            return f"serves in the order {self.station.discipline}"
        if self.station.own_queues and self.station.queues != "random":
            return f"has a queue at each server, and sends customers to them in the way {self.station.queues!r}"
        return ""

    @property
    def has_product_form(self) -> bool:
        """Whether the network keeps product form with this station in it, and only mean service times matter."""
        return not self.unusual and (is_insensitive(self.station) or is_one_exponential(self.services))


@dataclass(frozen=True)
class ChainNetwork:
    """The chains of a network, open ones first, and the stations where they queue."""

    network: Network
    chains: tuple[Chain, ...]
    stations: tuple[ChainStation, ...]

    @property
    def kendall(self) -> str:
        """The name of the network."""
        return str(self.network.kendall)

    @cached_property
    def arrival_rates(self) -> tuple[float, ...]:
        """Of the open chains."""
        return tuple(c.rate for c in self.chains if not c.population)

    @cached_property
    def populations(self) -> tuple[int, ...]:
        """Of the closed chains."""
        return tuple(c.population for c in self.chains if c.population)

    @cached_property
    def think_times(self) -> tuple[float, ...]:
        """Mean time per cycle at delays, of the closed chains."""
        delays = [(i, s) for i, s in enumerate(self.network.stations.values()) if s.is_delay]
        classes = list(enumerate(self.network.classes))
        closed = [c.visits for c in self.chains if c.population]
        return tuple(math.fsum(v[i, k] * s.mean_of(name) for i, s in delays for k, name in classes) for v in closed)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Those of the classes where each is a chain."""
        numbered = tuple(f"chain {r + 1}" for r in range(len(self.chains)))
        return self.network.names if self.network.routing is None else numbered

    @cached_property
    def visits(self) -> FloatArray:
        """Shape (stations, chains)."""
        return np.array([s.visits for s in self.stations])

    @cached_property
    def means(self) -> FloatArray:
        """Shape (stations, chains)."""
        return np.array([s.means for s in self.stations])

    @cached_property
    def demands(self) -> FloatArray:
        """Shape (stations, chains)."""
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
    """Whether of each class's service at a station only the mean matters (BCMP 1975).

    Nobody waits there, or servers are shared, or the last to come to a server takes it.
    """
    apart = station.servers == 1 or station.queues == "random"
    return station.is_delay or station.discipline == "PS" or (station.discipline == "LCFS-PR" and apart)


def chain_network(network: Network) -> ChainNetwork | None:
    """Any network without limits on places but one station that one class passes once."""
    if any(s.capacity is not None for s in network.stations.values()) or open_queue(network) is not None:
        return None
    chains = chains_of(network)
    come = np.any([c.visits > 0 for c in chains], axis=(0, 2))
    named = enumerate(network.stations.items())
    stations = (_station(network, chains, i, name) for i, (name, s) in named if come[i] and not s.is_delay)
    return ChainNetwork(network, tuple(chains), tuple(stations))


def _station(network: Network, chains: Sequence[Chain], i: int, name: str) -> ChainStation:
    station, visits = network.stations[name], tuple(float(c.visits[i].sum()) for c in chains)
    laws = (_service(station, network.classes, c.visits[i]) for c in chains)
    return ChainStation(name, tuple(laws), visits, station)


def _service(station: Station, classes: Sequence[str], visits: FloatArray) -> Distribution | None:
    """What a visit of a chain brings: the law of its class, or a mixture; exponential where only the mean matters."""
    known = [(law, v) for c, v in zip(classes, visits, strict=True) if v > 0 and (law := station.service_of(c))]
    if not known:
        return None
    if len(known) == 1 or is_one_exponential([law for law, _ in known]):
        return known[0][0]
    total = math.fsum(v for _, v in known)
    if is_insensitive(station):
        return Exponential(math.fsum(v * law.mean for law, v in known) / total)
    return Mixture(tuple(law for law, _ in known), tuple(v / total for _, v in known))


def chains_of(network: Network) -> list[Chain]:
    """Open chains first, with their visits per passage; then closed ones, with their visits in a cycle."""
    if network.routing is None:
        opens = [Chain(network.visit_table(c), rate=network.arrival_rate(c)) for c in network.open_classes]
        closed = network.closed_classes.items()
        return opens + [Chain(network.visit_table(c), population=given.number) for c, given in closed]
    routes = network.routes
    reached = {(c, at): routes.reached(routes.state(at, c)).reshape(routes.shape) for c, at in network.entries()}
    groups: list[list[tuple[str, str]]] = []
    for entry, states in reached.items():
        meets = [g for g in groups if any((reached[e] & states).any() for e in g)]
        groups = [g for g in groups if g not in meets] + [[entry, *(e for g in meets for e in g)]]
    rates, opens, circling = network.open_rates(), [], []
    for group in groups:
        name, home = group[0]
        if name in network.open_classes:
            rate = math.fsum(1 / network.sources_of(c)[at].mean for c, at in group)
            through = np.where(np.logical_or.reduce([reached[e] for e in group]), rates, 0.0)
            opens.append(Chain(through / rate, rate=rate))
        else:
            population = sum(network.closed_classes[c].number for c, _ in group)
            circling.append(Chain(routes.cycle_visits(routes.state(home, name)), population=population))
    return opens + circling
