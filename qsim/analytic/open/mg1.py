"""M/G/1: Poisson arrivals, one server, any service law.

An arrival finds a server busy with probability ρ and then waits for what is left of that service, on average
E[S²]/(2·E[S]), and for everyone ahead; so (Pollaczek-Khinchine)

    Wq = λ·E[S²] / (2·(1 - ρ)) = ρ·(1 + scv)/2 · E[S]/(1 - ρ).

Of the service law only two moments count, for the variance of the wait three:

    Var[Wq] = λ·E[S³] / (3·(1 - ρ)) + Wq².

With a(n) the probability that more than n arrive during a service, the state probabilities follow from
flows between levels, positive terms only:

    p(0) = 1 - ρ,   p(n)·(1 - a(0)) = p(0)·a(n-1) + sum over k = 1..n-1 of p(k)·a(n-k).

The waiting time is a geometric sum of residual services; for phase-type services it is phase-type as well and
taken step by step, for others on a lattice of times.

Source: Pollaczek (1930), Khinchine (1932); Kleinrock (1975), Queueing Systems I, sections 5.6-5.7; variance:
Takács (1962), Introduction to the Theory of Queues, chapter 1; the recursion: Tijms (1994), Stochastic Models,
section 4.2.

>>> from qsim import MG1, LogNormal, solve
>>> r = solve(MG1(arrival_rate=0.8, service=LogNormal(mean=1.0, scv=0.5)))
>>> round(r.L, 9), round(r.Wq, 9), r.p(0) == 1 - r.utilization
(3.2, 3.0, True)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.times import CompoundTimes, MarkovTimes
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Deterministic, Distribution, Empirical, Mixture, Shifted
from qsim.errors import InvalidParameterError
from qsim.metrics import Metrics

POINTS = 12  # of the integral over a bin of a histogram
NODES, WEIGHTS = np.polynomial.legendre.leggauss(POINTS)
SHORT, RARE, MARGIN, LOG_STEP = -40.0, 1e-15, 1.0, 2e-3
"""The integral over log t begins here, ends beyond the quantile that this share passes, and goes in these steps."""
VANISHED = 746.0  # the exponential of minus this is zero
FEWEST_STATES = 64  # the least states that are tabulated at once


def left_behind(service: Distribution, arrival_rate: float, most: int) -> FloatArray:
    """q(0), ..., q(``most``), as ratios to q(0): P(a departure from M/G/1 leaves n customers behind).

    Flows between levels balance: with a(n) of :func:`more_than`,
    q(n)·(1 - a(0)) = q(0)·a(n-1) + sum over k = 1..n-1 of q(k)·a(n-k).
    """
    a = more_than(service, arrival_rate, most)
    q = np.ones(most + 1)
    for n in range(1, most + 1):
        q[n] = (q[0] * a[n - 1] + q[1:n] @ a[n - 1 : 0 : -1]) / (1 - a[0])
    return q


def more_than(service: Distribution, arrival_rate: float, most: int) -> FloatArray:
    """P(more than n arrivals during a service) for n = 0, 1, ..., ``most``; shape (most + 1,).

    Exact for constant and phase-type times, histograms, and mixtures and shifts of them.  For others it is the
    probability that arrival n + 1, an Erlang time from the start, finds the service still on, integrated over
    log t by the trapezoid rule (relative error below 1e-9 for the smooth laws of qsim.distributions).
    """
    from scipy.special import gammaln, pdtrc

    n = np.arange(most + 1)
    phases = service.phases()
    if phases is not None:
        # Each step: an arrival before the service ends; the phase it finds goes on.
        state, T = phases
        step = np.linalg.solve(arrival_rate * np.eye(state.size) - T, arrival_rate * np.eye(state.size))
        result = np.empty(most + 1)
        for k in n:
            state = np.asarray(state @ step)
            result[k] = state.sum()
        return result
    if isinstance(service, Mixture):
        pairs = zip(service.weights, service.components, strict=True)
        return np.asarray(np.sum([w * more_than(part, arrival_rate, most) for w, part in pairs], axis=0))
    if isinstance(service, Deterministic):
        return np.asarray(pdtrc(n, arrival_rate * service.value))
    if isinstance(service, Shifted):
        constant = more_than(Deterministic(service.shift), arrival_rate, most)
        exactly = -np.diff(constant, prepend=1.0)
        base = more_than(service.base, arrival_rate, most)
        # More than n in all: more than n in the constant part, or j <= n in it and more than n - j in the other.
        return np.asarray(constant + np.convolve(exactly, base)[: most + 1])
    if isinstance(service, Empirical):
        x = arrival_rate * (service.lower[:, np.newaxis] + np.outer(service.width, (NODES + 1) / 2))
        return np.array([service.probability @ pdtrc(k, x) @ WEIGHTS / 2 for k in n])
    log_t = np.arange(SHORT, math.log(service.quantile(1 - RARE) / service.mean) + MARGIN, LOG_STEP)
    x = arrival_rate * service.mean * np.exp(log_t)
    still_on = LOG_STEP * (1 - service.cdf(service.mean * np.exp(log_t)))
    scale, log_x = gammaln(n + 1), np.log(x)
    begins = np.searchsorted(log_x, (scale - VANISHED) / (n + 1))
    return np.array(
        [np.exp((k + 1) * log_x[i:] - x[i:] - scale[k]) @ still_on[i:] for k, i in zip(n, begins, strict=True)]
    )


METHOD = "Pollaczek-Khinchine (Kleinrock 1975, section 5.6)"

MOST_PHASES = 200
MOST_STATES = 100_000


def mean_wait(arrival_rate: float, service: Distribution) -> float:
    """Wq, for ρ < 1."""
    rho = arrival_rate * service.mean
    return rho * (1 + service.scv) / 2 * service.mean / (1 - rho)


class PollaczekStates:
    """p(n) by the recursion, extended on demand."""

    def __init__(self, arrival_rate: float, service: Distribution) -> None:
        self._arrival_rate, self._service = arrival_rate, service
        self._table = np.array([1 - arrival_rate * service.mean])

    def p(self, n: int) -> float:
        if n >= MOST_STATES:
            raise InvalidParameterError(
                "n", f"must be below {MOST_STATES} for M/G/1, not {n}", "more are never present", value=n
            )
        if n >= self._table.size:
            self._table = self._table[0] * left_behind(self._service, self._arrival_rate, max(FEWEST_STATES, 2 * n))
        return float(self._table[n])


def waiting_times(
    arrival_rate: float, service: Distribution, own: Distribution | None = None
) -> CompoundTimes | MarkovTimes:
    """The distributions of W and Wq under FCFS, for 0 < ρ < 1; ``own``: the law of the customer's own service."""
    own, rho = own or service, arrival_rate * service.mean
    phases, own_phases = service.phases(), own.phases()
    if phases is None or own_phases is None or max(phases[0].size, own_phases[0].size) > MOST_PHASES:
        return CompoundTimes(service, rho, mean_wait(arrival_rate, service), own)
    alpha, T = phases
    ends = -T.sum(axis=1)
    pace = float(max(np.abs(np.diag(T)).max(), np.abs(np.diag(own_phases[1])).max()))
    # The wait is phase-type: the first piece from the middle of a service, and after each another with probability ρ.
    residual = np.linalg.solve(-T.T, alpha) / service.mean
    stay = np.eye(alpha.size) + (T + rho * np.outer(ends, residual)) / pace
    start = np.asarray(rho * residual, dtype=np.float64)
    return MarkovTimes(start, lambda state: np.asarray(state @ stay), pace, own_phases)


