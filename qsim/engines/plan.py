"""The plan that both engines run: stations, classes and ways as numbers, made from any model.

Both engines draw the same variates in the same order:

- each role (the gaps of a source, the service of a class at a station, the choice of a queue, ...) has its own stream;
- a customer that comes to a station draws its service time, then its queue there, then where it goes next.

So two engines, or two systems to be compared, meet the same customers. A delay is a station of infinitely many servers.
The cycle of a closed class begins and ends at its home, a delay; mean visits do not say who goes where, and for product
form it does not matter: stations are passed in their order, each entered with probability min(v, 1) and, where v > 1,
visited again with probability 1 - 1/v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from qsim._types import FloatArray
from qsim.arrivals import Source
from qsim.distributions import Distribution
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import (
    Closed,
    ClosedClasses,
    Delay,
    MixedNetwork,
    Model,
    Network,
    Open,
    OpenClasses,
    OpenNetwork,
    OpenNetworkClasses,
    Station,
    Tandem,
)
from qsim.models.as_network import as_network
from qsim.models.routes import OUTSIDE
from qsim.models.routes import Way as ModelWay
from qsim.models.station import NO_TIME

PREEMPTIVE = ("LCFS-PR", "PSJF", "SRPT", "preemptive priority")
"""Orders in which an arrival may interrupt another customer."""

LEAST_WAIT = 1e-300
"""The wait of a customer that shared a server for a time that rounding swallows: it did wait."""

NOWHERE = -1
ROUNDING = 1e-12

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
        listed = [place.listed for place in self.places]
        if not self.named and sum(listed) == 1:
            return (NOWHERE,) * len(self.places)
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


def plan(model: Model) -> Plan:
    """The plan of a model; raises NoEngineError for one the engines do not run."""
    return _plan(model)


@singledispatch
def _plan(model: object) -> Plan:
    kendall = getattr(model, "kendall", None)
    if kendall is None:
        raise InvalidParameterError(
            "model", f"must be Open, Closed, ... (MM1(...), MMcN(...), ...), not {model!r}", value=model
        )
    raise NoEngineError(f"{kendall} is not simulated: describe it as Open, Closed, Tandem or Network")


OUT: tuple[Way, ...] = ((1.0, NOWHERE, 0),)


@_plan.register
def _(model: Open) -> Plan:
    place = _place(
        (model.service,), model.servers, model.queues, model.discipline, model.speeds, capacity=model.capacity
    )
    return Plan((place,), (Entry(0, 0, 0),), ((OUT,),), (model.arrivals,))


@_plan.register
def _(model: OpenClasses) -> Plan:
    order = {"none": "FCFS", "non-preemptive": "priority", "preemptive-resume": "preemptive priority"}
    names = model.names
    place = _place(tuple(c.service for c in model.classes), model.servers, "shared", order[model.priority], None)
    return Plan(
        (replace(place, urgency=tuple(c.priority for c in model.classes)),),
        tuple(Entry(k, 0, k) for k in range(len(names))),
        ((OUT,) * len(names),),
        tuple(c.arrivals for c in model.classes),
        names,
        names,
    )


@_plan.register
def _(model: Tandem) -> Plan:
    places = tuple(_station(s) for s in model.stations)
    ways = (*((((1.0, i, 0),),) for i in range(1, len(places))), (OUT,))
    return Plan(places, (Entry(0, 0, 0),), ways, (model.arrivals,))


@_plan.register
def _(model: Closed) -> Plan:
    """The circle begins at the first delay; without one, at a place that takes no time."""
    stops = [s for s in model.stations if not (s.is_delay and s.time.mean == 0)]
    first = next((i for i, s in enumerate(stops) if s.is_delay), None)
    circle = [Delay(0.0), *stops] if first is None else [*stops[first:], *stops[:first]]
    places = tuple(_delay(s.time) if s.is_delay else _station(s) for s in circle)
    limited = any(p.capacity is not None and p.capacity < model.population for p in places)
    if limited and all(float(s.time.cdf(0.0)) > 0 for s in circle if s.is_delay):
        raise NoEngineError(
            f"{model.kendall} is not simulated: who finds no place would be back at once; give a Delay whose time "
            "is never zero"
        )
    visits = [s.visit_count for s in circle[1:]]
    ways = tuple((_ways(row),) for row in _passing(visits))
    return Plan(places, (Entry(0, 0, 0, 0, model.population),), ways)


@_plan.register
def _(model: ClosedClasses) -> Plan:
    """Every class passes the stations in order, and thinks at a home of its own after the last."""
    kinds, first = len(model.populations), len(model.populations)
    homes = [_delay(Delay(z).time, kinds) for z in model.think_times]
    places = [
        replace(
            _place(tuple(law or NO_TIME for law in s.services), s.servers, s.queues, s.discipline, None), name=s.name
        )
        for s in model.stations
    ]
    by_class = []
    for kind in range(kinds):
        rows = _passing([s.visits[kind] for s in model.stations])
        moved = [[((to - 1 + first) if to > 0 else kind, p) for to, p in row] for row in rows]
        nowhere: list[list[tuple[int, float]]] = [[] for _ in range(kinds)]
        nowhere[kind] = moved[0]
        by_class.append([_ways(row, kind) for row in (*nowhere, *moved[1:])])
    return Plan(
        (*homes, *(replace(place, urgency=(0,) * kinds) for place in places)),
        tuple(Entry(k, k, k, k, n) for k, n in enumerate(model.populations)),
        tuple(zip(*by_class, strict=True)),
        classes=tuple(model.names),
        streams=tuple(model.names),
    )


@_plan.register
def _(model: Network) -> Plan:
    names, classes = list(model.stations), model.classes
    places = [_station_of(model, name) for name in names]
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
    if begun:
        places.append(_delay(NO_TIME, len(classes)))
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


@_plan.register(OpenNetwork | OpenNetworkClasses | MixedNetwork)
def _(model: OpenNetwork | OpenNetworkClasses | MixedNetwork) -> Plan:
    return _plan(as_network(model))


def _passing(visits: Sequence[float]) -> list[list[tuple[int, float]]]:
    """Ways through stations 1, 2, ... of these mean visits, from home (0) and from each: (next, probability)."""

    def entered(first: int) -> list[tuple[int, float]]:
        found, missed = [], 1.0
        for station, v in enumerate(visits[first - 1 :], start=first):
            if min(v, 1.0) * missed > 0:
                found.append((station, min(v, 1.0) * missed))
            missed *= 1 - min(v, 1.0)
        return [*found, (0, missed)] if missed > ROUNDING else found

    rows = [entered(1)]
    for station, v in enumerate(visits, start=1):
        again = 1 - 1 / v if v > 1 else 0.0
        onwards = [(to, (1 - again) * p) for to, p in entered(station + 1)]
        rows.append([(station, again), *onwards] if again > 0 else onwards)
    return rows


def _ways(row: Sequence[tuple[int, float]], kind: int = 0) -> tuple[Way, ...]:
    return _numbered([(p, to, kind) for to, p in row])


def _numbered(ways: Sequence[tuple[float, int, int]]) -> tuple[Way, ...]:
    """Ways of (probability, place, class) with the upper ends of their shares; what is missing to 1 leaves."""
    upto = accumulate(p for p, _, _ in ways)
    found = [(end, to, kind) for end, (_, to, kind) in zip(upto, ways, strict=True)]
    if not found or found[-1][0] < 1 - 1e-9:
        found.append((1.0, NOWHERE, 0))
    return (*found[:-1], (1.0, *found[-1][1:]))


def _delay(law: Distribution, kinds: int = 1) -> PlannedStation:
    return PlannedStation((law,) * kinds, math.inf, urgency=(0,) * kinds, is_delay=True, listed=False)


def _station_of(model: Network, name: str) -> PlannedStation:
    station, classes = model.stations[name], model.classes
    made = _place(
        tuple(station.service_of(c) or NO_TIME for c in classes),
        station.servers,
        station.queues,
        station.discipline,
        station.speeds,
        capacity=station.capacity,
    )
    return replace(
        made,
        urgency=tuple(station.priority.get(c, 0) for c in classes),
        is_delay=station.is_delay,
        listed=name in model.listed,
        name=name,
    )


def _station(station: Station) -> PlannedStation:
    made = _place(
        (station.time,), station.servers, station.queues, station.discipline, station.speeds, capacity=station.capacity
    )
    return replace(made, name=station.name)


def _place(
    service: tuple[Distribution, ...],
    servers: float,
    queues: str,
    discipline: str,
    speeds: Sequence[float] | None,
    *,
    capacity: int | None = None,
) -> PlannedStation:
    own = queues != "shared" and servers > 1
    return PlannedStation(
        service,
        servers=1 if own else servers,
        queues=int(servers) if own else 1,
        routing=queues if own else "shared",
        discipline=discipline,
        capacity=capacity,
        speeds=tuple(speeds or ()),
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
