"""Other orders of service than first come first served.

**Symmetric orders** (PS on c servers, LCFS-PR on one) with Poisson arrivals are insensitive: the number present has
the law of M/M/c, with or without a limit on places, for any service law.  So it has under LCFS-PR on c servers with
exponential services, as what is left of one is like a new one.  Only with what a customer was held up by
others (response less service) counted as waiting can Wq be spoken of; that is what it is here.

**By size** (SJF, PSJF, SRPT): see :mod:`qsim.analytic.open.size_based`.

Source: Kleinrock (1976), Queueing Systems II, sections 3.4-3.7 and 4.4; insensitivity: Kelly (1979), Reversibility and
Stochastic Networks, section 3.3.

>>> from qsim import Deterministic, Exponential, Open, solve
>>> round(solve(Open(Exponential(1 / 3), Deterministic(0.2), discipline="PS")).W, 9)
0.5
"""

from __future__ import annotations

import dataclasses
import math

from qsim.analytic.formula import Formula
from qsim.analytic.open import birth_death, size_based
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Exponential
from qsim.metrics import Metrics

METHODS = {
    "SJF": "shortest job first (Phipps 1956)",
    "PSJF": "preemptive shortest job first (Harchol-Balter 2013, section 32.3)",
    "SRPT": "shortest remaining processing time (Schrage & Miller 1966)",
}
SHARING = "processor sharing, insensitive to the service law (Kelly 1979, section 3.3)"
SYMMETRIC_LCFS = "preemptive last come first served, insensitive to the service law (Kelly 1979, section 3.3)"
INTERRUPTED = "preemptive last come first served: the number present is that of M/M/c"


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
    return _by_size(model) if model.discipline in size_based.RULES else _sharing(model)


def _by_size(model: OpenQueue) -> Metrics:
    lam, service, rule = model.arrival_rate, model.service, model.discipline
    W = size_based.mean_response(lam, service, rule) if lam > 0 else service.mean
    return Metrics.from_times(
        model,
        throughput=lam,
        service=service.mean,
        servers=1,
        W=max(W, service.mean),
        p_wait=model.rho if rule == "SJF" else math.nan,
        method=METHODS[rule],
    )


def _sharing(model: OpenQueue) -> Metrics:
    """PS or LCFS-PR: the state law of M/M/c or M/M/c/K."""
    held_up = math.nan
    if model.servers == 1 and model.capacity is None:
        alone = model.service.transform(model.arrival_rate)  # nobody comes during a whole service
        held_up = 1 - alone if model.discipline == "LCFS-PR" else 1 - (1 - model.rho) * alone
    method = SYMMETRIC_LCFS if model.servers == 1 else INTERRUPTED
    method = SHARING if model.discipline == "PS" else method
    return dataclasses.replace(birth_death.solve(model), p_wait=held_up, method=method, times=None)


FORMULA = Formula(open_queue, applies, solve)
