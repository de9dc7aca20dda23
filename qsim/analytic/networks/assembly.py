"""Metrics of a network, put together from the times of each class at each station."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.networks.classes import ClassNetwork
from qsim.distributions import Deterministic, Distribution
from qsim.metrics import Kind, Metrics, States, TimeDistribution

CLOCKWORK = "; all its times are constant, so that one run repeats how it began: this is the mean over all beginnings"
"""Added to the method of a closed system where :func:`is_clockwork` holds."""


@dataclass(frozen=True)
class VisitTimes:
    """Mean times per visit: arrays of shape (stations, classes); ``p_wait`` is NaN where it is not known."""

    response: FloatArray
    waiting: FloatArray
    p_wait: FloatArray
    states: Sequence[States | None] = ()  # the distribution of the number at each station, all classes together
    times: Sequence[TimeDistribution | None] = ()  # the distribution of the times of a visit to each station


def is_clockwork(laws: Sequence[Distribution | None], population: int) -> bool:
    """Whether all times of a cycle are constant, so that the gaps between customers never change."""
    return population > 1 and all(law is None or isinstance(law, Deterministic) for law in laws)


def network_metrics(view: ClassNetwork, found: VisitTimes, kind: Kind, method: str) -> Metrics:
    """Metrics of the network and of ``classes`` per cycle or passage; of ``stations``, and their classes, per visit."""
    net, classes = view.network, view.network.classes
    places, visits = list(net.stations.values()), np.column_stack([each.visits for each in view.classes])
    if any(is_clockwork(_laws(view, r), each.population) for r, each in enumerate(view.classes)):
        kind, method = "approximation", method + CLOCKWORK
    means = np.array([[s.mean_of(c) for c in classes] for s in places])
    work = means / np.array([[s.peak] for s in places])
    at = {name: i for i, name in enumerate(net.stations)}
    queueing = [at[s.name] for s in view.stations]
    own_place = {i: own for own, i in enumerate(queueing)}
    response = np.where(visits > 0, means, means[:, :1])
    waiting, p_wait = np.zeros((2, *visits.shape))
    response[queueing], waiting[queueing], p_wait[queueing] = found.response, found.waiting, found.p_wait
    rate = _throughputs(view, visits, response, work)
    through = rate * visits
    # Of customers that circulate, time at a delay is no part of a response.
    thinking = np.array([[s.is_delay for _ in classes] for s in places]) & np.array(
        [c.population > 0 for c in view.classes]
    )
    passages = np.where(thinking, 0.0, visits)

    def part(name: str, X: float, W: float, Wq: float, U: float, p: float, most: float, **more: Any) -> Metrics:
        figures = {"throughput": X, "utilization": min(U, 1.0), "Wq": Wq, "most": most, "service": W - Wq, "p_wait": p}
        return Metrics.from_times(net, name=name, servers=1, kind=kind, method=method, **figures, **more)

    everyone = math.inf if net.open_classes else float(net.population)
    circle = [float(each.population or everyone) for each in view.classes]
    share, busy = _shares(through, visits), through * work
    by_station = [(share * each).sum(axis=1).tolist() for each in (response, waiting, p_wait)]
    total, load = through.sum(axis=1).tolist(), busy.sum(axis=1).tolist()

    def station(name: str) -> Metrics:
        i = at[name]
        W, Wq, p = (each[i] for each in by_station)
        own = own_place.get(i)
        return part(
            name,
            total[i],
            W,
            Wq,
            load[i],
            p,
            everyone,
            states=found.states[own] if found.states and own is not None else None,
            times=found.times[own] if found.times and own is not None else None,
            classes=at_station(i) if len(classes) > 1 else (),
        )

    def at_station(i: int) -> tuple[Metrics, ...]:
        values = np.column_stack([through[i], response[i], waiting[i], busy[i], p_wait[i], circle]).tolist()
        return tuple(part(name, *values[k]) for k, name in enumerate(classes) if visits[i, k] > 0)

    stations = tuple(station(name) for name in net.listed)
    listed = [at[name] for name in net.listed]

    def waits(passed: FloatArray) -> float:
        """P(wait) of a customer, known only where it visits a single queue, once."""
        if not queueing:
            return 0.0
        only, *others = queueing
        if others or not math.isclose(passed[only].sum(), 1.0):
            return math.nan
        comes = passed[only] > 0
        return float(passed[only, comes] @ p_wait[only, comes])

    def passing(name: str, X: float, passed: FloatArray, *values: float, **more: Any) -> Metrics:
        """Metrics of customers that pass the stations so often."""
        W, Wq = (float((passed * each)[listed].sum()) for each in (response, waiting))
        return part(name, X, W, Wq, values[0], waits(passed), values[1], **more)

    def by_class(k: int) -> Metrics:
        passed = passages * np.eye(len(classes))[k]
        return passing(classes[k], float(rate[k]), passed, float(busy[listed, k].max()), circle[k])

    X = math.fsum(rate)
    mean = passages * (rate / X if X > 0 else 1 / len(classes))
    alone = stations[0] if len(stations) == 1 else None
    return passing(
        "",
        X,
        mean,
        max(s.utilization for s in stations),
        everyone,
        stations=stations,
        classes=tuple(by_class(k) for k in range(len(classes))) if len(classes) > 1 else (),
        states=alone.states if alone else None,
        times=alone.times if alone and math.isclose(alone.throughput, X) else None,
    )


def _shares(through: FloatArray, visits: FloatArray) -> FloatArray:
    """The share of each class among those that pass a station: by throughput, or by visits where none is known."""
    weights = np.where(through.sum(axis=1, keepdims=True) > 0, through, visits)
    weights[weights.sum(axis=1) == 0, 0] = 1.0  # nobody comes
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _laws(view: ClassNetwork, r: int) -> list[Distribution | None]:
    """The distributions of service (or think) time at each station that class ``r`` visits."""
    passed = zip(view.network.stations.values(), view.classes[r].visits, strict=True)
    return [s.service_of(view.network.classes[r]) for s, visits in passed if visits > 0]


def _throughputs(view: ClassNetwork, visits: FloatArray, response: FloatArray, work: FloatArray) -> FloatArray:
    """Throughput of each class: passages or cycles per time unit."""
    closed = np.array([each.population > 0 for each in view.classes])
    cycles = (visits * response).sum(axis=0)
    rates = [c.population / cycle if c.population else c.rate for c, cycle in zip(view.classes, cycles, strict=True)]
    rate = np.array(rates)
    # The ceilings hold in exact arithmetic; rounding may pass them in the last place.
    load = float((rate * visits * work).sum(axis=1).max())
    return np.where(closed, rate / max(load, 1.0), rate)
