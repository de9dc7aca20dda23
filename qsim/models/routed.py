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
from qsim.models.node import NO_TIME, ClassName, Node

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
            order = list(self.stations)
            after = {here: {then: 1.0} for here, then in zip(order, [*order[1:], *order[:1]], strict=True)}
            leaving = {here: then for here, then in after.items() if here != order[-1]}
            by_class: Mapping[str, Any] = {name: after if name in self.populations else leaving for name in entering}
        elif not isinstance(given, Mapping):
            raise InvalidParameterError("routing", f"must be a mapping, not {given!r}", value=given)
        else:
            nested = [v for each in given.values() if isinstance(each, Mapping) for v in each.values()]
            by_class = dict.fromkeys(entering, given) if not any(isinstance(v, Mapping) for v in nested) else given
        routes: dict[ClassName, dict[str, dict[str, float]]] = {name: {} for name in entering}
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

    def entries(self) -> Iterator[tuple[ClassName, str]]:
        """Every class with a station where it comes in or begins."""
        for each in (self.arrivals, self.populations):
            for name, places in each.items():
                for station in places:
                    yield name, station

    def reached(self, name: ClassName, station: str) -> BoolArray:
        """Which states those reach who begin here, as a mask."""
        P = self.transitions() > 0
        seen = np.zeros(len(P), dtype=bool)
        seen[self.state(station, name)] = True
        for _ in range(len(P)):
            seen |= P[seen].any(axis=0)
        return seen

    def home_of(self, name: ClassName) -> str | None:
        """Where the cycles of a closed class begin and end."""
        return next(iter(self.populations[name]), None) if name in self.populations else None

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
        """A drawing of the network: stations, routes with their probabilities."""
        from qsim.models.drawing import drawing

        return drawing(self)

    def _repr_html_(self) -> str:
        return self.svg()

    def _check_named_classes(self) -> None:
        """The priorities of a station are those of classes in the network."""
        for here, node in self.nodes.items():
            for name in node.priority:
                if name not in self.classes:
                    remedy = f"there are {', '.join(self.classes)}"
                    raise InvalidParameterError(f"priority of {here}", f"must name classes, not {name!r}", remedy)

    def _check_ways(self) -> None:
        """Every route in use is served everywhere, and all customers leave or all come back."""
        P, states = self.transitions(), [(s, c) for s in self.stations for c in self.classes]
        leak = P.sum(axis=1) < 1 - ROUNDING
        for name, start in self.entries():
            home, seen = self.home_of(name), self.reached(name, start)
            for i in np.flatnonzero(seen):
                station, as_class = states[i]
                if self.nodes[station].service_of(as_class) is None:
                    raise InvalidParameterError(
                        f"service of {station}", f"must hold a law for {as_class}", "its customers come there"
                    )
                if home is not None and leak[i]:
                    raise InvalidParameterError(
                        f"routing of {as_class} at {station}",
                        "must add up to 1",
                        f"{name} is closed, and nobody leaves it",
                    )
            ends = leak.copy() if home is None else np.array([s == home for s, _ in states])
            for _ in range(len(P)):
                ends |= (P[:, ends] > 0).any(axis=1)
            if stuck := [states[i][0] for i in np.flatnonzero(seen & ~ends)]:
                wanted = "let everyone leave in the end" if home is None else f"bring everyone back to {home}"
                where = ", ".join(dict.fromkeys(stuck))
                raise InvalidParameterError("routing", f"must {wanted}", f"{name} at {where} cannot")


def open_rates(model: Network) -> FloatArray:
    """The traffic equations: those of open classes per time unit through each station, shape (stations, classes).

    >>> from qsim import Exponential
    >>> twice = Network({"cpu": Node(Exponential(0.1))}, arrivals={"cpu": 2}, routing={"cpu": {"cpu": 0.5}})
    >>> open_rates(twice).tolist()
    [[4.0]]
    """
    P = model.transitions()
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
    if isinstance(station, Station) and station.capacity is not None:
        raise InvalidParameterError(
            f"capacity of {name}", f"must be None in a network, not {station.capacity}", "a single Open station has it"
        )
    if isinstance(station, Station) and station.visits == 1:
        return Node(
            station.service,
            station.servers,
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
