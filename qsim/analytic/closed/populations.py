"""A closed machine at every population at once: N customers think for Z, queue for c servers, are served for S.

Only arrays of numbers here, so that a fit of thousands of structures needs no models of queues.

One queue before c exponential servers.  Textbook load-dependent mean value analysis subtracts nearly equal
numbers and returns negative throughputs; this recursion adds positive ones.  With p = S/(Z + S) and B(n) a
binomial(n, p) count, the normalising constant of the product form, G(n), divided by that of infinitely many
servers, (Z+S)ⁿ/n!, is

    g(n) = E[ max(1, 1/c)·max(1, 2/c)···max(1, B(n)/c) ] = 1 + γ(n),   γ(n) = γ(n-1)·p·n/c + δ(n),

with δ(n) = E[max(0, B(n)/c - 1)], γ(0) = 0: splitting G's geometric tail (n >= c) off its generating function
gives G(n) = (S/c)·G(n-1) + (Z+S)ⁿ/n!·E[max(0, 1 - B(n)/c)], which is this in other words.  Then

    Wq(n) = (Z + S)·[γ(n-1)·(p·n/c - 1) + δ(n)] / (1 + γ(n-1)),   R = S + Wq,   X = n/(Z + R).

δ follows from P(B(m) = c-1) by two running sums of positive terms.  γ never falls once it has grown, so capping
it at 1e300 changes nothing.

A queue before each of k servers, picked at random: Wq(n) = S·Q(n-1)/k with Q(n) = n·R/(Z + R) (Reiser & Lavenberg 1980,
J. ACM 27).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from qsim import _check
from qsim._types import FloatArray, IntArray


def one_queue_throughputs(
    populations: int | Sequence[int] | IntArray,
    think_times: FloatArray,
    service_time: float,
    servers: int | IntArray = 1,
) -> FloatArray:
    """X (k, m) of M/M/c//N at m populations, for k think times at once.

    ``servers`` is one number, or one for each think time (k,).

    >>> one_queue_throughputs([1, 64], np.array([1e-6]), 80e-6, 32).round().tolist()
    [[12346.0, 400000.0]]
    """
    return _throughputs(_one_queue_waits, populations, think_times, service_time, servers)


def own_queues_throughputs(
    populations: int | Sequence[int] | IntArray, think_times: FloatArray, service_time: float, servers: int | IntArray
) -> FloatArray:
    """The same for servers with a queue each, picked at random."""
    return _throughputs(_own_queues_waits, populations, think_times, service_time, servers)


Waits: TypeAlias = Callable[[IntArray, FloatArray, float, IntArray], dict[int, FloatArray]]


def _throughputs(
    waits: Waits,
    populations: int | Sequence[int] | IntArray,
    think_times: FloatArray,
    service_time: float,
    servers: int | IntArray,
) -> FloatArray:
    wanted, S = _check.counts_upto("populations", populations), _check.positive("service_time", service_time)
    Z = np.asarray(think_times, dtype=float)
    c = np.broadcast_to(_check.each_count("servers", servers), Z.shape)
    found = waits(wanted, Z, S, c)
    return np.column_stack([np.minimum(n / (Z + S + found[n]), c / S) for n in wanted.tolist()])


def _one_queue_waits(wanted: IntArray, Z: FloatArray, S: float, c: IntArray) -> dict[int, FloatArray]:
    """Wq (k,) by population, by the recursion of the module's docstring."""
    N, p = int(wanted.max()), S / (Z + S)
    at_edge = _binomial_pmfs(c - 1, N, Z, S)  # P(B(m) = c - 1), m = 0..N-1
    beyond = np.column_stack([np.zeros(len(Z)), p[:, None] * np.cumsum(at_edge, axis=1)[:, :-1]])  # P(B(m) >= c)
    delta = np.ascontiguousarray((p[:, None] * np.cumsum(beyond, axis=1) / c[:, None]).T)  # at populations 1..N
    kept, gamma = dict.fromkeys(wanted.tolist(), np.empty(0)), np.zeros(len(Z))
    for n in range(1, N + 1):
        growth, d = p * n / c, delta[n - 1]
        if n in kept:
            kept[n] = (Z + S) * (np.maximum(0.0, gamma * (growth - 1) + d) / (1 + gamma))
        gamma = np.minimum(gamma * growth + d, 1e300)
    return kept


def _own_queues_waits(wanted: IntArray, Z: FloatArray, S: float, k: IntArray) -> dict[int, FloatArray]:
    kept, present = dict.fromkeys(wanted.tolist(), np.empty(0)), np.zeros(len(Z))
    for n in range(1, int(wanted.max()) + 1):
        waiting = S * (present / k)
        present = n * ((S + waiting) / (Z + S + waiting))
        if n in kept:
            kept[n] = waiting
    return kept


def _binomial_pmfs(k: IntArray, N: int, Z: FloatArray, S: float) -> FloatArray:
    """P(B(m) = k) (r, N) for m = 0..N-1, at r numbers k and times Z (r,)."""
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, N + 1)))])
    k = np.minimum(k, N)  # no m has more
    away = np.arange(N) - k[:, None]  # m - k
    possible = np.maximum(away, 0)
    log_choose = log_factorial[:N] - log_factorial[k][:, None] - log_factorial[possible]
    with np.errstate(divide="ignore", invalid="ignore"):  # Z may be 0: then nobody is away
        log_here, log_away = -np.log1p(Z / S), -np.log1p(S / Z)
        log_pmf = log_choose + (k * log_here)[:, None] + np.where(away > 0, possible * log_away[:, None], 0.0)
    return np.asarray(np.where(away >= 0, np.exp(log_pmf), 0.0))
