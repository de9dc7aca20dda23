"""A server that goes away when it is idle, or breaks down while it works: M/G/1 with vacations, or with repairs.

Vacations V add the time that an arrival waits for the end of one to the wait of M/G/1 (decomposition):

    again and again:  Wq = λ·E[S²]/(2(1 - ρ)) + E[V²]/(2·E[V])
    one, then ready:  Wq = λ·E[S²]/(2(1 - ρ)) + λ·E[V²]/(2(v + λ·E[V])),  v = E[exp(-λV)]

A service S with breakdowns at the rate ξ of work and repairs R holds its server for C, with

    E[C] = E[S]·(1 + ξ·E[R])    and    E[C²] = E[S²]·(1 + ξ·E[R])² + ξ·E[S]·E[R²]

so that the response time is that of M/G/1 with service C.  A repair counts as waiting.

Source: Levy & Yechiali (1975), Management Science 22, "Utilization of idle time in an M/G/1 queueing system"; Fuhrmann
& Cooper (1985), Operations Res. 33; Gaver (1962), J. Royal Statistical Society B 24, "A waiting line with interrupted
service, including priorities".

>>> from qsim import Deterministic, Exponential, Network, Node, solve
>>> resting = Node(Exponential(1.0), vacation=Deterministic(3.0))
>>> solve(Network({"server": resting}, arrivals={"server": 0.5})).Wq  # half a vacation more than M/M/1
2.5
"""

from __future__ import annotations

from qsim.analytic.devices import lone
from qsim.analytic.formula import Formula
from qsim.analytic.views import network
from qsim.distributions import Distribution, Exponential
from qsim.metrics import Metrics
from qsim.models import Network

AWAY = "M/G/1 with vacations (Fuhrmann & Cooper 1985)"
DOWN = "M/G/1 with breakdowns (Gaver 1962)"


def applies(model: Network) -> bool:
    """One server of vacations, or one of exponential times between breakdowns, and nothing else special about it."""
    node = lone.lone_node(model)
    if node is None or node.servers > 1 or any((node.setup, node.turnaround, node.paces, node.speeds)):
        return False
    away, down = node.vacation is not None, isinstance(node.uptime, Exponential)
    return node.discipline in ("FCFS", "LCFS", "SIRO") and away != down and (down or node.uptime is None)


def solve(model: Network) -> Metrics:
    """Exact."""
    node = lone.lone_node(model)
    assert node is not None  # noqa: S101
    service, rate = lone.service_of(model, node), lone.arrival_rate(model)
    S, second = service.mean, _second(service)
    if node.uptime is None or node.repair is None:
        vacation = node.vacation
        assert vacation is not None  # noqa: S101
        lone.require_stable(model, rate * S, 1)
        Wq = rate * second / (2 * (1 - rate * S))
        if node.vacations == "multiple":
            return lone.answer(model, Wq + _second(vacation) / (2 * vacation.mean) + S, S, rate * S, 1.0, "exact", AWAY)
        ready = vacation.transform(rate)
        cycle = ready + rate * vacation.mean
        p_wait = 1 - (1 - rate * S) * ready / cycle
        return lone.answer(model, Wq + rate * _second(vacation) / (2 * cycle) + S, S, rate * S, p_wait, "exact", AWAY)
    down = node.repair.mean / node.uptime.mean
    held, second = S * (1 + down), second * (1 + down) ** 2 + S / node.uptime.mean * _second(node.repair)
    lone.require_stable(model, rate * held, 1)
    W = held + rate * second / (2 * (1 - rate * held))
    unbroken = service.transform(1 / node.uptime.mean)
    return lone.answer(model, W, S, rate * S, 1 - (1 - rate * held) * unbroken, "exact", DOWN)


def _second(law: Distribution) -> float:
    return (1 + law.scv) * law.mean**2


FORMULA = Formula(network, applies, solve)
