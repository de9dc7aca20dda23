"""M/D/c: Poisson arrivals, every service takes the same time D, several servers.

A customer in service now has left D later, and one that waits now or came meanwhile is then present, so the number
present, looked at D apart, goes N' = max(N - c, 0) + Poisson(a), a = λD.  A customer waits as that of one server that
gets every c-th.  Both are random walks, whose sums of positive terms lose no digits:

    Lq = sum over k >= 1 of E[max(Poisson(ka) - kc, 0)] / k,
    P(Wq = 0) = exp(-sum over k >= 1 of P(Poisson(ka) >= kc) / k).

Near saturation the sums are long: then both come from the roots z(1), ..., z(c-1) of z^c = e^(a(z-1)) inside the unit
circle,

    L = (c - (c - a)²) / (2·(c - a)) + sum of 1/(1 - z(k)),   P(Wq = 0) = (c - a) · product of 1/(1 - z(k)).

Source: Spitzer (1956), Trans. Am. Math. Soc. 82 (sums); Crommelin (1932), Post Office Electr. Eng. J. 25, and Bailey
(1954), J. Roy. Stat. Soc. B 16 (roots).

>>> from qsim import Deterministic, Exponential, GGc, solve
>>> r = solve(GGc(Exponential(1 / 1.8), Deterministic(1.0), servers=2))
>>> round(r.L, 6), round(r.p_wait, 6)
(5.664462, 0.847108)
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray, IntArray
from qsim.analytic.formula import Formula
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Deterministic
from qsim.metrics import Metrics

METHOD = "M/D/c (Crommelin 1932; Spitzer 1956)"

MOST_SERVERS, MOST_TERMS = 2000, 20_000


def _places(offered_load: float, servers: int) -> IntArray | None:
    """k = 1, 2, ... until the terms of the sums no longer matter; None where those are too many."""
    a, c = offered_load, servers
    steps = 40 / (c * (a / c - 1 - math.log(a / c))) + 10
    return np.arange(1, math.ceil(steps) + 1) if steps < MOST_TERMS else None


def spitzer_terms(offered_load: float, servers: int) -> FloatArray | None:
    """E[max(Poisson(ka) - kc, 0)]/k for k = 1, 2, ...; None where too many matter."""
    from scipy.special import pdtrc

    a, c, k = offered_load, servers, _places(offered_load, servers)
    if k is None:
        return None
    at_least, more = pdtrc(k * c - 1, k * a), pdtrc(k * c, k * a)  # P(Poisson(ka) >= kc), P(> kc)
    return np.maximum((k * a * at_least - k * c * more) / k, 0.0)


def waiting_probability(offered_load: float, servers: int) -> float:
    """P(wait) for 0 < a < c."""
    from scipy.special import pdtrc

    k = _places(offered_load, servers)
    if k is None:
        return 1 - (servers - offered_load) * math.exp(
            -float(np.log(1 - roots_inside(offered_load, servers)).sum().real)
        )
    return -math.expm1(-float((pdtrc(k * servers - 1, k * offered_load) / k).sum()))


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


def mean_waiting_number(offered_load: float, servers: int) -> float:
    """Lq for 0 < a < c."""
    a, c = offered_load, servers
    terms = spitzer_terms(a, c)
    if terms is not None:
        return float(terms.sum())
    total = float((1 / (1 - roots_inside(a, c))).sum().real)
    return (c - (c - a) ** 2) / (2 * (c - a)) + total - a


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, constant service, several servers, no limit on places."""
    constant = isinstance(model.service, Deterministic) and model.capacity is None
    return model.plain and model.poisson and constant and 1 < model.servers <= MOST_SERVERS


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when ρ >= 1."""
    model.require_stable()
    a, c = model.offered_load, model.servers
    return Metrics.from_times(
        model,
        throughput=model.arrival_rate,
        service=model.service.mean,
        servers=c,
        Wq=mean_waiting_number(a, c) / model.arrival_rate if a > 0 else 0.0,
        p_wait=waiting_probability(a, c) if a > 0 else 0.0,
        method=METHOD,
    )


FORMULA = Formula(open_queue, applies, solve)
