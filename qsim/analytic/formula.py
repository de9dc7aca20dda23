"""What a family of formulas offers: the networks it covers, and how it solves them.

A family looks at a network through a *view* (:mod:`qsim.analytic.views`), such as one open station.  ``view`` gives
None for a network of another shape, so ``applies`` and ``solve`` need not check the shape again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from qsim.metrics import Metrics
from qsim.models import Network

View = TypeVar("View")


@dataclass(frozen=True)
class Formula(Generic[View]):
    """One family: the ``view`` it takes of a network, whether its theory ``applies`` to it, and how to ``solve`` it."""

    view: Callable[[Network], View | None]
    applies: Callable[[View], bool]
    solve: Callable[[View], Metrics]


def of_network(network: Network, answer: Metrics) -> Metrics:
    """Metrics of a view, with the whole network as their model; a network of one unnamed station lists no stations."""
    return replace(
        answer,
        model=network,
        stations=tuple(of_network(network, part) for part in answer.stations) if network.lists_stations else (),
        classes=tuple(of_network(network, part) for part in answer.classes),
    )
