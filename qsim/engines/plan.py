"""The plan that both engines run: stations, classes and ways as numbers, made from any model.

Both engines draw the same variates in the same order:

- each role (the gaps of a source, the service of a class at a station, the choice of a queue, ...) has its own stream;
- a customer that comes to a station draws its service time, then its queue there, then where it goes next.

So two engines, or two systems to be compared, meet the same customers. A delay is a station of infinitely many servers.
The cycle of a closed class begins and ends at its home, a delay, or a place of no time where it has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from qsim._types import FloatArray
from qsim.arrivals import Source
from qsim.distributions import Distribution
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Network
from qsim.models.routes import OUTSIDE
from qsim.models.routes import Way as ModelWay
from qsim.models.station import NO_TIME

PREEMPTIVE = ("LCFS-PR", "PSJF", "SRPT", "preemptive priority")
"""Orders in which an arrival may interrupt another customer."""

LEAST_WAIT = 1e-300
"""The wait of a customer that shared a server for a time that rounding swallows: it did wait."""

NOWHERE = -1

Way: TypeAlias = tuple[float, int, int]
"""Upper end of the share of customers that take it, the next place (or NOWHERE), the class there."""


@dataclass(frozen=True)
class PlannedStation:
    """A station as the engines see it; tuples have one entry for each class."""

    service: tuple[Distribution, ...]
    servers: float = 1
    """At each queue; math.inf where nobody waits."""
    queues: int = 1
    routing: str = "shared"
    discipline: str = "FCFS"
    capacity: int | None = None
    speeds: tuple[float, ...] = ()
    urgency: tuple[int, ...] = (0,)
    is_delay: bool = False
    """Whether its time is think time for customers that circulate."""
    listed: bool = True
    name: str = ""

    @property
    def all_servers(self) -> float:
        """Servers at all queues."""
        return self.servers * self.queues


@dataclass(frozen=True)
class Entry:
    """Where customers of a stream come in: from a source, or ``number`` that begin there and come ``home`` again."""

    stream: int
    place: int
    kind: int
    home: int = NOWHERE
    number: int = 0


@dataclass(frozen=True)
class Plan:
    """What the engines run. ``entries`` has those of the ``sources`` first, then those that circulate.

    ``ways[place][class]`` is where customers go next; ``named``: every station is a part of the results.
    """

    places: tuple[PlannedStation, ...]
    entries: tuple[Entry, ...]
    ways: tuple[tuple[tuple[Way, ...], ...], ...]
    sources: tuple[Source, ...] = ()
    classes: tuple[str, ...] = ("customers",)
    streams: tuple[str, ...] = ("customers",)
    named: bool = False

    @property
    def kinds(self) -> int:
        """Streams of customers: the classes in which they come."""
        return len(self.streams)

    @property
    def population(self) -> int:
        """Customers that circulate."""
        return sum(entry.number for entry in self.entries)

    @property
    def part_of(self) -> tuple[int, ...]:
        """For each place its number among the parts of the results, NOWHERE for one that is no part."""
        if not self.named:
            return (NOWHERE,) * len(self.places)
        listed = [place.listed for place in self.places]
        return tuple(sum(listed[:i]) if is_part else NOWHERE for i, is_part in enumerate(listed))

    @property
    def parts(self) -> tuple[int, ...]:
        """The places that are parts of the results, in their order."""
        return tuple(i for i, part in enumerate(self.part_of) if part != NOWHERE)

    @property
    def kinds_at(self) -> tuple[tuple[int, ...], ...]:
        """The classes that come to each place."""
        seen: list[set[int]] = [set() for _ in self.places]
        coming = [(entry.place, entry.kind) for entry in self.entries]
        for to, kind in coming:  # grows on the way
            if to != NOWHERE and kind not in seen[to]:
                seen[to].add(kind)
                coming += [(place, becoming) for _, place, becoming in self.ways[to][kind]]
        return tuple(tuple(sorted(kinds)) for kinds in seen)

    @property
    def first_come(self) -> bool:
        """Whether waiting times follow from the times at which servers become free, without events.

        One open station without limit on places, where customers that join a queue start in the order of arrival.
        """
        (place, *others) = self.places
        return (
            not others
            and not self.named
            and len(self.sources) == 1
            and place.discipline == "FCFS"
            and place.capacity is None
            and not place.speeds
            and place.routing != "shortest"
        )

    def open_rates(self) -> FloatArray:
        """The traffic equations: open customers per time unit at each place and class, shape (places, classes)."""
        size = len(self.classes)
        P = np.zeros((len(self.places) * size,) * 2)
        for here, by_class in enumerate(self.ways):
            for kind, ways in enumerate(by_class):
                before = 0.0
                for upto, to, becoming in ways:
                    if to != NOWHERE:
                        P[here * size + kind, to * size + becoming] += upto - before
                    before = upto
        gamma = np.zeros(len(P))
        for source, entry in zip(self.sources, self.entries, strict=False):
            gamma[entry.place * size + entry.kind] += 1 / source.mean
        used = gamma > 0
        for _ in range(len(P)):
            used |= (P[used] > 0).any(axis=0)
        rates = np.zeros(len(P))
        rates[used] = np.linalg.solve(np.eye(int(used.sum())) - P[np.ix_(used, used)].T, gamma[used])
        return rates.reshape(len(self.places), size)


def plan(model: Network) -> Plan:
    """The plan of a network; raises NoEngineError for one the engines do not run."""
    if not isinstance(model, Network):
        raise InvalidParameterError(
            "model", f"must be a Network, or a short form such as MM1(...) or Closed(...), not {model!r}", value=model
        )
    names, classes = list(model.stations), model.classes
    places = [_station(model, name) for name in names]
    ways = {c: model.ways(c) for c in classes}
    sources, entries, begun = [], [], False
    for stream, c in enumerate(model.names):
        kind = classes.index(c)
        if c in model.open_classes:
            for given, source in model.sources_of(c).items():
                first = ways[c].get(OUTSIDE, ())
                at = first[0].to if given == OUTSIDE and len(first) == 1 else given
                begun |= at == OUTSIDE
                sources.append(source)
                entries.append(Entry(stream, len(names) if at == OUTSIDE else names.index(at), kind))
        else:
            home = model.home_of(c)
            begun |= home == OUTSIDE
            place = len(names) if home == OUTSIDE else names.index(home)
            entries.append(Entry(stream, place, kind, place, model.closed_classes[c].number))
    limited = any(p.capacity is not None and p.capacity < model.population for p in places)
    if limited and any(e.place == len(places) or _may_be_zero(places[e.place]) for e in entries if e.number):
        raise NoEngineError(
            f"{model.kendall} is not simulated: who finds no place would be back at once; give a Delay whose time "
            "is never zero"
        )
    if begun:
        kinds = len(classes)
        begin = PlannedStation((NO_TIME,) * kinds, math.inf, urgency=(0,) * kinds, is_delay=True, listed=False)
        places.append(begin)
        names.append(OUTSIDE)
    return Plan(
        tuple(places),
        tuple(entries),
        tuple(
            tuple(_numbered([_way(way, names, model) for way in ways[c].get(here, ())]) for c in classes)
            for here in names
        ),
        tuple(sources),
        classes,
        model.names,
        named=model.lists_stations,
    )


def _way(way: ModelWay, names: Sequence[str], model: Network) -> Way:
    """Its share, the number of the place, and of the class."""
    leaves = way.to == OUTSIDE and way.name in model.open_classes
    return way.p, NOWHERE if leaves else names.index(way.to), model.classes.index(way.name)


def _numbered(ways: Sequence[tuple[float, int, int]]) -> tuple[Way, ...]:
    """Ways of (probability, place, class) with the upper ends of their shares; what is missing to 1 leaves."""
    upto = accumulate(p for p, _, _ in ways)
    found = [(end, to, kind) for end, (_, to, kind) in zip(upto, ways, strict=True)]
    if not found or found[-1][0] < 1 - 1e-9:
        found.append((1.0, NOWHERE, 0))
    return (*found[:-1], (1.0, *found[-1][1:]))


def _may_be_zero(place: PlannedStation) -> bool:
    return any(float(law.cdf(0.0)) > 0 for law in place.service)


def _station(model: Network, name: str) -> PlannedStation:
    station = model.stations[name]
    return PlannedStation(
        tuple(station.service_of(c) or NO_TIME for c in model.classes),
        servers=1 if station.own_queues else station.servers,
        queues=station.servers if station.own_queues else 1,
        routing=station.queues if station.own_queues else "shared",
        discipline=station.discipline,
        capacity=station.capacity,
        speeds=tuple(station.speeds or ()),
        urgency=tuple(station.priority.get(c, 0) for c in model.classes),
        is_delay=station.is_delay,
        listed=name in model.listed,
        name=name,
    )


def servers_of(plan: Plan) -> float:
    """All servers of all places; 1 where there is no end of them."""
    servers = math.fsum(place.all_servers for place in plan.places if place.listed)
    return servers if servers < math.inf else 1.0


def typical_time(plan: Plan) -> float:
    """A mean service time, to place histograms by."""
    serving = [place for place in plan.places if place.listed]
    times = [service.mean for place in serving for service in place.service if service.mean > 0]
    return math.fsum(times) / len(times) * len(serving) if times else 1.0
