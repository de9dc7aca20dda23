"""Queues with a fixed population that circles between thinking and being served.

Kendall's notation A/S/c//N reads: think times, service times, servers, population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from qsim import _check
from qsim.distributions import Deterministic, Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError

Queues: TypeAlias = Literal["shared", "random"]
StationDiscipline: TypeAlias = Literal["FCFS", "PS", "LCFS-PR"]


@dataclass(frozen=True)
class Delay:
    """A place where everyone is served at once: think time, a wire, a host.

    ``time`` is a Distribution, or a number for an exponential time of that mean (zero: no delay).  Where a
    formula applies, only the mean of a delay matters (Baskett, Chandy, Muntz & Palacios 1975).

    >>> from qsim import Closed, Exponential, Station, solve
    >>> solve(Closed(1, [Delay(3.0), Station(Exponential(mean=1))])).throughput
    0.25
    """

    time: Distribution | float

    def __post_init__(self) -> None:
        if not isinstance(self.time, Distribution):
            mean = _check.non_negative("time", self.time, "the mean time spent at the Delay")
            object.__setattr__(self, "time", Exponential(mean) if mean > 0 else Deterministic(0.0))
        elif not math.isfinite(self.time.mean):
            raise InvalidParameterError(
                "time", f"must have a finite mean, not {self.time.mean!r}", "nobody would come back", self.time.mean
            )

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
    """A place where customers queue for ``servers`` identical servers.

    ``visits`` is the mean number of visits per cycle.  ``queues`` is "shared" (one queue, the next free server
    takes its head) or "random" (each server has a queue of its own and a customer joins one at random, as requests
    do that hash to a die or a channel).  ``capacity`` is the number of places, the servers included (None: no
    limit).  ``speeds`` describes one server whose pace depends on how many are present, as a disk schedules
    better when its queue is deep: ``speeds[n - 1]`` with n present, in units of the service distribution's pace,
    the last value holding from there on.  ``discipline`` is "FCFS", "PS" (all present share the servers equally)
    or "LCFS-PR" (the newcomer interrupts).  ``name`` appears in results.  ``most`` is the largest number of customers
    for which the speeds are known: a closed queue of more is refused (None: any number).

    Raises ValueError naming the parameter for anything that describes no station.

    >>> from qsim import Closed, Delay, Exponential, solve
    >>> disk = Station(Exponential(mean=0.5), servers=2, name="disk")
    >>> round(solve(Closed(population=8, stations=[Delay(1.0), disk])).throughput, 3)
    3.815
    """

    service: Distribution
    servers: int = 1
    visits: float = 1.0
    queues: Queues = "shared"
    capacity: int | None = None
    speeds: Sequence[float] | None = None
    discipline: StationDiscipline = "FCFS"
    name: str = ""
    most: int | None = None

    def __post_init__(self) -> None:
        require("service", self.service)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        object.__setattr__(self, "visits", _check.positive("visits", self.visits))
        _check.one_of("queues", self.queues, get_args(Queues))
        _check.one_of("discipline", self.discipline, get_args(StationDiscipline))
        if self.capacity is not None:
            object.__setattr__(self, "capacity", _check.capacity(self.capacity, self.servers))
        if self.speeds is not None:
            object.__setattr__(self, "speeds", _check.speeds(self.speeds))
            if self.servers != 1 or self.queues != "shared":
                raise InvalidParameterError(
                    "servers",
                    f"must be 1 where speeds are given, not {self.servers}",
                    (
                        f"speeds describe the station as a whole; {self.servers} servers of speed 1 are speeds="
                        f"{tuple(range(1, self.servers + 1))}"
                    ),
                    value=self.servers,
                )

    @property
    def demand(self) -> float:
        """Mean service time per cycle, all visits together, at speed 1."""
        return self.visits * self.service.mean


def require_known(station: Station, population: int) -> None:
    """Refuse more customers than the station's speeds are known for."""
    if station.most is not None and population > station.most:
        raise InvalidParameterError(
            "population",
            f"must be at most {station.most}, up to which {station.name or 'the station'} is known, not {population}",
            "measure it deeper, or make the station with extrapolate=True",
            value=population,
        )


@dataclass(frozen=True)
class Closed:
    """``population`` customers circle for ever through ``stations``, a list of Delay and Station, in order.

    With a ``capacity`` at the one Station, a customer that finds every place taken goes back to think.

    >>> from qsim import Delay, Exponential, Station, solve
    >>> drive = Closed(population=64, stations=[Delay(1e-6), Station(Exponential(mean=80e-6), servers=32)])
    >>> round(solve(drive).throughput)
    400000
    """

    population: int
    stations: Sequence[Delay | Station]

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", _check.count("population", self.population))
        stations = _check.sequence("stations", self.stations)
        for index, station in enumerate(stations):
            if not isinstance(station, Delay | Station):
                raise InvalidParameterError(
                    f"stations[{index}]", f"must be a Delay or a Station, not {station!r}", value=station
                )
        object.__setattr__(self, "stations", stations)
        if not self.queueing:
            raise InvalidParameterError("stations", "must hold at least one Station", "with delays alone nobody queues")
        for station in self.queueing:
            require_known(station, self.population)
        limited = [s for s in self.queueing if s.capacity is not None]
        if limited and len(self.queueing) > 1:
            raise InvalidParameterError(
                "capacity",
                f"must be None in a closed network of several stations, not {limited[0].capacity}",
                "leave it out, or keep a single Station, whose rejected customers go back to think",
                value=limited[0].capacity,
            )

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
        places = "" if station.capacity is None else str(station.capacity)
        name = f"{letter}/{station.service.letter}/{station.servers}/{places}/{self.population}"
        if station.queues == "random" and station.servers > 1:
            name += ", random routing"
        if station.discipline != "FCFS":
            name += f"-{station.discipline}"
        return name if station.speeds is None else f"{name}, load-dependent"
