"""What a queue is, before anyone computes with it.

Two kinds.  An :class:`Open` queue is fed from outside and does not care how full it is; a :class:`Closed` one
has a fixed population that circles between thinking and being served, as N outstanding requests circle between
a host and a device.  Both are frozen values: ``solve`` and ``simulate`` only read them.

Kendall's notation A/S/c/K//N reads: times between arrivals, service times, servers, places (the servers
included), population.  The constructor functions below carry those names and return the same two kinds.

>>> MMc(arrival_rate=2.7, service_rate=1.0, servers=3).kendall
'M/M/3'
>>> MMcN(population=64, think_time=1e-6, service_time=80e-6, servers=32).kendall
'M/M/32//64'
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from qsim import _check
from qsim.distributions import Deterministic, Distribution, Exponential
from qsim.distributions.base import require

Discipline: TypeAlias = Literal["FCFS"]
Queues: TypeAlias = Literal["shared", "random"]


@dataclass(frozen=True)
class Open:
    """Customers come from outside, wait in order of arrival, are served once and leave.

    Parameters: ``arrivals``, the distribution of times between arrivals; ``service``, that of service times;
    ``servers``, identical and sharing one queue; ``capacity``, the places including the servers (None: no
    limit; a customer who finds them all taken is lost); ``discipline``, the order of service.

    Raises ValueError naming the parameter for anything that describes no queue.
    """

    arrivals: Distribution
    service: Distribution
    servers: int = 1
    capacity: int | None = None
    discipline: Discipline = "FCFS"

    def __post_init__(self) -> None:
        if not (isinstance(self.arrivals, Exponential) and math.isinf(self.arrivals.mean)):
            require("arrivals", self.arrivals)
        require("service", self.service)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        if self.capacity is not None:
            remedy = f"it counts the places at the {self.servers} server(s) too; None means no limit"
            object.__setattr__(self, "capacity", _check.count("capacity", self.capacity, self.servers, remedy))
        if self.discipline != "FCFS":
            raise ValueError(f"discipline must be 'FCFS', not {self.discipline!r}: others are not modelled yet")

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
    def rho(self) -> float:
        """Offered load per server."""
        return self.offered_load / self.servers

    @property
    def kendall(self) -> str:
        """Kendall's name, such as M/M/3 or M/M/3/10."""
        places = "" if self.capacity is None else f"/{self.capacity}"
        return f"{self.arrivals.letter}/{self.service.letter}/{self.servers}{places}"


@dataclass(frozen=True)
class Delay:
    """A place where everyone is served at once: think time, a wire, a host.

    ``time`` is a Distribution, or a number for an exponential time of that mean (zero: no delay).  Where a
    formula applies, only the mean of a delay matters (Baskett, Chandy, Muntz & Palacios 1975).
    """

    time: Distribution | float

    def __post_init__(self) -> None:
        if not isinstance(self.time, Distribution):
            mean = _check.non_negative("time", self.time, "the mean time spent at the Delay")
            object.__setattr__(self, "time", Exponential(mean) if mean > 0 else Deterministic(0.0))
        elif not math.isfinite(self.time.mean):
            raise ValueError(f"time must have a finite mean, not {self.time.mean!r}: nobody would come back")

    @property
    def distribution(self) -> Distribution:
        """The time spent here."""
        assert isinstance(self.time, Distribution)  # noqa: S101  (__post_init__ made it so; this tells the type checker)
        return self.time

    @property
    def mean(self) -> float:
        """Mean time spent here."""
        return self.distribution.mean


@dataclass(frozen=True)
class Station:
    """A place where customers queue for ``servers`` identical servers, in order of arrival.

    ``queues`` is "shared" (one queue, the next free server takes its head) or "random" (each server has a
    queue of its own and a customer joins one at random, as requests do that hash to a die or a channel).
    ``visits`` is the mean number of visits per cycle.
    """

    service: Distribution
    servers: int = 1
    visits: float = 1.0
    queues: Queues = "shared"

    def __post_init__(self) -> None:
        require("service", self.service)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        object.__setattr__(self, "visits", _check.positive("visits", self.visits))
        if self.queues not in ("shared", "random"):
            raise ValueError(f"queues must be 'shared' or 'random', not {self.queues!r}")


