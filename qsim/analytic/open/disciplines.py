"""Other orders of service than first come first served.

**Symmetric orders** (PS on c servers, LCFS-PR on one) with Poisson arrivals are insensitive: the number present has
the law of M/M/c, with or without a limit on places, for any service law.  So it has under LCFS-PR on c servers with
exponential services, as what is left of one is like a new one.  Wq here is response less service: the time by which
others delay a customer.

**By size** (SJF, PSJF, SRPT) on one server the shortest job goes first.  With ρ(x) = λ·E[S; S <= x] the load of jobs
up to x (ρ(x⁻): below x), a job of size x is held up only by the work that goes before it:

    SJF    W(x) = x + λ·E[S²] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))
    PSJF   W(x) = x/(1 - ρ(x⁻)) + λ·E[S²; S <= x] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))
    SRPT   W(x) = integral of dt/(1 - ρ(t)), t = 0..x, + λ·E[min(S, x)²] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))

SJF (shortest job first) lets a service that has begun end; PSJF interrupts it for a shorter job; SRPT for one shorter
than what is left of it, and no order has a smaller mean. The means over x are taken in thin strata of
sizes, each a class of its own, which is right for atoms of probability too (relative error about 1e-6).

Source: Kleinrock (1976), Queueing Systems II, sections 3.4-3.7 and 4.4; insensitivity: Kelly (1979), Reversibility and
Stochastic Networks, section 3.3; by size: Phipps (1956), Oper. Res. 4 (SJF); Schrage & Miller (1966), Oper. Res. 14
(SRPT); Harchol-Balter (2013), Performance Modeling and Design of Computer Systems, sections 31.3, 32.3 and 33.1.

>>> from qsim import Deterministic, Exponential, Open, solve
>>> round(solve(Open(Exponential(1 / 3), Deterministic(0.2), discipline="PS")).W, 9)
0.5
>>> [round(mean_response(0.8, Exponential(1.0), rule), 3) for rule in ("SJF", "PSJF", "SRPT")]
[2.882, 2.659, 2.353]
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from qsim.analytic.open import birth_death
from qsim.analytic.views import BY_SIZE, Formula, OpenQueue, open_queue
from qsim.distributions import Distribution, Exponential
from qsim.metrics import Metrics

METHODS = {
    "SJF": "shortest job first (Phipps 1956)",
    "PSJF": "preemptive shortest job first (Harchol-Balter 2013, section 32.3)",
    "SRPT": "shortest remaining processing time (Schrage & Miller 1966)",
}
SHARING = "processor sharing, insensitive to the service law (Kelly 1979, section 3.3)"
SYMMETRIC_LCFS = "preemptive last come first served, insensitive to the service law (Kelly 1979, section 3.3)"
INTERRUPTED = "preemptive last come first served: the number present is that of M/M/c"


STRATA = 10_000
ATOM = 1e-3  # A stratum with more than this share of customers is an atom: one size
SMALLEST, LARGEST, WIDER, NEGLIGIBLE = 1e-12, 1e-14, 1 + 1e-9, 1e-15
"""Shares of customers below the first stratum and above the last, which are a little wider; and in an empty one."""


def mean_response(arrival_rate: float, service: Distribution, rule: str) -> float:
    """W of M/G/1 under SJF, PSJF or SRPT, for 0 < ρ < 1.

    Infinite under SJF where E[S²] is: every arrival waits for the rest of a service, however short its own.

    >>> from qsim import Exponential
    >>> round(mean_response(0.8, Exponential(mean=1), "SRPT"), 3)
    2.353
    """
    if rule == "SJF" and math.isinf(service.scv):
        return math.inf
    low = max(service.quantile(SMALLEST), SMALLEST * service.mean)
    high = max(service.quantile(1 - LARGEST), low)
    edges = np.append(np.geomspace(low / WIDER, high * WIDER, STRATA), 0.0)
    edges = np.unique(edges)
    below, survival = service.cdf(edges), 1 - service.cdf(edges)
    # Of each stratum: the share of customers, their work, and their mean size; sizes beyond the last edge are one more.
    share = np.append(np.diff(below), survival[-1])
    work = np.maximum(np.diff(service.limited_mean(edges) - edges * survival), 0.0)
    work = np.append(work, max(0.0, service.mean - float(work.sum())))
    begins = edges[: share.size]
    size = np.divide(work, share, out=begins.copy(), where=share > NEGLIGIBLE)
    size = np.clip(size, begins, np.append(edges[1:], math.inf)[: share.size])
    # ρ up to a stratum and before it, and E[S²; S in an earlier stratum].
    upto = np.minimum(np.cumsum(arrival_rate * work), arrival_rate * service.mean)
    before = np.concatenate(([0.0], upto[:-1]))
    own = share * size**2
    earlier = np.cumsum(own) - own
    if rule == "SJF":
        response, square = size, np.full(size.size, service.moment(2))
    elif rule == "PSJF":
        # Within a stratum the load rises from before to upto, unless all in it have one size.
        spread = np.log1p((upto - before) / (1 - upto))
        wide = (share <= ATOM) & (upto > before)
        response = size * np.divide(spread, upto - before, out=1 / (1 - before), where=wide)
        square = earlier + np.where(share > ATOM, own, own / 2)
    else:
        pace = 1 / (1 - before)
        growth = np.cumsum(np.diff(edges) * (pace + 1 / (1 - upto))[: edges.size - 1] / 2)
        response = np.concatenate(([0.0], growth))[: share.size] + (size - begins) * pace
        square = earlier + size**2 * (1 - below[: share.size])
    return float(share @ (response + arrival_rate * square / 2 / ((1 - before) * (1 - upto))))


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals and any order but FCFS, at one queue, where one of the theories above covers it."""
    if not model.poisson or model.own_queues or model.speeds is not None:
        return False
    if model.discipline == "PS":
        return True
    alone = model.servers == 1 or (model.discipline == "LCFS-PR" and isinstance(model.service, Exponential))
    return model.discipline != "FCFS" and alone and model.capacity is None


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1 without limited places."""
    model.require_stable()
    lam, service, rule = model.arrival_rate, model.service, model.discipline
    if rule in BY_SIZE:
        W = mean_response(lam, service, rule) if lam > 0 else service.mean
        p_wait = model.rho if rule == "SJF" else math.nan
        return model.metrics(W=max(W, service.mean), p_wait=p_wait, method=METHODS[rule])
    held_up = math.nan
    if model.servers == 1 and model.capacity is None:
        alone = service.transform(lam)  # nobody comes during a whole service
        held_up = 1 - alone if rule == "LCFS-PR" else 1 - (1 - model.rho) * alone
    method = SHARING if rule == "PS" else SYMMETRIC_LCFS if model.servers == 1 else INTERRUPTED
    return dataclasses.replace(birth_death.solve(model), p_wait=held_up, method=method, times=None)


FORMULA = Formula(open_queue, applies, solve)
