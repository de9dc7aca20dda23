"""A station of a device by itself, which Poisson arrivals visit once."""

from __future__ import annotations

import math

from qsim.analytic.stability import ROUNDING
from qsim.distributions import Distribution, Exponential
from qsim.errors import UnstableQueueError
from qsim.metrics import Kind, Metrics
from qsim.models import Model, Network, Node


def lone_node(model: Model, *, several: bool = False) -> Node | None:
    """The station, or None where there is more to the network, or ``several`` classes that are not asked for."""
    if not isinstance(model, Network) or len(model.stations) != 1 or model.can_lose():
        return None
    if len(model.classes) > 1 and not several:
        return None
    ((name, node),) = model.nodes.items()
    poisson = all(isinstance(law, Exponential) for each in model.arrivals.values() for law in each.values())
    once = not any(way for c in model.classes for way in model.ways(name, c))
    return node if poisson and once and not model.populations and not node.copies_to else None


def service_of(model: Network, node: Node) -> Distribution:
    """What its only class needs."""
    law = node.service_of(model.classes[0])
    assert law is not None  # noqa: S101  (the Network has looked)
    return law


def arrival_rate(model: Network) -> float:
    """Arrivals per time unit."""
    return math.fsum(1 / law.mean for each in model.arrivals.values() for law in each.values())


def answer(
    model: Network, W: float, S: float, utilization: float, p_wait: float, kind: Kind, method: str, servers: int = 1
) -> Metrics:
    """The Metrics that follow from the response time W and the part S of it that is service."""
    rate, (name,) = arrival_rate(model), model.stations

    def metrics(name: str = "", stations: tuple[Metrics, ...] = ()) -> Metrics:
        return Metrics(
            model=model,
            throughput=rate,
            utilization=utilization,
            L=rate * W,
            Lq=rate * (W - S),
            W=W,
            Wq=W - S,
            p_wait=p_wait,
            p_block=0.0,
            kind=kind,
            method=method,
            name=name,
            stations=stations,
        )

    return metrics(stations=(metrics(name),))


def require_stable(model: Network, rho: float, servers: int) -> None:
    """Raises UnstableQueueError where arrivals bring more work than can be done."""
    if rho > 1 - ROUNDING:
        rate = arrival_rate(model)
        raise UnstableQueueError(model.kendall, rate, rate / (rho * servers), servers)
