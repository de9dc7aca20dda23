"""G/G/∞: a server for each customer, none waits.

The response time is the service time, and L = λ·E[S] by Little's law, whatever the laws.  With Poisson arrivals the
number present is Poisson with that mean, whatever the service law: each customer is still there at a given moment
independently of the others.

Source: Takács (1962), Introduction to the Theory of Queues, chapter 3, section 2; Kleinrock (1975), section 3.4.

>>> import math
>>> from qsim import Exponential, Open, solve
>>> r = solve(Open(Exponential(1 / 6), Exponential(1 / 2), math.inf))
>>> r.L, round(r.p(0), 9) == round(2.718281828459045**-3, 9)
(3.0, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qsim.analytic.formula import Formula
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Distribution
from qsim.metrics import ExactTimes, Metrics

METHOD = "infinite servers (Takács 1962, chapter 3)"


@dataclass(frozen=True)
class Poisson:
    """p(n) = e^(-a)·aⁿ/n!."""

    mean: float

    def p(self, n: int) -> float:
        if self.mean == 0:
            return 1.0 if n == 0 else 0.0
        return math.exp(n * math.log(self.mean) - self.mean - math.lgamma(n + 1))


@dataclass(frozen=True)
class ServiceTimes(ExactTimes):
    """W is the service time, Wq is zero."""

    service: Distribution

    def quantile(self, q: float, of: str) -> float:
        return self.service.quantile(q) if of == "W" else 0.0

    def survival(self, t: float, of: str) -> float:
        return 1 - float(self.service.cdf(t)) if of == "W" else 0.0

    def variance(self, of: str) -> float:
        return self.service.variance if of == "W" else 0.0


def applies(model: OpenQueue) -> bool:
    """As many servers as customers; any stationary arrivals."""
    return model.servers == math.inf


def solve(model: OpenQueue) -> Metrics:
    """Exact; state probabilities with Poisson arrivals."""
    return Metrics.from_times(
        model,
        throughput=model.arrival_rate,
        service=model.service.mean,
        servers=math.inf,
        Wq=0.0,
        p_wait=0.0,
        method=METHOD,
        states=Poisson(model.offered_load) if model.poisson else None,
        times=ServiceTimes(model.service),
    )


FORMULA = Formula(open_queue, applies, solve)
