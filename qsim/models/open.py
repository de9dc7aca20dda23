"""Queues fed from outside, which does not care how full they are.

Kendall's notation A/S/c/K reads: times between arrivals, service times, servers, places (the servers included).
:class:`Open` is one queueing station, :class:`OpenClasses` one that treats kinds of customers differently, and
:class:`Tandem` several stations one after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from qsim import _check
from qsim.arrivals import Source, require_arrivals
from qsim.distributions import Distribution
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.station import Queues, Station

OpenDiscipline: TypeAlias = Literal["FCFS", "LCFS", "LCFS-PR", "SJF", "PSJF", "SRPT", "PS", "SIRO"]
Routing: TypeAlias = Queues
Priority: TypeAlias = Literal["none", "non-preemptive", "preemptive-resume"]


@dataclass(frozen=True)
class Open:
    """Customers come from outside, wait, are served once and leave.

    Parameters

    - ``arrivals``: the distribution of independent times between arrivals, or an ArrivalProcess;
    - ``service``: the distribution of service times;
    - ``servers``: how many, all alike; math.inf for as many as there are customers;
    - ``capacity``: the places, those at the servers included; None for no limit;
    - ``discipline``: the order of service;
    - ``queues``: "shared", one queue for all servers; or one queue for each server, joined by an arrival at
      "random", in turn ("round-robin"), or where the fewest are present ("shortest", the first of equals);
    - ``speeds``: for load-dependent service, the work done per time unit with 1, 2, 3, ... present, where one
      undisturbed server does 1; the last value holds on.  Those in service share it equally;

    Raises ValueError naming the parameter for anything that describes no queue.

    >>> from qsim import Erlang, Exponential, solve
    >>> solve(Open(arrivals=Exponential(mean=1.25), service=Erlang(k=4, mean=1))).kind
    'exact'
    """

    arrivals: Source
    service: Distribution
    servers: int = 1
    capacity: int | None = None
    discipline: OpenDiscipline = "FCFS"
    queues: Routing = "shared"
    speeds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        require_arrivals("arrivals", self.arrivals)
        require("service", self.service)
        _check.one_of("discipline", self.discipline, get_args(OpenDiscipline))
        _check.one_of("queues", self.queues, get_args(Routing))
        if self.servers != math.inf:
            object.__setattr__(self, "servers", _check.count("servers", self.servers))
        elif self.capacity is not None or self.queues != "shared" or self.speeds is not None:
            raise InvalidParameterError(
                "servers", "must be finite, not inf, where capacity, queues or speeds is given", "nobody waits"
            )
        if self.capacity is not None:
            object.__setattr__(self, "capacity", _check.capacity(self.capacity, self.servers))
        if self.speeds is not None:
            object.__setattr__(self, "speeds", _check.speeds(self.speeds))
            if self.queues != "shared" and self.servers > 1:
                raise InvalidParameterError(
                    "speeds",
                    f"must be None where each server has its own queue, not {self.speeds!r}",
                    value=self.speeds,
                )

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def service_rate(self) -> float:
        """Customers one busy server finishes per time unit."""
        return 1 / self.service.mean

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs: the servers it would keep busy if there were enough."""
        return self.service.mean / self.arrivals.mean

    @property
    def most_work(self) -> float:
        """The work done per time unit when very many are present, in servers."""
        return self.servers if self.speeds is None else self.speeds[-1]

    @property
    def rho(self) -> float:
        """Offered load per server; with ``speeds``, as a share of the work that can be done."""
        return self.offered_load / self.most_work

    @property
    def plain(self) -> bool:
        """Whether all is as in Kendall's A/S/c/K with nothing added, the case most formulas are for.

        That is: independent times between arrivals, one queue, first come first served, a fixed number of servers
        of fixed speed, and who finds no place is lost.
        """
        return (
            isinstance(self.arrivals, Distribution)
            and self.servers != math.inf
            and (self.queues == "shared" or self.servers == 1)
            and self.discipline == "FCFS"
            and self.speeds is None
        )

    @property
    def kendall(self) -> str:
        """Kendall's name, such as M/M/3 or M/M/3/10, and in words what it has no letters for."""
        servers = "∞" if self.servers == math.inf else str(self.servers)
        places = "" if self.capacity is None else f"/{self.capacity}"
        order = "" if self.discipline == "FCFS" else f"-{self.discipline}"
        extras = []
        if self.queues != "shared" and self.servers > 1:
            extras.append("shortest queue" if self.queues == "shortest" else f"{self.queues} routing")
        if self.speeds is not None:
            extras.append("load-dependent")
        return ", ".join([f"{self.arrivals.letter}/{self.service.letter}/{servers}{places}{order}", *extras])


