"""M/M/c//N, the machine repairman: N customers think for Z, queue for c servers, are served for S, and return.

This is a storage device under fio at iodepth N, with Z the host's time between an answer and the next request.

State probabilities.  With n at the station, N - n think; the flow between neighbours balances:

    p(n+1)/p(n) = (N - n)/Z · S/min(n + 1, c),

taken in logarithms, so that neither N = 4096 nor Z/S = 1e±9 can overflow.  An arrival sees the station as it
would be in time average with N - 1 customers (arrival theorem; Lavenberg & Reiser 1980; Sevcik & Mitrani 1981).

All populations at once: :mod:`qsim.analytic.closed.populations`.

Source: Kleinrock (1975), Queueing Systems I, sections 3.8 (one server) and 3.10; product form: Baskett, Chandy, Muntz &
Palacios (1975), by which the result depends on the think time only through its mean.

>>> from qsim import MMcN, solve
>>> r = solve(MMcN(population=80, think_time=10, service_time=4, servers=8))
>>> round(r.throughput, 9), round(r.W, 9)
(2.0, 30.0)
"""

from __future__ import annotations

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.closed import finite_source
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import FirstComeTimes, TabulatedStates, require_few_states
from qsim.analytic.views import ClosedChain, closed_chain
from qsim.distributions import Exponential
from qsim.metrics import Metrics
from qsim.models import Station

METHOD = "machine repairman, birth-death in logarithms (Kleinrock 1975, section 3.8)"


def state_probabilities(population: int, think_time: float, service_time: float, servers: int = 1) -> FloatArray:
    """p(0), ..., p(N): the long-run shares of time with n customers at the station."""
    N = _check.count("population", population, minimum=0)
    Z = _check.non_negative("think_time", think_time)
    S = _check.positive("service_time", service_time)
    c = _check.count("servers", servers)
    if Z == 0:
        return np.asarray(np.eye(1, N + 1, N)[0], dtype=np.float64)
    return finite_source.state_probabilities(N, Z, S, c, capacity=N)


def applies(model: ClosedChain) -> bool:
    """One station with one shared queue and exponential service, visited once a cycle; any think time."""
    return _is_repairman(model.queueing)


def _is_repairman(stations: tuple[Station, ...]) -> bool:
    return (
        len(stations) == 1
        and isinstance(stations[0].time, Exponential)
        and (stations[0].queues == "shared" or stations[0].servers == 1)
        and stations[0].visits == 1
        and stations[0].capacity is None
        and stations[0].speeds is None
        and stations[0].discipline == "FCFS"
    )


def solve(model: ClosedChain) -> Metrics:
    """Exact, for every number of servers and ratio of think to service time.

    Raises NoFormulaError for millions of customers.
    """
    (station,) = model.queueing
    require_few_states(model, model.population)
    N, Z, S, c = model.population, model.think_time, station.time.mean, station.servers
    p = state_probabilities(N, Z, S, c)
    n = np.arange(N + 1)
    seen = state_probabilities(N - 1, Z, S, c)
    Wq = float(p @ np.maximum(n - c, 0)) / (float(p @ np.minimum(n, c)) / S)
    W = S + Wq
    X = min(N / (Z + W), c / S)
    return Metrics(
        model=model,
        throughput=X,
        utilization=min(X * S / c, 1.0),
        L=min(X * W, float(N)),
        Lq=X * Wq,
        W=W,
        Wq=Wq,
        p_wait=min(float(seen[c:].sum()), 1.0),
        p_block=0.0,
        kind="exact",
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
        times=FirstComeTimes(tuple(seen.tolist()), S, c),
    )


FORMULA = Formula(closed_chain, applies, solve)
