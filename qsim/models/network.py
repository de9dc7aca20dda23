"""The one description of a queue: named stations, the customers that come or circulate, and who goes where.

Everything else that has a name (:mod:`qsim.models.short`) is a short way to write a :class:`Network`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.errors import InvalidParameterError
from qsim.models.customers import Arrivals, Customers, Population, customers_of
from qsim.models.routes import OUTSIDE, Routes, Way, passing
from qsim.models.station import ByName, ClassName, Station
from qsim.result import shown_by

AS = " as "
"""Between a station and the class in which it is entered."""
ONLY_CLASS = "customers"
SUM_ROUNDING = 1e-9


@dataclass(frozen=True)
class Network:
    """Stations by name, the customers, and who goes where.

    - ``stations``: each a :class:`Station` or a Delay, by its name;
    - ``customers``: how many circulate, a :class:`Population`, or :class:`Arrivals` from outside; with several classes
      one of these for each, by its name.  None describes the stations alone, see :meth:`with_population`;
    - ``routing``: None where the ``visits`` of the stations say how often each is passed.  Else for each station where
      customers go next, with which probability; what is missing to 1 leaves.  ``"die as write"`` enters the die in
      another class.  Several classes may have a mapping of their own each, by name.

    Time at a Delay is think time for customers that circulate, and no part of their W.

    Raises InvalidParameterError for what describes no network: routes that lead nowhere, from which nobody leaves, or
    on which a closed class is lost.

    >>> from qsim import Delay, Exponential, Station, solve
    >>> drive = Network(
    ...     {"host": Delay(20e-6), "bus": Station(Exponential(1e-6)), "die": Station(Exponential(80e-6), servers=8)},
    ...     customers=16,
    ...     routing={"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ... )
    >>> round(solve(drive)["die"].W * 1e6)
    141
    """

    stations: Mapping[str, Station]
    customers: Customers | Mapping[ClassName, Customers] | None = None
    routing: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stations", _stations(self.stations))
        object.__setattr__(self, "customers", _by_class(self.customers))
        object.__setattr__(self, "routing", None if self.routing is None else self._checked_routing(self.routing))
        self._check_stations()
        if self.customers is not None:
            self._check_customers()

    def with_population(self, population: Customers | Mapping[ClassName, Customers]) -> Network:
        """The same stations with other customers: a population, or one description for each class.

        >>> from qsim import Exponential, Station, solve
        >>> disk = Network({"disk": Station(Exponential(0.25), servers=2)})
        >>> [solve(disk.with_population(n)).throughput for n in (1, 2, 3)]
        [4.0, 8.0, 8.0]
        """
        return replace(self, customers=population)

    # What is described

    @property
    def by_class(self) -> Mapping[ClassName, Arrivals | Population]:
        """The customers of each class; raises ValueError where there are none."""
        if self.customers is None:
            raise InvalidParameterError(
                "customers", "must be given to solve or simulate a network", "such as network.with_population(32)"
            )
        return self.customers  # type: ignore[return-value]  # __post_init__ made it so

    @property
    def names(self) -> tuple[ClassName, ...]:
        """The classes in which customers come from outside or begin: those that results list, open ones first."""
        return (*self.open_classes, *self.closed_classes)

    @cached_property
    def open_classes(self) -> Mapping[ClassName, Arrivals]:
        """The classes that come from outside."""
        return {c: given for c, given in self.by_class.items() if isinstance(given, Arrivals)}

    @cached_property
    def closed_classes(self) -> Mapping[ClassName, Population]:
        """The classes that circulate."""
        return {c: given for c, given in self.by_class.items() if isinstance(given, Population)}

    @cached_property
    def classes(self) -> tuple[ClassName, ...]:
        """Every class, those first in which customers come."""
        routed = () if self.routing is None else self.routing
        return (*self.names, *(name for name in routed if name not in self.by_class))

    @property
    def population(self) -> int:
        """How many circulate."""
        return sum(each.number for each in self.closed_classes.values())

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The stations that results list: those where time is part of a response, not think time."""
        return tuple(
            name
            for name, station in self.stations.items()
            if not station.is_delay or any(self._comes(c, name) for c in self.open_classes)
        )

    @property
    def lists_stations(self) -> bool:
        """Whether results list the stations: of one that everyone passes once, the whole says it all."""
        if self.routing is not None or len(self.listed) != 1:
            return True
        return any(self.stations[self.listed[0]].visits_of(c) != 1 for c in self.classes)

    def sources_of(self, name: ClassName) -> dict[str, Distribution]:
        """What comes from outside at each station, of an open class; at OUTSIDE where visits say how it goes on."""
        if self.routing is None:
            (source,) = self.open_classes[name].sources.values()
            return {OUTSIDE: source}
        first = next(iter(self.stations))
        return {station or first: source for station, source in self.open_classes[name].sources.items()}

    def home_of(self, name: ClassName) -> str:
        """Where the cycles of a closed class begin and end; OUTSIDE for a place of no time before the stations."""
        given = self.closed_classes[name].at
        if given is not None:
            return given
        for station, described in self.stations.items():
            if described.is_delay and (self.routing is not None or described.visits_of(name) == 1):
                return station
        return OUTSIDE if self.routing is None else next(iter(self.stations))

    def ways(self, name: ClassName) -> Mapping[str, list[Way]]:
        """Where a class goes from each station; what is missing to 1 leaves.

        By visits, OUTSIDE has ways too: those of an arrival, or of one that begins a cycle without a Delay.
        """
        if self.routing is not None:
            return {here: _routed(name, row) for here, row in self.routing.get(name, {}).items()}
        order = [station for station in self.stations if self._comes(name, station)]
        if name not in self.closed_classes or self.home_of(name) == OUTSIDE:
            return passing(order, [self.stations[s].visits_of(name) for s in order], name)
        home = self.home_of(name)
        first = order.index(home)
        circle = [*order[first + 1 :], *order[:first]]
        rows = passing(circle, [self.stations[s].visits_of(name) for s in circle], name)
        return {
            here or home: [way if way.to != OUTSIDE else way._replace(to=home) for way in row]
            for here, row in rows.items()
        }

    @cached_property
    def routes(self) -> Routes:
        """The transition probabilities between the stations."""
        stations, size = tuple(self.stations), len(self.stations) * len(self.classes)
        found = Routes(stations, self.classes, np.zeros((size, size)))
        for name in self.classes:
            for here, row in self.ways(name).items():
                for to, becoming, p in row:
                    if here and to:
                        found.P[found.state(here, name), found.state(to, becoming)] += p
        return found

    def outside(self, name: ClassName) -> FloatArray:
        """The arrivals of an open class from outside, per time unit, by state of :attr:`routes`."""
        gamma = np.zeros(len(self.routes.P))
        for station, source in self.sources_of(name).items():
            for to, share in self.first_stations(name, station):
                gamma[self.routes.state(to, name)] += share / source.mean
        return gamma

    def first_stations(self, name: ClassName, station: str) -> list[tuple[str, float]]:
        """Where customers that come in at a station (or OUTSIDE) go first, with the share of each."""
        if station:
            return [(station, 1.0)]
        return [(way.to, way.p) for way in self.ways(name)[OUTSIDE] if way.to]

    def visit_table(self, name: ClassName) -> FloatArray:
        """Mean visits by those that come in one class, per passage or cycle, shape (stations, classes)."""
        if self.routing is None:
            return np.array(
                [[s.visits_of(c) if c == name else 0.0 for c in self.classes] for s in self.stations.values()]
            )
        if name in self.closed_classes:
            return self.routes.cycle_visits(self.routes.state(self.home_of(name), name))
        outside = self.outside(name)
        return self.routes.rates(outside) / float(outside.sum())

    def arrival_rate(self, name: ClassName) -> float:
        """Arrivals of an open class from outside, per time unit."""
        return math.fsum(1 / source.mean for source in self.sources_of(name).values())

    def open_rates(self) -> FloatArray:
        """Customers of open classes through each station per time unit, shape (stations, classes)."""
        rates = np.zeros((len(self.stations), len(self.classes)))
        for name in self.open_classes:
            rates += self.arrival_rate(name) * self.visit_table(name)
        return rates

    def entries(self) -> Iterator[tuple[ClassName, str]]:
        """Every class of a network with routing, with each station where it comes in or begins."""
        for name in self.open_classes:
            yield from ((name, station) for station in self.sources_of(name))
        yield from ((name, self.home_of(name)) for name in self.closed_classes)

    kendall = property(
        shown_by("qsim.models.kendall:name_of"),
        doc="Kendall's name where there is one, such as M/M/3 or M/M/32//64; otherwise a description.",
    )
    svg = shown_by(
        "qsim.models.drawing:drawing", "A drawing of the network: stations, routes with their probabilities."
    )

    def _repr_html_(self) -> str | None:
        return None if self.customers is None else str(self.svg())

    def _comes(self, name: ClassName, station: str) -> bool:
        """Whether a class comes to a station."""
        if self.routing is None:
            return self.stations[station].visits_of(name) > 0
        starts = [self.routes.state(at, name) for c, at in self.entries() if c == name]
        row = list(self.stations).index(station)
        return any(self.routes.reached(s).reshape(self.routes.shape)[row].any() for s in starts)

    # What is refused

    def _require_station(self, parameter: str, name: str | None) -> None:
        if name not in self.stations:
            known = ", ".join(self.stations)
            raise InvalidParameterError(parameter, f"must name stations, not {name!r}", f"there are {known}", name)

    def _checked_routing(self, given: object) -> ByName:
        """``{class: {station: {where next: probability}}}``."""
        if not isinstance(given, Mapping):
            raise InvalidParameterError("routing", f"must be a mapping, not {given!r}", value=given)
        nested = [v for each in given.values() if isinstance(each, Mapping) for v in each.values()]
        entering = list(self.customers or [ONLY_CLASS])  # type: ignore[arg-type]
        by_class = given if any(isinstance(v, Mapping) for v in nested) else dict.fromkeys(entering, given)
        routes: dict[ClassName, dict[str, ByName]] = {name: {} for name in entering}
        for name, rows in by_class.items():
            for here, row in rows.items():
                self._require_station(f"routing of {name}", here)
                routes.setdefault(str(name), {})[here] = self._checked_row(f"routing of {name} at {here}", row)
                for to in row:
                    if switched := to.partition(AS)[2]:
                        routes.setdefault(switched, {})
        return ByName({name: ByName(rows) for name, rows in routes.items()})

    def _checked_row(self, place: str, row: object) -> ByName:
        if not isinstance(row, Mapping):
            raise InvalidParameterError(place, f"must be a mapping, not {row!r}", "give {station: probability}")
        checked = {str(to): _check.non_negative(f"{place} to {to}", p) for to, p in row.items()}
        total = math.fsum(checked.values())
        if total > 1 + SUM_ROUNDING:
            remedy = "it holds the probabilities of going on, and what is missing to 1 leaves"
            raise InvalidParameterError(place, f"must not add up to more than 1, not {total:.6g}", remedy)
        for to in checked:
            self._require_station(place, to.partition(AS)[0])
        return ByName(checked)

    def _check_stations(self) -> None:
        queueing = [station for station in self.stations.values() if not station.is_delay]
        for name, station in self.stations.items():
            if station.capacity is not None and len(queueing) > 1:
                problem = f"must be None in a network of several stations, not {station.capacity}"
                raise InvalidParameterError(f"capacity of {name}", problem, "a single station may have it")
            if self.routing is not None and station.visits != 1:
                problem = f"must be left at 1, not {station.visits}"
                raise InvalidParameterError(f"visits of {name}", problem, "routing says it")

    def _check_customers(self) -> None:
        for name, given in self.by_class.items():
            for at in [given.at] if isinstance(given, Population) else given.sources:
                if at is not None:
                    self._require_station(f"customers of {name}", at)
                    if self.routing is None:
                        problem = f"must not begin at {at!r} without routing"
                        raise InvalidParameterError(f"customers of {name}", problem, "leave it out", at)
        if self.routing is None:
            for name in self.by_class:
                coming = [station for station in self.stations if self._comes(name, station)]
                if not coming or (name in self.closed_classes and all(self.stations[s].is_delay for s in coming)):
                    raise InvalidParameterError("stations", f"must hold one where {name} queue", "they come to none")
        else:
            self._check_ways()
        for here, station in self.stations.items():
            numbers = [each.number for c, each in self.closed_classes.items() if self._comes(c, here)]
            station.require_known(sum(numbers), here)
            for name in station.priority:
                if name not in self.classes:
                    remedy = f"there are {', '.join(self.classes)}"
                    raise InvalidParameterError(f"priority of {here}", f"must name classes, not {name!r}", remedy)

    def _check_ways(self) -> None:
        """Every route in use is served everywhere, and all customers leave or all come back."""
        routes = self.routes
        leak = routes.P.sum(axis=1) < 1 - SUM_ROUNDING
        for name, start in self.entries():
            closed, seen = name in self.closed_classes, routes.reached(routes.state(start, name))
            for i in np.flatnonzero(seen):
                station, as_class = routes.place(int(i))
                if self.stations[station].service_of(as_class) is None:
                    problem = f"must hold a law for {as_class}"
                    raise InvalidParameterError(f"service of {station}", problem, "its customers come there")
                if closed and leak[i]:
                    remedy = f"{name} is closed, and nobody leaves it"
                    raise InvalidParameterError(f"routing of {as_class} at {station}", "must add up to 1", remedy)
            homes = np.array([routes.place(i)[0] == start for i in range(len(leak))])
            ends = routes.leading_to(homes if closed else leak)
            if stuck := [routes.place(int(i))[0] for i in np.flatnonzero(seen & ~ends)]:
                wanted = f"bring everyone back to {start}" if closed else "let everyone leave in the end"
                where = ", ".join(dict.fromkeys(stuck))
                raise InvalidParameterError("routing", f"must {wanted}", f"{name} at {where} cannot")


def _routed(name: ClassName, row: Mapping[str, float]) -> list[Way]:
    parts = [(*to.partition(AS)[::2], p) for to, p in row.items() if p > 0]
    return [Way(to, switched or name, p) for to, switched, p in parts]


def _stations(given: object) -> ByName:
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameterError("stations", f"must hold stations by their names, not {given!r}")
    for name, station in given.items():
        if AS in str(name) or not name:
            raise InvalidParameterError("stations", f"must not have {name!r} for a name", value=name)
        if not isinstance(station, Station):
            raise InvalidParameterError(f"stations[{name!r}]", f"must be a Station or a Delay, not {station!r}")
    return ByName({str(name): station for name, station in given.items()})


def _by_class(given: object) -> ByName | None:
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return ByName({ONLY_CLASS: customers_of(given)})
    if not given:
        raise InvalidParameterError("customers", "must not be empty", "None describes the stations alone")
    return ByName({str(name): customers_of(value, f"customers of {name}") for name, value in given.items()})
