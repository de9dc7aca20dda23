"""M^X/G/1: batches arrive as a Poisson process, their customers are served one by one.  M^X/M/c too.

Let batches of size X come at rate β, so λ = β·E[X] and ρ = λ·E[S].  A batch taken together is one service of M/G/1
with mean E[X]·E[S] and variance E[X]·Var[S] + Var[X]·E[S]²; a customer waits for the batches ahead and, on
average, for E[X(X-1)]/(2·E[X]) companions ahead in its own:

    Wq = β·E[(S1 + ... + SX)²] / (2·(1 - ρ)) + E[S]·E[X(X-1)] / (2·E[X]).

With exponential services the state probabilities follow from the flow across each level, which batches jump over:

    p(n + 1)·min(n + 1, c)·μ = β·sum over k = 0..n of p(k)·P(X > n - k).

For one server an arrival does not wait if it is the first of a batch that finds nobody: P(wait) = 1 - (1-ρ)/E[X].

Source: Gaver (1959), Ann. Math. Stat. 30, "Imbedded Markov chain analysis of a waiting-line process in continuous
time"; Chaudhry & Templeton (1983), A First Course in Bulk Queues, sections 3.1-3.2; Gross & Harris (1998), section 3.1.

>>> from qsim import MX1, solve
>>> round(solve(MX1(batch_rate=0.4, size=2, service_rate=1.0)).L, 9)
6.0
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import FirstComeTimes
from qsim.analytic.stability import require_stable
from qsim.analytic.times.delay_cycles import batch_times
from qsim.analytic.views import open_queue
from qsim.arrivals import Batches, Geometric, Sizes
from qsim.distributions import Exponential
from qsim.metrics import Metrics, TimeDistribution
from qsim.models import Open

METHOD = "M^X/G/1 (Gaver 1959; Chaudhry & Templeton 1983, section 3.2)"
SEVERAL = "M^X/M/c level crossing (Chaudhry & Templeton 1983)"

MOST_STATES = 200_000


def larger_than(sizes: Sizes, most: int) -> FloatArray:
    """P(X > n) for n = 0, ..., ``most``."""
    n = np.arange(most + 1)
    if isinstance(sizes, Geometric):
        return np.asarray((1 - 1 / sizes.mean) ** n)
    table = np.zeros(most + 1)
    for size, p in zip(sizes.sizes, sizes.probabilities, strict=True):
        table[: min(size, most + 1)] += p
    return table


class BatchStates:
    """p(n) with exponential services on c servers, from the flows across levels."""

    def __init__(self, batch_load: float, sizes: Sizes, servers: int) -> None:
        self._load, self._sizes, self._servers = batch_load, sizes, servers  # β·E[S], per batch

    def p(self, n: int) -> float:
        if n < self._table.size:
            return float(self._table[n])
        return 0.0

    @cached_property
    def _table(self) -> FloatArray:
        """Until what is left is negligible; scaled to one at the end."""
        a, c = self._load * self._sizes.mean, self._servers
        spread = self._sizes.mean + self._sizes.variance / self._sizes.mean
        size = int(c + 40 * spread + 40 * (1 + spread) / (1 - a / c))
        if size > MOST_STATES:
            raise ValueError(
                f"rho = {a / c:.6g} is too near 1 for the state probabilities of batches; the means are known"
            )
        tails = larger_than(self._sizes, size)[::-1].copy()
        weight = np.zeros(size + 1)
        weight[0] = 1.0
        for n in range(size):
            flow = float(weight[: n + 1] @ tails[size - n :])
            weight[n + 1] = self._load * flow / min(n + 1, c)
            if weight[n + 1] > 1e200:
                weight /= weight[n + 1]
        return np.asarray(weight / weight.sum())

    def mean_waiting(self) -> float:
        """Lq."""
        p = self._table
        return float(p[self._servers :] @ np.arange(p.size - self._servers))

    def arrivals_who_wait(self) -> float:
        """P(wait): with k present when the batch comes, those beyond the c - k free servers wait."""
        p, c = self._table, self._servers
        tails = larger_than(self._sizes, c)
        at_once = sum(float(p[k]) * float(tails[: c - k].sum()) for k in range(c))
        return 1 - at_once / self._sizes.mean

    def found(self) -> FloatArray:
        """The number ahead of a customer: those present, and companions ahead in the batch, j with P(X > j)/E[X]."""
        tails = larger_than(self._sizes, self._table.size)
        return np.asarray(np.convolve(self._table, tails / self._sizes.mean)[: self._table.size])


def _times(model: Open, sizes: Sizes, states: BatchStates | None) -> TimeDistribution:
    if states is not None and model.servers > 1:
        return FirstComeTimes(tuple(states.found().tolist()), model.service.mean, model.servers)
    return batch_times(model.arrival_rate / sizes.mean, sizes, model.service)


def applies(model: Open) -> bool:
    """Poisson batches, FCFS, no limit on places; one server, or exponential services."""
    return (
        isinstance(model.arrivals, Batches)
        and isinstance(model.arrivals.gaps, Exponential)
        and model.servers != math.inf
        and (model.queues == "shared" or model.servers == 1)
        and model.discipline == "FCFS"
        and model.speeds is None
        and model.capacity is None
        and (model.servers == 1 or isinstance(model.service, Exponential))
    )


def solve(model: Open) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    assert isinstance(model.arrivals, Batches)  # noqa: S101
    require_stable(model)
    sizes, c, S, rho = model.arrivals.sizes, model.servers, model.service.mean, model.rho
    batch_rate = model.arrival_rate / sizes.mean
    exponential = isinstance(model.service, Exponential)
    states = BatchStates(batch_rate * S, sizes, c) if exponential else None
    if c == 1:
        work_squared = sizes.mean * model.service.variance + (sizes.variance + sizes.mean**2) * S**2
        companions = (sizes.variance / sizes.mean + sizes.mean - 1) / 2
        Wq = batch_rate * work_squared / (2 * (1 - rho)) + S * companions
        waits = 1 - (1 - rho) / sizes.mean
    else:
        assert states is not None  # noqa: S101
        Wq = states.mean_waiting() / model.arrival_rate
        waits = states.arrivals_who_wait()
    return Metrics(
        model=model,
        throughput=model.arrival_rate,
        utilization=rho,
        L=model.arrival_rate * (Wq + S),
        Lq=model.arrival_rate * Wq,
        W=Wq + S,
        Wq=Wq,
        p_wait=waits,
        p_block=0.0,
        kind="exact",
        method=METHOD if c == 1 else SEVERAL,
        states=states,
        times=_times(model, sizes, states) if batch_rate > 0 else None,
    )


FORMULA = Formula(open_queue, applies, solve)
