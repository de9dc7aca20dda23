"""Short ways to write a network: the models by their textbook names.

Kendall's notation A/S/c/K//N reads: times between arrivals, service times, servers, places (the servers included),
population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from qsim import _check
from qsim.distributions import Deterministic, Distribution, Exponential
from qsim.errors import InvalidParameterError
from qsim.models.customers import Arrivals, require_arrivals
from qsim.models.network import Network
from qsim.models.station import Delay, Discipline, Queues, Station
from qsim.models.written import written


@written
def Open(  # noqa: N802
    arrivals: Distribution,
    service: Distribution,
    servers: int = 1,
    capacity: int | None = None,
    discipline: Discipline = "FCFS",
    queues: Queues = "shared",
    speeds: Sequence[float] | None = None,
) -> Network:
    """One station: customers come from outside, wait, are served once and leave.

    ``arrivals`` is the law of independent times between arrivals; the rest are parameters of
    :class:`~qsim.models.station.Station`.

    >>> from qsim import Erlang, Exponential, solve
    >>> solve(Open(arrivals=Exponential(mean=1.25), service=Erlang(k=4, mean=1))).kind
    'exact'
    """
    station = Station(service, servers, capacity=capacity, discipline=discipline, queues=queues, speeds=speeds)
    return Network({"station": station}, Arrivals(require_arrivals("arrivals", arrivals)))


@written
def Closed(population: int, stations: Sequence[Station]) -> Network:  # noqa: N802
    """``population`` customers circulate through ``stations``, a list of Station and Delay, in order.

    With a ``capacity`` at the one Station, a customer that finds it full goes back to the one Delay.

    >>> from qsim import Delay, Exponential, Station, solve
    >>> drive = Closed(population=64, stations=[Delay(1e-6), Station(Exponential(80e-6), servers=32)])
    >>> round(solve(drive).throughput)
    400000
    """
    named = _named(stations)
    if all(station.is_delay for station in named.values()):
        raise InvalidParameterError("stations", "must hold at least one Station", "with delays alone nobody queues")
    return Network(named, population)


@written
def Tandem(arrivals: Distribution, stations: Sequence[Station]) -> Network:  # noqa: N802
    """Stations one after another, as a request passes host, device and link.

    >>> from qsim import Exponential, Station, solve
    >>> stages = [Station(Exponential(mean=0.5)), Station(Exponential(mean=0.5))]
    >>> solve(Tandem(Exponential(mean=1), stages)).W
    2.0
    """
    return Network(_named(stations), Arrivals(require_arrivals("arrivals", arrivals)))


def _named(stations: object) -> dict[str, Station]:
    """Stations by their own names, or by their kind, numbered where there are several of one kind."""
    given = _check.sequence("stations", stations)
    if not given:
        raise InvalidParameterError("stations", "must not be empty", "give at least one Station(service)")
    named: dict[str, Station] = {}
    for index, station in enumerate(given):
        if not isinstance(station, Station):
            problem = f"must be a Delay or a Station, not {station!r}"
            raise InvalidParameterError(f"stations[{index}]", problem, value=station)
        alike = [i for i, other in enumerate(given) if getattr(other, "is_delay", None) == station.is_delay]
        number = f" {alike.index(index) + 1}" if len(alike) > 1 else ""
        name = station.name or f"{'delay' if station.is_delay else 'station'}{number}"
        if name in named:
            raise InvalidParameterError("stations", f"must not have the name {name!r} twice", value=name)
        named[name] = station
    return named


def _poisson(arrival_rate: object) -> Exponential:
    rate = _check.non_negative("arrival_rate", arrival_rate, "give the mean number of arrivals per time unit")
    return Exponential(_check.mean_of("arrival_rate", rate) if rate > 0 else math.inf)


def _exponential(service_rate: object) -> Exponential:
    remedy = "give the customers one busy server finishes per time unit"
    return Exponential(_check.mean_of("service_rate", service_rate, remedy))


@written
def MM1(arrival_rate: float, service_rate: float) -> Network:  # noqa: N802
    """M/M/1: Poisson arrivals, exponential service, one server.

    >>> from qsim import solve
    >>> solve(MM1(arrival_rate=16, service_rate=20)).W
    0.25
    """
    return MMc(arrival_rate, service_rate, 1)


@written
def MMc(arrival_rate: float, service_rate: float, servers: int) -> Network:  # noqa: N802
    """M/M/c: Poisson arrivals, exponential service, ``servers`` servers and one queue.

    >>> from qsim import solve
    >>> round(solve(MMc(arrival_rate=2.7, service_rate=1.0, servers=3)).Lq, 3)
    7.354
    """
    return Open(_poisson(arrival_rate), _exponential(service_rate), servers)


@written
def MM1K(arrival_rate: float, service_rate: float, capacity: int) -> Network:  # noqa: N802
    """M/M/1/K: as M/M/1, with ``capacity`` places in all; an arrival that finds them taken is lost.

    >>> from qsim import solve
    >>> round(solve(MM1K(arrival_rate=1, service_rate=1, capacity=4)).p_block, 6)
    0.2
    """
    return MMcK(arrival_rate, service_rate, 1, capacity)


@written
def MMcK(arrival_rate: float, service_rate: float, servers: int, capacity: int) -> Network:  # noqa: N802
    """M/M/c/K: as M/M/c, with ``capacity`` places in all, the servers included.

    >>> from qsim import solve
    >>> round(solve(MMcK(arrival_rate=2, service_rate=1, servers=2, capacity=4)).p_block, 4)
    0.2222
    """
    return Open(_poisson(arrival_rate), _exponential(service_rate), servers, capacity)


@written
def MD1(arrival_rate: float, service_time: float) -> Network:  # noqa: N802
    """M/D/1: Poisson arrivals, every service takes ``service_time``.

    >>> from qsim import solve
    >>> round(solve(MD1(arrival_rate=0.8, service_time=1)).Wq, 6)
    2.0
    """
    return MG1(arrival_rate, Deterministic(_check.positive("service_time", service_time)))


@written
def MG1(arrival_rate: float, service: Distribution) -> Network:  # noqa: N802
    """M/G/1: Poisson arrivals, any service distribution, one server.

    >>> from qsim import Gamma, solve
    >>> round(solve(MG1(arrival_rate=0.8, service=Gamma(mean=1, scv=2))).Wq, 6)
    6.0
    """
    return Open(_poisson(arrival_rate), service)


@written
def MGc(arrival_rate: float, service: Distribution, servers: int) -> Network:  # noqa: N802
    """M/G/c: as M/G/1, with ``servers`` servers and one queue.

    >>> from qsim import Gamma, solve
    >>> metrics = solve(MGc(arrival_rate=1.6, service=Gamma(mean=1, scv=2), servers=2))
    >>> metrics.kind, round(metrics.Wq, 2)
    ('approximation', 2.64)
    """
    return Open(_poisson(arrival_rate), service, servers)


@written
def GG1(arrivals: Distribution, service: Distribution) -> Network:  # noqa: N802
    """G/G/1: any independent times between arrivals and of service, one server.

    >>> from qsim import Erlang, Gamma, solve
    >>> metrics = solve(GG1(Erlang(k=2, mean=1.25), Gamma(mean=1, scv=2)))
    >>> metrics.kind, round(metrics.Wq, 1)
    ('approximation', 4.8)
    """
    return Open(arrivals, service)


@written
def GGc(arrivals: Distribution, service: Distribution, servers: int) -> Network:  # noqa: N802
    """G/G/c: as G/G/1, with ``servers`` servers and one queue.

    >>> from qsim import Erlang, Gamma, solve
    >>> solve(GGc(Erlang(k=2, mean=0.625), Gamma(mean=1, scv=2), servers=2)).kind
    'approximation'
    """
    return Open(arrivals, service, servers)


@written
def MMcN(population: int, think_time: float, service_time: float, servers: int = 1) -> Network:  # noqa: N802
    """M/M/c//N, the machine repairman: ``population`` customers think, queue, are served, and think again.

    This is fio at iodepth N: N requests circle between the host (think time) and the device.

    >>> from qsim import solve
    >>> round(solve(MMcN(population=8, think_time=1, service_time=0.5, servers=2)).throughput, 3)
    3.815
    """
    think = _check.non_negative("think_time", think_time, "the mean time between an answer and the next request")
    service = Exponential(_check.positive("service_time", service_time, "the mean time one service takes"))
    return Closed(population, (Delay(think), Station(service, servers)))
