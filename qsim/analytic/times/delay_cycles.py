"""Waiting and response times of M/G/1 that are not in order of arrival, by delay cycles.

Let G(s) be the transform of a busy period, the root of G = B(s + λ - λG) with B that of a service.  Work of transform
B that is done while customers of rate λ come and go first lasts a delay cycle, of transform B(σ), σ = s + λ - λG(s).

- **LCFS**: a service that goes on is ended first, and those of all that come meanwhile: Wq = 1 - ρ + λ(1 - G)/σ.
- **LCFS-PR**: the response is a busy period, W = G; what others hold up of it Wq = B(σ - s).
- **Priority classes**: with a the classes above p, l those below, σ of a,
  non-preemptive Wq = [(1 - ρ)σ + λ(l)(1 - B(l)(σ))] / (s - λ(p) + λ(p)B(p)(σ)), and a service;
  preemptive-resume W = (1 - ρ(a) - ρ(p))σ / (s - λ(p) + λ(p)B(p)(σ)) · B(p)(σ), Wq with B(p)(σ - s) at the end.

With R(s) = (1 - B(s))/(s·E[S]) the transform of what is left of a service, σ - s = ρ·σ·R(σ) and the fractions become
sums of positive terms, in which nothing cancels near saturation.

The cycle of work V has the mean E[V]/(1 - ρ) and the variance E[V]·λE[S²]/(1 - ρ)³ + Var[V]/(1 - ρ)², from which those
of every wait here follow.

Source: Pollaczek (1930); Takács (1962), Introduction to the Theory of Queues, chapter 1; Wishart (1960), Oper. Res. 8
(LCFS); Conway, Maxwell & Miller (1967), Theory of Scheduling, sections 8.4-8.7; Kleinrock (1976), Queueing Systems II,
section 3.3.

>>> from qsim import Exponential
>>> busy = busy_period(Flow(0.5, Exponential(mean=1.0)), np.array([1.0 + 0j]))
>>> round(float(busy[0].real), 9)  # (λ + μ + s - √((λ + μ + s)² - 4λμ)) / (2λ)
0.438447187
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import ComplexArray
from qsim.analytic.times.inversion import InvertedTimes, Transform
from qsim.distributions import Distribution

MOST_ITERATIONS = 100
POLISHING = 2
"""Steps after convergence: near saturation the inversion multiplies what is left of the error by 1e8."""


@dataclass(frozen=True)
class Flow:
    """Poisson arrivals of ``rate`` with this ``service``; None, and rate 0, for no arrivals."""

    rate: float = 0.0
    service: Distribution | None = None

    @property
    def load(self) -> float:
        """ρ of these customers."""
        return self.rate * self.service.mean if self.service else 0.0

    def backlog(self, k: int) -> float:
        """λ·E[Sᵏ]."""
        return self.rate * self.service.moment(k) if self.service else 0.0

    def residual(self, s: ComplexArray) -> ComplexArray:
        """ρ·R(s), with R the transform of what is left of a service."""
        return np.asarray(self.load * self.service.residual(s)) if self.service else np.zeros_like(s)


@dataclass(frozen=True)
class Work:
    """Mean and variance of an amount of work."""

    mean: float
    variance: float

    def __add__(self, other: Work) -> Work:
        return Work(self.mean + other.mean, self.variance + other.variance)

    def cycle(self, others: Flow) -> Work:
        """Until it is done, while ``others`` go first."""
        idle = 1 - others.load
        return Work(self.mean / idle, self.mean * others.backlog(2) / idle**3 + self.variance / idle**2)

    def held_up(self, others: Flow) -> Work:
        """The part of the cycle that others take."""
        idle = 1 - others.load
        return Work(
            self.mean * others.load / idle,
            self.mean * others.backlog(2) / idle**3 + self.variance * (others.load / idle) ** 2,
        )


def work_of(law: Distribution) -> Work:
    """A service."""
    return Work(law.mean, law.variance)


def work_ahead(flow_second: float, flow_third: float, load: float) -> Work:
    """The work that Poisson arrivals find before a server of this load; λE[S²] and λE[S³] are those of its services.

    Takács (1962): the moments of the wait first come first served.
    """
    mean = flow_second / (2 * (1 - load))
    return Work(mean, mean**2 + flow_third / (3 * (1 - load)))


def delay(flow: Flow, s: ComplexArray) -> ComplexArray:
    """σ = s + λ - λG(s) for Re s > 0, where the iteration is a contraction; sped up by Newton steps."""

    if flow.rate == 0:
        return s

    def image_of(sigma: ComplexArray) -> ComplexArray:
        return np.asarray(s + sigma * flow.residual(sigma))

    now, polished = image_of(s + flow.rate), 0
    for _ in range(MOST_ITERATIONS):
        gap = now - image_of(now)
        polished += bool((np.abs(gap) <= 1e-14 * np.abs(now)).all())
        if polished > POLISHING:
            return np.asarray(now)
        near = now * (1 + 1e-7)
        slope = (near - image_of(near) - gap) / (near - now)
        newton = now - gap / np.where(slope == 0, 1.0, slope)
        now = np.where((newton.real >= s.real) & (np.abs(slope) > 1e-9), newton, now - gap)
    if (np.abs(gap) <= 1e-10 * np.abs(now)).all():  # as near as the rounding of this law lets it come
        return np.asarray(now)
    raise ValueError(f"the busy period at load {flow.load:.9g} was not found: simulate() estimates its percentiles")


def busy_period(flow: Flow, s: ComplexArray) -> ComplexArray:
    """G(s), the root of G = B(s + λ - λG)."""
    return np.asarray(1 - (delay(flow, s) - s) / flow.rate)


def last_come(arrival_rate: float, service: Distribution) -> InvertedTimes:
    """M/G/1 served last come first served, without preemption: the wait is a cycle of the rest of a service."""
    flow, rho = Flow(arrival_rate, service), arrival_rate * service.mean

    def waiting(s: ComplexArray) -> ComplexArray:
        return np.asarray(1 - rho + flow.residual(delay(flow, s)))

    rest = Work(flow.backlog(2) / 2, flow.backlog(3) / 3 - (flow.backlog(2) / 2) ** 2)  # zero where none is served
    wait = rest.cycle(flow)
    variances = {"Wq": wait.variance, "W": wait.variance + service.variance}
    return InvertedTimes(waiting, rho, service.mean / (1 - rho), service, variances=variances)


def last_come_several(arrival_rate: float, service: Distribution, servers: int, p_wait: float) -> InvertedTimes:
    """M/M/c: a customer that waits, waits a busy period of the c servers as one."""
    flow = Flow(arrival_rate, service.scaled(1 / servers))

    def waiting(s: ComplexArray) -> ComplexArray:
        return np.asarray(1 - p_wait + p_wait * busy_period(flow, s))

    step = service.mean / servers
    wait = Work(p_wait * step, (2 * p_wait - p_wait**2) * step**2).cycle(flow)
    variances = {"Wq": wait.variance, "W": wait.variance + service.variance}
    return InvertedTimes(waiting, p_wait, service.mean, service, variances=variances)


def interrupting(arrival_rate: float, service: Distribution) -> InvertedTimes:
    """M/G/1 served last come first served with preemption: a response is a busy period."""
    flow, own = Flow(arrival_rate, service), work_of(service)

    def response(s: ComplexArray) -> ComplexArray:
        return service.laplace(delay(flow, s))

    def waiting(s: ComplexArray) -> ComplexArray:
        return service.laplace(delay(flow, s) - s)

    def held_up(service_time: float) -> tuple[Transform, float]:
        return lambda s: np.exp((s - delay(flow, s)) * service_time), -math.expm1(-arrival_rate * service_time)

    p_held_up = 1 - service.transform(arrival_rate)
    variances = {"W": own.cycle(flow).variance, "Wq": own.held_up(flow).variance}
    return InvertedTimes(waiting, p_held_up, service.mean / (1 - flow.load), service, response, held_up, variances)


def class_times(above: Flow, own: Flow, below: Flow, service: Distribution, *, preemptive: bool) -> InvertedTimes:
    """One priority class: ``own`` is its level, ``service`` the law of the class within it."""
    busy = above.load + own.load
    idle = 1 - busy - (0.0 if preemptive else below.load)

    def start(sigma: ComplexArray) -> ComplexArray:
        """Until a service begins."""
        first = idle + (0.0 if preemptive else below.residual(sigma))
        return np.asarray(first / (1 - above.residual(sigma) - own.residual(sigma)))

    def waiting(s: ComplexArray) -> ComplexArray:
        sigma = delay(above, s)
        return np.asarray(start(sigma) * (service.laplace(sigma - s) if preemptive and above.rate > 0 else 1.0))

    def response(s: ComplexArray) -> ComplexArray:
        sigma = delay(above, s)
        return np.asarray(start(sigma) * service.laplace(sigma))

    ahead = work_ahead(above.backlog(2) + own.backlog(2), above.backlog(3) + own.backlog(3), busy)
    if not preemptive:  # a service below that has begun
        first = below.backlog(2) / (2 * (1 - busy))
        ahead += Work(first, below.backlog(3) / (3 * (1 - busy)) - first**2)
    wait, served = ahead.cycle(above), work_of(service)
    scale = (wait.mean + service.mean) / 2
    if preemptive and above.rate > 0:

        def held_up(service_time: float) -> tuple[Transform, float]:
            def transform(s: ComplexArray) -> ComplexArray:
                sigma = delay(above, s)
                return np.asarray(start(sigma) * np.exp((s - sigma) * service_time))

            return transform, 1 - idle * math.exp(-above.rate * service_time)

        p_held_up = 1 - idle * service.transform(above.rate)
        variances = {"W": (ahead + served).cycle(above).variance, "Wq": wait.variance + served.held_up(above).variance}
        return InvertedTimes(waiting, p_held_up, scale, service, response, held_up, variances)
    variances = {"Wq": wait.variance, "W": wait.variance + served.variance}
    return InvertedTimes(waiting, 1 - idle, scale, service, variances=variances)
