"""Networks of classes as tables of numbers, as books print them: one row a station, one column a class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from qsim import Arrivals, Delay, Distribution, Exponential, Network, Station


class Flow(NamedTuple):
    """One class at a station: how it comes, how long it takes, and how urgent it is."""

    arrivals: Any
    service: Distribution
    priority: int = 0
    name: str = ""


ORDERS = {"none": "FCFS", "non-preemptive": "priority", "preemptive-resume": "preemptive priority"}


def queue_of(flows: Sequence[Flow], servers: int = 1, priority: str = "none") -> Network:
    """One station, first come first served or by priority."""
    names = [flow.name or f"class {i}" for i, flow in enumerate(flows, 1)]
    station = Station(
        {name: flow.service for name, flow in zip(names, flows, strict=True)},
        servers,
        discipline=ORDERS[priority],  # type: ignore[arg-type]
        priority={name: flow.priority for name, flow in zip(names, flows, strict=True)},
    )
    return Network({"station": station}, {n: Arrivals(flow.arrivals) for n, flow in zip(names, flows, strict=True)})


class Row(NamedTuple):
    """A station: the law of each class (None where it never comes), and its visits."""

    services: Sequence[Distribution | None]
    visits: Sequence[float] = ()
    servers: int = 1
    queues: Any = "shared"
    discipline: Any = "FCFS"
    name: str = ""

    def station(self, names: Sequence[str]) -> Station:
        """As classes of these names see it."""
        visits = self.visits or [0.0 if law is None else 1.0 for law in self.services]
        laws = {name: law for name, law in zip(names, self.services, strict=True) if law is not None}
        by_name = dict(zip(names, map(float, visits), strict=True))
        return Station(laws, self.servers, by_name, queues=self.queues, discipline=self.discipline)


def circling(
    populations: Sequence[int], rows: Sequence[Row], think_times: Sequence[float] = (), names: Sequence[str] = ()
) -> Network:
    """Classes that circle."""
    return both((), populations, rows, think_times, names)


def passing(rates: Sequence[float], rows: Sequence[Row], names: Sequence[str] = ()) -> Network:
    """Classes of Poisson arrivals."""
    return both(rates, (), rows, (), names)


def both(
    rates: Sequence[float],
    populations: Sequence[int],
    rows: Sequence[Row],
    think_times: Sequence[float] = (),
    names: Sequence[str] = (),
) -> Network:
    """Open classes first, then closed ones."""
    called = list(names) or [f"class {i}" for i in range(1, len(rates) + len(populations) + 1)]
    circle = called[len(rates) :]
    customers: Mapping[str, Any] = {
        **{c: Arrivals(Exponential(1 / rate if rate else math.inf)) for c, rate in zip(called, rates, strict=False)},
        **dict(zip(circle, populations, strict=True)),
    }
    stations = {row.name or f"station {i}": row.station(called) for i, row in enumerate(rows, 1)}
    if any(think_times):
        stations["thinking"] = Delay(dict(zip(circle, think_times, strict=True)))
    return Network(stations, customers)


def jackson(
    rates: float | Sequence[float], stations: Sequence[Station], matrix: Sequence[Sequence[float]] | None = None
) -> Network:
    """One class of Poisson arrivals, by the stations' visits or by a matrix of routes."""
    names = [station.name or f"station {i}" for i, station in enumerate(stations, 1)]
    named = dict(zip(names, stations, strict=True))
    if matrix is None:
        return Network(named, Arrivals(rates))  # type: ignore[arg-type]
    ways = {
        here: {to: p for to, p in zip(names, row, strict=True) if p > 0}
        for here, row in zip(names, matrix, strict=True)
    }
    return Network(named, Arrivals({n: r for n, r in zip(names, rates, strict=True) if r > 0}), ways)  # type: ignore[arg-type]
