"""The description of a queue or network: named stations, the customers that arrive or circulate, and their routes.

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
from qsim.models.customers import (
    OUTSIDE,
    Arrivals,
    Customers,
    Way,
    customers_of,
    cycle_visits,
    leading_to,
    passing,
    rates,
    reached,
)
from qsim.models.station import ByName, ClassName, GeometricVisits, Station
from qsim.models.written import as_written

ONLY_CLASS = "customers"
SUM_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Network:
    """Stations by name, the customers, and their routes.

    - ``stations``: each a :class:`Station` or a Delay, by its name;
    - ``customers``: how many circulate, or :class:`Arrivals` from outside; with several classes
      one of these for each, by its name.  None describes the stations alone, see :meth:`with_population`;
    - ``routing``: None where the ``visits`` of the stations say how often each is passed.  Else, for each station, the
      next stations with their probabilities; what is missing to 1 leaves.  Each of several classes may have a mapping
      of its own, by name.

    Time at a Delay is think time for customers that circulate, and no part of their W.

    Raises InvalidParameterError for an invalid network: routes that lead nowhere, from which no customer leaves, or
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

    __repr__ = as_written

    def __post_init__(self) -> None:
        _check.keep(self, stations=_stations(self.stations), customers=_by_class(self.customers))
        _check.keep(self, routing=None if self.routing is None else self._checked_routing(self.routing))
        self._check_stations()
        if self.customers is not None:
            self._check_class_names()
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
    def by_class(self) -> Mapping[ClassName, Customers]:
        """The customers of each class; raises ValueError where there are none."""
        if self.customers is None:
            raise InvalidParameterError(
                "customers", "must be given to solve or simulate a network", "such as network.with_population(32)"
            )
        return self.customers  # type: ignore[return-value]  # __post_init__ made it so

    @cached_property
    def open_classes(self) -> Mapping[ClassName, Arrivals]:
        """The classes that come from outside."""
        return {c: given for c, given in self.by_class.items() if isinstance(given, Arrivals)}

    @cached_property
    def closed_classes(self) -> Mapping[ClassName, int]:
        """The population of each closed class."""
        return {c: given for c, given in self.by_class.items() if not isinstance(given, Arrivals)}

    @property
    def classes(self) -> tuple[ClassName, ...]:
        """The classes, open ones first."""
        return (*self.open_classes, *self.closed_classes)

    @property
    def population(self) -> int:
        """Customers that circulate, of all closed classes."""
        return sum(self.closed_classes.values())

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The stations that results list: those where time is part of a response, not think time."""
        return tuple(
            name
            for name, station in self.stations.items()
            if station.servers != math.inf or any(self.comes(c, name) for c in self.open_classes)
        )

    @property
    def lists_stations(self) -> bool:
        """Whether results list the stations: not a single one passed once, whose values are those of the network."""
        if self.routing is not None or len(self.listed) != 1:
            return True
        return any(self.stations[self.listed[0]].visits_of(c) != 1 for c in self.classes)

    def sources_of(self, name: ClassName) -> dict[str, Distribution]:
        """Interarrival times of an open class at each station; under OUTSIDE where ``visits`` decide the station."""
        if self.routing is None:
            (source,) = self.open_classes[name].sources.values()
            return {OUTSIDE: source}
        first = next(iter(self.stations))
        return {station or first: source for station, source in self.open_classes[name].sources.items()}

    def home_of(self, name: ClassName) -> str:
        """Where the cycles of a closed class begin and end: the first Delay that it passes, or the first station.

        Without routing and Delay it is OUTSIDE, before the stations, where no time passes.
        """
        if self.routing is None:
            passed = [s for s, station in self.stations.items() if station.is_delay and station.visits_of(name) == 1]
            return next(iter(passed), OUTSIDE)
        passed = [station for station in self.stations if station in self.routing.get(name, {})]
        delays = (station for station in passed if self.stations[station].is_delay)
        return next(delays, next(iter([*passed, *self.stations])))

    def ways(self, name: ClassName) -> Mapping[str, list[Way]]:
        """Where a class goes from each station; what is missing to 1 leaves.

        Without routing, OUTSIDE has ways too: of an arrival, or of a customer that begins a cycle without a Delay.
        """
        if self.routing is not None:
            rows = self.routing.get(name, {}).items()
            return {here: [Way(to, p) for to, p in row.items() if p > 0] for here, row in rows}
        order = [station for station in self.stations if self.comes(name, station)]
        if name not in self.closed_classes or self.home_of(name) == OUTSIDE:
            return passing(order, [self.stations[s].visits_of(name) for s in order])
        home = self.home_of(name)
        first = order.index(home)
        circle = [*order[first + 1 :], *order[:first]]
        passed = passing(circle, [self.stations[s].visits_of(name) for s in circle])
        return {
            here or home: [way if way.to != OUTSIDE else way._replace(to=home) for way in row]
            for here, row in passed.items()
        }

    @cached_property
    def routes(self) -> Mapping[ClassName, FloatArray]:
        """The transition probabilities between the stations, of each class; shape (stations, stations)."""
        at = {station: i for i, station in enumerate(self.stations)}
        found = {name: np.zeros((len(at), len(at))) for name in self.classes}
        for name, P in found.items():
            for here, row in self.ways(name).items():
                for to, p in row:
                    if here and to:
                        P[at[here], at[to]] += p
        return found

    def outside(self, name: ClassName) -> FloatArray:
        """The arrivals of an open class from outside at each station, per time unit."""
        gamma = dict.fromkeys(self.stations, 0.0)
        for station, source in self.sources_of(name).items():
            for to, share in [Way(station, 1.0)] if station else self.ways(name)[OUTSIDE]:
                if to:
                    gamma[to] += share / source.mean
        return np.array(list(gamma.values()))

    def mean_visits(self, name: ClassName) -> FloatArray:
        """Mean visits of a class to each station, per passage or cycle."""
        if self.routing is None:
            return np.array([station.visits_of(name) for station in self.stations.values()])
        if name in self.closed_classes:
            return cycle_visits(self.routes[name], list(self.stations).index(self.home_of(name)))
        outside = self.outside(name)
        return rates(self.routes[name], outside) / float(outside.sum())

    def counted_visits(self, name: ClassName, station: str) -> float:
        """How often a customer is served at a station before it goes on, where that is counted; else 1."""
        visits = self.stations[station].visits_of(name) if self.routing is None else 1.0
        return 1.0 if visits < 1 or isinstance(visits, GeometricVisits) else visits

    def arrival_rate(self, name: ClassName) -> float:
        """Arrivals of an open class from outside, per time unit."""
        return math.fsum(1 / source.mean for source in self.sources_of(name).values())

    def open_rates(self) -> FloatArray:
        """Customers of open classes through each station per time unit, shape (stations, classes)."""
        through = np.zeros((len(self.stations), len(self.classes)))
        for k, name in enumerate(self.open_classes):
            through[:, k] = self.arrival_rate(name) * self.mean_visits(name)
        return through

    def entries(self) -> Iterator[tuple[ClassName, str]]:
        """Every class of a network with routing, with each station where its customers enter or begin."""
        for name in self.open_classes:
            yield from ((name, station) for station in self.sources_of(name))
        yield from ((name, self.home_of(name)) for name in self.closed_classes)

    @property
    def kendall(self) -> str:
        """Kendall's name where there is one, such as M/M/3 or M/M/32//64; otherwise a description."""
        from qsim.models.kendall import name_of

        return name_of(self)

    def comes(self, name: ClassName, station: str) -> bool:
        """Whether a class comes to a station."""
        if self.routing is None:
            return self.stations[station].visits_of(name) > 0
        stations = list(self.stations)
        starts = [stations.index(at) for c, at in self.entries() if c == name]
        return any(reached(self.routes[name], start)[stations.index(station)] for start in starts)

    # Checks

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
        routes: dict[ClassName, ByName] = dict.fromkeys(entering, ByName({}))
        for name, rows in by_class.items():
            if self.customers is not None and name not in routes:
                raise InvalidParameterError(
                    "routing", f"must name classes, not {name!r}", f"there are {', '.join(routes)}"
                )
            for here in rows:
                self._require_station(f"routing of {name}", here)
            checked = {here: self._checked_row(f"routing of {name} at {here}", row) for here, row in rows.items()}
            routes[str(name)] = ByName(checked)
        return ByName(routes)

    def _checked_row(self, place: str, row: object) -> ByName:
        if not isinstance(row, Mapping):
            raise InvalidParameterError(place, f"must be a mapping, not {row!r}", "give {station: probability}")
        checked = {str(to): _check.non_negative(f"{place} to {to}", p) for to, p in row.items()}
        total = math.fsum(checked.values())
        if total > 1 + SUM_ROUNDING:
            remedy = "it holds the probabilities of going on, and what is missing to 1 leaves"
            raise InvalidParameterError(place, f"must not add up to more than 1, not {total:.6g}", remedy)
        for to in checked:
            self._require_station(place, to)
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

    def _check_class_names(self) -> None:
        """Check that names are of classes; a station may also serve other networks' classes beside all of this one."""
        for here, station in self.stations.items():
            for field in ("service", "visits", "priority"):
                given = getattr(station, field)
                named = given.keys() if isinstance(given, Mapping) else set(self.classes)
                unknown = [name for name in named if name not in self.classes]
                if unknown and (field == "priority" or not named >= set(self.classes)):
                    remedy = f"there are {', '.join(self.classes)}"
                    raise InvalidParameterError(f"{field} of {here}", f"must name classes, not {unknown[0]!r}", remedy)

    def _check_customers(self) -> None:
        for name, given in self.by_class.items():
            for at in given.sources if isinstance(given, Arrivals) else ():
                if at is not None:
                    self._require_station(f"customers of {name}", at)
                    if self.routing is None:
                        problem = f"must not begin at {at!r} without routing"
                        raise InvalidParameterError(f"customers of {name}", problem, "leave it out", at)
        if self.routing is None:
            for name in self.by_class:
                coming = [station for station in self.stations if self.comes(name, station)]
                if not coming or (name in self.closed_classes and all(self.stations[s].is_delay for s in coming)):
                    raise InvalidParameterError("stations", f"must hold one where {name} queue", "they come to none")
        else:
            self._check_ways()
        self._check_places()
        for here, station in self.stations.items():
            numbers = [number for c, number in self.closed_classes.items() if self.comes(c, here)]
            if station.most is not None and sum(numbers) > station.most:
                raise InvalidParameterError(
                    "population",
                    f"must be at most {station.most}, up to which {here} is known, not {sum(numbers)}",
                    "measure it deeper, or make the station with extrapolate=True",
                )

    def _check_places(self) -> None:
        """Check that customers that circulate and find no place have one Delay to go back to."""
        for here, station in self.stations.items():
            for name in self.closed_classes if station.capacity is not None else ():
                thinking = [s for s, each in self.stations.items() if each.is_delay and self.comes(name, s)]
                home = self.home_of(name)
                if self.comes(name, here) and (thinking != [home] or self.stations[home].mean_of(name) == 0):
                    problem = f"must be None where {name} circulate without one Delay, not {station.capacity}"
                    remedy = "those that find no place go back to think: put one Delay beside the station"
                    raise InvalidParameterError(f"capacity of {here}", problem, remedy, station.capacity)

    def _check_ways(self) -> None:
        """Check that each class is served at all stations it reaches, and that all its customers leave, or return."""
        stations = list(self.stations)
        for name, start in self.entries():
            P, closed = self.routes[name], name in self.closed_classes
            leak, seen = P.sum(axis=1) < 1 - SUM_ROUNDING, reached(P, stations.index(start))
            for i in np.flatnonzero(seen):
                if self.stations[stations[i]].service_of(name) is None:
                    problem = f"must hold a law for {name}"
                    raise InvalidParameterError(f"service of {stations[i]}", problem, "its customers come there")
                if closed and leak[i]:
                    remedy = f"{name} is closed, and nobody leaves it"
                    raise InvalidParameterError(f"routing of {name} at {stations[i]}", "must add up to 1", remedy)
            homes = np.array([station == start for station in stations])
            ends = leading_to(P, homes if closed else leak)
            if stuck := [stations[i] for i in np.flatnonzero(seen & ~ends)]:
                wanted = f"bring everyone back to {start}" if closed else "let everyone leave in the end"
                raise InvalidParameterError("routing", f"must {wanted}", f"{name} at {', '.join(stuck)} cannot")


def _stations(given: object) -> ByName:
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameterError("stations", f"must hold stations by their names, not {given!r}")
    for name, station in given.items():
        if not name:
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
