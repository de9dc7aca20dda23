"""Derivations of an answer, step by step with numbers.

The steps are those of a textbook, computed from the model and not taken from :func:`qsim.solve`; tests check that
both agree.  Where a family is solved numerically, the derivation gives the laws that the numbers obey, and an
estimate by hand.

>>> from qsim import MM1
>>> print(derive(MM1(arrival_rate=16, service_rate=20)).steps[2].equation())
rho = lambda / mu = 16 / 20 = 0.8
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from qsim.analytic import find_formula, repairman, solve
from qsim.analytic.networks import jackson, product_form
from qsim.analytic.open import approximations, birth_death, mg1, mm1, mmc
from qsim.analytic.views import Formula, open_queue
from qsim.derivations import networks, queues
from qsim.derivations.builder import Derivation, DerivationBuilder, DerivationStep, DerivationTable, Line, Remark
from qsim.errors import NoFormulaError
from qsim.metrics import Metrics
from qsim.models import Network

__all__ = ["Derivation", "DerivationStep", "DerivationTable", "Line", "Remark", "derive"]

WRITERS: Mapping[Formula[Any], Callable[[DerivationBuilder, Any], bool]] = {
    mm1.FORMULA: queues.poisson,
    mmc.FORMULA: queues.poisson,
    birth_death.LIMITED_FORMULA: queues.limited_places,
    birth_death.LOSS_FORMULA: queues.no_queue,
    mg1.FORMULA: queues.pollaczek,
    repairman.FORMULA: networks.repairman,
    jackson.FORMULA: networks.jackson,
    product_form.FORMULA: networks.closed,
}
"""The writer of each family's derivation; it returns False where the values are numerical."""


def derive(model: Network) -> Derivation:
    """The derivation of :func:`qsim.solve` for this model.

    Raises what solve raises: UnstableQueueError, NoFormulaError, ValueError.
    """
    answer, family = solve(model), find_formula(model)
    if family is None:
        raise NoFormulaError(model.kendall)
    to, write = DerivationBuilder(), WRITERS.get(family)
    if write is None or not write(to, family.view(model)):
        _numerical(to, model, answer)
    return Derivation(model, answer.method, tuple(to.lines))


def _numerical(to: DerivationBuilder, model: Network, answer: Metrics) -> None:
    """The values of ``answer`` with the laws between them, and an estimate by hand where two moments give one."""
    queue = open_queue(model)
    idle = queue is not None and queue.arrival_rate == 0
    if queue is not None and not idle and approximations.applies(queue):
        queues.two_moments(to, queue)
        to.let("estimate", "AC + S", "about the response, by hand; the answer:")
        to.without("throughput", "utilization")
    to.remark("nobody ever comes" if idle else f"solved numerically: {answer.method}")
    how = "" if idle else "numerically"
    for name, value in (("X", answer.throughput), ("W", answer.W), ("Wq", answer.Wq)):
        if math.isfinite(value):
            to.found(name, value, "", how)
    for name, formula, needed in (("L", "X * W", answer.W), ("Lq", "X * Wq", answer.Wq)):
        if math.isfinite(needed):
            to.let(name, formula, "Little's law")
    for name, value in (("rho", answer.utilization), ("p_wait", answer.p_wait), ("p_block", answer.p_block)):
        if math.isfinite(value):
            to.found(name, value, "", how)
