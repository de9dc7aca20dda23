"""Formulas: one file per family, each opening with its theory and its source.

:func:`solve` tries the families in turn and uses the first that applies.  A family is a module with a ``FORMULA``
(:class:`~qsim.analytic.views.Formula`); adding one means adding a file and a line here.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from qsim.analytic.views import Formula, OpenQueue, of_network, open_queue
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.metrics import Metrics
from qsim.models import Network

_NAMES = (
    "open.mm1",
    "open.mmc",
    "open.birth_death:LIMITED_FORMULA",
    "open.birth_death:LOSS_FORMULA",
    "open.mdc",
    "open.mg1",
    "open.markovian",
    "open.gimc",
    "open.birth_death:SPEEDS_FORMULA",
    "open.disciplines",
    "open.priorities",
    "open.split",
    "open.approximations",
    "repairman",
    "networks.product_form",
    "networks.mean_value",
    "networks.jackson",
    "networks.product_form:MIXED_FORMULA",
)
"""Modules, or module:name where the formula is not FORMULA: most specific first, approximations last."""


@cache
def formulas() -> tuple[Formula[Any], ...]:
    """Every family, most specific first; imported on first use, as a fit needs only two of them."""
    places = (name.partition(":") for name in _NAMES)
    modules = ((importlib.import_module(f"{__name__}.{module}"), name or "FORMULA") for module, _, name in places)
    return tuple(getattr(module, name) for module, name in modules)


def find_formula(network: Network) -> Formula[Any] | None:
    """The first family whose theory covers this network."""
    found = _covering(network)
    return None if found is None else found[0]


def _covering(network: Network) -> tuple[Formula[Any], Any] | None:
    """The first family that covers the network, and its view of it; each view is computed once."""
    seen: dict[Any, Any] = {}
    for formula in formulas():
        if formula.view not in seen:
            seen[formula.view] = formula.view(network)
        view = seen[formula.view]
        if view is not None and formula.applies(view):
            return formula, view
    return None


def solve(network: Network) -> Metrics:
    """Solve a queue or network by formula.

    Raises UnstableQueueError when more work arrives than the servers can do, and NoFormulaError (naming
    ``simulate``) when no formula is known.

    >>> from qsim import MMc
    >>> round(solve(MMc(arrival_rate=2.7, service_rate=1.0, servers=3)).W, 3)
    3.724
    """
    if not isinstance(network, Network):
        raise InvalidParameterError(
            "model", f"must be a Network, or a short form such as MM1(...) or Closed(...), not {network!r}"
        )
    found = _covering(network)
    if found is None:
        raise NoFormulaError(network.kendall)
    formula, view = found
    return of_network(network, formula.solve(view))


def queue_formula(queue: OpenQueue) -> Formula[OpenQueue] | None:
    """The first family whose theory covers one open station."""
    return next((f for f in formulas() if f.view is open_queue and f.applies(queue)), None)


def solve_queue(queue: OpenQueue) -> Metrics:
    """Solve one open station; raises what :func:`solve` raises."""
    formula = queue_formula(queue)
    if formula is None:
        raise NoFormulaError(queue.kendall)
    return formula.solve(queue)
