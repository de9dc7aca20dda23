"""A station: its servers, the order in which they take customers, and what and how often each class is served there."""

from __future__ import annotations

import math
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from qsim import _check
from qsim.distributions import Deterministic, Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.written import as_written, written

GEOMETRIC = "geometric:"


class GeometricVisits(float):
    """A mean number of visits, each of which is the last with the same chance, whatever was before."""

    def __repr__(self) -> str:
        return repr(f"{GEOMETRIC}{float(self):g}")


MOST_VISITS = 1e12  # more visits have no chance of being the last that floats hold beside 1


def visits_of(parameter: str, given: object, check: Callable[[str, object], float]) -> float:
    """A checked number of visits; ``"geometric:12"`` gives GeometricVisits."""
    if isinstance(given, str):
        try:
            given = GeometricVisits(given.removeprefix(GEOMETRIC) if given.startswith(GEOMETRIC) else "")
        except ValueError:
            remedy = 'write 12 for twelve each time, or "geometric:12"'
            raise InvalidParameterError(parameter, f"is {given!r}", remedy, given) from None
    visits = _check.at_most(MOST_VISITS, parameter, check(parameter, given))
    if not isinstance(given, GeometricVisits):
        return visits
    if visits < 1:
        problem = f"must be at least 1, not {given!r}"
        raise InvalidParameterError(parameter, problem, "for a chance give a plain number", given)
    return given


ClassName: TypeAlias = str
Law: TypeAlias = Distribution | Mapping[ClassName, Distribution]
Queues: TypeAlias = Literal["shared", "random", "round-robin", "shortest"]
"""One queue for all servers; or one for each server, which an arrival joins at random, in turn, or where the fewest are
present (the first of equals)."""
Discipline: TypeAlias = Literal["FCFS", "LCFS-PR", "SJF", "PSJF", "SRPT", "PS", "priority", "preemptive priority"]
"""First come first served; last come with preemption; shortest job without and with preemption; shortest remaining time
with preemption; processor sharing; by class.  A preempted customer resumes later where it stopped."""

NO_TIME = Deterministic(0.0)


