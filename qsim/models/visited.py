"""Networks of several classes of customers, and networks fed from outside.

:class:`ClosedClasses` is a Closed model whose customers differ, as reads and writes do.  :class:`OpenNetwork` is
fed from outside and routes its customers by a matrix or by visit counts (Jackson 1957, 1963);
:class:`OpenNetworkClasses` does so for several classes, and :class:`MixedNetwork` has classes of both kinds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.station import Discipline, Queues, Station


@dataclass(frozen=True)
class ClassStation:
    """A station where each class has its own ``services[r]`` and its own mean number of ``visits[r]`` per cycle.

    ``services[r]`` may be None for a class that never comes (visits 0).  Without ``visits`` every class that has
    a service comes once.  ``servers``, ``queues`` ("shared" or "random") and ``discipline`` ("FCFS", "PS" or
    "LCFS-PR") as for a :class:`~qsim.models.closed.Station`.

    >>> from qsim import ClosedClasses, Exponential, solve
    >>> disk = ClassStation([Exponential(mean=0.1), Exponential(mean=0.1)], name="disk")
    >>> network = ClosedClasses([2, 1], [disk], think_times=[1, 2])
    >>> round(solve(network).throughput, 3)
    2.266
    """

    services: Sequence[Distribution | None]
    visits: Sequence[float] = ()
    servers: int = 1
    queues: Queues = "shared"
    discipline: Discipline = "FCFS"
    name: str = ""

    def __post_init__(self) -> None:
        services = _check.sequence("services", self.services)
        if not services:
            raise InvalidParameterError(
                "services", "must not be empty", "give one distribution for each class of customers"
            )
        visits = _check.non_negatives("visits", self.visits) or tuple(0.0 if s is None else 1.0 for s in services)
        if len(visits) != len(services):
            raise InvalidParameterError(
                "visits",
                f"must have as many entries as services ({len(services)}), not {len(visits)}",
                value=len(visits),
            )
        for r, (service, count) in enumerate(zip(services, visits, strict=True)):
            if service is not None:
                require(f"services[{r}]", service)
            elif count > 0:
                raise InvalidParameterError(
                    f"services[{r}]", "must be a Distribution, not None", f"class {r} comes {count:g} times"
                )
        if not any(visits):
            raise InvalidParameterError("visits", "must not all be zero", "leave the station out")
        object.__setattr__(self, "services", services)
        object.__setattr__(self, "visits", visits)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        _check.one_of("queues", self.queues, get_args(Queues))
        _check.one_of("discipline", self.discipline, get_args(Discipline))

    @property
    def means(self) -> tuple[float, ...]:
        """Mean service time per visit of each class, 0 for one that never comes."""
        return tuple(
            s.mean if s is not None and v > 0 else 0.0 for s, v in zip(self.services, self.visits, strict=True)
        )

    @property
    def demands(self) -> tuple[float, ...]:
        """Mean service time per cycle of each class, all its visits together."""
        return tuple(v * s for v, s in zip(self.visits, self.means, strict=True))


def _class_stations(stations: object, classes: int, counted: str) -> tuple[ClassStation, ...]:
    checked = _check.sequence("stations", stations)
    if not checked:
        raise InvalidParameterError("stations", "must not be empty", "give at least one ClassStation")
    for i, station in enumerate(checked):
        if not isinstance(station, ClassStation):
            raise InvalidParameterError(f"stations[{i}]", f"must be a ClassStation, not {station!r}", value=station)
        if len(station.services) != classes:
            raise InvalidParameterError(
                f"stations[{i}].services",
                f"must have one entry for each of the {classes} {counted}, not {len(station.services)}",
                value=len(station.services),
            )
    return checked


def _names(names: object, classes: int) -> tuple[str, ...]:
    given = tuple(str(n) for n in _check.sequence("names", names)) or tuple(f"class {r + 1}" for r in range(classes))
    if len(given) != classes:
        raise InvalidParameterError(
            "names", f"must have one entry for each of the {classes} classes, not {len(given)}", value=len(given)
        )
    return given


def _think_times(think_times: object, classes: int) -> tuple[float, ...]:
    given = _check.non_negatives("think_times", think_times) or (0.0,) * classes
    if len(given) != classes:
        raise InvalidParameterError(
            "think_times",
            f"must have one entry for each of the {classes} closed classes, not {len(given)}",
            value=len(given),
        )
    return given


def _populations(populations: object) -> tuple[int, ...]:
    given = tuple(_check.counts("populations", populations))
    if not given:
        raise InvalidParameterError("populations", "must not be empty", "give the number of customers of each class")
    return given


def _arrival_rates(rates: object) -> tuple[float, ...]:
    given = _check.non_negatives("arrival_rates", rates)
    if not any(given):
        raise InvalidParameterError(
            "arrival_rates", f"must hold at least one positive rate, not {rates!r}", "nobody would come", value=rates
        )
    return given


@dataclass(frozen=True)
class ClosedClasses:
    """``populations[r]`` customers of class r circle for ever through ``stations``, such as reads and writes.

    ``think_times[r]`` is the mean time per cycle that class r spends outside the stations (none, when left out);
    where a formula applies only that mean matters.  ``names`` appear in results.

    >>> from qsim import ClassStation, ClosedClasses, Exponential
    >>> disk = ClassStation(services=(Exponential(80e-6), Exponential(240e-6)), discipline="PS", name="disk")
    >>> ClosedClasses(populations=(8, 4), stations=[disk], names=("read", "write")).kendall
    'closed network of 2 classes and 1 station//8+4'
    """

    populations: Sequence[int]
    stations: Sequence[ClassStation]
    think_times: Sequence[float] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        populations = _populations(self.populations)
        stations = _class_stations(self.stations, len(populations), "populations")
        object.__setattr__(self, "populations", populations)
        object.__setattr__(self, "stations", stations)
        object.__setattr__(self, "think_times", _think_times(self.think_times, len(populations)))
        object.__setattr__(self, "names", _names(self.names, len(populations)))
        for r in range(len(populations)):
            if not any(s.visits[r] for s in stations):
                raise InvalidParameterError(
                    "stations", "must be visited by every class", f"{self.names[r]} has no visits anywhere"
                )

    @property
    def population(self) -> int:
        """Customers of all classes together."""
        return sum(self.populations)

    @property
    def kendall(self) -> str:
        """A description, such as 'closed network of 2 classes and 3 stations//8+4'."""
        return f"closed network of {_shape(self.stations, len(self.populations))}//{_joined(self.populations)}"


@dataclass(frozen=True)
class OpenNetwork:
    """Poisson arrivals from outside, a list of ``stations`` (Station or Delay), and a way through them.

    Either ``routing`` is given: a square matrix, ``routing[i][j]`` the probability that a customer that has been
    served at i goes to j next (it leaves with what is missing to 1), and ``arrival_rates[i]`` the rate of arrivals
    from outside at i.  Or it is None: then ``arrival_rates`` is the one rate of arrivals at the network, and each
    station's ``visits`` say how often a customer comes to it.

    A Delay counts in W and L as the stations do: W is the time from arrival to departure.

    Raises ValueError for a routing matrix with a negative entry, a row that adds up to more than one, or a place
    from which nobody ever leaves.

    >>> from qsim import Delay, Exponential, Station, solve
    >>> network = OpenNetwork([1.0, 0.0], [Station(Exponential(mean=0.5)), Delay(2.0)], [[0, 1.0], [0, 0]])
    >>> round(solve(network).W, 9)  # M/M/1 takes 1, the delay 2
    3.0
    """

    arrival_rates: float | Sequence[float]
    stations: Sequence[Station]
    routing: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        stations = _check.sequence("stations", self.stations)
        for i, station in enumerate(stations):
            if not isinstance(station, Station):
                raise InvalidParameterError(
                    f"stations[{i}]", f"must be a Delay or a Station, not {station!r}", value=station
                )
            if station.capacity is not None:
                raise InvalidParameterError(
                    f"stations[{i}].capacity",
                    f"must be None in an open network, not {station.capacity}",
                    value=station.capacity,
                )
        object.__setattr__(self, "stations", stations)
        if not self.queueing:
            raise InvalidParameterError("stations", "must hold at least one Station", "with delays alone nobody queues")
        if self.routing is None:
            rate = self.arrival_rates if np.ndim(self.arrival_rates) == 0 else None
            if rate is None:
                raise InvalidParameterError(
                    "arrival_rates",
                    f"must be one number without a routing matrix, not {self.arrival_rates!r}",
                    "the stations' visits say who goes where",
                    self.arrival_rates,
                )
            object.__setattr__(self, "arrival_rates", (_check.positive("arrival_rates", rate),))
            return
        object.__setattr__(self, "arrival_rates", _arrival_rates(self.arrival_rates))
        object.__setattr__(self, "routing", _routing(self.routing, len(stations)))
        if len(self.arrival_rates) != len(stations):  # type: ignore[arg-type]
            raise InvalidParameterError(
                "arrival_rates",
                f"must have one entry for each of the {len(stations)} stations, not {self.arrival_rates!r}",
                value=self.arrival_rates,
            )
        for i, station in enumerate(stations):
            if station.visits != 1:
                raise InvalidParameterError(
                    f"stations[{i}].visits",
                    f"must be left at 1 with a routing matrix, not {station.visits}",
                    "the matrix says how often each station is visited",
                    station.visits,
                )
        traffic(self.arrival_rates, self.routing)  # refuses a place that nobody leaves

    @property
    def queueing(self) -> tuple[Station, ...]:
        """The stations where customers queue."""
        return tuple(s for s in self.stations if not s.is_delay)

    @property
    def arrival_rate(self) -> float:
        """Customers from outside per time unit."""
        return math.fsum(self.arrival_rates)  # type: ignore[arg-type]

    @property
    def throughputs(self) -> tuple[float, ...]:
        """Customers through each station per time unit, feedback included."""
        if self.routing is None:
            return tuple(self.arrival_rate * s.visit_count for s in self.stations)
        return tuple(float(x) for x in traffic(self.arrival_rates, self.routing))

    @property
    def kendall(self) -> str:
        """A description, such as 'open network of 3 stations'."""
        return f"open network of {_count(len(self.stations), 'station')}"


def _routing(routing: object, size: int) -> tuple[tuple[float, ...], ...]:
    rows = tuple(
        _check.non_negatives(f"routing[{i}]", row) for i, row in enumerate(_check.sequence("routing", routing))
    )
    if len(rows) != size or any(len(row) != size for row in rows):
        shape = f"{len(rows)} rows of {sorted({len(row) for row in rows})} entries"
        raise InvalidParameterError(
            "routing", f"must be a square matrix with a row for each of the {size} stations, not {shape}", value=shape
        )
    for i, row in enumerate(rows):
        if math.fsum(row) > 1 + 1e-9:
            raise InvalidParameterError(
                f"routing[{i}]",
                f"must not add up to more than 1, not {math.fsum(row):.6g}",
                "it holds the probabilities of going from there to each station, and what is missing to 1 leaves",
                value=math.fsum(row),
            )
    return rows


def traffic(arrival_rates: Sequence[float] | float, routing: Sequence[Sequence[float]]) -> FloatArray:
    """The traffic equations λ = γ + λP: customers per time unit through each station, feedback included.

    ``arrival_rates`` is γ, the arrivals from outside at each station; ``routing`` is P.  With γ a probability
    vector the result is the visit counts.  Raises ValueError naming a row that adds up to more than one, or the
    stations from which nobody ever leaves.  Source: Jackson (1957), Operations Research 5, p. 518.

    >>> from qsim import traffic
    >>> traffic([1, 0], [[0.0, 0.5], [1.0, 0.0]]).tolist()
    [2.0, 1.0]
    """
    rates = np.asarray(_check.non_negatives("arrival_rates", arrival_rates))
    P = np.asarray(_routing(routing, rates.size))
    # Whoever reaches a station with an exit leaves in the end; the others, if customers get there, pile up.
    leaves = P.sum(axis=1) < 1 - 1e-12
    reached = rates > 0
    for _ in range(rates.size):
        leaves |= (P[:, leaves] > 0).any(axis=1)
        reached |= (P[reached] > 0).any(axis=0)
    stuck = np.flatnonzero(reached & ~leaves)
    if stuck.size:
        where = ", ".join(f"station {i}" for i in stuck)
        raise InvalidParameterError(
            "routing", "must let everyone leave in the end", f"from {where} nobody does, and queues only grow"
        )
    used = np.flatnonzero(reached)
    result = np.zeros(rates.size)
    result[used] = np.linalg.solve(np.eye(used.size) - P[np.ix_(used, used)].T, rates[used])
    return result


@dataclass(frozen=True)
class OpenNetworkClasses:
    """Poisson arrivals of class r at rate ``arrival_rates[r]``, which visit ``stations`` and leave.

    >>> from qsim import ClassStation, Exponential, solve
    >>> disk = ClassStation([Exponential(mean=0.1), Exponential(mean=0.1)], visits=[1, 2])
    >>> [round(part.W, 3) for part in solve(OpenNetworkClasses([2, 1], [disk])).classes]
    [0.167, 0.333]
    """

    arrival_rates: Sequence[float]
    stations: Sequence[ClassStation]
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        rates = _arrival_rates(self.arrival_rates)
        object.__setattr__(self, "arrival_rates", rates)
        object.__setattr__(self, "stations", _class_stations(self.stations, len(rates), "arrival_rates"))
        object.__setattr__(self, "names", _names(self.names, len(rates)))

    @property
    def kendall(self) -> str:
        """A description, such as 'open network of 2 classes and 3 stations'."""
        return f"open network of {_shape(self.stations, len(self.arrival_rates))}"


@dataclass(frozen=True)
class MixedNetwork:
    """Open classes first, then closed ones: ``services`` and ``visits`` of every station in that order.

    ``arrival_rates`` of the open classes; ``populations`` and ``think_times`` of the closed ones.

    >>> from qsim import ClassStation, Exponential, solve
    >>> disk = ClassStation([Exponential(mean=0.1), Exponential(mean=0.1)], name="disk")
    >>> mixed = MixedNetwork(arrival_rates=[2], populations=[3], stations=[disk], think_times=[1])
    >>> [round(part.throughput, 3) for part in solve(mixed).classes]
    [2.0, 2.596]
    """

    arrival_rates: Sequence[float]
    populations: Sequence[int]
    stations: Sequence[ClassStation]
    think_times: Sequence[float] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        rates, populations = _arrival_rates(self.arrival_rates), _populations(self.populations)
        classes = len(rates) + len(populations)
        object.__setattr__(self, "arrival_rates", rates)
        object.__setattr__(self, "populations", populations)
        object.__setattr__(self, "stations", _class_stations(self.stations, classes, "classes, open ones first"))
        object.__setattr__(self, "think_times", _think_times(self.think_times, len(populations)))
        object.__setattr__(self, "names", _names(self.names, classes))
        for r in range(len(rates), classes):
            if not any(s.visits[r] for s in self.stations):
                raise InvalidParameterError(
                    "stations", "must be visited by every class", f"{self.names[r]} has no visits anywhere"
                )

    @property
    def kendall(self) -> str:
        """A description, such as 'mixed network of 4 classes and 2 stations//1+1'."""
        shape = _shape(self.stations, len(self.arrival_rates) + len(self.populations))
        return f"mixed network of {shape}//{_joined(self.populations)}"


def _count(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}{'es' if thing.endswith('s') else 's'}"


def _shape(stations: Sequence[ClassStation], classes: int) -> str:
    return f"{_count(classes, 'class')} and {_count(len(stations), 'station')}"


def _joined(populations: Sequence[int]) -> str:
    return "+".join(str(n) for n in populations)
