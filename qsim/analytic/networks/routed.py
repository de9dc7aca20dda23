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
from dataclasses import dataclass
from typing import Any

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.closed import classes as closed_classes
from qsim.analytic.closed import mean_value
from qsim.analytic.formula import Formula
from qsim.analytic.networks import decomposition, jackson, mixed, open_classes
from qsim.analytic.shape import CLOCKWORK, is_clockwork, is_insensitive, is_one_exponential
from qsim.analytic.views import network
from qsim.distributions import Distribution, Exponential, Mixture
from qsim.errors import NoFormulaError
from qsim.metrics import Kind, Metrics
from qsim.models import (
    ClassStation,
    Closed,
    ClosedClasses,
    Delay,
    MixedNetwork,
    Network,
    OpenNetwork,
    OpenNetworkClasses,
    Queues,
    Station,
)

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
    """Networks described by name."""
    return True


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
    for i, (name, node) in enumerate(model.stations.items()):
        for r, chain in enumerate(chains):
            for k in np.flatnonzero(chain.visits[i] > 0):
                own = _mean(node, model.classes[k])
                if node.servers == math.inf:
                    response[i, k] = own
                    continue
                part, usual = _visit(inner, name, r), _service(node, model.classes, chain.visits[i]).mean
                if node.speeds is not None:
                    response[i, k], waiting[i, k] = part.W, part.Wq
                    busy[i] = part.throughput * own / node.peak
                elif node.discipline in SHARING and usual > 0:
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
        node.service_of(c)
        for node, visits in zip(model.stations.values(), chain.visits, strict=True)
        for c, v in zip(model.classes, visits, strict=True)
        if v > 0
    ]


def _in_order_of_arrival(model: Network) -> Metrics:
    """Open stations that serve first come, first served: one alone is M/G/1, of several each is a G/G/c queue."""
    rates = model.open_rates()
    alone = _as_classes(model, rates)
    kind: Kind = "approximation" if alone is None else "exact"
    method = decomposition.METHOD if alone is None else open_classes.ALONE
    waits = decomposition.waits(model) if alone is None else np.array([open_classes.solve(alone).Wq])
    waiting = np.repeat(waits[:, None], len(model.classes), axis=1)
    service = np.array([[_mean(node, c) for c in model.classes] for node in model.stations.values()])
    return assemble(model, [rates], waiting + service, waiting, kind, method)


def _lone_node(model: Network) -> Station | None:
    """The one station that Poisson arrivals visit once; None for other networks."""
    if len(model.stations) != 1 or model.closed_classes:
        return None
    (node,) = model.stations.values()
    once = all(node.visits_of(c) == 1 for c in model.names) if model.routing is None else not model.routes.P.any()
    return node if _is_poisson(model) and once else None


def _is_poisson(model: Network) -> bool:
    return all(isinstance(law, Exponential) for c in model.open_classes for law in model.sources_of(c).values())


def _as_classes(model: Network, rates: FloatArray) -> OpenNetworkClasses | None:
    """The one station of servers that each have a queue, which Poisson arrivals visit once; None for other networks."""
    node = _lone_node(model)
    if node is None or node.discipline != "FCFS" or node.speeds is not None:
        return None
    if node.servers > 1 and node.queues != "random":
        return None
    come = [(node.service_of(c), float(rate)) for c, rate in zip(model.classes, rates[0], strict=True) if rate > 0]
    station = ClassStation(
        [law for law, _ in come], (), int(node.servers), _queues(node), name=next(iter(model.stations))
    )
    return OpenNetworkClasses([rate for _, rate in come], [station])


def chains_of(model: Network) -> list[Chain]:
    """Open chains first, with the rates of their classes; then closed ones, with their visits in a cycle."""
    if model.routing is None:
        opens = [Chain(model.arrival_rate(c) * model.visit_table(c)) for c in model.open_classes]
        return opens + [Chain(model.visit_table(c), given.number) for c, given in model.closed_classes.items()]
    routes = model.routes
    reached = {
        entry: routes.reached(routes.state(entry[1], entry[0])).reshape(routes.shape) for entry in model.entries()
    }
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


def _mean(node: Station, name: str) -> float:
    law = node.service_of(name)
    return 0.0 if law is None else law.mean


def _service(node: Station, classes: Sequence[str], visits: FloatArray) -> Distribution:
    """What a visit of a chain brings: the law of its class, or the mixture of several; exponential where it may be."""
    laws = [(node.service_of(c), v) for c, v in zip(classes, visits, strict=True) if v > 0]
    known = [(law, v) for law, v in laws if law is not None]
    total = math.fsum(v for _, v in known)
    mean = math.fsum(v * law.mean for law, v in known) / total
    if is_one_exponential([law for law, _ in known]):
        return known[0][0]
    if is_insensitive(node.discipline, node.servers, node.queues):
        return Exponential(mean)
    return Mixture(tuple(law for law, _ in known), tuple(v / total for _, v in known))


def _has_product_form(model: Network) -> bool:
    if not _is_poisson(model):
        return False
    for name, node in model.stations.items():
        come = _anyone(model)[list(model.stations).index(name)]
        laws = [node.service_of(c) for c, comes in zip(model.classes, come, strict=True) if comes]
        alike = node.discipline in ("FCFS", *SHARING) and is_one_exponential(laws)
        if not alike and not is_insensitive(node.discipline, node.servers, node.queues):
            return False
    return True


