"""M/M/c: c servers share one queue; Poisson arrivals, exponential service.  And Erlang's B and C.

With a = λ/μ erlangs offered, ρ = a/c.  Erlang B is the blocking probability when there is no queue; its
recursion over the number of servers only multiplies, adds and divides positive numbers, so nothing overflows
or cancels for any c:

    B(0) = 1,   B(k) = a·B(k-1) / (k + a·B(k-1)).

Erlang C, the probability that an arrival waits, follows from it, and everything else from C:

    C = B / (1 - ρ·(1 - B)),   Lq = C·ρ/(1 - ρ),   Wq = C/(cμ - λ),   W = Wq + 1/μ,   L = Lq + a.

Waiting time: P(Wq > t) = C·e^(-(cμ-λ)t).  State probabilities: p(c) = C·(1 - ρ), geometric with ratio ρ above,
p(n) proportional to aⁿ/n! below.

Source: Erlang (1917); Kleinrock (1975), Queueing Systems I, section 3.5; Cooper (1981), Introduction to
Queueing Theory, section 3.3 for the recursion and 5.6 for the times.

>>> from qsim import MMc, solve
>>> round(solve(MMc(arrival_rate=2.7, service_rate=1.0, servers=3)).L, 4)
10.0535
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qsim import _check
from qsim.analytic.times import quantile
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.errors import InvalidParameterError, UnstableQueueError
from qsim.metrics import ExactTimes, Metrics

METHOD = "Erlang C (Erlang 1917; Kleinrock 1975, section 3.5)"

MOST_STEPS = 10_000_000  # steps of the recursion for Erlang's B: a second or two


def erlang_b(servers: int, offered_load: float) -> float:
    """Probability that all ``servers`` are busy when nobody may wait; ``offered_load`` = λ/μ >= 0, in erlangs.

    >>> round(erlang_b(servers=4, offered_load=2), 4)
    0.0952
    """
    servers = _check.count("servers", servers, minimum=0)
    a = _check.non_negative("offered_load", offered_load, "arrival rate times mean service time")
    if min(servers, a) > MOST_STEPS:
        raise InvalidParameterError(
            "offered_load", f"must be below {MOST_STEPS:,} erlangs with that many servers, not {a:g}", value=a
        )
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = a * blocked / (k + a * blocked)
        if blocked == 0:  # too small for a float, with fewer servers already
            break
    return blocked


def erlang_c(servers: int, offered_load: float) -> float:
    """Probability that an arrival waits; needs ``offered_load`` < ``servers`` (else UnstableQueueError).

    >>> round(erlang_c(3, 2.0), 10)
    0.4444444444
    """
    c, a = _check.count("servers", servers), _check.non_negative("offered_load", offered_load)
    rho = a / c
    if rho >= 1:
        raise UnstableQueueError(f"M/M/{c}", a, 1.0, c)
    blocked = erlang_b(c, a)
    return blocked / (1 - rho * (1 - blocked))


@dataclass(frozen=True)
class ErlangStates:
    """p(n) of M/M/c; in logarithms, because a to the power c overflows for hundreds of servers."""

    servers: int
    offered_load: float

    def p(self, n: int) -> float:
        if self.offered_load == 0:
            return 1.0 if n == 0 else 0.0
        return math.exp(self._log_weight(n) - self._log_total)

    def _log_weight(self, n: int) -> float:
        full = min(n, self.servers)
        log_rho = math.log(self.offered_load / self.servers)
        return full * math.log(self.offered_load) - math.lgamma(full + 1) + (n - full) * log_rho

    @cached_property
    def _log_total(self) -> float:
        from scipy.special import gammaincc

        a, c = self.offered_load, self.servers
        # Fewer than c present: aⁿ/n! adds up to e^a·P(Poisson(a) < c), an incomplete gamma function.
        below = a + math.log(float(gammaincc(c, a)))
        return float(np.logaddexp(below, self._log_weight(c) - math.log1p(-a / c)))


@dataclass(frozen=True)
class ErlangTimes(ExactTimes):
    """A customer that waits waits an exponential time of rate ``spare``/S; the response adds an independent service S.

    ``spare``: the servers less the offered load.
    """

    spare: float
    service_time: float
    p_wait: float

    def quantile(self, q: float, of: str) -> float:
        if of == "Wq":
            waits = self.p_wait > 1 - q
            return self.service_time / self.spare * math.log(self.p_wait / (1 - q)) if waits else 0.0
        return quantile(self.response_survival, q, self.service_time)

    def survival(self, t: float, of: str) -> float:
        if of == "W":
            return self.response_survival(t)
        return self.p_wait * math.exp(-t * self.spare / self.service_time)

    def response_survival(self, t: float) -> float:
        """P(W > t): an exponential service, and with probability C an exponential wait before it."""
        from scipy.special import exprel

        x, spare = t / self.service_time, self.spare
        # Where a wait of rate ``spare`` and a service together last beyond x, but the service alone does not.
        longer = x * float(exprel(-abs(spare - 1) * x)) * math.exp(-min(spare, 1.0) * x)
        return math.exp(-x) + self.p_wait * longer


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, exponential service, no limit on places."""
    return model.plain and model.markovian and model.capacity is None


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    a, c, S = model.offered_load, model.servers, model.service.mean
    model.require_stable()
    waits = erlang_c(c, a)
    states, times = ErlangStates(c, a), ErlangTimes(c - a, S, waits)
    return model.metrics(waits * S / (c - a), p_wait=waits, method=METHOD, states=states, times=times)


FORMULA = Formula(open_queue, applies, solve)
