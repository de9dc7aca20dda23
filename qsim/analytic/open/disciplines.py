"""Other orders of service than first come first served.

**Orders that do not look at the size, without preemption** (LCFS; SIRO, random): who is served next is drawn
without regard to how long it takes, so the number present, and by Little's law every mean, is as with FCFS.  Only
the spread of the waits differs; for M/G/1, with Wq the mean and E[Wq²] that of FCFS, the second moment is

    LCFS: E[Wq²]/(1 - ρ),      SIRO: E[Wq²]·2/(2 - ρ).

With exponential services the same holds under preemption too, since what is left of one is like a new one.

**Symmetric orders** (PS on c servers, LCFS-PR on one) with Poisson arrivals are insensitive: the number present has
the law of M/M/c, with or without a limit on places, for any service law.  Only with what a customer was held up by
others (response less service) counted as waiting can Wq be spoken of; that is what it is here.

**By size** (SJF, PSJF, SRPT): see :mod:`qsim.analytic.open.size_based`.

Source: Kleinrock (1976), Queueing Systems II, sections 3.4-3.7 and 4.4; variances: Kingman (1962), Proc. Cambridge
Phil. Soc. 58 (SIRO), and Takács (1963), Oper. Res. 11; insensitivity: Kelly (1979), Reversibility and Stochastic
Networks, section 3.3.

>>> from qsim import Deterministic, Exponential, Open, solve
>>> round(solve(Open(Exponential(1 / 3), Deterministic(0.2), discipline="PS")).W, 9)
0.5
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open import birth_death, mg1, size_based
from qsim.analytic.times import markov
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Distribution, Exponential
from qsim.metrics import Metrics, TimeDistribution

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "LCFS": "last come first served has the means of FCFS: {}",
        "SIRO": "random order has the means of FCFS: {}",
        "LCFS-PR": "preempting exponential services keeps the means of FCFS: {}",
        "PS": "processor sharing, insensitive to the service law (Kelly 1979, section 3.3)",
        "SJF": "shortest job first (Phipps 1956)",
        "PSJF": "preemptive shortest job first (Harchol-Balter 2013, section 32.3)",
        "SRPT": "shortest remaining processing time (Schrage & Miller 1966)",
    }
)
SYMMETRIC_LCFS = "preemptive last come first served, insensitive to the service law (Kelly 1979, section 3.3)"


def wait_variance(arrival_rate: float, service: Distribution, discipline: str = "FCFS") -> float:
    """Var[Wq] of M/G/1 under FCFS, LCFS or SIRO; the mean is the same for all three.

    Infinite when E[S³] is; raises UnstableQueueError when ρ >= 1.

    >>> from qsim import Exponential
    >>> [round(wait_variance(0.5, Exponential(mean=1), rule), 2) for rule in ("FCFS", "LCFS", "SIRO")]
    [3.0, 7.0, 4.33]
    """
    _check.one_of("discipline", discipline, ("FCFS", "LCFS", "SIRO"))
    rho = size_based.require_load(arrival_rate, service)
    mean = mg1.mean_wait(arrival_rate, service)
    square = mg1.wait_variance(arrival_rate, service) + mean**2
    factor = {"FCFS": 1.0, "LCFS": 1 / (1 - rho), "SIRO": 2 / (2 - rho)}[discipline]
    return square * factor - mean**2


def applies(model: OpenQueue) -> bool:
    """Any order but FCFS, at one queue, where one of the theories above covers it."""
    if not _at_one_queue(model):
        return False
    match model.discipline:
        case "SJF" | "PSJF" | "SRPT":
            return model.poisson and model.servers == 1 and model.capacity is None
        case "PS":
            return _symmetric(model)
        case "LCFS-PR":
            memoryless = isinstance(model.service, Exponential) and model.capacity is None
            return _symmetric(model) or (memoryless and _first_come_is_known(model))
        case _:
            return model.discipline != "FCFS" and _first_come_is_known(model)


def _at_one_queue(model: OpenQueue) -> bool:
    one_queue = model.queues == "shared" or model.servers == 1
    return one_queue and model.servers != math.inf and model.speeds is None


def _first_come_is_known(model: OpenQueue) -> bool:
    from qsim.analytic import queue_formula

    return queue_formula(_first_come(model)) is not None


def _symmetric(model: OpenQueue) -> bool:
    if not model.poisson:
        return False
    return model.discipline == "PS" or (model.discipline == "LCFS-PR" and model.servers == 1 and model.capacity is None)


def _first_come(model: OpenQueue) -> OpenQueue:
    """The same queue served in order of arrival."""
    return dataclasses.replace(model, discipline="FCFS")


def solve(model: OpenQueue) -> Metrics:
    """Exact, or as good as what is known of FCFS; raises UnstableQueueError when ρ >= 1 without limited places."""
    model.require_stable()
    if model.discipline in size_based.RULES:
        return _by_size(model)
    if _symmetric(model):
        return _sharing(model)
    from qsim.analytic import solve_queue

    first_come = solve_queue(_first_come(model))
    method = METHODS[model.discipline].format(first_come.method)
    # Of those whose service may be interrupted it is not known how many are held up.
    p_wait = first_come.p_wait if model.discipline != "LCFS-PR" else math.nan
    times = _random_order(model, first_come) if model.discipline == "SIRO" else None
    return dataclasses.replace(first_come, model=model, method=method, p_wait=p_wait, times=times)


def _random_order(model: OpenQueue, first_come: Metrics) -> TimeDistribution | None:
    """W and Wq of customers taken in random order; None where their law is not known."""
    found = _found(model, first_come) if model.markovian and model.arrival_rate > 0 else None
    if found is None:
        return None
    return markov.in_random_order(found, model.arrival_rate, model.service_rate, model.servers)


def _found(model: OpenQueue, metrics: Metrics) -> FloatArray | None:
    """The number present that those find who are let in, as far as it counts; None where that is too far."""
    most = markov.others(model.rho, None if model.capacity is None else model.capacity - 1)
    if most is None:
        return None
    p = np.array([metrics.p(n) for n in range(model.servers + most)])
    p = p if model.capacity is None else p[: model.capacity]
    return np.asarray(p / p.sum())


def _by_size(model: OpenQueue) -> Metrics:
    lam, service = model.arrival_rate, model.service
    rule = cast(size_based.Rule, model.discipline)
    W = size_based.mean_response(lam, service, rule) if lam > 0 else service.mean
    return Metrics.from_times(
        model,
        throughput=lam,
        service=service.mean,
        servers=1,
        W=max(W, service.mean),
        p_wait=model.rho if rule == "SJF" else math.nan,
        method=METHODS[rule],
    )


def _sharing(model: OpenQueue) -> Metrics:
    """PS, or LCFS-PR on one server: the state law of M/M/c or M/M/c/K."""
    lam, service, c = model.arrival_rate, model.service, model.servers
    metrics = birth_death.solve(model)
    held_up = math.nan
    if c == 1 and model.capacity is None:
        alone = service.transform(lam)  # nobody comes during a whole service
        held_up = 1 - alone if model.discipline == "LCFS-PR" else 1 - (1 - model.rho) * alone
    times: TimeDistribution | None = None
    sharing = model.discipline == "PS" and isinstance(service, Exponential) and lam > 0
    if sharing and (found := _found(model, metrics)) is not None:
        times = markov.sharing(found, lam, model.service_rate, c)
    method = METHODS["PS"] if model.discipline == "PS" else SYMMETRIC_LCFS
    return dataclasses.replace(metrics, p_wait=held_up, method=method, times=times)


FORMULA = Formula(open_queue, applies, solve)
