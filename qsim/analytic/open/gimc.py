"""GI/M/c: any independent times between arrivals, exponential service, c servers.

Looked at by arrivals, the number present is a Markov chain; above c it is geometric with ratio σ, the root in
(0, 1) of

    σ = A(cμ(1 - σ)),   A(s) the Laplace transform of the time between arrivals,

because c busy servers finish customers at rate cμ.  A customer that waits therefore waits an exponential time,

    P(Wq > t) = P(wait)·e^(-cμ(1-σ)t),   Wq = P(wait) / (cμ(1 - σ)).

P(wait) = σ for one server.  For c, with φ(j) = A(jμ) and C(j) = product over i <= j of φ(i)/(1 - φ(i)),

    P(wait) = 1 / [ 1 + (1-σ)·sum over j = 1..c of binom(c, j)·(c(1-φ(j)) - j) / (C(j)·(1-φ(j))·(c(1-σ) - j)) ].

The time-average state follows from what flows between levels: p(n + 1)·min(n + 1, c)·μ = λ·P(an arrival finds n).

Source: Takács (1962), Introduction to the Theory of Queues, chapter 2, theorems 1 and 2;
Gross & Harris (1998), Fundamentals of Queueing Theory, section 5.3.

>>> from qsim import Deterministic, Exponential, GGc, solve
>>> round(solve(GGc(Deterministic(1.25), Exponential(1.0), servers=1)).Wq, 6)
1.692731
"""

from __future__ import annotations

import math

from qsim.analytic.open.birth_death import TabulatedStates
from qsim.analytic.open.mmc import ErlangTimes
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Distribution, Exponential
from qsim.errors import NoFormulaError
from qsim.metrics import Metrics

METHOD = "GI/M/c (Takács 1962, chapter 2)"
AROUND = (0.02, 0.75), (0.04, -0.3), (0.06, 0.05)
"""Distances and weights of the symmetric six-point interpolation at the middle."""
NEAR, PRECISION = 1e-3, 1e-14  # how near its 0/0 a ratio is interpolated; and the relative error of a root
SMALLEST = -64.0  # the least logarithm of 1 - σ that is searched: transforms are integrated up to e^80 mean times
LARGEST = 700.0  # just below the logarithm of the largest float
MOST_SERVERS = 1_000_000  # terms of the sum for P(wait): some seconds


def rest(arrivals: Distribution, rate: float) -> float:
    """x = 1 - σ, for rate·E[A] > 1.

    With R(s) = (1 - A(s))/(s·E[A]), in which nothing cancels, it is where R(rate·x) = 1/(rate·E[A]). NoFormulaError
    where that is below 1e-28: there all depends on gaps that are longer than any run.
    """
    from scipy.optimize import brentq

    load = 1 / (rate * arrivals.mean)

    def gap(log_x: float) -> float:
        return arrivals.residual(rate * math.exp(log_x)) - load

    # R falls from 1 at x = 0 and is below the load at x = 1.
    low = -1.0
    while gap(low) < 0:
        low *= 2
        if low < SMALLEST:
            raise NoFormulaError("such arrivals", "customers wait longer than 1e27 services", "a law that ends sooner")
    return math.exp(float(brentq(gap, low, 0.0, xtol=PRECISION)))


def waiting_probability(arrivals: Distribution, service_rate: float, servers: int, ending: float) -> float:
    """P(wait), summed exactly: the terms change sign where c(1-σ) passes j; ``ending`` is 1 - σ."""
    c = servers
    if c == 1:
        return 1 - ending
    end = c * ending

    def ratio(j: float) -> float:
        rest = 1 - arrivals.transform(j * service_rate)
        return (c * rest - j) / (rest * (end - j))

    terms, log_c = [1.0], 0.0
    for j in range(1, c + 1):
        phi = arrivals.transform(j * service_rate)
        if phi == 0:
            return 0.0
        log_c += math.log(phi) - math.log1p(-phi)
        log_binom = math.lgamma(c + 1) - math.lgamma(j + 1) - math.lgamma(c - j + 1)
        if log_binom - log_c > LARGEST:  # P(wait) is below 1e-300
            return 0.0
        # At j = c(1-σ) both parts vanish; there the ratio is interpolated from its neighbourhood.
        near = abs(end - j) < NEAR
        value = math.fsum(w * (ratio(j + d) + ratio(j - d)) for d, w in AROUND) if near else ratio(j)
        terms.append(ending * math.exp(log_binom - log_c) * value)
    return 1 / math.fsum(terms)


def applies(model: OpenQueue) -> bool:
    """Exponential service, and no limit on places."""
    return (
        model.plain
        and isinstance(model.service, Exponential)
        and not math.isinf(model.arrivals.mean)
        and model.capacity is None
        and model.servers <= MOST_SERVERS
    )


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    c, mu, S = model.servers, model.service_rate, model.service.mean
    ending = rest(model.arrivals, c * mu)
    waits = waiting_probability(model.arrivals, mu, c, ending)
    # Of several servers p(n) is geometric above, and below it takes phases to know it.
    states = TabulatedStates((1 - model.rho, model.rho * ending), 1 - ending) if c == 1 else None
    times = ErlangTimes(c * ending, S, waits)
    return model.metrics(waits * S / (c * ending), p_wait=waits, method=METHOD, states=states, times=times)


FORMULA = Formula(open_queue, applies, solve)
