"""One description for every network that runs: stations by name, and who goes where from each.

A :class:`Network` is open, closed or mixed; its classes have their own services and routes, and may change on the
way ("die as write").  Its stations are :class:`~qsim.models.node.Node`, its finite regions
:class:`~qsim.models.node.Region`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qsim import _check
from qsim._types import BoolArray, FloatArray
from qsim.arrivals import Arrivals, require_arrivals
from qsim.distributions import Exponential
from qsim.errors import InvalidParameterError
from qsim.models.closed import Delay, Station
from qsim.models.node import NO_TIME, ClassName, Node, Region

AS = " as "
"""Between a station and the class in which it is entered."""
ONLY_CLASS = "customers"
ROUNDING = 1e-9


@dataclass(frozen=True)
class Network:
    """Stations by name, and which customers arrive, circulate and go where.

    - ``stations``: each a :class:`Node`, or a Station or Delay as in other models;
    - ``arrivals``: from outside: for each station a law or process, or a number for a Poisson rate;
    - ``populations``: customers that never leave: how many begin at a station.  A cycle ends when one comes back
      there; where that station is a Delay, the time spent in it is think time and no part of W;
    - ``routing``: for each station where customers go next, with which probability; what is missing to 1 leaves.
      ``"die as write"`` enters the die in another class.  Without ``routing`` the stations are passed in their order;
    - ``regions``: finite regions, see :class:`Region`.

    With several classes, ``arrivals`` and ``populations`` hold one such mapping for each class by its name, and
    ``routing`` may.  Raises InvalidParameterError for routes that lead nowhere, from which nobody leaves, or on which
    a closed class is lost.

    >>> from qsim import Delay, Exponential, simulate, solve
    >>> drive = Network(
    ...     {"host": Delay(20e-6), "bus": Node(Exponential(1e-6)), "die": Node(Exponential(80e-6), servers=8)},
    ...     populations={"host": 16},
    ...     routing={"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ... )
    >>> round(solve(drive)["die"].W * 1e6)
    141
    """

    stations: Mapping[str, Node | Station | Delay]
    arrivals: Mapping[str, Any] = field(default_factory=dict)
    populations: Mapping[str, Any] = field(default_factory=dict)
    routing: Mapping[str, Any] | None = None
    regions: Sequence[Region] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.stations, Mapping) or not self.stations:
            raise InvalidParameterError("stations", f"must hold stations by their names, not {self.stations!r}")
        stations = {str(name): _node(str(name), station) for name, station in self.stations.items()}
        object.__setattr__(self, "stations", stations)
        arrivals = {c: {s: _source(c, s, v) for s, v in each.items()} for c, each in self._by_class("arrivals").items()}
        populations = {
            c: {s: _check.count(f"populations of {c} at {s}", n) for s, n in each.items()}
            for c, each in self._by_class("populations").items()
        }
        if not any(arrivals.values()) and not any(populations.values()):
            raise InvalidParameterError("arrivals", "must not be empty", "without populations nobody would come")
        for name in arrivals.keys() & populations.keys():
            raise InvalidParameterError(
                "populations", f"must not hold {name!r}, which has arrivals", "name two classes"
            )
        for name, homes in populations.items():
            if len(homes) != 1:
                raise InvalidParameterError(
                    f"populations of {name}", f"must begin at one station, not {len(homes)}", value=len(homes)
                )
        object.__setattr__(self, "arrivals", arrivals)
        object.__setattr__(self, "populations", populations)
        object.__setattr__(self, "routing", self._routes([*arrivals, *populations]))
        self._check_named_classes()
        object.__setattr__(self, "regions", _check.sequence("regions", self.regions))
        self._check_regions()
        self._check_ways()

    def _by_class(self, parameter: str) -> dict[ClassName, dict[str, Any]]:
        """``{class: {station: value}}``, from that or from ``{station: value}`` for the only class."""
        given = getattr(self, parameter)
        if not isinstance(given, Mapping):
            raise InvalidParameterError(parameter, f"must be a mapping, not {given!r}", "give {station: value}", given)
        if given and not any(isinstance(value, Mapping) for value in given.values()):
            given = {ONLY_CLASS: given}
        for name, each in given.items():
            if not isinstance(each, Mapping):
                raise InvalidParameterError(f"{parameter} of {name}", f"must be a mapping, not {each!r}", value=each)
            for station in each:
                self._require_station(f"{parameter} of {name}", station)
        return {str(name): dict(each) for name, each in given.items() if each}

    def _require_station(self, parameter: str, name: str) -> None:
        if name not in self.stations:
            known = ", ".join(self.stations)
            raise InvalidParameterError(parameter, f"must name stations, not {name!r}", f"there are {known}", name)

    def _routes(self, entering: Sequence[ClassName]) -> dict[ClassName, dict[str, dict[str, float]]]:
        """``{class: {station: {where next: probability}}}`` of every class there is."""
        given = self.routing
        if given is None:
            aside = {node.copies_to.partition(AS)[0] for node in self.nodes.values()}
            aside |= {node.overflow_to for node in self.nodes.values()}
            order = [name for name in self.stations if name not in aside]
            after = {here: {then: 1.0} for here, then in zip(order, [*order[1:], *order[:1]], strict=True)}
            leaving = {here: then for here, then in after.items() if here != order[-1]}
            by_class: Mapping[str, Any] = {name: after if name in self.populations else leaving for name in entering}
        elif not isinstance(given, Mapping):
            raise InvalidParameterError("routing", f"must be a mapping, not {given!r}", value=given)
        else:
            nested = [v for each in given.values() if isinstance(each, Mapping) for v in each.values()]
            by_class = dict.fromkeys(entering, given) if not any(isinstance(v, Mapping) for v in nested) else given
        routes: dict[ClassName, dict[str, dict[str, float]]] = {name: {} for name in entering}
        for here, node in self.nodes.items():
            to, _, switched = node.copies_to.partition(AS)
            if to:
                self._require_station(f"copies_to of {here}", to)
            self._check_overflow(here)
            if switched:
                routes.setdefault(switched, {})
        for name, rows in by_class.items():
            for here, row in rows.items():
                place = f"routing of {name} at {here}"
                self._require_station(f"routing of {name}", here)
                if not isinstance(row, Mapping):
                    raise InvalidParameterError(place, f"must be a mapping, not {row!r}", "give {station: probability}")
                checked = {str(to): _check.non_negative(f"{place} to {to}", p) for to, p in row.items()}
                if math.fsum(checked.values()) > 1 + ROUNDING:
                    raise InvalidParameterError(
                        place,
                        f"must not add up to more than 1, not {math.fsum(checked.values()):.6g}",
                        "it holds the probabilities of going on, and what is missing to 1 leaves",
                    )
                for to in checked:
                    station, _, switched = to.partition(AS)
                    self._require_station(place, station)
                    if switched:
                        routes.setdefault(switched, {})
                routes.setdefault(str(name), {})[here] = checked
        return routes

    def _check_overflow(self, station: str) -> None:
        """Those who overflow from here come to a station that does not send them back at the same instant."""
        passed = [station]
        while to := self.nodes[passed[-1]].overflow_to:
            self._require_station(f"overflow_to of {passed[-1]}", to)
            if to in passed:
                circle = " to ".join([*passed[passed.index(to) :], to])
                raise InvalidParameterError(
                    f"overflow_to of {station}",
                    "must not come round in a circle",
                    f"{circle} never ends when all are full",
                )
            passed.append(to)

    def copies(self, station: str, name: ClassName) -> tuple[str, ClassName] | None:
        """Where a class sends a copy on leaving a station, and the class of the copy; None where it sends none."""
        to, _, switched = self.nodes[station].copies_to.partition(AS)
        return (to, switched or name) if to else None

    @property
    def names(self) -> tuple[str, ...]:
        """The classes in which customers come from outside or begin: those that results list."""
        return (*self.arrivals, *self.populations)

    @property
    def classes(self) -> tuple[ClassName, ...]:
        """Every class, those first in which customers come."""
        assert self.routing is not None  # noqa: S101  (__post_init__ filled it)
        return tuple(self.routing)

    @property
    def customers(self) -> int:
        """How many circle."""
        return sum(n for each in self.populations.values() for n in each.values())

    def state(self, station: str, name: ClassName) -> int:
        """The row of a station and a class in :meth:`transitions`."""
        return list(self.stations).index(station) * len(self.classes) + self.classes.index(name)

    def ways(self, station: str, name: ClassName) -> Iterator[tuple[str, ClassName, float]]:
        """Where a class goes from a station: the next one, the class there, the probability."""
        assert self.routing is not None  # noqa: S101
        for to, p in self.routing[name].get(station, {}).items():
            following, _, switched = to.partition(AS)
            if p > 0:
                yield following, switched or name, p

    def transitions(self) -> FloatArray:
        """P: the probability to go from each station and class to each other, shape (states, states)."""
        size = len(self.stations) * len(self.classes)
        P = np.zeros((size, size))
        for station in self.stations:
            for name in self.classes:
                for following, switched, p in self.ways(station, name):
                    P[self.state(station, name), self.state(following, switched)] += p
        return P

    def copying(self) -> FloatArray:
        """The copies sent from each station and class to each other on leaving, shape (states, states)."""
        C = np.zeros_like(self.transitions())
        for station in self.stations:
            for name in self.classes:
                if copy := self.copies(station, name):
                    C[self.state(station, name), self.state(*copy)] = 1
        return C

    def overflowing(self) -> FloatArray:
        """1 from each station and class to where those go who find no place there, shape (states, states)."""
        O = np.zeros_like(self.transitions())  # noqa: E741
        for station, node in self.nodes.items():
            for name in self.classes if node.overflow_to else ():
                O[self.state(station, name), self.state(node.overflow_to, name)] = 1
        return O

    def is_orbit(self, station: str) -> bool:
        """Whether those who found no place somewhere wait here, to try there again."""
        tried = {name for name, node in self.nodes.items() if node.overflow_to == station}
        back = {to for name in self.classes for to, _, _ in self.ways(station, name)}
        return bool(tried & back) and self.nodes[station].servers == math.inf

    def entries(self) -> Iterator[tuple[ClassName, str]]:
        """Every class with a station where it comes in or begins."""
        for each in (self.arrivals, self.populations):
            for name, places in each.items():
                for station in places:
                    yield name, station

    def reached(self, name: ClassName, station: str) -> BoolArray:
        """Which states those reach who begin here, as a mask."""
        P = (self.transitions() + self.overflowing()) > 0
        seen = np.zeros(len(P), dtype=bool)
        seen[self.state(station, name)] = True
        for _ in range(len(P)):
            seen |= P[seen].any(axis=0)
        return seen

    def home_of(self, name: ClassName) -> str | None:
        """Where the cycles of a closed class begin and end."""
        return next(iter(self.populations[name]), None) if name in self.populations else None

    def can_lose(self) -> bool:
        """Whether some customers may be turned away, held up or kept outside."""
        return bool(self.regions) or any(n.capacity is not None for n in self.nodes.values())

    @property
    def nodes(self) -> dict[str, Node]:
        """The stations, all as nodes."""
        return self.stations  # type: ignore[return-value]  # __post_init__ made them so

    @property
    def kendall(self) -> str:
        """A description, such as 'closed network of 3 stations//16'."""
        kind = "mixed" if self.arrivals and self.populations else "open" if self.arrivals else "closed"
        count = len(self.stations)
        several = f"{len(self.classes)} classes and " if len(self.classes) > 1 else ""
        people = (
            "//" + "+".join(str(n) for p in self.populations.values() for n in p.values()) if self.populations else ""
        )
        return f"{kind} network of {several}{count} station{'s' if count > 1 else ''}{people}"

    def svg(self) -> str:
        """A drawing of the network: stations, routes with their probabilities, regions."""
        from qsim.models.drawing import drawing

        return drawing(self)

    def _repr_html_(self) -> str:
        return self.svg()

    def _check_regions(self) -> None:
        inside: dict[str, str] = {}
        for region in self.regions:
            if not isinstance(region, Region):
                raise InvalidParameterError("regions", f"must hold Regions, not {region!r}", value=region)
            for station in region.stations:
                self._require_station(f"{region.gate}", station)
                if station in inside:
                    raise InvalidParameterError("regions", f"must not share stations, but two hold {station!r}")
                inside[station] = region.gate

    def _check_named_classes(self) -> None:
        """What a station says of a class is said of one that there is."""
        remedy = f"there are {', '.join(self.classes)}"
        for here, node in self.nodes.items():
            for what in ("setup", "turnaround", "priority"):
                given = getattr(node, what)
                for name in given if isinstance(given, Mapping) else ():
                    if name not in self.classes:
                        raise InvalidParameterError(f"{what} of {here}", f"must name classes, not {name!r}", remedy)

    def _check_ways(self) -> None:
        """Routes that somebody takes: served everywhere, and all leave or all come back."""
        P, classes = self.transitions(), self.classes
        copied = np.zeros(len(P), dtype=bool)
        states = [(s, c) for s in self.stations for c in classes]
        leak = P.sum(axis=1) < 1 - ROUNDING
        begin = [(name, start, self.home_of(name)) for name, start in self.entries()]
        for name, start, home in begin:  # grows by the copies that are sent on the way
            seen = self.reached(name, start)
            for i in np.flatnonzero(seen):
                station, as_class = states[i]
                if self.nodes[station].service_of(as_class) is None:
                    raise InvalidParameterError(
                        f"service of {station}", f"must hold a law for {as_class}", "its customers come there"
                    )
                copy = self.copies(station, as_class)
                if copy is not None:
                    copied |= self.reached(copy[1], copy[0])
                    if (copy[1], copy[0], None) not in begin:
                        begin.append((copy[1], copy[0], None))
            if home is None:
                ends = leak.copy()
                told = "must let everyone leave in the end"
            else:
                ends = np.array([s == home for s, _ in states])
                told = f"must bring everyone back to {home}"
                self._check_closed(name, home, seen, leak, states)
            for _ in range(len(P)):
                ends |= (P[:, ends] > 0).any(axis=1)
            stuck = [states[i][0] for i in np.flatnonzero(seen & ~ends)]
            if stuck:
                where = ", ".join(dict.fromkeys(stuck))
                raise InvalidParameterError("routing", told, f"{name} at {where} cannot")
        among_copies = (P + self.copying())[np.ix_(copied, copied)]
        if copied.any() and np.abs(np.linalg.eigvals(among_copies)).max() > 1 - ROUNDING:
            raise InvalidParameterError("copies_to", "must not send ever more copies", "copies are copied in a circle")

    def _check_closed(
        self, name: ClassName, home: str, seen: BoolArray, leak: BoolArray, states: list[tuple[str, ClassName]]
    ) -> None:
        left = next((states[i] for i in np.flatnonzero(seen & leak)), None)
        if left is not None:
            raise InvalidParameterError(
                f"routing of {left[1]} at {left[0]}", "must add up to 1", f"{name} is closed, and nobody leaves it"
            )
        for i in np.flatnonzero(seen):
            node = self.nodes[states[i][0]]
            loses = node.when_full == "lost" and not node.overflow_to
            if node.capacity is not None and loses and node.capacity < self.customers:
                raise InvalidParameterError(
                    f"when_full of {states[i][0]}",
                    "must not be 'lost' where a closed class comes",
                    f"{name} would die out; take 'after service', 'before service' or 'repetitive'",
                )
        places = self.nodes[home].capacity
        beginning = sum(n for p in self.populations.values() for s, n in p.items() if s == home)
        if places is not None and beginning > places:
            raise InvalidParameterError(
                f"populations of {name}", f"must not begin with {beginning} at {home}, which has {places} places"
            )


def open_rates(model: Network) -> FloatArray:
    """The traffic equations: those of open classes per time unit through each station, shape (stations, classes).

    >>> from qsim import Exponential
    >>> twice = Network({"cpu": Node(Exponential(0.1))}, arrivals={"cpu": 2}, routing={"cpu": {"cpu": 0.5}})
    >>> open_rates(twice).tolist()
    [[4.0]]
    """
    P = model.transitions() + model.copying()
    gamma = np.zeros(len(P))
    used = np.zeros(len(P), dtype=bool)
    for name, places in model.arrivals.items():
        for station, arrivals in places.items():
            gamma[model.state(station, name)] += 1 / arrivals.mean
            used[model.state(station, name)] = True
    for _ in range(len(P)):
        used |= (P[used] > 0).any(axis=0)
    rates = np.zeros(len(P))
    rates[used] = np.linalg.solve(np.eye(int(used.sum())) - P[np.ix_(used, used)].T, gamma[used])
    return rates.reshape(len(model.stations), len(model.classes))


def _node(name: str, station: object) -> Node:
    """A station of any kind as a Node."""
    if AS in name:
        raise InvalidParameterError("stations", f"must not have {AS.strip()!r} in a name, as {name!r}", value=name)
    if isinstance(station, Node):
        return station
    if isinstance(station, Delay):
        return Node(station.distribution if station.mean > 0 else NO_TIME, math.inf)
    if isinstance(station, Station) and station.visits == 1:
        return Node(
            station.service,
            station.servers,
            station.capacity,
            discipline=station.discipline,
            queues=station.queues,
            speeds=station.speeds,
        )
    if isinstance(station, Station):
        raise InvalidParameterError(
            f"visits of {name}", f"must be left at 1, not {station.visits:g}", "routing says it"
        )
    raise InvalidParameterError(f"stations[{name!r}]", f"must be a Node, a Station or a Delay, not {station!r}")


def _source(name: ClassName, station: str, given: object) -> Arrivals:
    """A law or process of arrivals; a number is a Poisson rate."""
    parameter = f"arrivals of {name} at {station}"
    if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        return Exponential(1 / _check.positive(parameter, given, "give the mean number of arrivals per time unit"))
    require_arrivals(parameter, given)
    return given  # type: ignore[return-value]