@dataclass(frozen=True)
class CustomerClass:
    """One kind of customer: how it comes, how long it takes, and how urgent it is (0 before 1 before 2).

    >>> from qsim import Exponential, OpenClasses, solve
    >>> reads = CustomerClass(Exponential(mean=2), Exponential(mean=0.5), priority=0, name="reads")
    >>> writes = CustomerClass(Exponential(mean=4), Exponential(mean=1), priority=1, name="writes")
    >>> [round(part.W, 3) for part in solve(OpenClasses([reads, writes], priority="preemptive-resume")).classes]
    [0.667, 2.333]
    """

    arrivals: Source
    service: Distribution
    priority: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        require_arrivals("arrivals", self.arrivals)
        require("service", self.service)
        remedy = "0 goes first, then 1, 2, ..."
        object.__setattr__(self, "priority", _check.count("priority", self.priority, 0, remedy))

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs."""
        return self.service.mean / self.arrivals.mean


@dataclass(frozen=True)
class OpenClasses:
    """Several classes of customers at the same servers: reads and writes, urgent and background work.

    ``priority``: "none", first come first served whatever the class; "non-preemptive", a free server takes the
    most urgent one waiting; "preemptive-resume", an urgent arrival interrupts the least urgent service, which
    goes on later where it stopped.  Within a class, and among equals, first come first served.

    >>> from qsim import CustomerClass, Exponential, solve
    >>> urgent = CustomerClass(Exponential(mean=4), Exponential(mean=1), priority=0)
    >>> other = CustomerClass(Exponential(mean=4), Exponential(mean=1), priority=1)
    >>> [round(part.Wq, 3) for part in solve(OpenClasses([urgent, other], priority="non-preemptive")).classes]
    [0.667, 1.333]
    """

    classes: Sequence[CustomerClass]
    servers: int = 1
    priority: Priority = "none"

    def __post_init__(self) -> None:
        classes = _check.sequence("classes", self.classes)
        if not classes:
            raise InvalidParameterError(
                "classes", "must not be empty", "give at least one CustomerClass(arrivals, service)"
            )
        for index, c in enumerate(classes):
            if not isinstance(c, CustomerClass):
                raise InvalidParameterError(f"classes[{index}]", f"must be a CustomerClass, not {c!r}", value=c)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        _check.one_of("priority", self.priority, get_args(Priority))

    @property
    def arrival_rate(self) -> float:
        """Arrivals of all classes per time unit."""
        return math.fsum(c.arrival_rate for c in self.classes)

    @property
    def service_rate(self) -> float:
        """Customers one busy server finishes per time unit, over the mix of classes that comes."""
        return self.arrival_rate / self.offered_load

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs."""
        return math.fsum(c.offered_load for c in self.classes)

    @property
    def rho(self) -> float:
        """Offered load per server."""
        return self.offered_load / self.servers

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each class; "class 1", "class 2", ... where none was given."""
        return tuple(c.name or f"class {i}" for i, c in enumerate(self.classes, start=1))

    @property
    def kendall(self) -> str:
        """Such as M/M/1, 2 classes, non-preemptive priority."""
        letters = [
            letter if len(set(letters)) == 1 else "G"
            for letters in ([c.arrivals.letter for c in self.classes], [c.service.letter for c in self.classes])
            for letter in letters[:1]
        ]
        order = "" if self.priority == "none" else f", {self.priority} priority"
        count = "1 class" if len(self.classes) == 1 else f"{len(self.classes)} classes"
        return f"{letters[0]}/{letters[1]}/{self.servers}, {count}{order}"


@dataclass(frozen=True)
class Tandem:
    """Stations one after another, as a request passes host, device and link; every customer visits each once.

    >>> from qsim import Exponential, Station, solve
    >>> stages = [Station(Exponential(mean=0.5)), Station(Exponential(mean=0.5))]
    >>> solve(Tandem(Exponential(mean=1), stages)).W
    2.0
    """

    arrivals: Source
    stations: Sequence[Station]

    def __post_init__(self) -> None:
        require_arrivals("arrivals", self.arrivals)
        stations = _check.sequence("stations", self.stations)
        if not stations:
            raise InvalidParameterError("stations", "must not be empty", "give at least one Station(service)")
        for index, station in enumerate(stations):
            if not isinstance(station, Station):
                raise InvalidParameterError(f"stations[{index}]", f"must be a Station, not {station!r}", value=station)
            if station.capacity is not None:
                raise InvalidParameterError(
                    f"stations[{index}].capacity",
                    f"must be None in a Tandem, not {station.capacity}",
                    "a single Open station has it",
                    station.capacity,
                )
            if station.visits != 1:
                raise InvalidParameterError(
                    f"stations[{index}].visits", f"must be 1 in a Tandem, not {station.visits!r}", value=station.visits
                )
        object.__setattr__(self, "stations", stations)

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def kendall(self) -> str:
        """Such as M/M/1 → M/2: the stations in order."""
        parts = [f"{s.time.letter}/{s.servers}" for s in self.stations]
        return f"{self.arrivals.letter}/" + " → ".join(parts)