class ByName(Mapping[str, Any]):
    """A mapping that cannot change, so that it can be hashed."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def items(self) -> ItemsView[str, Any]:
        return self._given.items()

    def values(self) -> ValuesView[Any]:
        return self._given.values()

    def __hash__(self) -> int:
        return hash(frozenset(self._given.items()))

    def __repr__(self) -> str:
        return repr(self._given)


@dataclass(frozen=True, repr=False)
class Station:
    """A place where customers are served.

    - ``service``: the law of service times, or one for each class that comes, by its name;
    - ``servers``: how many, all alike; math.inf where nobody waits;
    - ``visits``: how often a customer is served here in a passage or cycle, or a number for each class by its name: 12
      is twelve times, 2.5 two or three, 0.3 a chance; ``"geometric:12"`` any number with the mean 12.  Means do not
      depend on it (product form), percentiles do;
    - ``discipline``: the order of service; "priority" and "preemptive priority" follow ``priority``, a number for each
      class: 0 before 1 before 2;
    - ``queues``: "shared", one queue for all servers; or one queue for each server, joined at "random", in turn
      ("round-robin") or where the fewest are present ("shortest");
    - ``speeds``: the work done per time unit with 1, 2, 3, ... present, where one undisturbed server does 1; the last
      value holds beyond.  Customers in service share it equally;
    - ``capacity``: the places, those at the servers included, where it is the only station; None for no limit. An
      arrival that finds none is lost; a customer that circulates goes back to its one Delay;
    - ``most``: the largest number of customers for which the speeds are known; a larger population is an error.

    Raises ValueError naming the parameter for anything that describes no station.

    >>> from qsim import Exponential
    >>> die = Station({"read": Exponential(60e-6), "write": Exponential(600e-6)}, discipline="priority",
    ...               priority={"read": 0, "write": 1})
    >>> die.servers
    1
    """

    service: Law
    servers: int = 1
    visits: float | str | Mapping[ClassName, float | str] = 1.0
    discipline: Discipline = "FCFS"
    queues: Queues = "shared"
    speeds: Sequence[float] | None = None
    capacity: int | None = None
    priority: Mapping[ClassName, int] = field(default_factory=dict)
    name: str = field(default="", compare=False)
    most: int | None = None

    __repr__ = as_written

    def __post_init__(self) -> None:
        some = _check.non_negative if isinstance(self.visits, Mapping) else _check.positive
        _check.keep(
            self,
            service=_by_class("service", self.service, _law),
            visits=_by_class("visits", self.visits, partial(visits_of, check=some)),
            priority=_priority(self.priority),
        )
        _check.one_of("discipline", self.discipline, get_args(Discipline))
        _check.one_of("queues", self.queues, get_args(Queues))
        if self.servers != math.inf:
            _check.keep(self, servers=_check.count("servers", self.servers))
            _by_class("service", self.service, require)  # only a Delay may take no time
        elif self.capacity is not None or self.queues != "shared" or self.speeds is not None:
            raise InvalidParameterError(
                "servers", "must be finite, not inf, where capacity, queues or speeds is given", "nobody waits"
            )
        if self.capacity is not None:
            _check.keep(self, capacity=_check.capacity(self.capacity, self.servers))
        if self.speeds is not None:
            _check.keep(self, speeds=_check.speeds(self.speeds))
            if self.queues != "shared" and self.servers > 1:
                raise InvalidParameterError(
                    "speeds", f"must be None where each server has its own queue, not {self.speeds!r}"
                )

    def service_of(self, name: ClassName) -> Distribution | None:
        """The law of a class; None for one that is not served here."""
        given: Any = self.service
        return given.get(name) if type(given) is ByName else given

    def visits_of(self, name: ClassName) -> float:
        """Mean visits of a class, 0 for one that is not served here."""
        given: Any = self.visits
        if type(self.service) is ByName and name not in self.service:
            return 0.0
        return given.get(name, 0.0) if type(given) is ByName else given  # type: ignore[no-any-return]

    def mean_of(self, name: ClassName) -> float:
        """The mean service time of a class, 0 for one that is not served here."""
        law = self.service_of(name)
        return 0.0 if law is None else law.mean

    @property
    def time(self) -> Distribution:
        """The law of service times, where all classes have the same."""
        return self._common("service", self.service)  # type: ignore[no-any-return]

    @property
    def visit_count(self) -> float:
        """The mean visits, where all classes have the same."""
        return self._common("visits", self.visits)  # type: ignore[no-any-return]

    def _common(self, parameter: str, given: Any) -> Any:
        if isinstance(given, Mapping):
            raise InvalidParameterError(
                parameter, "must be the same for all, not one for each class", "the model has one class"
            )
        return given

    @property
    def demand(self) -> float:
        """Mean service time per cycle, all visits together, at speed 1."""
        return self.visit_count * self.time.mean

    @property
    def is_delay(self) -> bool:
        """Whether there is a server for every customer, so that none waits."""
        return self.servers == math.inf

    @property
    def own_queues(self) -> bool:
        """Whether each of several servers has a queue of its own."""
        return self.queues != "shared" and self.servers > 1

    @property
    def peak(self) -> float:
        """The most work done per time unit with any number present, in servers."""
        return self.servers if self.speeds is None else max(self.speeds)

    @property
    def most_work(self) -> float:
        """The work done per time unit with very many customers present, in servers."""
        return self.servers if self.speeds is None else self.speeds[-1]


@written
def Delay(time: Distribution | float | Mapping[ClassName, Distribution | float]) -> Station:  # noqa: N802
    """A station where every customer is served at once: think time, a wire, a host.

    ``time`` is a Distribution, or a number for an exponential time of that mean (zero: no delay), or one of these for
    each class by its name.  Customers that circulate think there: the time is no part of their W.

    >>> from qsim import Closed, Exponential, Station, solve
    >>> solve(Closed(1, [Delay(3.0), Station(Exponential(mean=1))])).throughput
    0.25
    """
    laws = {c: _time(f"time of {c}", t) for c, t in time.items()} if isinstance(time, Mapping) else _time("time", time)
    return Station(laws, servers=math.inf)  # type: ignore[arg-type]


def _time(parameter: str, given: object) -> Distribution:
    if not isinstance(given, Distribution):
        mean = _check.non_negative(parameter, given, "the mean time spent at the Delay")
        return Exponential(mean) if mean > 0 else NO_TIME
    if not math.isfinite(given.mean):
        raise InvalidParameterError(
            parameter, f"must have a finite mean, not {given.mean!r}", "customers would never come back", given.mean
        )
    return given


def _by_class(parameter: str, given: Any, check: Any) -> Any:
    """The value, or the values of each class, checked."""
    if not isinstance(given, Mapping):
        return check(parameter, given)
    if not given:
        raise InvalidParameterError(parameter, "must not be empty", "give one for each class that comes")
    return ByName({str(name): check(f"{parameter} of {name}", value) for name, value in given.items()})


def _law(parameter: str, given: object) -> Distribution:
    return given if given == NO_TIME else require(parameter, given)


def _priority(given: object) -> ByName:
    if not isinstance(given, Mapping):
        raise InvalidParameterError("priority", f"must be a mapping, not {given!r}", "give {class: number}")
    remedy = "0 goes first, then 1, 2, ..."
    return ByName({str(name): _check.count(f"priority of {name}", n, 0, remedy) for name, n in given.items()})
