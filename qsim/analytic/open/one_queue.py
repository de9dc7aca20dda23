"""The formulas of one open queue, in the order in which they are tried; other families solve their parts by them."""

from __future__ import annotations

from typing import Any

from qsim.analytic.open import approximations, birth_death, disciplines, gimc, markovian, mdc, mg1, mm1, mmc
from qsim.analytic.views import Formula, OpenQueue
from qsim.errors import NoFormulaError
from qsim.metrics import Metrics

FORMULAS: tuple[Formula[Any], ...] = (
    mm1.FORMULA,
    mmc.FORMULA,
    birth_death.LIMITED_FORMULA,
    birth_death.LOSS_FORMULA,
    mdc.FORMULA,
    mg1.FORMULA,
    markovian.FORMULA,
    gimc.FORMULA,
    birth_death.SPEEDS_FORMULA,
    disciplines.FORMULA,
    approximations.FORMULA,
)


def queue_formula(queue: OpenQueue) -> Formula[Any] | None:
    """The first family whose theory covers the queue."""
    return next((formula for formula in FORMULAS if formula.applies(queue)), None)


def solve_queue(queue: OpenQueue) -> Metrics:
    """Solve the queue; UnstableQueueError where more work arrives than is done, NoFormulaError without a formula."""
    formula = queue_formula(queue)
    if formula is None:
        raise NoFormulaError(queue.kendall)
    return formula.solve(queue)
