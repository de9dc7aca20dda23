"""What a family of formulas offers: the networks it covers, and how it solves them.

A family looks at a network through a *view* (:mod:`qsim.analytic.views`), such as one open station.  ``view`` gives
None for a network of another shape, so that ``applies`` and ``solve`` take the type of the view and need not ask again.
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
    """The answer to a view, and its parts, as those of the whole network; of one station the whole says it all."""
    return replace(
        answer,
        model=network,
        stations=tuple(of_network(network, part) for part in answer.stations) if network.lists_stations else (),
        classes=tuple(of_network(network, part) for part in answer.classes),
    )
