"""What a family of formulas offers: the models it covers, and how it solves them.

A family looks at a model through a *view*, such as the one station of an open queue.  ``view`` gives None for a model
of another shape, so that ``applies`` and ``solve`` take the type of the view and need not ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from qsim.metrics import Metrics
from qsim.models import Model

View = TypeVar("View")


@dataclass(frozen=True)
class Formula(Generic[View]):
    """One family: the ``view`` it takes of a model, whether its theory ``applies`` to it, and how to ``solve`` it."""

    view: Callable[[Model], View | None]
    applies: Callable[[View], bool]
    solve: Callable[[View], Metrics]

    def covers(self, model: Model) -> bool:
        """Whether the theory covers this model."""
        seen = self.view(model)
        return seen is not None and self.applies(seen)

    def answer(self, model: Model) -> Metrics | None:
        """The answer, or None for a model that the theory does not cover."""
        seen = self.view(model)
        return self.solve(seen) if seen is not None and self.applies(seen) else None
