"""M/M/1: one server, Poisson arrivals, exponential service.

The number present goes up at rate λ and, unless it is zero, down at rate μ.  In the long run the flow
between neighbouring states balances, λ·p(n) = μ·p(n+1), so p(n) = (1 - ρ)·ρⁿ with ρ = λ/μ.  From that

    L = ρ/(1 - ρ),   Lq = ρ²/(1 - ρ),   W = L/λ = 1/(μ - λ),   Wq = ρ/(μ - λ),

and the response time is itself exponential with mean W.  An arrival finds the server busy with probability ρ,
because Poisson arrivals see time averages (Wolff 1982).

Source: Kleinrock (1975), Queueing Systems I, section 3.2, eqs. 3.23-3.26; response time eq. 5.118.

>>> from qsim import MM1, solve
>>> r = solve(MM1(arrival_rate=16, service_rate=20))
>>> r.utilization, round(r.L, 9), r.W, round(r.Lq, 9)
(0.8, 4.0, 0.25, 3.2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from qsim.analytic.open.birth_death import TabulatedStates
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.metrics import ExactTimes, Metrics

METHOD = "M/M/1 (Kleinrock 1975, section 3.2)"


@dataclass(frozen=True)
class ExponentialTimes(ExactTimes):
    """P(W > t) = e^(-t/W) and P(Wq > t) = ρ·e^(-t/W)."""

    rho: float
    mean_response: float

    def survival(self, t: float, of: str) -> float:
        return math.exp(-t / self.mean_response) * (1.0 if of == "W" else self.rho)

    def quantile(self, q: float, of: str) -> float:
        if of == "W":
            return -self.mean_response * math.log1p(-q)
        return self.mean_response * math.log(self.rho / (1 - q)) if self.rho > 1 - q else 0.0


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, exponential service, one server, no limit on places."""
    return model.plain and model.markovian and model.servers == 1 and model.capacity is None


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    lam, mu = model.arrival_rate, model.service_rate
    rho = model.rho
    model.require_stable()
    W = 1 / (mu - lam)
    return Metrics.from_times(
        model,
        throughput=lam,
        service=1 / mu,
        servers=1,
        Wq=rho * W,
        p_wait=rho,
        method=METHOD,
        states=TabulatedStates((1 - rho,), rho),
        times=ExponentialTimes(rho, W),
    )


FORMULA = Formula(open_queue, applies, solve)
