"""A server that takes up to b at once, and begins with at least a: M/M(a, b)/1.

While it serves, the number waiting is geometric with the root r in (0, 1) of μ·r^(b+1) - (λ + μ)·r + λ = 0; while it
is idle, n < a wait with probability p(busy, 0)·(μ/λ)·(1 + r + ... + r^n).

Source: Neuts (1967), Annals of Mathematical Statistics 38, "A general class of bulk queues with Poisson input"; Medhi
(2003), Stochastic Models in Queueing Theory, section 4.3.

>>> from qsim import Exponential, Network, Node, solve
>>> lift = Network({"lift": Node(Exponential(60.0), batch=8, batch_least=2)}, arrivals={"lift": 0.05})
>>> round(solve(lift).Wq, 1)
59.3
"""

from __future__ import annotations

import numpy as np

from qsim.analytic.devices import lone
from qsim.analytic.formula import Formula
from qsim.analytic.views import network
from qsim.distributions import Exponential
from qsim.metrics import Metrics
from qsim.models import Network

METHOD = "bulk service (Neuts 1967)"


def applies(model: Network) -> bool:
    """One exponential server of batches, ready whenever it is idle."""
    node = lone.lone_node(model)
    if node is None or not node.in_batches or node.remembers or node.servers > 1:
        return False
    return isinstance(lone.service_of(model, node), Exponential)


def solve(model: Network) -> Metrics:
    """Exact."""
    from scipy.optimize import brentq

    node = lone.lone_node(model)
    assert node is not None  # noqa: S101
    rate, S, a, b = lone.arrival_rate(model), lone.service_of(model, node).mean, node.batch_least, node.batch
    load = rate * S
    lone.require_stable(model, load / b, b)
    # Divided by (r - 1)·μ the equation for r is r + r² + ... + r^b = λ/μ.
    r = float(brentq(lambda x: (x ** np.arange(1, b + 1)).sum() - load, 0.0, 1.0, xtol=1e-16, rtol=1e-15))
    idle = np.cumsum(r ** np.arange(a)) / load
    whole = idle.sum() + 1 / (1 - r)
    Wq = float((np.arange(a) @ idle + r / (1 - r) ** 2) / whole) / rate
    return lone.answer(model, Wq + S, S, load / b, float(1 - idle[-1] / whole), "exact", METHOD)


FORMULA = Formula(network, applies, solve)