class MG1Times:
    """Times of M/G/1, computed on first use; ``own`` is the law of the customer's own service."""

    def __init__(self, arrival_rate: float, service: Distribution, own: Distribution) -> None:
        self._arrival_rate, self._service, self._own = arrival_rate, service, own

    @cached_property
    def _times(self) -> CompoundTimes | MarkovTimes:
        return waiting_times(self._arrival_rate, self._service, self._own)

    def quantile(self, q: float, of: str) -> float:
        return self._times.quantile(q, of)

    def quantile_interval(self, q: float, of: str) -> tuple[float, float]:
        return self._times.quantile_interval(q, of)

    def survival(self, t: float, of: str) -> float:
        return self._times.survival(t, of)

    def variance(self, of: str) -> float:
        lam, service = self._arrival_rate, self._service
        waiting = lam * service.moment(3) / (3 * (1 - lam * service.mean)) + mean_wait(lam, service) ** 2
        return waiting + self._own.variance if of == "W" else waiting


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, one server, no limit on places."""
    return model.plain and model.poisson and model.servers == 1 and model.capacity is None


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    lam, service = model.arrival_rate, model.service
    Wq = mean_wait(lam, service)
    times = None if math.isinf(Wq) or lam == 0 else MG1Times(lam, service, service)
    return model.metrics(Wq, p_wait=model.rho, method=METHOD, states=PollaczekStates(lam, service), times=times)


FORMULA = Formula(open_queue, applies, solve)
