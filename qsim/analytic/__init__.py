"""Formulas: one file per family, each opening with its theory and its source.

:func:`solve` asks the families in turn; the first that applies answers.  A family is a module with
``applies(model) -> bool`` and ``solve(model) -> Metrics``; adding one means adding a file and a line here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from qsim.analytic.closed import (
    classes as closed_classes,
)
from qsim.analytic.closed import (
    finite_source,
    mean_value,
    random_routing,
    repairman,
)
from qsim.analytic.closed import (
    network as closed_network,
)
from qsim.analytic.networks import jackson, open_classes
from qsim.analytic.networks import mixed as mixed_network
from qsim.analytic.open import (
    approximations,
    batches,
    disciplines,
    gimc,
    infinite_servers,
    load_dependent,
    loss,
    markovian,
    mdc,
    mg1,
    mm1,
    mmc,
    mmck,
    priorities,
    split,
)
from qsim.errors import NoFormulaError
from qsim.metrics import Metrics
from qsim.models import Model


class Family(Protocol):
    """What a file of formulas offers."""

    def applies(self, model: Model) -> bool:
        """Whether its theory covers this model."""
        ...

    def solve(self, model: Model) -> Metrics:
        """The answer, for a model it applies to."""
        ...


FAMILIES: Sequence[Family] = (
    mm1,
    mmc,
    mmck,
    loss,
    mdc,
    mg1,
    markovian,
    gimc,
    batches,
    load_dependent,
    disciplines,
    infinite_servers,
    priorities,
    split,
    repairman,
    random_routing,
    finite_source,
    closed_network,
    closed_classes,
    mean_value,
    jackson,
    open_classes,
    mixed_network,
    approximations,
)
"""Most specific first, approximations last."""


def find_family(model: Model) -> Family | None:
    """The first family whose theory covers this model."""
    return next((family for family in FAMILIES if family.applies(model)), None)


def solve(model: Model) -> Metrics:
    """Solve a model by formula.

    Raises UnstableQueueError when an open queue is offered more work than its servers can do, and
    NoFormulaError (naming ``simulate``) when no formula is known for the model.
    """
    if not isinstance(model, Model):
        raise ValueError(f"model must be Open, Closed or another model (MM1(...), MMcN(...), ...), not {model!r}")
    family = find_family(model)
    if family is None:
        raise NoFormulaError(model.kendall)
    return family.solve(model)
