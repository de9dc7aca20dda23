"""Queues with a fixed population that circles between thinking and being served.

Kendall's notation A/S/c//N reads: think times, service times, servers, population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from qsim import _check
from qsim.errors import InvalidParameterError
from qsim.models.station import Station


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
    stations: Sequence[Station]

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", _check.count("population", self.population))
        stations = _check.sequence("stations", self.stations)
        for index, station in enumerate(stations):
            if not isinstance(station, Station):
                raise InvalidParameterError(
                    f"stations[{index}]", f"must be a Delay or a Station, not {station!r}", value=station
                )
        object.__setattr__(self, "stations", stations)
        if not self.queueing:
            raise InvalidParameterError("stations", "must hold at least one Station", "with delays alone nobody queues")
        for station in self.queueing:
            station.require_known(self.population, station.name or "the station")
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
        return tuple(s for s in self.stations if not s.is_delay)

    @property
    def delays(self) -> tuple[Station, ...]:
        """The stations where nobody queues."""
        return tuple(s for s in self.stations if s.is_delay)

    @property
    def think_time(self) -> float:
        """Z: the mean time per cycle spent at delays."""
        return math.fsum(d.time.mean for d in self.delays)

    @property
    def kendall(self) -> str:
        """Kendall's name for one Station, such as M/M/32//64; otherwise a description."""
        if len(self.queueing) > 1 or len(self.delays) > 1:
            return f"closed network of {len(self.stations)} stations//{self.population}"
        station = self.queueing[0]
        letter = self.delays[0].time.letter if self.think_time > 0 else "M"
        places = "" if station.capacity is None else str(station.capacity)
        name = f"{letter}/{station.time.letter}/{station.servers}/{places}/{self.population}"
        if station.queues == "random" and station.servers > 1:
            name += ", random routing"
        if station.discipline != "FCFS":
            name += f"-{station.discipline}"
        return name if station.speeds is None else f"{name}, load-dependent"
