"""M/M/c/K//N, the machine repairman: N customers think for Z, queue for c servers, are served for S, and return.

This is a storage device under fio at iodepth N, with Z the host's time between an answer and the next request.

With n at the station, N - n think; the flow between neighbours balances:

    p(n+1)/p(n) = (N - n)/Z · S/min(n + 1, c),

taken in logarithms, so that neither N = 4096 nor Z/S = 1e±9 can overflow.  An arrival sees the station as it would be
in time average with N - 1 customers (arrival theorem; Lavenberg & Reiser 1980; Sevcik & Mitrani 1981).

With K < N places the process stops at K, and an arrival that finds them taken thinks again; with K = c this is Engset's
loss system.  It stays reversible, so that only the mean think time matters.  W, Wq and P(wait) are then those of the
customers that are admitted, at rate X, and N = L + (X + rejections)·Z.

**All populations at once**, in arrays of numbers, as a fit of thousands of structures needs them
(:func:`one_queue_throughputs`).  Textbook load-dependent mean value analysis subtracts nearly equal numbers and returns
negative throughputs; this recursion adds positive ones.  With p = S/(Z + S) and B(n) a binomial(n, p) count, the
normalising constant of the product form, G(n), divided by that of infinitely many servers, (Z+S)ⁿ/n!, is

    g(n) = E[ max(1, 1/c)·max(1, 2/c)···max(1, B(n)/c) ] = 1 + γ(n),   γ(n) = γ(n-1)·p·n/c + δ(n),

with δ(n) = E[max(0, B(n)/c - 1)], γ(0) = 0: splitting G's geometric tail (n >= c) off its generating function
gives G(n) = (S/c)·G(n-1) + (Z+S)ⁿ/n!·E[max(0, 1 - B(n)/c)], which is the same recursion.  Then

    Wq(n) = (Z + S)·[γ(n-1)·(p·n/c - 1) + δ(n)] / (1 + γ(n-1)),   R = S + Wq,   X = n/(Z + R).

δ follows from P(B(m) = c-1) by two running sums of positive terms.  γ never falls once it has grown, so capping
it at 1e300 changes nothing.  A queue before each of k servers, picked at random: Wq(n) = S·Q(n-1)/k with
Q(n) = n·R/(Z + R) (Reiser & Lavenberg 1980, J. ACM 27).

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

from qsim._types import FloatArray, IntArray
from qsim.analytic.open.birth_death import FirstComeTimes, TabulatedStates, require_few_states, weights
from qsim.analytic.views import ClosedQueue, Formula, closed_queue
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
    """Exponential service from one queue."""
    return isinstance(queue.service, Exponential) and queue.queues == "shared"


def solve(queue: ClosedQueue) -> Metrics:
    """Exact, for every number of servers and ratio of think to service time.

    Raises NoFormulaError for millions of customers and places.
    """
    require_few_states(queue, queue.places)
    N, Z, S, c, K = queue.population, queue.think_time, queue.service.mean, queue.servers, queue.capacity
    p, seen = state_probabilities(queue, N), state_probabilities(queue, N - 1)
    busy = float(p @ np.minimum(np.arange(p.size), c))
    Wq = float(p @ np.maximum(np.arange(p.size) - c, 0)) / (busy / S)
    found = seen if K is None else seen[:K] / seen[:K].sum()  # seen by customers that are admitted
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


def one_queue_throughputs(
    populations: IntArray, think_times: FloatArray, service_time: float, servers: IntArray
) -> FloatArray:
    """X (k, m) of M/M/c//N at m populations, for k think times and numbers of servers at once.

    >>> one_queue_throughputs(np.array([1, 64]), np.array([1e-6]), 80e-6, np.array([32])).round().tolist()
    [[12346.0, 400000.0]]
    """
    N, Z, S, c = int(populations.max()), think_times, service_time, servers
    p = S / (Z + S)
    at_edge = _binomial_pmfs(c - 1, N, Z, S)  # P(B(m) = c - 1), m = 0..N-1
    beyond = np.column_stack([np.zeros(len(Z)), p[:, None] * np.cumsum(at_edge, axis=1)[:, :-1]])  # P(B(m) >= c)
    delta = np.ascontiguousarray((p[:, None] * np.cumsum(beyond, axis=1) / c[:, None]).T)  # at populations 1..N
    waits, gamma = dict.fromkeys(populations.tolist(), np.empty(0)), np.zeros(len(Z))
    for n in range(1, N + 1):
        growth, d = p * n / c, delta[n - 1]
        if n in waits:
            waits[n] = (Z + S) * (np.maximum(0.0, gamma * (growth - 1) + d) / (1 + gamma))
        gamma = np.minimum(gamma * growth + d, 1e300)
    return np.column_stack([np.minimum(n / (Z + S + waits[n]), c / S) for n in populations.tolist()])


def own_queues_throughputs(
    populations: IntArray, think_times: FloatArray, service_time: float, servers: IntArray
) -> FloatArray:
    """The same for servers with a queue each, picked at random."""
    S, c, slots = service_time, servers.astype(float), servers * (1 + think_times / service_time)
    present, found = np.zeros(len(think_times)), dict.fromkeys(populations.tolist(), np.empty(0))
    for n in range(1, int(populations.max()) + 1):
        busy = present + c  # R = S (present + c) / c
        present += slots  # Z + R = S (present + slots) / c
        if n in found:
            found[n] = np.minimum(n * (c / S) / present, c / S)
        np.divide(busy, present, out=present)
        present *= n  # N R / (Z + R)
    return np.column_stack([found[n] for n in populations.tolist()])


def _binomial_pmfs(k: IntArray, N: int, Z: FloatArray, S: float) -> FloatArray:
    """P(B(m) = k) (r, N) for m = 0..N-1, at r numbers k and times Z (r,)."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, N + 1)))])
    k = np.minimum(k, N)  # no m has more
    away = np.arange(N) - k[:, None]  # m - k
    possible = np.maximum(away, 0)
    log_choose = log_factorial[:N] - log_factorial[k][:, None] - log_factorial[possible]
    with np.errstate(divide="ignore", invalid="ignore"):  # Z may be 0: then nobody thinks
        log_here, log_away = -np.log1p(Z / S), -np.log1p(S / Z)
        log_pmf = log_choose + (k * log_here)[:, None] + np.where(away > 0, possible * log_away[:, None], 0.0)
    return np.asarray(np.where(away >= 0, np.exp(log_pmf), 0.0))


FORMULA = Formula(closed_queue, applies, solve)
