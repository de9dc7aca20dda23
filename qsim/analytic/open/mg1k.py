"""M/G/1/K: Poisson arrivals, any service, one server, K places in all; an arrival that finds them taken is lost.

Those left behind by departures follow the flows between levels of M/G/1, cut at K - 1: with a(n) the probability that
more than n arrive during a service,

    q(0) = 1,   q(n)·(1 - a(0)) = q(0)·a(n-1) + sum over k = 1..n-1 of q(k)·a(n-k),   n < K,

d(n) = q(n)/sum of q.  Seen by arrivals and over time, with ρ = λ·E[S] of any size,

    p(n) = d(n)/(d(0) + ρ) for n < K,   p(K) = 1 - 1/(d(0) + ρ).

Source: Keilson (1966), Operations Res. 14; Gross & Harris (1998), Fundamentals of Queueing Theory, section 5.1.7;
Cooper (1981), Introduction to Queueing Theory, section 5.9.

>>> from qsim import Deterministic, Exponential, Open, solve
>>> r = solve(Open(Exponential(1.0), Deterministic(1.0), capacity=3))
>>> round(r.p_block, 6), round(r.L, 6)
(0.176343, 1.520651)
"""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.arrivals_during import left_behind
from qsim.analytic.open.birth_death import TabulatedStates
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Distribution
from qsim.metrics import Metrics

METHOD = "M/G/1/K, imbedded at departures (Keilson 1966)"
MOST_PLACES = 20_000
FEWEST_ALONE = 1e-9
"""Below this probability that nobody arrives during a service, the recursion loses its digits."""


def state_probabilities(arrival_rate: float, service: Distribution, capacity: int) -> FloatArray:
    """p(0), ..., p(K)."""
    q = left_behind(service, arrival_rate, capacity - 1)
    d = q / q.sum()
    served = 1 / (d[0] + arrival_rate * service.mean)
    return np.append(d * served, max(0.0, 1 - served))


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, one server, limited places that fit into a table."""
    if not (model.plain and model.poisson and model.servers == 1 and 0 < (model.capacity or 0) <= MOST_PLACES):
        return False
    return model.service.transform(model.arrival_rate) > FEWEST_ALONE


def solve(model: OpenQueue) -> Metrics:
    """Exact, at any load; times are not given."""
    assert model.capacity is not None  # noqa: S101
    lam, S = model.arrival_rate, model.service.mean
    p = state_probabilities(lam, model.service, model.capacity) if lam > 0 else np.eye(1, model.capacity + 1)[0]
    let_in = float(p[:-1].sum())
    X, L = lam * let_in, float(p @ np.arange(p.size))
    return Metrics.from_times(
        model,
        throughput=X,
        service=S,
        servers=1,
        W=max(L / X, S) if X > 0 else S,
        p_wait=1 - float(p[0]) / let_in,
        p_block=float(p[-1]),
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
    )


FORMULA = Formula(open_queue, applies, solve)
