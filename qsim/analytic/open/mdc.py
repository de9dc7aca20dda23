"""M/D/c: Poisson arrivals, every service takes the same time D, several servers.

After a time D every customer now in service has left, and those now waiting or arriving meanwhile are present, so the
number present goes from N to N' = max(N - c, 0) + Poisson(a), a = λD.  With the roots z(1), ..., z(c-1) of
z^c = e^(a(z-1)) inside the unit circle,

    L = (c - (c - a)²) / (2·(c - a)) + sum of 1/(1 - z(k)),   P(Wq = 0) = (c - a) · product of 1/(1 - z(k)).

Source: Crommelin (1932), Post Office Electr. Eng. J. 25, and Bailey (1954), J. Roy. Stat. Soc. B 16 (roots).

>>> from qsim import Deterministic, Exponential, GGc, solve
>>> r = solve(GGc(Exponential(1 / 1.8), Deterministic(1.0), servers=2))
>>> round(r.L, 6), round(r.p_wait, 6)
(5.664462, 0.847108)
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Deterministic
from qsim.metrics import Metrics

METHOD = "M/D/c (Crommelin 1932)"

MOST_SERVERS = 2000
MOST_ROUNDS, PRECISION = 200, 1e-15  # of Newton's method


def roots_inside(offered_load: float, servers: int) -> npt.NDArray[np.complex128]:
    """z(1), ..., z(c-1): each the fixed point of z = e^(2πik/c)·e^(a(z-1)/c), by Newton's method from z = 0."""
    c, a = servers, offered_load
    unit = np.exp(2j * np.pi * np.arange(1, c) / c)
    z = np.zeros(c - 1, dtype=np.complex128)
    for _ in range(MOST_ROUNDS):
        image = unit * np.exp(a / c * (z - 1))
        step = (z - image) / (1 - a / c * image)
        z -= step
        if np.abs(step).max(initial=0.0) < PRECISION:
            break
    return z


def mean_waiting_number(offered_load: float, servers: int) -> float:
    """Lq for 0 < a < c."""
    a, c = offered_load, servers
    total = float((1 / (1 - roots_inside(a, c))).sum().real)
    return max(0.0, (c - (c - a) ** 2) / (2 * (c - a)) + total - a)


def waiting_probability(offered_load: float, servers: int) -> float:
    """P(wait) for 0 <= a < c."""
    none_waits = math.exp(-float(np.log(1 - roots_inside(offered_load, servers)).sum().real))
    return max(0.0, 1 - (servers - offered_load) * none_waits)


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, constant service, several servers, no limit on places."""
    constant = isinstance(model.service, Deterministic) and model.capacity is None
    return model.plain and model.poisson and constant and 1 < model.servers <= MOST_SERVERS


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    a, c = model.offered_load, model.servers
    Wq = mean_waiting_number(a, c) / model.arrival_rate if a > 0 else 0.0
    return model.metrics(Wq, p_wait=waiting_probability(a, c), method=METHOD)


FORMULA = Formula(open_queue, applies, solve)
