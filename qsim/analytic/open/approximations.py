"""G/G/c: approximations of the mean wait where no exact formula is known, under their authors' names.

All start from two moments, ca² and cs² the scv of the times between arrivals and of service, and from Wq(M/M/c):

- **Allen-Cunneen**: (ca² + cs²)/2 · Wq(M/M/c).  The simplest; exact for M/M/c and M/G/1, and in heavy traffic.
- **Krämer-Langenbach-Belz**: Allen-Cunneen times exp(-2(1-ρ)(1-ca²)²/(3ρ(ca²+cs²))) where ca² <= 1, times
  exp(-(1-ρ)(ca²-1)/(ca²+4cs²)) above: arrivals matter less when the load is light.
- **Kimura**: (ca²+cs²) / [(1-ca²)/Wq(D/M/c) + (1-cs²)/Wq(M/D/c) + 2(ca²+cs²-1)/Wq(M/M/c)], the three waits exact:
  a harmonic interpolation between queues whose answers are known; both scv at most 1.
- **Kingman's bound**: Wq <= λ(Var[A] + Var[S]/c) / (2(1-ρ)).  A bound, not an approximation.  For c servers it is that
  of a server that gets every c-th customer, which FCFS over a shared queue only improves on (Wolff).

Two moments do not determine the wait: between hyperexponential and lognormal gaps of one ca² it differs by a fifth.
So the answer is better taken from a whole law:

- **phase-type fit**: each law replaced by phases that share its mean and scv, and above scv 1 the third moment, and the
  queue of these solved exactly.

The fit is used wherever its Markov chain is small.  Elsewhere the formula that came nearest to 144 exact PH/PH/c
solutions is used: Kimura for several servers and both scv at most 1, otherwise Krämer-Langenbach-Belz.  Errors are in
``docs/theory``, approximations.  P(wait) is the fit's, else Erlang's C times a factor for the laws.

Where the longest service is no longer than c times the shortest gap nobody waits, exactly.

Source: Allen (1990), Probability, Statistics and Queueing Theory, section 5.4; Krämer & Langenbach-Belz (1976), Proc.
8th Int. Teletraffic Congress; Kimura (1986), Management Science 32; Kingman (1962), Biometrika 49; Wolff (1977), J.
Appl. Prob. 14.

>>> round(allen_cunneen(2.7, 1.0, 1.0, 0.0, servers=3), 6)
1.361768
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from qsim import _check
from qsim.analytic.open import gimc, markovian, mdc
from qsim.analytic.open.mg1 import MG1Times
from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Deterministic, Distribution, HyperExponential
from qsim.distributions.base import Phases
from qsim.errors import InvalidParameterError, UnstableQueueError
from qsim.metrics import Metrics

MOST_SERVERS = 100_000
FIT, BOUND = "phase-type fit", "Kingman's bound"
LEAST_SCV = 0.05  # the least scv of a law that is replaced by phases: that of twenty Erlang phases
MOST_WORK = 2e8  # multiplications to solve a phase-type fit: a few tenths of a second

P_WAIT, P_WAIT_FITTED = "P(wait) of two moments", "P(wait) of the phase-type fit"
ERRORS = {
    "phase-type fit": (2.8, 34),
    "Allen-Cunneen": (7.6, 33),
    "Krämer-Langenbach-Belz": (4.2, 37),
    "Kimura": (2.2, 17),
    P_WAIT: (7.7, 21),
    P_WAIT_FITTED: (0.8, 25),
    "closed FCFS classes": (0.5, 21),
    "closed FCFS of general services": (2.5, 73),
}
"""Error of each approximation's W, in percent, and of P(wait), in points: median and worst of 60 random queues of each
kind, solved and simulated by ``python examples/accuracy/approximations.py``."""
SCV, MOST_LOAD, MOST_MEASURED = (0.02, 4.0), 0.9, 8  # the range of scv, rho and servers in which errors were measured
ROUNDING = 1e-9  # values this near beyond the range are in it
LAWS = "gamma, lognormal and two-point times"
SCOPE = f"{LAWS} of scv {SCV[0]:g} to {SCV[1]:g}, rho up to {MOST_LOAD:g}, up to {MOST_MEASURED} servers"


def mmc_wait(arrival_rate: float, service_time: float, servers: int = 1) -> float:
    """Wq(M/M/c), from which the approximations start; raises UnstableQueueError when ρ >= 1."""
    rate, S = _check.non_negative("arrival_rate", arrival_rate), _check.positive("service_time", service_time)
    c = _check.count("servers", servers)
    if rate * S >= c:
        raise UnstableQueueError(f"G/G/{c}", rate, 1 / S, c)
    return erlang_c(c, rate * S) * S / (c - rate * S)


def _scv(ca2: float, cs2: float) -> tuple[float, float]:
    return _check.non_negative("ca2", ca2), _check.non_negative("cs2", cs2)


def allen_cunneen(arrival_rate: float, service_time: float, ca2: float, cs2: float, servers: int = 1) -> float:
    """Wq of G/G/c (Allen 1990, section 5.4).

    >>> round(allen_cunneen(arrival_rate=1.6, service_time=1, ca2=1, cs2=2, servers=2), 3)
    2.667
    """
    ca2, cs2 = _scv(ca2, cs2)
    return (ca2 + cs2) / 2 * mmc_wait(arrival_rate, service_time, servers)


def kraemer_langenbach_belz(
    arrival_rate: float, service_time: float, ca2: float, cs2: float, servers: int = 1
) -> float:
    """Wq of G/G/c (Krämer & Langenbach-Belz 1976; their factor for one server, on Allen-Cunneen's for several).

    >>> round(kraemer_langenbach_belz(arrival_rate=0.8, service_time=1, ca2=0.5, cs2=1), 3)
    2.918
    """
    plain_wait = allen_cunneen(arrival_rate, service_time, ca2, cs2, servers)
    rho = arrival_rate * service_time / servers
    if plain_wait == 0:
        return 0.0
    if ca2 <= 1:
        return plain_wait * math.exp(-2 * (1 - rho) * (1 - ca2) ** 2 / (3 * rho * (ca2 + cs2)))
    return plain_wait * math.exp(-(1 - rho) * (ca2 - 1) / (ca2 + 4 * cs2))


def kimura(arrival_rate: float, service_time: float, ca2: float, cs2: float, servers: int = 1) -> float:
    """Wq of G/G/c for ca², cs² <= 1 (Kimura 1986); ValueError above.

    >>> round(kimura(arrival_rate=1.6, service_time=1, ca2=0.5, cs2=0.5, servers=2), 3)
    0.796
    """
    ca2, cs2 = _scv(ca2, cs2)
    for name, value in (("ca2", ca2), ("cs2", cs2)):
        if value > 1:
            raise InvalidParameterError(name, f"must be at most 1 for Kimura's formula, not {value!r}", value=value)
    exponential = mmc_wait(arrival_rate, service_time, servers)
    if arrival_rate == 0:
        return 0.0
    mu, a = 1 / service_time, arrival_rate * service_time
    gaps = Deterministic(1 / arrival_rate)
    ending = gimc.rest(gaps, servers * mu)
    even_arrivals = gimc.waiting_probability(gaps, mu, servers, ending) / (servers * mu * ending)
    even_services = mdc.mean_waiting_number(a, servers) / arrival_rate
    if min(even_arrivals, even_services) == 0:  # too light a load for P(wait) to be above 1e-300
        return 0.0
    shares = (1 - ca2) / even_arrivals + (1 - cs2) / even_services + 2 * (ca2 + cs2 - 1) / exponential
    return (ca2 + cs2) / shares


def kingman_bound(arrival_rate: float, service_time: float, ca2: float, cs2: float, servers: int = 1) -> float:
    """No G/G/c queue with these moments has a greater Wq (Kingman 1962; Wolff 1977 for c > 1).

    >>> round(kingman_bound(arrival_rate=0.8, service_time=1, ca2=1, cs2=2), 3)
    7.125
    """
    ca2, cs2 = _scv(ca2, cs2)
    mmc_wait(arrival_rate, service_time, servers)  # checks the parameters
    if arrival_rate == 0:
        return math.inf
    rho = arrival_rate * service_time / servers
    return arrival_rate * (ca2 / arrival_rate**2 + cs2 * service_time**2 / servers) / (2 * (1 - rho))


def table(arrival_rate: float, service_time: float, ca2: float, cs2: float, servers: int = 1) -> dict[str, float]:
    """The mean wait by every formula that is valid for these moments, by its author's name."""
    authors: dict[str, Callable[..., float]] = {
        "Allen-Cunneen": allen_cunneen,
        "Krämer-Langenbach-Belz": kraemer_langenbach_belz,
        "Kimura": kimura,
        BOUND: kingman_bound,
    }
    valid = {name: wait for name, wait in authors.items() if name != "Kimura" or max(ca2, cs2) <= 1}
    return {name: wait(arrival_rate, service_time, ca2, cs2, servers) for name, wait in valid.items()}


def applies(model: OpenQueue) -> bool:
    """Independent times of finite variance, first come first served, no limit on places."""
    return (
        model.plain
        and model.capacity is None
        and math.isfinite(model.arrivals.mean)
        and math.isfinite(model.arrivals.scv + model.service.scv)
        and model.servers <= MOST_SERVERS
    )


@dataclass(frozen=True)
class MixedErlang(Distribution):
    """Erlang times of k - 1 or of k equal stages, 1/k <= scv <= 1/(k - 1) (Tijms 1994, Stochastic Models, p. 358)."""

    mean: float
    scv: float

    def phases(self) -> Phases:
        k = math.ceil(1 / self.scv)
        p = (k * self.scv - math.sqrt(max(0.0, k * (1 + self.scv) - k * k * self.scv))) / (1 + self.scv)
        start = np.zeros(k)
        start[:2] = 1 - p, p  # the shorter one skips the first stage
        return start, (np.eye(k, k=1) - np.eye(k)) * (k - p) / self.mean


def of_phases(law: Distribution) -> Distribution:
    """A phase-type law of the same mean and scv, and above scv 1 the same third moment where two phases allow it.

    >>> from qsim import LogNormal
    >>> found = of_phases(LogNormal(mean=1, scv=2))
    >>> round(found.moment(3), 9) == round(LogNormal(mean=1, scv=2).moment(3), 9)
    True
    """
    if law.phases() is not None:
        return law
    if law.scv < 1:
        return MixedErlang(law.mean, law.scv)
    found = HyperExponential.from_three_moments(law.mean, law.moment(2), law.moment(3))
    return found or HyperExponential.from_moments(law.mean, law.scv)


def phase_type(model: OpenQueue) -> OpenQueue | None:
    """The queue with phase-type laws instead; None where the chain is large or phases fit a law badly."""
    if any(law.phases() is None and law.scv < LEAST_SCV for law in (model.arrivals, model.service)):
        return None
    fitted = replace(model, arrivals=of_phases(model.arrivals), service=of_phases(model.service))
    return fitted if markovian.applies(fitted, MOST_WORK) else None


def nobody_waits(model: OpenQueue) -> bool:
    """Whether the longest service is over before the c-th customer after it can come."""
    return model.service.support[1] <= model.servers * model.arrivals.support[0]


def waiting_probability(rho: float, ca2: float, cs2: float, servers: int) -> float:
    """P(wait) of G/G/c: Erlang's C times the factor of Krämer & Langenbach-Belz (1976) for one server, 1 for M/G.

    >>> round(waiting_probability(rho=0.9, ca2=0, cs2=0.02, servers=1), 3)
    0.217
    """
    if ca2 <= 1:
        h = (1 + ca2 + rho * cs2) / (1 + rho * (cs2 - 1) + rho**2 * (4 * ca2 + cs2))
    else:
        h = 4 * rho / (ca2 + rho**2 * (4 * ca2 + cs2))
    return erlang_c(servers, servers * rho) * min(max(1 + (ca2 - 1) * (1 - rho) * h, 0.0), 1 / rho)


def with_errors(
    method: str,
    name: str,
    scv: Iterable[float],
    load: float,
    servers: float,
    alike: bool = True,
    scope: str = SCOPE,
    p_wait: str = "",
) -> str:
    """The text ``method`` with the measured errors of W of ``name``, or with "error unknown" for other queues.

    ``p_wait`` names how P(wait) was found, whose error is then said too. ``alike``: whether the queue is of the
    measured kind, apart from its scv, load and servers.

    >>> from qsim import Gamma, GGc, solve
    >>> method = solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=0.8), servers=2)).method
    >>> method.partition(", for ")[0]
    'phase-type fit (W off by 2.8 % at the median, 34 % at worst, P(wait) by 0.01 and 0.25'
    >>> solve(GGc(Gamma(mean=1, scv=0.3), Gamma(mean=1.7, scv=30), servers=2)).method[:70]
    'phase-type fit (error unknown: measured only for gamma, lognormal and '
    """
    inside = all(SCV[0] - ROUNDING <= v <= SCV[1] + ROUNDING for v in scv)
    if name not in ERRORS or not (alike and inside) or load > MOST_LOAD + ROUNDING or servers > MOST_MEASURED:
        return f"{method} (error unknown: measured only for {scope})"
    median, worst = ERRORS[name]
    waits = f", P(wait) by {ERRORS[p_wait][0] / 100:.2f} and {ERRORS[p_wait][1] / 100:.2f}" if p_wait else ""
    return f"{method} (W off by {median:g} % at the median, {worst} % at worst{waits}, for {scope})"


def solve(model: OpenQueue) -> Metrics:
    """The nearest approximation, and all of them by name; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    if nobody_waits(model):
        method = "exact, as the longest service ends before its server is needed again"
        return model.metrics(0.0, p_wait=0.0, method=method, times=MG1Times(0.0, model.service, model.service))
    c = model.servers
    known = table(model.arrival_rate, model.service.mean, model.arrivals.scv, model.service.scv, c)
    name = "Kimura" if c > 1 and "Kimura" in known else "Krämer-Langenbach-Belz"
    p_wait, of_waits = waiting_probability(model.rho, model.arrivals.scv, model.service.scv, c), P_WAIT
    if fitted := phase_type(model):
        fit = markovian.solve(fitted)
        name, p_wait, of_waits = FIT, fit.p_wait, P_WAIT_FITTED
        known = {FIT: fit.Wq, **known}
    return model.metrics(
        min(known[name], known[BOUND]),
        p_wait=p_wait,
        kind="approximation",
        method=with_errors(name, name, (model.arrivals.scv, model.service.scv), model.rho, c, p_wait=of_waits),
        kinds={"throughput": "exact", "utilization": "exact", "p_block": "exact"},
        approximations=known,
    )


FORMULA = Formula(open_queue, applies, solve)
