"""Classes of customers at one station, with and without priorities; Poisson arrivals.

Let classes be served by level, level 1 first, and σ(p) the load per server of levels 1 to p.  On one server

- **none** (FCFS): all wait alike, as in the M/G/1 queue of the mixture of services;
- **non-preemptive** (Cobham): Wq(p) = W0 / ((1 - σ(p-1))·(1 - σ(p))), W0 = sum over all classes of λ·E[S²]/2;
- **preemptive-resume**: W(p) = E[S]/(1 - σ(p-1)) + W0(p) / ((1 - σ(p-1))·(1 - σ(p))), W0(p) over levels up to p only,
  which do not notice those below.

On c servers with exponential services of one mean the same holds with W0 = P(wait)·S/c (non-preemptive), and under
preemption levels 1 to p together are M/M/c, from which their means follow one after another.  For other laws on c
servers, classes without priorities are the mixture again; with priorities they are simulated.

Source: Cobham (1954), Oper. Res. 2; White & Christie (1958), Oper. Res. 6; Kleinrock (1976), Queueing Systems II,
sections 3.4 and 3.6; c servers: Davis (1966), Oper. Res. 14.

>>> from qsim import Arrivals, Exponential, Network, Station, solve
>>> disk = Station(Exponential(1.0), discipline="priority", priority={"urgent": 0, "other": 1})
>>> found = solve(Network({"disk": disk}, {"urgent": Arrivals(0.2), "other": Arrivals(0.6)}))
>>> [round(c.W, 9) for c in found.classes]
[2.0, 6.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from qsim.analytic.open.mg1 import MG1Times
from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.open.one_queue import solve_queue
from qsim.analytic.views import ROUNDING, ClassFlow, ClassQueue, Formula, OpenQueue, class_queue, is_one_exponential
from qsim.distributions import Distribution, Exponential, HyperExponential, Mixture
from qsim.errors import UnstableQueueError
from qsim.metrics import Kind, Metrics

COBHAM = "non-preemptive priorities (Cobham 1954)"
RESUME = "preemptive-resume priorities (White & Christie 1958)"
SEVERAL = {
    "non-preemptive": "non-preemptive priorities on c servers (Davis 1966)",
    "preemptive-resume": "preemptive-resume priorities, levels 1 to p as M/M/c",
}


def mixed_service(classes: Sequence[ClassFlow]) -> Distribution:
    """The service of a customer of whatever class comes next."""
    laws = [c.service for c in classes]
    if all(law == laws[0] for law in laws):
        return laws[0]
    total = math.fsum(c.arrival_rate for c in classes)
    shares = tuple(c.arrival_rate / total for c in classes)
    if all(isinstance(law, Exponential) for law in laws):
        return HyperExponential(shares, tuple(law.mean for law in laws))
    return Mixture(tuple(laws), shares)


def _levels(classes: Sequence[ClassFlow]) -> list[list[int]]:
    """Indices of the classes by level, the most urgent first."""
    return [[i for i, c in enumerate(classes) if c.priority == p] for p in sorted({c.priority for c in classes})]


def waits_on_one(classes: Sequence[ClassFlow], preemptive: bool) -> list[float]:
    """Wq (response less service) of each class on one server; σ < 1 throughout."""
    backlog = [c.arrival_rate * c.service.moment(2) / 2 for c in classes]
    waits = [0.0] * len(classes)
    before, ahead = 0.0, 0.0
    everyone = math.fsum(backlog)
    for level in _levels(classes):
        upto = before + math.fsum(classes[i].offered_load for i in level)
        ahead += math.fsum(backlog[i] for i in level)
        for i in level:
            waits[i] = (ahead if preemptive else everyone) / ((1 - before) * (1 - upto))
            if preemptive:  # and what interrupts the service itself
                waits[i] += classes[i].service.mean * before / (1 - before)
        before = upto
    return waits


def waits_on_several(classes: Sequence[ClassFlow], servers: int, preemptive: bool) -> list[float]:
    """Wq of each class on ``servers`` servers, all services exponential with one mean."""
    S, c = classes[0].service.mean, servers
    waits = [0.0] * len(classes)
    before, queued = 0.0, 0.0
    whole = erlang_c(c, math.fsum(k.offered_load for k in classes)) * S / c
    for level in _levels(classes):
        offered = math.fsum(classes[i].offered_load for i in level)
        upto = before + offered
        if preemptive:
            all_queued = erlang_c(c, upto) * upto / (c - upto)  # Lq of levels 1 to p
            wait = max(0.0, all_queued - queued) * S / offered
            queued = all_queued
        else:
            wait = whole / ((1 - before / c) * (1 - upto / c))
        for i in level:
            waits[i] = wait
        before = upto
    return waits


def applies(model: ClassQueue) -> bool:
    """Poisson arrivals of every class; priorities on several servers only where all services are one exponential."""
    alike = model.priority == "none" or model.servers == 1 or is_one_exponential([k.service for k in model.classes])
    return alike and all(isinstance(k.arrivals, Exponential) and math.isfinite(k.arrivals.mean) for k in model.classes)


def solve(model: ClassQueue) -> Metrics:
    """Exact, or without priorities as accurate as the formula of M/G/c; raises UnstableQueueError when ρ >= 1."""
    classes, c, preemptive = model.classes, model.servers, model.priority == "preemptive-resume"
    if model.rho > 1 - ROUNDING:
        raise UnstableQueueError(model.kendall, model.arrival_rate, model.service_rate, c)
    kind: Kind = "exact"
    if model.priority == "none":
        whole = solve_queue(OpenQueue(Exponential(1 / model.arrival_rate), mixed_service(classes), c))
        waits, kind, method, p_wait = [whole.Wq] * len(classes), whole.kind, whole.method, whole.p_wait
    elif c == 1:
        waits, method, p_wait = waits_on_one(classes, preemptive), RESUME if preemptive else COBHAM, model.rho
    else:
        waits, method = waits_on_several(classes, c, preemptive), SEVERAL[model.priority]
        p_wait = erlang_c(c, model.offered_load)
    if preemptive:
        p_wait = math.nan
    parts = tuple(
        Metrics.from_times(
            model,
            name=model.names[i],
            throughput=k.arrival_rate,
            service=k.service.mean,
            servers=c,
            Wq=waits[i],
            p_wait=p_wait,
            kind=kind,
            method=method,
            times=_times(model, k.service),
        )
        for i, k in enumerate(classes)
    )
    X = model.arrival_rate
    return Metrics.from_times(
        model,
        throughput=X,
        service=model.offered_load / X,
        servers=c,
        Wq=math.fsum(p.Lq for p in parts) / X,
        p_wait=p_wait,
        kind=kind,
        method=method,
        classes=parts,
        times=_times(model, mixed_service(classes)),
    )


def _times(model: ClassQueue, service: Distribution) -> MG1Times | None:
    """Distributions of W and Wq of a customer of this service, at one server in order of arrival; else None."""
    if model.priority != "none" or model.servers > 1:
        return None
    return MG1Times(model.arrival_rate, mixed_service(model.classes), service)


FORMULA = Formula(class_queue, applies, solve)
