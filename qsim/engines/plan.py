"""What the engines are asked to do: any model as stations in a row, with where the customers come from.

Both engines read the same plan, and draw the same variates in the same order:

- each role (the gaps of a source, the service at a station, the choice of a queue, ...) has its own stream;
- a customer brings its work along: service time and choice of queue are drawn when it comes to a station, and the
  think time afterwards with them.

So two engines, or two systems to be compared, meet the same customers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise

from qsim.arrivals import Arrivals
from qsim.distributions import Deterministic, Distribution
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import (
    Closed,
    ClosedClasses,
    Delay,
    MixedNetwork,
    Model,
    Network,
    Open,
    OpenClasses,
    OpenNetwork,
    OpenNetworkClasses,
    Station,
    Tandem,
)
from qsim.models.as_network import as_network

PREEMPTIVE = ("LCFS-PR", "PSJF", "SRPT", "preemptive priority")
"""Orders in which one who comes may interrupt another."""

LEAST_WAIT = 1e-300
"""The wait of one who shared a server for a time that rounding swallows: it did wait."""


@dataclass(frozen=True)
class PlannedStation:
    """A station as the engines see it; tuples have one entry for each kind of customer."""

    service: tuple[Distribution, ...]
    servers: float = 1
    """At each queue; math.inf where nobody waits."""
    queues: int = 1
    routing: str = "shared"
    discipline: str = "FCFS"
    """One of Open's, or "priority" and "preemptive priority"."""
    capacity: int | None = None
    speeds: tuple[float, ...] = ()
    visits: tuple[float, ...] = (1.0,)
    think: tuple[tuple[Distribution, ...], ...] = ((),)
    """The delays between this station and the next."""
    name: str = ""
    patience: Distribution | None = None
    balking: tuple[float, ...] = ()

    @property
    def all_servers(self) -> float:
        """Servers at all queues."""
        return self.servers * self.queues


@dataclass(frozen=True)
class Plan:
    """Either ``sources``, one for each kind of customer, or a ``population`` of each kind."""

    places: tuple[PlannedStation, ...]
    sources: tuple[Arrivals, ...] = ()
    population: tuple[int, ...] = ()
    urgency: tuple[int, ...] = (0,)
    hold: bool = False
    """Whether who finds no place is held at the source."""

    @property
    def kinds(self) -> int:
        """Kinds of customers."""
        return len(self.sources) or len(self.population)

    @property
    def outcomes(self) -> int:
        """Kinds as which customers are recorded: where they give up, 0 for the served and 1 for those who did."""
        return 2 if self.places[0].patience is not None else self.kinds

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """Name and servers of each part whose stays are recorded."""
        return tuple((p.name or f"station {i}", p.all_servers) for i, p in enumerate(self.places, start=1))

    @property
    def by_part(self) -> bool:
        """Whether stays are recorded part by part."""
        return len(self.places) > 1

    @property
    def kinds_at(self) -> tuple[tuple[int, ...], ...]:
        """The kinds of customers that come to each part."""
        return tuple(tuple(k for k, v in enumerate(place.visits) if v > 0) for place in self.places)

    @property
    def first_come(self) -> bool:
        """Whether waiting times follow from the times at which servers become free, without events.

        One station without limit on places, where those who join a queue start in the order in which they came.
        """
        (place, *others) = self.places
        return (
            not others
            and self.kinds == 1
            and place.discipline == "FCFS"
            and place.capacity is None
            and not place.speeds
            and place.routing != "shortest"
            and place.patience is None
            and not place.balking
            and place.visits == (1.0,)
        )


def plan(model: Model) -> Plan:
    """The plan of a model; raises NoEngineError for one the engines do not run."""
    return _plan(model)


@singledispatch
def _plan(model: object) -> Plan:
    kendall = getattr(model, "kendall", None)
    if kendall is None:
        raise InvalidParameterError(
            "model", f"must be Open, Closed, ... (MM1(...), MMcN(...), ...), not {model!r}", value=model
        )
    raise NoEngineError(f"{kendall} is not simulated: describe it as Open, Closed, Tandem or Network")


@_plan.register
def _(model: Open) -> Plan:
    own = model.queues != "shared" and model.servers > 1
    place = PlannedStation(
        service=(model.service,),
        servers=1 if own else model.servers,
        queues=model.servers if own else 1,
        routing=model.queues if own else "shared",
        discipline=model.discipline,
        capacity=model.capacity,
        speeds=tuple(model.speeds or ()),
        patience=model.patience,
        balking=tuple(model.balking or ()),
    )
    return Plan((place,), sources=(model.arrivals,), hold=model.when_full == "blocked")


