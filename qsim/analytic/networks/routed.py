"""Networks with routes and classes that change: chains of classes, each solved as one class.

Classes that customers change between form a chain.  With vᵢₖ the visits of class k to station i that follow from the
routes, a chain c visits Vᵢ = Σₖ vᵢₖ times and brings Sᵢ = Σₖ vᵢₖ·Sᵢₖ/Vᵢ a visit; under product form only these matter,
and the network of chains is one of the kinds solved elsewhere.  A class then stays Wᵢₖ = Wᵢ·Sᵢₖ/Sᵢ where servers are
shared, and waits as long as its chain where they are not.

Source: Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; Bruell & Balbo (1980), Computational Algorithms for Closed
Queueing Networks, chapter 3 (chains).

>>> from qsim import Delay, Exponential, Network, Station, solve
>>> die = Station({"read": Exponential(1.0), "write": Exponential(3.0)}, discipline="PS")
>>> routing = {"read": {"host": {"die": 0.5, "die as write": 0.5}, "die": {"host": 1}},
...            "write": {"die": {"host as read": 1}}}
>>> drive = Network({"host": Delay(4.0), "die": die}, {"read": 1}, routing)
>>> [round(part.W, 6) for part in solve(drive)["die"].classes]
[1.0, 3.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qsim._types import BoolArray, FloatArray
from qsim.analytic.closed import alone, mean_value, random_routing, repairman
from qsim.analytic.closed import classes as closed_classes
from qsim.analytic.closed import network as closed_network
from qsim.analytic.formula import Formula
from qsim.analytic.networks import decomposition, jackson, mixed, open_classes
from qsim.analytic.shape import CLOCKWORK, is_clockwork, is_insensitive, is_one_exponential
from qsim.analytic.views import (
    ClassNetwork,
    ClosedChain,
    OpenChain,
    VisitedStation,
    class_queue,
    is_poisson,
    network,
    open_queue,
)
from qsim.distributions import Distribution, Exponential, Mixture
from qsim.errors import NoFormulaError
from qsim.metrics import Kind, Metrics
from qsim.models import Delay, Network, Station

SHARING = ("PS", "LCFS-PR")


@dataclass(frozen=True)
class Chain:
    """Classes that customers change between: rates through each station and class, or visits per cycle."""

    visits: FloatArray
    population: int = 0

    @property
    def is_open(self) -> bool:
        """Whether its customers come from outside."""
        return self.population == 0


def applies(model: Network) -> bool:
    """Any network but a single queue, of which the families of queues know all that is known here."""
    if any(station.capacity is not None for station in model.stations.values()):
        return False
    return class_queue(model) is not None or open_queue(model) is None


def solve(model: Network) -> Metrics:
    """Exact for product form; ``stations`` holds each by its name, with its classes; ``classes`` those that come in."""
    chains = chains_of(model)
    if all(chain.is_open for chain in chains) and not _has_product_form(model):
        return _in_order_of_arrival(model)
    inner, metrics = _solve_chains(model, chains)
    flows = [
        chain.visits if chain.is_open else chain.visits * part.throughput
        for chain, part in zip(chains, metrics, strict=True)
    ]
    shape = (len(model.stations), len(model.classes))
    response, waiting, busy = np.zeros(shape), np.zeros(shape), np.full(shape[0], math.nan)
    for i, (name, station) in enumerate(model.stations.items()):
        for r, chain in enumerate(chains):
            for k in np.flatnonzero(chain.visits[i] > 0):
                own = station.mean_of(model.classes[k])
                if station.is_delay:
                    response[i, k] = own
                    continue
                part, usual = _visit(inner, name, r), _service(station, model.classes, chain.visits[i]).mean
                if station.speeds is not None:
                    response[i, k], waiting[i, k] = part.W, part.Wq
                    busy[i] = part.throughput * own / station.peak
                elif station.discipline in SHARING and usual > 0:
                    response[i, k], waiting[i, k] = part.W * own / usual, part.Wq * own / usual
                else:
                    response[i, k], waiting[i, k] = part.Wq + own, part.Wq
    kind, method = inner.kind, f"chains of classes; {inner.method}"
    if any(is_clockwork(_laws(model, chain), chain.population) for chain in chains):
        kind, method = "approximation", method + CLOCKWORK
    return assemble(model, flows, response, waiting, kind, method, busy)


def _laws(model: Network, chain: Chain) -> list[Distribution | None]:
    """The times that a chain passes through."""
    return [
        station.service_of(c)
        for station, visits in zip(model.stations.values(), chain.visits, strict=True)
        for c, v in zip(model.classes, visits, strict=True)
        if v > 0
    ]


def _in_order_of_arrival(model: Network) -> Metrics:
    """Open stations that serve first come, first served: one alone is M/G/1, of several each is a G/G/c queue."""
    rates = model.open_rates()
    lone = _lone_station(model, rates)
    kind: Kind = "approximation" if lone is None else "exact"
    method = decomposition.METHOD if lone is None else open_classes.ALONE
    waits = decomposition.waits(model) if lone is None else np.array([open_classes.solve(lone).Wq])
    waiting = np.repeat(waits[:, None], len(model.classes), axis=1)
    service = np.array([[s.mean_of(c) for c in model.classes] for s in model.stations.values()])
    return assemble(model, [rates], waiting + service, waiting, kind, method)


def _lone_station(model: Network, rates: FloatArray) -> ClassNetwork | None:
    """The one station of servers that each have a queue, which Poisson arrivals visit once; None for others."""
    if len(model.stations) != 1 or model.closed_classes or not is_poisson(model) or model.routes.P.any():
        return None
    ((name, station),) = model.stations.items()
    if station.discipline != "FCFS" or station.speeds is not None:
        return None
    if station.servers > 1 and station.queues != "random":
        return None
    come = [(station.service_of(c), float(rate)) for c, rate in zip(model.classes, rates[0], strict=True) if rate > 0]
    if any(model.visit_table(c).max() != 1 for c in model.open_classes):
        return None
    laws, flows = tuple(law for law, _ in come), tuple(rate for _, rate in come)
    seen = VisitedStation(laws, (1.0,) * len(come), station.servers, station.queues, "FCFS", name)
    return ClassNetwork(flows, (), (), (seen,), tuple(map(str, range(len(come)))), model.kendall)


def chains_of(model: Network) -> list[Chain]:
    """Open chains first, with the rates of their classes; then closed ones, with their visits in a cycle."""
    if model.routing is None:
        opens = [Chain(model.arrival_rate(c) * model.visit_table(c)) for c in model.open_classes]
        return opens + [Chain(model.visit_table(c), given.number) for c, given in model.closed_classes.items()]
    routes = model.routes
    reached = {(c, at): routes.reached(routes.state(at, c)).reshape(routes.shape) for c, at in model.entries()}
    groups: list[list[tuple[str, str]]] = []
    for entry, states in reached.items():
        meets = [g for g in groups if any((reached[e] & states).any() for e in g)]
        groups = [g for g in groups if g not in meets] + [[entry, *(e for g in meets for e in g)]]
    rates = model.open_rates()
    opens = [
        Chain(np.where(np.logical_or.reduce([reached[e] for e in group]), rates, 0.0))
        for group in groups
        if group[0][0] in model.open_classes
    ]
    closed = []
    for group in groups:
        if group[0][0] in model.open_classes:
            continue
        name, home = group[0]
        population = sum(model.closed_classes[c].number for c, _ in group)
        closed.append(Chain(routes.cycle_visits(routes.state(home, name)), population))
    return opens + closed


def _service(station: Station, classes: Sequence[str], visits: FloatArray) -> Distribution:
    """What a visit of a chain brings: the law of its class, or the mixture of several; exponential where it may be."""
    laws = [(station.service_of(c), v) for c, v in zip(classes, visits, strict=True) if v > 0]
    known = [(law, v) for law, v in laws if law is not None]
    total = math.fsum(v for _, v in known)
    mean = math.fsum(v * law.mean for law, v in known) / total
    if is_one_exponential([law for law, _ in known]):
        return known[0][0]
    if is_insensitive(station.discipline, station.servers, station.queues):
        return Exponential(mean)
    return Mixture(tuple(law for law, _ in known), tuple(v / total for _, v in known))


def _has_product_form(model: Network) -> bool:
    if not is_poisson(model):
        return False
    for i, station in enumerate(model.stations.values()):
        laws = [station.service_of(c) for c, comes in zip(model.classes, _anyone(model)[i], strict=True) if comes]
        alike = station.discipline in ("FCFS", *SHARING) and is_one_exponential(laws)
        if not alike and not is_insensitive(station.discipline, station.servers, station.queues):
            return False
    return True


def _anyone(model: Network) -> BoolArray:
    """Which classes come to which stations, shape (stations, classes)."""
    come = np.zeros((len(model.stations), len(model.classes)), dtype=bool)
    for chain in chains_of(model):
        come |= chain.visits > 0
    return come


def _solve_chains(model: Network, chains: Sequence[Chain]) -> tuple[Metrics, Sequence[Metrics]]:
    """The network of chains, solved; and what concerns each chain."""
    come = _anyone(model)
    queueing = {name: i for i, (name, s) in enumerate(model.stations.items()) if not s.is_delay and come[i].any()}
    for name in queueing:
        if why := _unusual(model.stations[name]):
            raise NoFormulaError(model.kendall, f"{name} {why}")
    if not queueing:
        raise NoFormulaError(model.kendall, "nobody queues there")
    thinking = tuple(
        math.fsum(
            chain.visits[i, k] * station.mean_of(c)
            for i, station in enumerate(model.stations.values())
            if station.is_delay
            for k, c in enumerate(model.classes)
        )
        for chain in chains
    )
    if len(chains) == 1:
        (chain,) = chains
        stations = tuple(_chain_station(model, name, i, chain) for name, i in queueing.items())
        names = tuple(queueing)
        if chain.is_open:
            flows = tuple(s.visit_count for s in stations)
            whole = jackson.solve(OpenChain((1.0,), stations, names, flows, model.kendall))
            return whole, [whole]
        circle = ClosedChain(chain.population, (Delay(thinking[0]), *stations), names, model.kendall)
        for family in (repairman, random_routing, closed_network, alone):
            if family.applies(circle):
                whole = family.solve(circle)
                return whole, [whole]
    return _solve_classes(model, chains, queueing, thinking)


def _solve_classes(
    model: Network, chains: Sequence[Chain], queueing: Mapping[str, int], thinking: tuple[float, ...]
) -> tuple[Metrics, Sequence[Metrics]]:
    """Several chains, or one without product form."""
    if any(model.stations[name].speeds for name in queueing):
        raise NoFormulaError(model.kendall, "speeds that depend on the number present, with several classes")
    opens = sum(chain.is_open for chain in chains)
    seen = ClassNetwork(
        (1.0,) * opens,
        tuple(chain.population for chain in chains if not chain.is_open),
        thinking[opens:],
        tuple(_visited_station(model, name, i, chains) for name, i in queueing.items()),
        tuple(f"chain {r + 1}" for r in range(len(chains))),
        model.kendall,
    )
    for family in (closed_classes, mean_value, open_classes, mixed):
        if family.applies(seen):
            whole = family.solve(seen)
            return whole, whole.classes or [whole]
    raise NoFormulaError(model.kendall, "open and closed classes at stations without product form")


def _unusual(station: Station) -> str:
    """Why no family here solves a station; empty where one does."""
    if station.discipline not in ("FCFS", *SHARING):
        return f"serves in the order {station.discipline}"
    if station.queues not in ("shared", "random") and station.servers > 1:
        return f"has a queue at each server, and sends customers to them in the way {station.queues!r}"
    return ""


def _chain_station(model: Network, name: str, i: int, chain: Chain) -> Station:
    """A station as the only chain sees it."""
    station = model.stations[name]
    law, visits = _service(station, model.classes, chain.visits[i]), float(chain.visits[i].sum())
    servers = 1 if station.speeds else station.servers  # speeds are those of the station as a whole
    return replace(station, service=law, servers=servers, visits=visits, priority={}, name=name)


def _visited_station(model: Network, name: str, i: int, chains: Sequence[Chain]) -> VisitedStation:
    station = model.stations[name]
    visits = tuple(float(chain.visits[i].sum()) for chain in chains)
    laws = tuple(
        _service(station, model.classes, chain.visits[i]) if v > 0 else None
        for chain, v in zip(chains, visits, strict=True)
    )
    return VisitedStation(laws, visits, station.servers, station.queues, station.discipline, name)


def _visit(inner: Metrics, name: str, r: int) -> Metrics:
    """What a visit of a chain to a station is like."""
    if not inner.stations:
        return inner  # alone, with one visit
    station = inner[name]
    return next((c for c in station.classes if c.name == f"chain {r + 1}"), station)


def assemble(
    model: Network,
    flows: Sequence[FloatArray],
    response: FloatArray,
    waiting: FloatArray,
    kind: Kind,
    method: str,
    busy: FloatArray | None = None,
) -> Metrics:
    """The Metrics, given the rate of each chain through each station and class, and how long visits take."""
    rates = np.sum(flows, axis=0)
    service = np.array([[s.mean_of(c) for c in model.classes] for s in model.stations.values()])

    def part(name: str, X: float, U: float, L: float, Lq: float, **more: Any) -> Metrics:
        return Metrics(
            model=model,
            throughput=float(X),
            utilization=float(U),
            L=float(L),
            Lq=float(Lq),
            W=float(L / X) if X > 0 else math.nan,
            Wq=float(Lq / X) if X > 0 else math.nan,
            p_wait=math.nan,
            p_block=0.0,
            kind=kind,
            method=method,
            name=name,
            **more,
        )

    stations = []
    for i, (name, station) in enumerate(model.stations.items()):
        if name not in model.listed:
            continue
        each = [
            part(
                c,
                rates[i, k],
                rates[i, k] * service[i, k] / station.servers,
                rates[i, k] * response[i, k],
                rates[i, k] * waiting[i, k],
            )
            for k, c in enumerate(model.classes)
            if rates[i, k] > 0
        ]
        sums = [math.fsum(getattr(p, field) for p in each) for field in ("throughput", "utilization", "L", "Lq")]
        U = sums[1] if busy is None or math.isnan(busy[i]) else busy[i]
        stations.append(
            part(name, sums[0], min(U, 1.0), *sums[2:], classes=tuple(each) if len(model.classes) > 1 else ())
        )
    classes = [_stream(model, name, response, waiting, part) for name in model.names]
    return part(
        "",
        math.fsum(c.throughput for c in classes),
        max(s.utilization for s in stations),
        math.fsum(c.L for c in classes),
        math.fsum(c.Lq for c in classes),
        stations=tuple(stations),
        classes=tuple(classes) if len(classes) > 1 else (),
    )


def _stream(
    model: Network, name: str, response: FloatArray, waiting: FloatArray, part: Callable[..., Metrics]
) -> Metrics:
    """Those who come in one class: per passage, or per cycle without the time they think."""
    visits = model.visit_table(name)
    if name in model.open_classes:
        X = model.arrival_rate(name)
    else:
        X = model.closed_classes[name].number / float((visits * response).sum())
        visits[[s.is_delay for s in model.stations.values()]] = 0.0
    W = float((visits * response).sum())
    Wq = float((visits * waiting).sum())
    return part(name, X, math.nan, X * W, X * Wq)


FORMULA = Formula(network, applies, solve)
