"""Metrics of a network, put together from the times of each chain at each station."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.networks.chains import ChainNetwork
from qsim.distributions import Deterministic, Distribution
from qsim.metrics import Kind, Metrics, States, TimeDistribution

CLOCKWORK = "; all its times are constant, so that one run repeats how it began: this is the mean over all beginnings"
"""What a method says of a closed system where :func:`is_clockwork` holds."""


@dataclass(frozen=True)
class ChainTimes:
    """What a visit takes: arrays of shape (stations, chains); ``p_wait`` is NaN where it is not known."""

    response: FloatArray
    waiting: FloatArray
    p_wait: FloatArray
    states: Sequence[States | None] = ()
    """The distribution of the number at each station, all chains together."""
    times: Sequence[TimeDistribution | None] = ()
    """The distribution of the times of a visit to each station."""


def is_clockwork(laws: Sequence[Distribution | None], population: int) -> bool:
    """Whether customers circle through constant times alone, and so keep their distances forever."""
    return population > 1 and all(law is None or isinstance(law, Deterministic) for law in laws)


def network_metrics(
    view: ChainNetwork, found: ChainTimes, kind: Kind, method: str, *, forgets: bool = False
) -> Metrics:
    """Totals per cycle or passage; ``classes`` likewise; ``stations`` per visit, each with its classes.

    ``forgets``: whether the values hold however the system began, constant times or not.
    """
    net = view.network
    if net.routing is not None:
        method = f"chains of classes; {method}"
    if not forgets and any(is_clockwork(_laws(view, r), chain.population) for r, chain in enumerate(view.chains)):
        kind, method = "approximation", method + CLOCKWORK
    response, waiting, p_wait = _by_class(view, found)
    rate, passages = _throughputs(view, response)
    peaks = np.array([[s.peak] for s in net.stations.values()])
    work = np.array([[s.mean_of(c) for c in net.classes] for s in net.stations.values()]) / peaks
    flows = {name: rate[name] * visits for name, visits in passages.items()}
    through = np.sum(list(flows.values()), axis=0)
    seen = {s.name: i for i, s in enumerate(view.stations)}

    def part(
        name: str, X: float, weights: FloatArray, at: Any, U: float, p: float, most: float, **more: Any
    ) -> Metrics:
        """Times are sums over the stations ``at``, ``weights`` the visits there."""
        W, Wq = float((weights * response[at]).sum()), float((weights * waiting[at]).sum())
        return Metrics.from_times(
            net,
            name=name,
            throughput=float(X),
            utilization=float(min(U, 1.0)),
            Wq=Wq,
            most=most,
            service=W - Wq,
            servers=1,
            p_wait=float(p),
            kind=kind,
            method=method,
            **more,
        )

    everyone = math.inf if net.open_classes else float(net.population)
    most = dict.fromkeys(net.classes, everyone)
    most |= {c: float(given.number) for c, given in net.closed_classes.items()} if net.routing is None else {}
    one = np.eye(len(net.classes))

    def station(name: str) -> Metrics:
        i = list(net.stations).index(name)
        comes = [k for k in range(len(net.classes)) if any(c.visits[i, k] > 0 for c in view.chains)]
        visits = np.sum([c.visits[i] for c in view.chains], axis=0)
        share = next((w / w.sum() for w in (through[i], visits) if w.sum() > 0), one[0])
        busy, coming = through[i] * work[i], [(k, net.classes[k]) for k in comes]
        return part(
            name,
            through[i].sum(),
            share,
            i,
            busy.sum(),
            float(share[comes] @ p_wait[i, comes]),
            everyone,
            states=found.states[seen[name]] if found.states and name in seen else None,
            times=found.times[seen[name]] if found.times and name in seen else None,
            classes=tuple(part(c, through[i, k], one[k], i, busy[k], p_wait[i, k], most[c]) for k, c in coming)
            if len(net.classes) > 1
            else (),
        )

    stations = tuple(station(name) for name in net.listed)
    listed = [i for i, name in enumerate(net.stations) if name in net.listed]
    queueing = [i for i, name in enumerate(net.stations) if name in seen]

    def waits(visits: FloatArray) -> float:
        """At the only station, visited once, the share of visits that wait is that of customers."""
        once = len(queueing) == 1 and math.isclose(visits[queueing[0]].sum(), 1.0)
        comes = visits[queueing[0]] > 0 if once else []
        return float(visits[queueing[0], comes] @ p_wait[queueing[0], comes]) if once else math.nan

    thinking = np.array([[s.is_delay] for s in net.stations.values()])
    for name in net.closed_classes:  # time at a delay is no part of a response
        passages[name] = np.where(thinking, 0.0, passages[name])

    def busiest(name: str) -> float:
        return float((flows[name] * work).sum(axis=1)[listed].max())

    classes = tuple(
        part(name, rate[name], visits[listed], listed, busiest(name), waits(visits), most[name])
        for name, visits in passages.items()
    )
    X = math.fsum(rate.values())
    mean = np.sum([rate[n] / X * v if X > 0 else v / len(passages) for n, v in passages.items()], axis=0)
    alone = stations[0] if len(stations) == 1 else None
    return part(
        "",
        X,
        mean[listed],
        listed,
        max(s.utilization for s in stations),
        waits(mean),
        everyone,
        stations=stations,
        classes=classes if len(classes) > 1 else (),
        states=alone.states if alone else None,
        times=alone.times if alone and math.isclose(alone.throughput, X) else None,
    )


def _laws(view: ChainNetwork, r: int) -> list[Distribution | None]:
    """The times that a chain passes through."""
    net, visits = view.network, view.chains[r].visits
    places = enumerate(net.stations.values())
    return [s.service_of(c) for i, s in places for k, c in enumerate(net.classes) if visits[i, k] > 0]


def _by_class(view: ChainNetwork, found: ChainTimes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Response, waiting and probability of waiting of a visit, shape (stations, classes)."""
    net, seen = view.network, {s.name: i for i, s in enumerate(view.stations)}
    response, waiting, p_wait = np.zeros((3, len(net.stations), len(net.classes)))
    for i, (name, station) in enumerate(net.stations.items()):
        response[i] = station.mean_of(net.classes[0])  # where nobody comes
        for r, chain in enumerate(view.chains):
            for k in np.flatnonzero(chain.visits[i] > 0):
                own = station.mean_of(net.classes[k])
                if name not in seen:
                    response[i, k] = own
                    continue
                at = seen[name]
                W, Wq, usual = found.response[at, r], found.waiting[at, r], view.means[at, r]
                in_turn = view.stations[at].in_turn and station.speeds is None
                response[i, k] = Wq + own if in_turn else W * own / usual
                waiting[i, k] = Wq if in_turn else Wq * own / usual
                p_wait[i, k] = found.p_wait[at, r]
    return response, waiting, p_wait


def _throughputs(view: ChainNetwork, response: FloatArray) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """Passages or cycles per time unit of those who come in each class, and their visits."""
    net = view.network
    visits = {name: net.visit_table(name) for name in net.names}
    rate = {name: net.arrival_rate(name) for name in net.open_classes}
    rate |= {c: given.number / float((visits[c] * response).sum()) for c, given in net.closed_classes.items()}
    if net.closed_classes:  # the ceilings hold in exact arithmetic; rounding may pass them in the last place
        work = np.array([[s.mean_of(c) / s.peak for c in net.classes] for s in net.stations.values()])
        load = max(float(row.sum()) for row in sum(rate[n] * v for n, v in visits.items()) * work)
        rate |= {c: rate[c] / max(load, 1.0) for c in net.closed_classes}
    return rate, visits
