"""Formulas: one file per family, each opening with its theory and its source.

:func:`solve` asks the families in turn; the first that applies answers.  A family is a module with
``applies(model) -> bool`` and ``solve(model) -> Metrics``; adding one means adding a file and a line here.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from qsim.errors import InvalidParameterError, NoFormulaError

if TYPE_CHECKING:
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


_NAMES = (
    "impatient.giving_up",
    "impatient.retrials",
    "open.mm1",
    "open.mmc",
    "open.mmck",
    "open.loss",
    "open.mdc",
    "open.mg1",
    "open.markovian",
    "open.mg1k",
    "open.gimc",
    "open.batches",
    "open.load_dependent",
    "open.disciplines",
    "open.infinite_servers",
    "open.priorities",
    "open.split",
    "closed.repairman",
    "closed.random_routing",
    "closed.finite_source",
    "closed.network",
    "closed.classes",
    "closed.mean_value",
    "networks.jackson",
    "networks.open_classes",
    "networks.mixed",
    "devices.setup",
    "devices.absence",
    "devices.batch_service",
    "devices.polling",
    "devices.fork_join",
    "devices.gathering",
    "networks.routed",
    "open.approximations",
)
"""Most specific first, approximations last."""


@cache
def families() -> tuple[Family, ...]:
    """Every family, most specific first; imported when it is first asked for, as a fit needs two of them."""
    return tuple(cast(Family, importlib.import_module(f"{__name__}.{name}")) for name in _NAMES)


def find_family(model: Model) -> Family | None:
    """The first family whose theory covers this model."""
    return next((family for family in families() if family.applies(model)), None)


def solve(model: Model) -> Metrics:
    """Solve a model by formula.

    Raises UnstableQueueError when an open queue is offered more work than its servers can do, and
    NoFormulaError (naming ``simulate``) when no formula is known for the model.

    >>> from qsim import MMc
    >>> round(solve(MMc(arrival_rate=2.7, service_rate=1.0, servers=3)).W, 3)
    3.724
    """
    from qsim.models import Model

    if not isinstance(model, Model):
        raise InvalidParameterError(
            "model", f"must be Open, Closed or another model (MM1(...), MMcN(...), ...), not {model!r}", value=model
        )
    family = find_family(model)
    if family is None:
        raise NoFormulaError(model.kendall)
    return family.solve(model)
