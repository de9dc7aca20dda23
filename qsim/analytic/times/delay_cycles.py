"""Waiting and response times of M/G/1 that are not in order of arrival, by delay cycles.

Let G(s) be the transform of a busy period, the root of G = B(s + λ - λG) with B that of a service.  Work of transform
B that is done while customers of rate λ come and go first lasts a delay cycle, of transform B(σ), σ = s + λ - λG(s).

- **FCFS**: Wq = (1 - ρ)·s / (s - λ + λB(s)).
- **LCFS**: a service that goes on is ended first, and all who come meanwhile: Wq = 1 - ρ + λ(1 - G)/σ.
- **LCFS-PR**: the response is a busy period, W = G; what others hold up of it Wq = B(σ - s).
- **Priority classes**: with a the classes above p, l those below, σ of a,
  non-preemptive Wq = [(1 - ρ)σ + λ(l)(1 - B(l)(σ))] / (s - λ(p) + λ(p)B(p)(σ)), and a service;
  preemptive-resume W = (1 - ρ(a) - ρ(p))σ / (s - λ(p) + λ(p)B(p)(σ)) · B(p)(σ), Wq with B(p)(σ - s) at the end.
- **Batches** of size X come at rate β and are one service of transform X(B); the companions ahead in one take
  (1 - X(B))/(E[X](1 - B)), so that Wq = (1 - ρ)·s / (s - β + βX(B)) times that.
- **SJF, PSJF**: a class for each size.

Source: Pollaczek (1930); Takács (1962), Introduction to the Theory of Queues, chapter 1; Wishart (1960), Oper. Res. 8
(LCFS); Conway, Maxwell & Miller (1967), Theory of Scheduling, sections 8.4-8.7; Kleinrock (1976), Queueing Systems II,
section 3.3.

>>> from qsim import Exponential
>>> busy = busy_period(0.5, Exponential(mean=1.0).laplace, np.array([1.0 + 0j]))
>>> round(float(busy[0].real), 9)  # (λ + μ + s - √((λ + μ + s)² - 4λμ)) / (2λ)
0.438447187
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import ComplexArray
from qsim.analytic.times.inversion import InvertedTimes, Transform
from qsim.distributions import Deterministic, Distribution

MOST_ITERATIONS = 2000


def busy_period(arrival_rate: float, service: Transform, s: ComplexArray) -> ComplexArray:
    """G(s) for Re s > 0, where the iteration is a contraction; sped up by secants."""
    return np.asarray(1 - (delay(arrival_rate, service, s) - s) / arrival_rate) if arrival_rate > 0 else service(s)


def delay(arrival_rate: float, service: Transform, s: ComplexArray) -> ComplexArray:
    """σ = s + λ - λG(s)."""
    before = s + arrival_rate
    now = s + arrival_rate * (1 - service(before))
    gap_before = before - s - arrival_rate * (1 - service(before))
    for _ in range(MOST_ITERATIONS):
        image = s + arrival_rate * (1 - service(now))
        gap = now - image
        if np.abs(gap).max() <= 1e-14 * np.abs(now).max():
            break
        slope = np.where(now == before, 1.0, (gap - gap_before) / np.where(now == before, 1.0, now - before))
        secant = now - gap / np.where(slope == 0, 1.0, slope)
        before, gap_before = now, gap
        now = np.where((secant.real > 0) & (np.abs(slope) > 1e-3), secant, image)
    return np.asarray(now)


def first_come(arrival_rate: float, service: Distribution) -> InvertedTimes:
    """M/G/1 in order of arrival."""
    rho = arrival_rate * service.mean

    def waiting(s: ComplexArray) -> ComplexArray:
        return np.asarray((1 - rho) * s / (s - arrival_rate + arrival_rate * service.laplace(s)))

    return InvertedTimes(waiting, rho, service.mean / (1 - rho), service, heavy=math.isinf(service.moment(3)))


def last_come(arrival_rate: float, service: Distribution) -> InvertedTimes:
    """M/G/1 served last come first served, without preemption."""
    rho = arrival_rate * service.mean

    def waiting(s: ComplexArray) -> ComplexArray:
        sigma = delay(arrival_rate, service.laplace, s)
        return np.asarray(1 - rho + (sigma - s) / sigma)

    return InvertedTimes(waiting, rho, service.mean / (1 - rho), service, heavy=math.isinf(service.moment(3)))


def last_come_several(arrival_rate: float, service: Distribution, servers: int, p_wait: float) -> InvertedTimes:
    """M/M/c: who waits, waits a busy period of the c servers as one."""
    departures = service.scaled(1 / servers)

    def waiting(s: ComplexArray) -> ComplexArray:
        return np.asarray(1 - p_wait + p_wait * busy_period(arrival_rate, departures.laplace, s))

    return InvertedTimes(waiting, p_wait, service.mean, service)


def interrupting(arrival_rate: float, service: Distribution) -> InvertedTimes:
    """M/G/1 served last come first served with preemption."""

    def response(s: ComplexArray) -> ComplexArray:
        return service.laplace(delay(arrival_rate, service.laplace, s))

    def waiting(s: ComplexArray) -> ComplexArray:
        return service.laplace(delay(arrival_rate, service.laplace, s) - s)

    held_up = 1 - service.transform(arrival_rate)
    scale = service.mean / (1 - arrival_rate * service.mean)
    return InvertedTimes(waiting, held_up, scale, _if_constant(service), response, heavy=math.isinf(service.scv))


def _if_constant(service: Distribution) -> Deterministic | None:
    """A constant service: however it is interrupted, a response is the wait and then as long."""
    return service if isinstance(service, Deterministic) else None


@dataclass(frozen=True)
class Flow:
    """Poisson arrivals of ``rate`` with this ``service``; None, and rate 0, for nobody."""

    rate: float = 0.0
    service: Distribution | None = None

    @property
    def load(self) -> float:
        """ρ of these customers."""
        return self.rate * self.service.mean if self.service else 0.0

    def laplace(self, s: ComplexArray) -> ComplexArray:
        """The transform of a service."""
        return self.service.laplace(s) if self.service else np.ones_like(s)

    @property
    def heavy(self) -> bool:
        """Whether waiting for the rest of a service has an infinite variance."""
        return self.service is not None and math.isinf(self.service.moment(3))


def class_times(above: Flow, own: Flow, below: Flow, service: Distribution, *, preemptive: bool) -> InvertedTimes:
    """One priority class: ``own`` is its level, ``service`` the law of the class within it."""
    busy = above.load + own.load
    idle = 1 - busy - (0.0 if preemptive else below.load)

    def start(s: ComplexArray, sigma: ComplexArray) -> ComplexArray:
        """Until a service begins."""
        first = idle * sigma + (0.0 if preemptive else below.rate * (1 - below.laplace(sigma)))
        return np.asarray(first / (s - own.rate + own.rate * own.laplace(sigma)))

    def waiting(s: ComplexArray) -> ComplexArray:
        sigma = delay(above.rate, above.laplace, s)
        return np.asarray(start(s, sigma) * (service.laplace(sigma - s) if preemptive else 1.0))

    def response(s: ComplexArray) -> ComplexArray:
        sigma = delay(above.rate, above.laplace, s)
        return np.asarray(start(s, sigma) * service.laplace(sigma))

    heavy = above.heavy or own.heavy or (below.heavy and not preemptive)
    scale = service.mean / (1 - busy)
    if preemptive:
        held_up = 1 - idle * service.transform(above.rate)
        return InvertedTimes(waiting, held_up, scale, _if_constant(service), response, heavy=heavy)
    return InvertedTimes(waiting, 1 - idle, scale, service, heavy=heavy)
