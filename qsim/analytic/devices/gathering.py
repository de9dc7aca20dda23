"""Interrupt coalescing: those who are done leave when n are together, or a time t after the first of them.

Of Poisson arrivals at rate λ those that come while a group waits are counted by N(s) = 1 + A(s), s after the first.  A
group is over at t or when N reaches n.  So its size and the sum of its waits are

    E[B] = 1 + sum over k = 1..n-1 of P(A(t) >= k)
    E[sum] = integral from 0 to t of E[N(s); N(s) < n] ds = 1/λ · sum over k = 1..n-1 of k·P(A(t) >= k)

and the mean wait is E[sum]/E[B]: t alone when nobody else comes, about (n - 1)/(2λ) when many do.  What leaves an open
network of product form is Poisson (Burke 1956; Jackson 1957), so a place to gather at its exit adds just this.

>>> from qsim import Exponential, Gather, Network, Node, solve
>>> drive = Network({"die": Node(Exponential(1.0)), "interrupt": Gather(count=4, after=10.0)}, arrivals={"die": 0.5})
>>> round(solve(drive)["interrupt"].W, 3), round(solve(drive).W, 3)
(2.894, 4.894)
"""

from __future__ import annotations

import math

import numpy as np

from qsim.analytic.formula import Formula
from qsim.analytic.networks import routed
from qsim.analytic.views import network
from qsim.distributions import Deterministic
from qsim.metrics import Metrics
from qsim.models import Gather, Network, Node
from qsim.models.node import NO_TIME
from qsim.models.routed import open_rates

METHOD = "groups of Poisson arrivals by count and timer"


def mean_wait(arrival_rate: float, count: int, after: float) -> float:
    """The mean wait of those who leave ``count`` at a time, or ``after`` a time.

    >>> round(mean_wait(arrival_rate=1e-9, count=8, after=100.0), 3), mean_wait(arrival_rate=2.0, count=8, after=1e9)
    (100.0, 1.75)
    """
    from scipy.special import gammainc

    k = np.arange(1, count)
    reached = gammainc(k, arrival_rate * after)  # P(A(t) >= k)
    longer = after if count > 1 else 0.0
    alone = (k * reached).sum() / arrival_rate if arrival_rate * after > 1e-12 else longer
    return float(alone / (1 + reached.sum()))


def applies(model: Network) -> bool:
    """Open networks of one class whose members gather before they leave, and nowhere else."""
    if model.populations or model.can_lose() or len(model.classes) > 1:
        return False
    gathers = {name for name, node in model.nodes.items() if isinstance(node, Gather)}
    last = all(not any(model.ways(name, model.classes[0])) for name in gathers)
    others = [node for name, node in model.nodes.items() if name not in gathers]
    return bool(gathers) and last and bool(others) and all(node.plain for node in others)


def solve(model: Network) -> Metrics:
    """Exact under product form, else on the assumption that what leaves is nearly Poisson."""
    rates = open_rates(model)
    waits = {
        name: mean_wait(float(rate), node.count, node.after) if rate > 0 else 0.0
        for (name, node), rate in zip(model.nodes.items(), rates[:, 0], strict=True)
        if isinstance(node, Gather)
    }
    as_delays = {name: Node(Deterministic(waits[name]) if waits[name] > 0 else NO_TIME, math.inf) for name in waits}
    inner = routed.solve(Network({**model.nodes, **as_delays}, model.arrivals, routing=model.routing))
    response = np.array([[waits.get(name, inner[name].W)] for name in model.stations])
    waiting = np.array([[waits.get(name, inner[name].Wq)] for name in model.stations])
    return routed.assemble(model, [rates], response, waiting, inner.kind, f"{METHOD}; {inner.method}")


FORMULA = Formula(network, applies, solve)
