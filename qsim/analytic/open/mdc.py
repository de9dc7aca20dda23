"""M/D/c: Poisson arrivals, every service takes the same time D, c servers (M/D/1 included).

A customer in service now has left D later, and one that waits now or came meanwhile is then present, so the number
present, looked at D apart, goes N' = max(N - c, 0) + Poisson(λD).  With a = λD and z(1), ..., z(c-1) the roots
inside the unit circle of z^c = e^(a(z-1)),

    L = (c - (c - a)²) / (2·(c - a)) + sum of 1/(1 - z(k)),
    P(z) = (c - a)·(z - 1)·product of (z - z(k))/(1 - z(k)) / (z^c·e^(-a(z-1)) - 1),

and p(n) are the coefficients of P, taken by a Fourier transform.  The same walk has a mean without roots, of
positive terms only, which is used when hardly anyone waits and L - a would cancel:

    Lq = sum over k >= 1 of E[max(Poisson(ka) - kc, 0)] / k.

With Q(j) = p(0) + ... + p(c + j), the waiting time for (k-1)·D <= t < k·D is

    P(Wq <= t) = sum over j = 0..kc-1 of Q(kc-1-j)·Poisson(j; λ(kD - t)).

Source: Crommelin (1932), Post Office Electr. Eng. J. 25; Bailey (1954), J. Roy. Stat. Soc. B 16 (the mean);
Spitzer (1956), Trans. Am. Math. Soc. 82 (the sum); Franx (2001), Oper. Res. Letters 29 (the waiting time).

>>> from qsim import Deterministic, Exponential, GGc, solve
>>> round(solve(GGc(Exponential(1 / 1.8), Deterministic(1.0), servers=2)).L, 6)
5.664462
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray
from qsim.analytic import invert as _invert
from qsim.analytic.formula import Formula
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Deterministic
from qsim.metrics import ExactTimes, Metrics

METHOD = "M/D/c (Crommelin 1932; Franx 2001)"

MOST_SERVERS, MOST_TERMS = 2000, 20_000
LONGEST_TABLE = 2**22


def roots_inside(offered_load: float, servers: int) -> npt.NDArray[np.complex128]:
    """z(1), ..., z(c-1): each the fixed point of z = e^(2πik/c)·e^(a(z-1)/c), by Newton's method from z = 0."""
    c, a = servers, offered_load
    unit = np.exp(2j * np.pi * np.arange(1, c) / c)
    z = np.zeros(c - 1, dtype=np.complex128)
    for _ in range(200):
        image = unit * np.exp(a / c * (z - 1))
        step = (z - image) / (1 - a / c * image)
        z -= step
        if np.abs(step).max(initial=0.0) < 1e-15:
            break
    return z


def spitzer_terms(offered_load: float, servers: int) -> FloatArray | None:
    """E[max(Poisson(ka) - kc, 0)]/k for k = 1, 2, ... until they no longer matter; None where those are too many."""
    from scipy.special import pdtrc

    a, c = offered_load, servers
    steps = 40 / (c * (a / c - 1 - math.log(a / c))) + 10
    if steps >= MOST_TERMS:
        return None
    k = np.arange(1, math.ceil(steps) + 1)
    at_least, more = pdtrc(k * c - 1, k * a), pdtrc(k * c, k * a)  # P(Poisson(ka) >= kc), P(> kc)
    return np.maximum((k * a * at_least - k * c * more) / k, 0.0)


def mean_waiting_number(offered_load: float, servers: int) -> float:
    """Lq for 0 < a < c."""
    a, c = offered_load, servers
    terms = spitzer_terms(a, c)
    if terms is not None:
        return float(terms.sum())
    total = float((1 / (1 - roots_inside(a, c))).sum().real)
    return (c - (c - a) ** 2) / (2 * (c - a)) + total - a


def decay(offered_load: float, servers: int) -> float:
    """τ > 1, where p(n + 1)/p(n) tends to 1/τ: the root above one of τ^c = e^(a(τ-1))."""
    from scipy.optimize import brentq

    a, c = offered_load, servers

    def gap(x: float) -> float:
        return a * math.expm1(x) - c * x  # τ = e^x

    low = math.log(c / a)  # where the gap is smallest
    high = 2 * low + 1e-12
    while gap(high) < 0:
        high *= 1.5
    return math.exp(float(brentq(gap, low, high, xtol=1e-15)))


