"""A server that sleeps: M/G/1 with setup and delayed off, and servers of that kind that are picked at random.

An idle server is switched off after a time t; the next to arrive switches it on and waits D for it.  With Poisson
arrivals an idle time outlasts t with probability p = E[exp(-λt)], and the response time is that of M/G/1 and one more
term (decomposition):

    W = S + λ·E[S²]/(2(1 - ρ)) + p·(2·E[D] + λ·E[D²])/(2(1 + λ·p·E[D]))

At low load the last term is p·E[D]: a lone request pays for the whole setup, and busy servers never sleep.

Source: Welch (1964), Operations Res. 12, "On a generalized M/G/1 queuing process in which the first customer of each
busy period receives exceptional service"; Levy & Kleinrock (1986), Operations Res. 34, "A queue with starter and a
queue with vacations: delay analysis by decomposition"; Bischof (2001), Queueing Systems 39.

>>> from qsim import Deterministic, Exponential, MG1Setup, solve
>>> sleeping = MG1Setup(arrival_rate=0.5, service=Exponential(1.0), setup=Exponential(2.0))
>>> solve(sleeping).W
4.0
"""

from __future__ import annotations

import math

from qsim.analytic.devices import lone
from qsim.analytic.formula import Formula
from qsim.analytic.views import network
from qsim.metrics import Metrics
from qsim.models import Network
from qsim.models.node import law_for

METHOD = "M/G/1 with setup (Welch 1964; Levy & Kleinrock 1986)"


def applies(model: Network) -> bool:
    """One server that is set up, or several behind queues joined at random; no order by size, no turnaround."""
    node = lone.lone_node(model)
    return (
        node is not None
        and node.setup is not None
        and (node.servers == 1 or node.queues == "random")
        and node.discipline in ("FCFS", "LCFS", "SIRO", "priority")
        and (node.paces is None or len(set(node.paces)) == 1)
    )


def solve(model: Network) -> Metrics:
    """Exact."""
    node = lone.lone_node(model)
    assert node is not None  # noqa: S101
    servers, pace = int(node.servers), node.paces[0] if node.paces else 1.0
    law = lone.service_of(model, node)
    rate, S, second = lone.arrival_rate(model) / servers, law.mean / pace, (law.scv + 1) * (law.mean / pace) ** 2
    rho = rate * S
    lone.require_stable(model, rho, servers)
    setup = law_for(node.setup, model.classes[0])
    p = math.exp(-rate * node.off_after) if setup is not None else 0.0
    D = setup.mean if setup is not None else 0.0
    D2 = (setup.scv + 1) * D**2 if setup is not None else 0.0
    W = S + rate * second / (2 * (1 - rho)) + p * (2 * D + rate * D2) / (2 * (1 + rate * p * D))
    idle_and_ready = (1 - p) * (1 - rho) / (1 + rate * p * D)
    return lone.answer(model, W, S, rho, 1 - idle_and_ready, "exact", METHOD)


FORMULA = Formula(network, applies, solve)
