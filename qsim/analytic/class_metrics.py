"""Metrics of networks with several classes, put together from the times of each class at each station."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import ClassNetwork, VisitedStation
from qsim.metrics import Kind, Metrics, States


@dataclass(frozen=True)
class ClassTimes:
    """What a visit takes: arrays of shape (stations, classes), NaN in ``p_wait`` where it is not known."""

    response: FloatArray
    waiting: FloatArray
    p_wait: FloatArray
    states: Sequence[States | None]
    """The distribution of the number at each station, all classes together."""


def visits_of(stations: Sequence[VisitedStation]) -> FloatArray:
    """Mean visits, shape (stations, classes)."""
    return np.array([s.visits for s in stations])


def closed_metrics(model: ClassNetwork, times: ClassTimes, kind: Kind, method: str) -> Metrics:
    """The Metrics of a closed network, throughputs being what Little's law makes of the times."""
    W = (visits_of(model.stations) * times.response).sum(axis=0)
    N, Z = np.array(model.populations), np.array(model.think_times)
    return class_metrics(model, N / (Z + W), times, kind, method)


def class_metrics(model: ClassNetwork, throughputs: FloatArray, times: ClassTimes, kind: Kind, method: str) -> Metrics:
    """Totals at the top, per cycle or passage; ``classes`` likewise; ``stations`` per visit, each with its classes."""
    visits, means = visits_of(model.stations), np.array([s.means for s in model.stations])
    servers = np.array([[s.servers] for s in model.stations])
    rates = throughputs * visits
    busy = np.minimum(rates * means / servers, 1.0)
    present, waiting = rates * times.response, rates * times.waiting

    def part(name: str, X: float, U: float, L: float, Lq: float, p_wait: float, **more: object) -> Metrics:
        return Metrics(
            model=model,
            throughput=float(X),
            utilization=float(U),
            L=float(L),
            Lq=float(Lq),
            W=float(L / X) if X > 0 else math.nan,
            Wq=float(Lq / X) if X > 0 else math.nan,
            p_wait=float(p_wait),
            p_block=0.0,
            kind=kind,
            method=method,
            name=name,
            **more,  # type: ignore[arg-type]
        )

    def mean_p_wait(i: int) -> float:
        come = rates[i] > 0
        return float(rates[i, come] @ times.p_wait[i, come] / rates[i].sum()) if come.any() else math.nan

    stations = tuple(
        part(
            station.name,
            rates[i].sum(),
            min(busy[i].sum(), 1.0),
            present[i].sum(),
            waiting[i].sum(),
            mean_p_wait(i),
            states=times.states[i],
            classes=tuple(
                part(model.names[r], rates[i, r], busy[i, r], present[i, r], waiting[i, r], times.p_wait[i, r])
                for r in range(visits.shape[1])
                if visits[i, r] > 0 and len(model.names) > 1
            ),
        )
        for i, station in enumerate(model.stations)
    )
    alone = len(stations) == 1
    once = alone & (visits[0] == 1)  # there the share of visits that wait is that of customers
    classes = tuple(
        part(
            name,
            throughputs[r],
            busy[:, r].max(),
            present[:, r].sum(),
            waiting[:, r].sum(),
            times.p_wait[0, r] if once[r] else math.nan,
        )
        for r, name in enumerate(model.names)
    )
    return part(
        "",
        throughputs.sum(),
        max(s.utilization for s in stations),
        present.sum(),
        waiting.sum(),
        stations[0].p_wait if once.all() else math.nan,
        stations=stations,
        classes=classes if len(classes) > 1 else (),
        states=times.states[0] if alone else None,
    )