@dataclass(frozen=True)
class CommonServiceStates:
    """p(n) from its generating function; geometric beyond the table."""

    offered_load: float
    servers: int

    def p(self, n: int) -> float:
        if n < self.table.size:
            return float(self.table[n])
        return float(self.table[-1]) * self.tau ** (self.table.size - 1 - n)

    @cached_property
    def tau(self) -> float:
        """The ratio p(n)/p(n + 1) far out."""
        return decay(self.offered_load, self.servers)

    @cached_property
    def size(self) -> int:
        """Numbers present until what is left is negligible."""
        wanted = self.servers + 8 * math.sqrt(self.servers) + 37 / math.log(self.tau)
        return int(2 ** max(6, math.ceil(math.log2(wanted))))

    @cached_property
    def table(self) -> FloatArray:
        """p(0), p(1), ... until what is left is negligible."""
        a, c, size = self.offered_load, self.servers, self.size
        z = np.exp(-2j * np.pi * np.arange(1, size) / size)
        roots = roots_inside(a, c)
        # In logarithms, and multiplied by e^(a(z-1)) above and below, nothing overflows for thousands of servers.
        log_product = a * (z - 1) - np.log(1 - roots).sum()
        for root in roots:
            log_product += np.log(z - root)
        values = np.empty(size, dtype=np.complex128)
        values[1:] = (c - a) * (z - 1) * np.exp(log_product) / (z**c - np.exp(a * (z - 1)))
        values[0] = 1.0
        table = np.fft.ifft(values).real  # z runs backwards, so this gives coefficients in order
        # The transform leaves rounding of 1e-16: well above it the tail is geometric already.
        table = np.maximum(table, 0.0)
        seen = np.flatnonzero(table < 1e-11)
        end = int(seen[seen > a][0]) if seen.size and seen[-1] > a else size
        return np.asarray(table[: max(end, c + 2)])


@dataclass(frozen=True)
class CommonServiceTimes(ExactTimes):
    """Waiting by Franx's formula; the response adds D."""

    states: CommonServiceStates
    service_time: float

    def quantile(self, q: float, of: str) -> float:
        waiting = _invert.quantile(self.waiting_survival, q, self.service_time)
        return waiting + self.service_time if of == "W" else waiting

    def survival(self, t: float, of: str) -> float:
        late = t - self.service_time if of == "W" else t
        return self.waiting_survival(late) if late >= 0 else 1.0

    def variance(self, of: str) -> float:
        """From the number waiting: E[Lq(Lq - 1)] = λ²·E[Wq²], as those left behind in the queue came during a wait."""
        table, c, tau = self.states.table, self.states.servers, self.states.tau
        n = np.arange(1, math.ceil(60 / math.log(tau)) + 1)
        p = np.concatenate((table[c:], table[-1] * tau ** -n.astype(np.float64)))
        waiting = np.arange(p.size, dtype=np.float64)
        mean, second = float(p @ waiting), float(p @ (waiting * (waiting - 1)))
        return (second - mean**2) * (self.service_time / self.states.offered_load) ** 2

    def waiting_survival(self, t: float) -> float:
        """P(Wq > t), from what is missing to Q = 1: positive terms."""
        from scipy.special import gammaln, pdtrc, xlogy

        a, c = self.states.offered_load, self.states.servers
        k = math.floor(t / self.service_time) + 1
        x = a * (k - t / self.service_time)
        j = np.arange(k * c)
        poisson = np.exp(xlogy(j, x) - x - gammaln(j + 1))
        return float(poisson @ self._above(k * c - 1 - j)) + float(pdtrc(k * c - 1, x))

    def _above(self, j: npt.NDArray[np.int64]) -> FloatArray:
        """1 - Q(j): more than c + j present."""
        n = j + self.states.servers
        inside = np.minimum(n, self._tail.size - 1)
        return np.asarray(self._tail[inside] * self.states.tau ** (inside - n).astype(np.float64))

    @cached_property
    def _tail(self) -> FloatArray:
        table = self.states.table
        beyond = float(table[-1]) / (self.states.tau - 1)
        return np.asarray(np.append(np.cumsum(table[:0:-1])[::-1], 0.0) + beyond)


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, constant service, no limit on places."""
    return (
        model.plain
        and model.poisson
        and isinstance(model.service, Deterministic)
        and model.capacity is None
        and model.servers <= MOST_SERVERS
    )


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    a, c, D = model.offered_load, model.servers, model.service.mean
    if a == 0:
        return Metrics.from_times(model, throughput=0.0, service=D, servers=c, Wq=0.0, p_wait=0.0, method=METHOD)
    states = CommonServiceStates(a, c)
    few = states.size <= LONGEST_TABLE
    times = CommonServiceTimes(states, D) if few else None
    return Metrics.from_times(
        model,
        throughput=model.arrival_rate,
        service=D,
        servers=c,
        Wq=mean_waiting_number(a, c) / model.arrival_rate,
        p_wait=a if c == 1 else times.waiting_survival(0.0) if times else math.nan,
        method=METHOD,
        states=states if few else None,
        times=times,
        warnings=() if few else (f"rho = {a / c:.9g} is too near 1 for probabilities and percentiles",),
    )


FORMULA = Formula(open_queue, applies, solve)
