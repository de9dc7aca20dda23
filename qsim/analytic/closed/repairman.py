"""M/M/c/K//N, the machine repairman: N customers think for Z, queue for c servers, are served for S, and return.

This is a storage device under fio at iodepth N, with Z the host's time between an answer and the next request.

With n at the station, N - n think; the flow between neighbours balances:

    p(n+1)/p(n) = (N - n)/Z · S/min(n + 1, c),

taken in logarithms, so that neither N = 4096 nor Z/S = 1e±9 can overflow.  An arrival sees the station as it would be
in time average with N - 1 customers (arrival theorem; Lavenberg & Reiser 1980; Sevcik & Mitrani 1981).

With K < N places the process stops at K, and an arrival that finds them taken thinks again; with K = c this is Engset's
loss system.  It stays reversible, so that only the mean think time matters.  W, Wq and P(wait) are then those of the
customers that are let in, at rate X, and N = L + (X + rejections)·Z.

All populations at once: :mod:`qsim.analytic.closed.populations`.

Source: Kleinrock (1975), Queueing Systems I, sections 3.8 (one server) and 3.10; product form: Baskett, Chandy, Muntz &
Palacios (1975); Engset (1918); Kelly (1979), Reversibility and Stochastic Networks, chapter 3; Gross & Harris (1998),
Fundamentals of Queueing Theory, section 2.7.

>>> from qsim import Closed, Delay, Exponential, MMcN, Station, solve
>>> r = solve(MMcN(population=80, think_time=10, service_time=4, servers=8))
>>> round(r.throughput, 9), round(r.W, 9)
(2.0, 30.0)
>>> round(solve(Closed(8, [Delay(4), Station(Exponential(0.25), 2, capacity=4)])).throughput, 6)
1.876628
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.birth_death import TabulatedStates, require_few_states, weights
from qsim.analytic.open.first_come import FirstComeTimes
from qsim.analytic.views import ClosedQueue, closed_queue
from qsim.distributions import Exponential
from qsim.metrics import Metrics

METHOD = "machine repairman, birth-death in logarithms (Kleinrock 1975, section 3.8)"
LIMITED = "M/M/c/K//N birth-death in logarithms (Kleinrock 1975, section 3.10)"


def state_probabilities(queue: ClosedQueue, population: int) -> FloatArray:
    """p(0), ..., p(min(K, N)) with this population: the long-run shares of time with n customers at the station."""
    S, Z = queue.service.mean, queue.think_time
    places = population if queue.capacity is None else min(population, queue.capacity)
    if Z == 0:
        return np.asarray(np.eye(1, places + 1, places)[0], dtype=np.float64)
    n = np.arange(places)
    p = weights(np.log(population - n) - np.log(np.minimum(n + 1, queue.servers)) + math.log(S) - math.log(Z))
    return np.asarray(p / p.sum())


def applies(queue: ClosedQueue) -> bool:
    """Exponential service from one queue; with limited places a think time above zero."""
    exponential = isinstance(queue.service, Exponential) and queue.queues == "shared"
    return exponential and (queue.capacity is None or queue.think_time > 0)


def solve(queue: ClosedQueue) -> Metrics:
    """Exact, for every number of servers and ratio of think to service time.

    Raises NoFormulaError for millions of customers and places.
    """
    require_few_states(queue, queue.places)
    N, Z, S, c, K = queue.population, queue.think_time, queue.service.mean, queue.servers, queue.capacity
    p, seen = state_probabilities(queue, N), state_probabilities(queue, N - 1)
    busy = float(p @ np.minimum(np.arange(p.size), c))
    Wq = float(p @ np.maximum(np.arange(p.size) - c, 0)) / (busy / S)
    found = seen if K is None else seen[:K] / seen[:K].sum()  # by those who are let in
    return Metrics.from_times(
        queue,
        throughput=min(N / (Z + S + Wq), c / S) if K is None else busy / S,
        service=S,
        servers=c,
        Wq=Wq,
        most=queue.places,
        p_wait=min(float(found[c:].sum()), 1.0),
        p_block=float(seen[K]) if K is not None and seen.size > K else 0.0,
        method=METHOD if K is None else LIMITED,
        states=TabulatedStates(tuple(p.tolist())),
        times=FirstComeTimes(tuple(found.tolist()), S, c),
    )


FORMULA = Formula(closed_queue, applies, solve)
