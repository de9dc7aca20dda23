"""M/M/c/K//N: a machine repairman with K places, servers included.  If all are taken, an arrival thinks again.

The number present is a birth-death process on 0..K with p(n+1)/p(n) = (N - n)/Z · S/min(n + 1, c), as in
:mod:`qsim.analytic.closed.repairman` cut off at K.  An arrival sees the system with N - 1 customers in time average,
and is turned away if that is full.  With K = c this is Engset's loss system.

The process stays reversible when its states are cut off, so that here too only the mean think time matters.

W, Wq and P(wait) are those of the customers that are let in, at rate X; Little's law for the whole cycle then counts
every attempt: N = L + (X + rejections)·Z.

Source: Engset (1918); insensitivity: Kelly (1979), Reversibility and Stochastic Networks, chapter 3; Kleinrock (1975),
Queueing Systems I, section 3.10; Gross & Harris (1998), Fundamentals of Queueing Theory, section 2.7.

>>> from qsim import MMcKN, solve
>>> round(solve(MMcKN(population=8, think_time=4, service_time=0.25, servers=2, capacity=4)).throughput, 6)
1.876628
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import FirstComeTimes, TabulatedStates, birth_death, require_few_states
from qsim.analytic.views import ClosedChain, closed_chain
from qsim.distributions import Exponential
from qsim.metrics import Metrics

METHOD = "M/M/c/K//N birth-death in logarithms (Kleinrock 1975, section 3.10)"


def state_probabilities(
    population: int, think_time: float, service_time: float, servers: int, capacity: int
) -> FloatArray:
    """p(0), ..., p(min(K, N)); ``think_time`` > 0."""
    n = np.arange(min(population, capacity))
    log_ratio = (
        np.log(population - n) - np.log(np.minimum(n + 1, servers)) + (math.log(service_time) - math.log(think_time))
    )
    p = birth_death(log_ratio)
    return np.asarray(p / p.sum())


def applies(model: ClosedChain) -> bool:
    """One FCFS station with limited places and exponential service; any think time above zero."""
    if len(model.queueing) != 1 or model.think_time == 0:
        return False
    (station,) = model.queueing
    return (
        station.capacity is not None
        and isinstance(station.time, Exponential)
        and station.visits == 1
        and station.speeds is None
        and station.discipline == "FCFS"
        and (station.queues == "shared" or station.servers == 1)
    )


def solve(model: ClosedChain) -> Metrics:
    """Exact; raises NoFormulaError for millions of customers and places."""
    (station,) = model.queueing
    assert station.capacity is not None  # noqa: S101
    require_few_states(model, min(model.population, station.capacity))
    N, Z, S, c, K = model.population, model.think_time, station.time.mean, station.servers, station.capacity
    p, seen = state_probabilities(N, Z, S, c, K), state_probabilities(N - 1, Z, S, c, K)
    n = np.arange(p.size)
    found = seen[:K] / seen[:K].sum()  # by those who are let in
    X = float(p @ np.minimum(n, c)) / S
    Wq = S * float(found @ np.maximum(np.arange(1, found.size + 1) - c, 0)) / c
    return Metrics(
        model=model,
        throughput=X,
        utilization=min(X * S / c, 1.0),
        L=X * (Wq + S),
        Lq=X * Wq,
        W=Wq + S,
        Wq=Wq,
        p_wait=min(float(found[c:].sum()), 1.0),
        p_block=float(seen[K]) if seen.size > K else 0.0,
        kind="exact",
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
        times=FirstComeTimes(tuple(found.tolist()), S, c),
    )


FORMULA = Formula(closed_chain, applies, solve)
