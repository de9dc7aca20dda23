"""Open networks of queues with Poisson arrivals: every station on its own.

The traffic equations λ = γ + λP give each station's throughput, feedback included.  In the long run the numbers at
the stations are then independent, and each is distributed as if the station stood alone with Poisson arrivals of
rate λᵢ, although with feedback the stream of its arrivals is not Poisson: M/M/c where it has c servers, M/M/1 with
the load spread over k queues picked at random, a birth-death process where its speed depends on the number present.
Time in the network per customer follows from Little's law, W = Σ Lᵢ/γ, with Lᵢ = λᵢ·Wᵢ.  Exponential service is
needed under FCFS; stations that share (PS) or let the newcomer interrupt (LCFS-PR) take any.

Source: Jackson (1957), Operations Research 5, "Networks of waiting lines"; Jackson (1963), Management Science 10,
"Jobshop-like queueing systems"; Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22.

>>> from qsim import Exponential, OpenNetwork, Station, solve
>>> cpu, disk = Station(Exponential(0.04), visits=5), Station(Exponential(0.03), visits=2.5)
>>> r = solve(OpenNetwork(arrival_rates=4, stations=[cpu, disk]))
>>> [round(s.L, 3) for s in r.stations]
[4.0, 0.429]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from qsim._types import FloatArray
from qsim.analytic import mmc
from qsim.analytic._stability import ROUNDING
from qsim.analytic.closed_network import has_product_form
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import MMc, Model, OpenNetwork, Station

METHOD = "open network of product form (Jackson 1957)"


@dataclass(frozen=True)
class BirthDeathStates:
    """p(n), a table and a geometric tail beyond it."""

    table: tuple[float, ...]
    ratio: float

    def p(self, n: int) -> float:
        last = len(self.table) - 1
        return self.table[n] if n <= last else self.table[last] * self.ratio ** (n - last)


def load_dependent(load: float, speeds: tuple[float, ...]) -> BirthDeathStates:
    """The number present where arrivals bring ``load`` = λ·S of work, done at ``speeds``; load < last speed."""
    with np.errstate(divide="ignore"):
        logs = np.concatenate(([0.0], np.cumsum(np.log(load) - np.log(np.asarray(speeds)))))
    terms: FloatArray = np.exp(logs - logs.max())
    ratio = load / speeds[-1]
    terms /= terms[:-1].sum() + terms[-1] / (1 - ratio)
    return BirthDeathStates(tuple(terms.tolist()), ratio)


def applies(model: Model) -> bool:
    """Every station of a kind that keeps product form."""
    return isinstance(model, OpenNetwork) and all(has_product_form(s) for s in model.queueing)


def solve(model: Model) -> Metrics:
    """Exact; ``stations`` holds each station, per visit.  Raises UnstableQueueError naming an overloaded one."""
    assert isinstance(model, OpenNetwork)  # noqa: S101
    rates = [x for x, s in zip(model.throughputs, model.stations, strict=True) if isinstance(s, Station)]
    stations = tuple(
        _station(model, station, rate, station.name or f"station {i + 1}")
        for i, (station, rate) in enumerate(zip(model.queueing, rates, strict=True))
    )
    X = model.arrival_rate
    L, Lq = math.fsum(s.L for s in stations), math.fsum(s.Lq for s in stations)
    alone = len(stations) == 1
    return Metrics(
        model=model,
        throughput=X,
        utilization=max(s.utilization for s in stations),
        L=L,
        Lq=Lq,
        W=L / X,
        Wq=Lq / X,
        p_wait=stations[0].p_wait if alone else math.nan,
        p_block=0.0,
        kind="exact",
        method=METHOD,
        stations=stations,
        states=stations[0].states if alone else None,
    )


def _station(model: OpenNetwork, station: Station, rate: float, name: str) -> Metrics:
    """One station as it would be alone with Poisson arrivals."""
    S, c = station.service.mean, station.servers
    full_speed = float(c) if station.speeds is None else station.speeds[-1]
    if rate * S > full_speed * (1 - ROUNDING):
        raise UnstableQueueError(f"{name} of {model.kendall}", rate, full_speed / c / S, c)
    if station.speeds is not None:
        return _load_dependent_station(model, station, rate, name)
    queues = c if station.queues == "random" else 1
    alone = mmc.solve(MMc(rate / queues, 1 / S, c // queues))
    result = replace(
        alone, model=model, throughput=rate, L=alone.L * queues, Lq=alone.Lq * queues, method=METHOD, name=name
    )
    if queues > 1:
        result = replace(result, states=None)
    # Feedback lets customers overtake each other's visits, not each other at one visit: FCFS times still hold.
    return result if station.discipline == "FCFS" else replace(result, times=None, p_wait=math.nan)


def _load_dependent_station(model: OpenNetwork, station: Station, rate: float, name: str) -> Metrics:
    assert station.speeds is not None  # noqa: S101
    states = load_dependent(rate * station.service.mean, tuple(station.speeds))
    p, ratio, last = np.asarray(states.table), states.ratio, len(states.table) - 1
    n = np.arange(p.size)
    # Beyond the table: last + 1, last + 2, ... with probabilities p(last)·ratio, p(last)·ratio², ...
    tail = p[-1] * ratio / (1 - ratio)
    L = float(n @ p) + tail * (last + 1 / (1 - ratio))
    Lq = float(np.maximum(n - 1, 0) @ p) + tail * (last - 1 + 1 / (1 - ratio))
    busy = float(p[1:].sum()) + float(tail)
    return Metrics(
        model=model,
        throughput=rate,
        utilization=busy,
        L=L,
        Lq=Lq,
        W=L / rate if rate > 0 else math.nan,
        Wq=Lq / rate if rate > 0 else math.nan,
        p_wait=busy if station.discipline == "FCFS" else math.nan,
        p_block=0.0,
        kind="exact",
        method=METHOD,
        name=name,
        states=states,
    )
