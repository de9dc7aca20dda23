"""Random routing: a closed population over k single servers, each with a queue of its own.

Customers pick a server at random, as requests do that hash to a die or a channel.  Some servers then idle while
others have a queue, so the knee is soft where a shared queue's is sharp.  For exponential service mean value
analysis is exact, and for single servers it only adds and divides positive numbers:

    R(N) = S·(1 + Q(N-1)/k),   X(N) = N/(Z + R(N)),   Q(N) = X(N)·R(N),

an arrival seeing the k queues as they are with N - 1 customers.  At Z = 0, X(N) = N/(N + k - 1)·k/S.
At least j customers are at one given server with probability X(N)·X(N-1)···X(N-j+1)·(S/k)^j.

Source: Reiser & Lavenberg (1980), "Mean-value analysis of closed multichain queuing networks", J. ACM 27;
Lazowska, Zahorjan, Graham & Sevcik (1984), Quantitative System Performance, chapter 6.

>>> from qsim import Closed, Exponential, Station, solve
>>> dies = Station(Exponential(mean=80e-6), servers=32, queues="random")
>>> round(solve(Closed(64, [dies])).throughput, 3) == round(64 / (64 + 31) * 32 / 80e-6, 3)
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic import invert as _invert
from qsim.analytic.closed.populations import own_queues_curve
from qsim.analytic.formula import Formula
from qsim.analytic.open.birth_death import require_few_states
from qsim.analytic.views import ClosedQueue, closed_queue
from qsim.distributions import Exponential
from qsim.metrics import ExactTimes, Metrics

METHOD = "random routing, mean value analysis (Reiser & Lavenberg 1980)"


@dataclass(frozen=True)
class OwnQueueTimes(ExactTimes):
    """An arrival that finds j at the server it picked stays for j + 1 exponential services."""

    at_least: tuple[float, ...]
    """P(it finds at least j), j = 0, 1, ..., N-1."""
    service_time: float

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.service_time)

    def survival(self, t: float, of: str) -> float:
        """P(W > t), or P(Wq > t): fewer services are over by t than there were to go."""
        from scipy.special import gammaln, xlogy

        x = t / self.service_time
        tail = np.asarray(self.at_least if of == "W" else self.at_least[1:])
        finished = np.arange(tail.size)
        return float(tail @ np.exp(xlogy(finished, x) - x - gammaln(finished + 1)))


def applies(queue: ClosedQueue) -> bool:
    """Single servers picked at random, exponential service."""
    return queue.queues == "random" and isinstance(queue.service, Exponential) and queue.capacity is None


def solve(queue: ClosedQueue) -> Metrics:
    """Exact; state probabilities are not given.  Raises NoFormulaError for millions of customers."""
    require_few_states(queue, queue.population)
    N, S, k = queue.population, queue.service.mean, queue.servers
    curve = own_queues_curve(N, queue.think_time, S, k)
    busy: FloatArray = np.minimum(curve.throughput * (S / k), 1.0)  # one server, at populations 1..N
    found = np.concatenate(([1.0], np.cumprod(busy[:-1][::-1])))  # at least j present, population N - 1
    return Metrics.from_times(
        queue,
        throughput=float(curve.throughput[-1]),
        service=S,
        servers=k,
        Wq=float(curve.waiting_time[-1]),
        most=N,
        p_wait=float(found[1]) if N > 1 else 0.0,
        method=METHOD,
        times=OwnQueueTimes(tuple(found.tolist()), S),
    )


FORMULA = Formula(closed_queue, applies, solve)