def _anyone(model: Network) -> FloatArray:
    """Which classes come to which stations, as 0 and 1."""
    came: FloatArray = np.sum([chain.visits > 0 for chain in chains_of(model)], axis=0).astype(np.float64)
    return came


def _solve_chains(model: Network, chains: Sequence[Chain]) -> tuple[Metrics, Sequence[Metrics]]:
    """The network of chains, solved; and what concerns each chain."""
    queueing = {
        name: i
        for i, (name, node) in enumerate(model.stations.items())
        if node.servers != math.inf and _anyone(model)[i].any()
    }
    for name in queueing:
        if why := _unusual(model.stations[name]):
            raise NoFormulaError(model.kendall, f"{name} {why}")
    if not queueing:
        raise NoFormulaError(model.kendall, "nobody queues there")
    thinking = [
        math.fsum(
            chain.visits[i, k] * _mean(node, c)
            for i, node in enumerate(model.stations.values())
            if node.servers == math.inf
            for k, c in enumerate(model.classes)
        )
        for chain in chains
    ]
    if len(chains) == 1 and (_has_product_form(model) or _is_alone(model, queueing, thinking)):
        (chain,) = chains
        stations = [_lone_station(model, name, i, chain) for name, i in queueing.items()]
        if chain.is_open:
            whole = jackson.solve(OpenNetwork(1.0, stations))
        else:
            closed = Closed(chain.population, [Delay(thinking[0]), *stations])
            whole = solve_closed(closed)
        return whole, [whole]
    if any(model.stations[name].speeds for name in queueing):
        raise NoFormulaError(model.kendall, "speeds that depend on the number present, with several classes")
    several = [_class_station(model, name, i, chains) for name, i in queueing.items()]
    opens = [chain for chain in chains if chain.is_open]
    populations = [chain.population for chain in chains if not chain.is_open]
    names = [f"chain {r + 1}" for r in range(len(chains))]
    if not populations:
        whole = open_classes.solve(OpenNetworkClasses([1.0] * len(opens), several, names))
    elif not opens:
        both = ClosedClasses(populations, several, thinking, names)
        whole = closed_classes.solve(both) if closed_classes.applies(both) else mean_value.solve(both)
    else:
        mix = MixedNetwork([1.0] * len(opens), populations, several, thinking[len(opens) :], names)
        if not mixed.applies(mix):
            raise NoFormulaError(model.kendall, "open and closed classes at stations without product form")
        whole = mixed.solve(mix)
    return whole, whole.classes


def _is_alone(model: Network, queueing: Mapping[str, int], thinking: Sequence[float]) -> bool:
    """Whether all customers are at one station of constant means, always."""
    if model.open_classes or len(queueing) != 1 or thinking[0] > 0:
        return False
    station = model.stations[next(iter(queueing))]
    return station.discipline == "FCFS" and station.capacity is None and not station.own_queues


def solve_closed(model: Closed) -> Metrics:
    """One closed chain of product form."""
    from qsim.analytic import solve as solve_any

    return solve_any(model)


def _unusual(node: Station) -> str:
    """Why no family here solves a station; empty where one does."""
    if node.discipline not in ("FCFS", *SHARING):
        return f"serves in the order {node.discipline}"
    if node.queues not in ("shared", "random") and node.servers > 1:
        return f"has a queue at each server, and sends customers to them in the way {node.queues!r}"
    return ""


def _queues(node: Station) -> Queues:
    return "random" if node.queues == "random" else "shared"


def _lone_station(model: Network, name: str, i: int, chain: Chain) -> Station:
    node = model.stations[name]
    law, visits = _service(node, model.classes, chain.visits[i]), float(chain.visits[i].sum())
    servers = 1 if node.speeds else int(node.servers)  # speeds are those of the station as a whole
    return Station(law, servers, visits, node.discipline, _queues(node), node.speeds, name=name)


def _class_station(model: Network, name: str, i: int, chains: Sequence[Chain]) -> ClassStation:
    node = model.stations[name]
    visits = [float(chain.visits[i].sum()) for chain in chains]
    laws = [
        _service(node, model.classes, chain.visits[i]) if v > 0 else None
        for chain, v in zip(chains, visits, strict=True)
    ]
    return ClassStation(laws, visits, int(node.servers), _queues(node), node.discipline, name)


def _visit(inner: Metrics, name: str, r: int) -> Metrics:
    """What a visit of a chain to a station is like."""
    if isinstance(inner.model, Closed | OpenNetwork):
        return inner[name] if inner.stations else inner  # alone, with one visit
    station = next(s for s in inner.stations if s.name == name)
    return next(c for c in station.classes if c.name == f"chain {r + 1}")


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
    service = np.array([[_mean(node, c) for c in model.classes] for node in model.stations.values()])

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
    for i, (name, node) in enumerate(model.stations.items()):
        if name not in model.listed:
            continue
        each = [
            part(
                c,
                rates[i, k],
                rates[i, k] * service[i, k] / node.servers,
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
        stations=tuple(stations) if model.lists_stations else (),
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