@_plan.register
def _(model: OpenClasses) -> Plan:
    order = {"none": "FCFS", "non-preemptive": "priority", "preemptive-resume": "preemptive priority"}
    kinds = len(model.classes)
    place = PlannedStation(
        service=tuple(c.service for c in model.classes),
        servers=model.servers,
        discipline=order[model.priority],
        visits=(1.0,) * kinds,
        think=((),) * kinds,
    )
    return Plan(
        (place,), sources=tuple(c.arrivals for c in model.classes), urgency=tuple(c.priority for c in model.classes)
    )


@_plan.register
def _(model: Tandem) -> Plan:
    places = tuple(_station(s, ()) for s in model.stations)
    for index, (place, following) in enumerate(pairwise(places)):
        if following.capacity is not None and place.discipline == "PS":
            raise NoEngineError(
                f"{model.kendall} is not simulated: stations[{index}] shares its servers (PS), so nobody has one to "
                f"stay on when stations[{index + 1}] is full; leave its capacity out"
            )
    return Plan(places, sources=(model.arrivals,))


@_plan.register
def _(model: Closed) -> Plan:
    """The delays that follow a station in the circle belong to it; the circle begins at the first station."""
    stations: list[Station] = []
    delays: list[list[Distribution]] = []
    leading: list[Distribution] = []
    for stop in model.stations:
        if isinstance(stop, Delay):
            times = delays[-1] if delays else leading
            if stop.mean > 0:
                times.append(stop.distribution)
        else:
            stations.append(stop)
            delays.append([])
    delays[-1].extend(leading)
    places = tuple(_station(s, tuple(d)) for s, d in zip(stations, delays, strict=True))
    if max(s.visits for s in stations) < 1:
        raise NoEngineError(
            f"{model.kendall} is not simulated: visits must be at least 1 at one station, so that no cycle is empty; "
            "multiply all visits by a number, and divide the delays by it"
        )
    (place, *others) = places
    limited = not others and place.capacity is not None and place.capacity < model.population
    if limited and all(float(d.cdf(0.0)) > 0 for d in place.think[0]):  # or no delay at all
        raise NoEngineError(
            f"{model.kendall} is not simulated: who finds no place would be back at once; give a Delay whose time "
            "is never zero"
        )
    return Plan(places, population=(model.population,))


@_plan.register
def _(model: ClosedClasses) -> Plan:
    """Every class visits the stations in order, and thinks after the last."""
    kinds = len(model.populations)
    last = len(model.stations) - 1
    nobody = Deterministic(0.0)
    for kind in range(kinds):
        if max(s.visits[kind] for s in model.stations) < 1:
            raise NoEngineError(
                f"{model.kendall} is not simulated: visits of class {kind} must be at least 1 at one station, so that "
                "no cycle is empty; multiply all its visits by a number, and divide its think time by it"
            )
    places = []
    for index, station in enumerate(model.stations):
        own = station.queues != "shared" and station.servers > 1
        thinking = [Delay(z).distribution if z > 0 and index == last else None for z in model.think_times]
        places.append(
            PlannedStation(
                service=tuple(service or nobody for service in station.services),
                servers=1 if own else station.servers,
                queues=station.servers if own else 1,
                routing=station.queues if own else "shared",
                discipline=station.discipline,
                visits=tuple(station.visits),
                think=tuple(() if t is None else (t,) for t in thinking),
                name=station.name,
            )
        )
    return Plan(tuple(places), population=tuple(model.populations), urgency=(0,) * kinds)


@_plan.register
def _(model: Network) -> Plan:
    from qsim.engines.network_plan import network_plan

    return network_plan(model)


@_plan.register(OpenNetwork | OpenNetworkClasses | MixedNetwork)
def _(model: OpenNetwork | OpenNetworkClasses | MixedNetwork) -> Plan:
    return _plan(as_network(model))


def _station(station: Station, think: tuple[Distribution, ...]) -> PlannedStation:
    own = station.queues != "shared" and station.servers > 1
    return PlannedStation(
        service=(station.service,),
        servers=1 if own else station.servers,
        queues=station.servers if own else 1,
        routing=station.queues if own else "shared",
        discipline=station.discipline,
        capacity=station.capacity,
        speeds=tuple(station.speeds or ()),
        visits=(station.visits,),
        think=(think,),
        name=station.name,
    )


def servers_of(plan: Plan) -> float:
    """All servers of all places; 1 where there is no end of them."""
    servers = math.fsum(place.all_servers for place in plan.places)
    return servers if servers < math.inf else 1.0


def typical_time(plan: Plan) -> float:
    """A mean service time, to place histograms by."""
    times = [
        visits * service.mean
        for place in plan.places
        for service, visits in zip(place.service, place.visits, strict=True)
        if service.mean > 0
    ]
    return math.fsum(times) / len(times) * len(plan.places)
