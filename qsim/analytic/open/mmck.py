"""M/M/c/K: as M/M/c, but with K places in all; if all are taken, an arrival is lost.  K = c is Erlang's loss system.

The flow between neighbouring states balances as in M/M/c, λ·p(n) = min(n + 1, c)·μ·p(n + 1), only there are no
states beyond K, so every load has a steady state.  Taken in logarithms, so that no power overflows.  Poisson
arrivals see time averages: p(K) of them are lost.  W, Wq and P(wait) = (p(c) + ... + p(K-1))/(1 - p(K)) are those
of the customers that are let in, at rate X = λ·(1 - p(K)).

Source: Kleinrock (1975), Queueing Systems I, sections 3.6 (M/M/1/K) and 3.7 (M/M/c/c); Gross & Harris (1998),
Fundamentals of Queueing Theory, section 2.4.

>>> from qsim import MMcK, erlang_b, solve
>>> round(solve(MMcK(arrival_rate=8, service_rate=1, servers=10, capacity=10)).p_block, 6)
0.121661
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import FirstComeTimes, TabulatedStates, birth_death, require_few_states
from qsim.analytic.views import OpenQueue, open_queue
from qsim.metrics import Metrics

METHOD = "M/M/c/K birth-death in logarithms (Kleinrock 1975, section 3.6)"


def state_probabilities(offered_load: float, servers: int, capacity: int) -> FloatArray:
    """p(0), ..., p(K) for ``offered_load`` = λ/μ erlangs."""
    if offered_load == 0:
        return np.asarray(np.eye(1, capacity + 1)[0], dtype=np.float64)
    p = birth_death(math.log(offered_load) - np.log(np.minimum(np.arange(1, capacity + 1), servers)))
    return np.asarray(p / p.sum())


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, exponential service, limited places."""
    return model.plain and model.markovian and model.capacity is not None


def solve(model: OpenQueue) -> Metrics:
    """Exact, at any load; raises NoFormulaError for millions of places."""
    assert model.capacity is not None  # noqa: S101
    require_few_states(model, model.capacity)
    c, S = model.servers, model.service.mean
    p = state_probabilities(model.offered_load, c, model.capacity)
    n = np.arange(p.size)
    # An arrival that is let in finds n < K; with these and nobody else, p(n)/(1 - p(K)) without cancellation.
    found = p[:-1] / p[:-1].sum()
    return Metrics.from_times(
        model,
        throughput=model.arrival_rate * float(p[:-1].sum()),
        service=S,
        servers=c,
        Wq=float(found @ np.maximum(n[1:] - c, 0)) * S / c,
        p_wait=float(found[c:].sum()),
        p_block=float(p[-1]),
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
        times=FirstComeTimes(tuple(found.tolist()), S, c),
    )


FORMULA = Formula(open_queue, applies, solve)
