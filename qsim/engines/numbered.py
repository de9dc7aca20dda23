"""The plan that both engines run: stations, classes and routes as numbers, made from any model.

Both engines draw the same variates in the same order:

- each role (the gaps of a source, the service of a class at a station, the choice of a queue, ...) has its own stream;
- a customer that comes to a station draws its service time, then its queue there, then, if it has not been there yet,
  how often it is served there, and before it leaves where it goes next.

So two engines, or two systems to be compared, see the same customers. A delay is a station of infinitely many servers.
The cycle of a closed class begins and ends at its home: a delay, or a place where no time passes if it has no delay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from qsim.distributions import Distribution
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Network
from qsim.models.customers import OUTSIDE
from qsim.models.customers import Way as ModelWay
from qsim.models.station import NO_TIME

SERVED = ("FCFS", "PS", "LCFS-PR", "priority", "preemptive priority")  # the orders of service that the engines know

PREEMPTIVE = ("LCFS-PR", "preemptive priority")  # the orders in which an arrival may interrupt another customer

LEAST_WAIT = 1e-300  # the wait of a customer that shared a server, where rounding would make it 0

NOWHERE = -1

Way: TypeAlias = tuple[float, int]
"""Cumulative probability of this way and those before it, and the next place (or NOWHERE)."""


@dataclass(frozen=True)
class PlannedStation:
    """A station as the engines see it; tuples have one entry for each class.

    ``servers``: of each queue (math.inf where nobody waits). ``kinds``: the classes that come. ``visits``: how often
    each is served before it goes on, 2.5 being two or three times. ``listed``: whether results list the station.
    """

    service: tuple[Distribution, ...]
    servers: float = 1
    queues: int = 1
    routing: str = "shared"
    discipline: str = "FCFS"
    capacity: int | None = None
    speeds: tuple[float, ...] = ()
    urgency: tuple[int, ...] = (0,)
    kinds: tuple[int, ...] = ()
    visits: tuple[float, ...] = (1,)
    is_delay: bool = False
    listed: bool = True
    name: str = ""

    @property
    def all_servers(self) -> float:
        """Servers at all queues."""
        return self.servers * self.queues


@dataclass(frozen=True)
class Entry:
    """Where customers of a class enter: from a source, or ``number`` that begin there and return ``home``."""

    kind: int
    place: int
    home: int = NOWHERE
    number: int = 0


@dataclass(frozen=True)
class Plan:
    """What the engines run. ``entries`` lists open classes (those of ``sources``) first, then closed ones.

    ``ways[place][class]`` is where customers go next. ``parts`` are the indices of places whose stays are recorded.
    """

    places: tuple[PlannedStation, ...]
    entries: tuple[Entry, ...]
    ways: tuple[tuple[tuple[Way, ...], ...], ...]
    sources: tuple[Distribution, ...]
    classes: tuple[str, ...]
    parts: tuple[int, ...]

    @property
    def population(self) -> int:
        """Customers that circulate."""
        return sum(entry.number for entry in self.entries)

    @property
    def listed(self) -> list[PlannedStation]:
        """The places where time is part of a response."""
        return [place for place in self.places if place.listed]

    @property
    def servers(self) -> float:
        """All servers of the listed places."""
        return math.fsum(place.all_servers for place in self.listed)

    @property
    def typical_time(self) -> float:
        """A mean service time, the scale of the histograms."""
        times = [law.mean for place in self.listed for law in place.service if law.mean > 0]
        return math.fsum(times) / len(times) * len(self.listed) if times else 1.0

    @property
    def has_losses(self) -> bool:
        """Whether an arrival may find no place."""
        return any(place.capacity is not None for place in self.places)

    @property
    def first_come(self) -> bool:
        """Whether waiting times follow from the times at which servers become free, without events.

        True for one open first-come-first-served station with a shared queue and no limit on places.
        """
        (place, *others) = self.places
        return (
            not (others or self.parts or self.has_losses or place.speeds)
            and len(self.sources) == 1
            and place.discipline == "FCFS"
            and place.routing == "shared"
        )


def plan(model: Network) -> Plan:
    """The plan of a network; raises NoEngineError for one that the engines do not run."""
    if not isinstance(model, Network):
        raise InvalidParameterError(
            "model", f"must be a Network, or a short form such as MM1(...) or Closed(...), not {model!r}", value=model
        )
    names, classes = [*model.stations, OUTSIDE], model.classes
    ways = {c: model.ways(c) for c in classes}
    sources, entries = [], []
    for stream, c in enumerate(classes):
        if c in model.closed_classes:
            home = names.index(model.home_of(c))
            entries.append(Entry(stream, home, home, model.closed_classes[c]))
            continue
        for given, source in model.sources_of(c).items():
            first = ways[c].get(OUTSIDE, ())
            at = first[0].to if given == OUTSIDE and len(first) == 1 else given
            sources.append(source)
            entries.append(Entry(stream, names.index(at)))
    places = [_station(model, name) for name in model.stations]
    if any(names[entry.place] == OUTSIDE for entry in entries):
        none = (NO_TIME,) * len(classes)
        zeros, ones = (0,) * len(classes), (1,) * len(classes)
        places.append(PlannedStation(none, math.inf, urgency=zeros, visits=ones, is_delay=True, listed=False))
    else:
        names.pop()
    return Plan(
        tuple(places),
        tuple(entries),
        tuple(
            tuple(_ways(_onwards(model, c, here, ways[c]), names, leaves=c in model.open_classes) for c in classes)
            for here in names
        ),
        tuple(sources),
        classes,
        tuple(i for i, place in enumerate(places) if place.listed and model.lists_stations),
    )


def _onwards(model: Network, name: str, here: str, ways: Mapping[str, Sequence[ModelWay]]) -> Sequence[ModelWay]:
    """The ways out of a station; where visits are counted, without the one back to it."""
    found = ways.get(here, ())
    if here == OUTSIDE or model.counted_visits(name, here) == 1:
        return found
    onwards = [way for way in found if way.to != here]
    total = math.fsum(way.p for way in onwards)
    return [way._replace(p=way.p / total) for way in onwards]


def _ways(ways: Sequence[ModelWay], names: Sequence[str], *, leaves: bool) -> tuple[Way, ...]:
    """Ways with cumulative probabilities and place indices; ``leaves``: whether OUTSIDE means leaving."""
    upto, found = 0.0, []
    for to, p in ways:
        upto += p
        found.append((upto, NOWHERE if leaves and to == OUTSIDE else names.index(to)))
    if upto < 1 - 1e-9:
        found.append((1.0, NOWHERE))
    return (*found[:-1], (1.0, found[-1][1]))


def _station(model: Network, name: str) -> PlannedStation:
    station = model.stations[name]
    if station.discipline not in SERVED:
        raise NoEngineError(f"{model.kendall} is not simulated: the engines serve {', '.join(SERVED)}")
    return PlannedStation(
        tuple(station.service_of(c) or NO_TIME for c in model.classes),
        servers=1 if station.own_queues else station.servers,
        queues=station.servers if station.own_queues else 1,
        routing=station.queues if station.own_queues else "shared",
        discipline=station.discipline,
        capacity=station.capacity,
        speeds=tuple(station.speeds or ()),
        urgency=tuple(station.priority.get(c, 0) * ("priority" in station.discipline) for c in model.classes),
        visits=tuple(model.counted_visits(c, name) for c in model.classes),
        kinds=tuple(kind for kind, c in enumerate(model.classes) if model.comes(c, name)),
        is_delay=station.is_delay,
        listed=name in model.listed,
        name=name,
    )
