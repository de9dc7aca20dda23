"""Formulas: one file per family, each opening with its theory and its source.

:func:`solve` asks the families in turn; the first that applies answers.  A family is a module with a ``FORMULA``
(:class:`~qsim.analytic.formula.Formula`); adding one means adding a file and a line here.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from qsim.errors import InvalidParameterError, NoFormulaError

if TYPE_CHECKING:
    from qsim.analytic.formula import Formula
    from qsim.analytic.views import OpenQueue
    from qsim.metrics import Metrics
    from qsim.models import Network

_NAMES = (
    "open.mm1",
    "open.mmc",
    "open.mmck",
    "open.loss",
    "open.mdc",
    "open.mg1",
    "open.markovian",
    "open.mg1k",
    "open.gimc",
    "open.load_dependent",
    "open.disciplines",
    "open.infinite_servers",
    "open.priorities",
    "open.split",
    "closed.repairman",
    "closed.random_routing",
    "closed.finite_source",
    "closed.network",
    "closed.alone",
    "closed.classes",
    "closed.mean_value",
    "networks.jackson",
    "networks.open_classes",
    "networks.mixed",
    "networks.routed",
    "open.approximations",
)
"""Most specific first, approximations last."""


@cache
def formulas() -> tuple[Formula[Any], ...]:
    """Every family, most specific first; imported on first use, as a fit needs two of them."""
    return tuple(importlib.import_module(f"{__name__}.{name}").FORMULA for name in _NAMES)


def find_formula(network: Network) -> Formula[Any] | None:
    """The first family whose theory covers this network."""
    return next((formula for formula in formulas() if formula.covers(network)), None)


def solve(network: Network) -> Metrics:
    """Solve a queue or network by formula.

    Raises UnstableQueueError when more work comes from outside than servers can do, and NoFormulaError (naming
    ``simulate``) when no formula is known.

    >>> from qsim import MMc
    >>> round(solve(MMc(arrival_rate=2.7, service_rate=1.0, servers=3)).W, 3)
    3.724
    """
    from qsim.models import Network

    if not isinstance(network, Network):
        raise InvalidParameterError(
            "model", f"must be a Network, or a short form such as MM1(...) or Closed(...), not {network!r}"
        )
    for formula in formulas():
        if (answer := formula.answer(network)) is not None:
            return answer
    raise NoFormulaError(network.kendall)


def queue_formula(queue: OpenQueue) -> Formula[OpenQueue] | None:
    """The first family whose theory covers one open station."""
    from qsim.analytic.views import open_queue

    return next((f for f in formulas() if f.view is open_queue and f.applies(queue)), None)


def solve_queue(queue: OpenQueue) -> Metrics:
    """Solve one open station; raises what :func:`solve` raises."""
    formula = queue_formula(queue)
    if formula is None:
        raise NoFormulaError(queue.kendall)
    return formula.solve(queue)