@dataclass(frozen=True)
class Closed:
    """``population`` customers circle for ever through ``stations``, a list of Delay and Station, in order."""

    population: int
    stations: Sequence[Delay | Station]

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", _check.count("population", self.population))
        stations = _check.sequence("stations", self.stations)
        for index, station in enumerate(stations):
            if not isinstance(station, Delay | Station):
                raise ValueError(f"stations[{index}] must be a Delay or a Station, not {station!r}")
        object.__setattr__(self, "stations", stations)
        if not self.queueing:
            raise ValueError("stations must hold at least one Station: with delays alone nobody queues")

    @property
    def queueing(self) -> tuple[Station, ...]:
        """The stations where customers queue."""
        return tuple(s for s in self.stations if isinstance(s, Station))

    @property
    def delays(self) -> tuple[Delay, ...]:
        """The stations where nobody queues."""
        return tuple(s for s in self.stations if isinstance(s, Delay))

    @property
    def think_time(self) -> float:
        """Z: the mean time per cycle spent at delays."""
        return math.fsum(d.mean for d in self.delays)

    @property
    def kendall(self) -> str:
        """Kendall's name for one Station, such as M/M/32//64; otherwise a description."""
        if len(self.queueing) > 1 or len(self.delays) > 1:
            return f"closed network of {len(self.stations)} stations//{self.population}"
        station = self.queueing[0]
        letter = self.delays[0].distribution.letter if self.think_time > 0 else "M"
        name = f"{letter}/{station.service.letter}/{station.servers}//{self.population}"
        return name if station.queues == "shared" or station.servers == 1 else f"{name}, random routing"


Model: TypeAlias = Open | Closed


def _poisson(arrival_rate: object) -> Exponential:
    remedy = "give the mean number of arrivals per time unit"
    rate = _check.non_negative("arrival_rate", arrival_rate, remedy)
    return Exponential(1 / rate if rate > 0 else math.inf)


def _exponential(service_rate: object) -> Exponential:
    remedy = "give the customers one busy server finishes per time unit"
    return Exponential(1 / _check.positive("service_rate", service_rate, remedy))


def MM1(arrival_rate: float, service_rate: float) -> Open:  # noqa: N802
    """M/M/1: Poisson arrivals, exponential service, one server."""
    return MMc(arrival_rate, service_rate, 1)


def MMc(arrival_rate: float, service_rate: float, servers: int) -> Open:  # noqa: N802
    """M/M/c: Poisson arrivals, exponential service, ``servers`` servers and one queue."""
    return Open(_poisson(arrival_rate), _exponential(service_rate), servers)


def MM1K(arrival_rate: float, service_rate: float, capacity: int) -> Open:  # noqa: N802
    """M/M/1/K: as M/M/1, with ``capacity`` places in all; who finds them taken is lost."""
    return MMcK(arrival_rate, service_rate, 1, capacity)


def MMcK(arrival_rate: float, service_rate: float, servers: int, capacity: int) -> Open:  # noqa: N802
    """M/M/c/K: as M/M/c, with ``capacity`` places in all, the servers included."""
    return Open(_poisson(arrival_rate), _exponential(service_rate), servers, capacity)


def MD1(arrival_rate: float, service_time: float) -> Open:  # noqa: N802
    """M/D/1: Poisson arrivals, every service takes ``service_time``."""
    return MG1(arrival_rate, Deterministic(_check.positive("service_time", service_time)))


def MG1(arrival_rate: float, service: Distribution) -> Open:  # noqa: N802
    """M/G/1: Poisson arrivals, any service distribution, one server."""
    return Open(_poisson(arrival_rate), service)


def GG1(arrivals: Distribution, service: Distribution) -> Open:  # noqa: N802
    """G/G/1: any independent times between arrivals and of service, one server."""
    return Open(arrivals, service)


def GGc(arrivals: Distribution, service: Distribution, servers: int) -> Open:  # noqa: N802
    """G/G/c: as G/G/1, with ``servers`` servers and one queue."""
    return Open(arrivals, service, servers)


def MMcN(population: int, think_time: float, service_time: float, servers: int = 1) -> Closed:  # noqa: N802
    """M/M/c//N, the machine repairman: ``population`` customers think, queue, are served, and think again.

    This is fio at iodepth N: N requests circle between the host (think time) and the device.
    """
    think = _check.non_negative("think_time", think_time, "the mean time between an answer and the next request")
    service = Exponential(_check.positive("service_time", service_time, "the mean time one service takes"))
    return Closed(population, (Delay(think), Station(service, servers)))
