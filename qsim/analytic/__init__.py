"""Formulas: one file per family, each opening with its theory and its source.

:func:`solve` tries the families in turn and uses the first that applies.  A family is a module with a ``FORMULA``
(:class:`~qsim.analytic.views.Formula`); adding one means adding a file and naming it here, or in ``open/one_queue.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from qsim.analytic.views import Formula, of_network
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.metrics import Metrics
from qsim.models import Network


@cache
def formulas() -> tuple[Formula[Any], ...]:
    """Every family, most specific first, approximations last; imported on first use: a fit needs only two of them."""
    from qsim.analytic import repairman
    from qsim.analytic.networks import jackson, mean_value, product_form
    from qsim.analytic.open import one_queue, priorities, split

    return (
        *one_queue.FORMULAS[:-1],
        priorities.FORMULA,
        split.FORMULA,
        one_queue.FORMULAS[-1],
        repairman.FORMULA,
        product_form.FORMULA,
        mean_value.FORMULA,
        jackson.FORMULA,
        product_form.MIXED_FORMULA,
    )


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
