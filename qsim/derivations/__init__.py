"""How an answer comes about, step by step with the numbers put in.

The steps are those of a textbook, worked out from the model and not taken from :func:`qsim.solve`; that both agree
is tested.  Where a family is solved numerically, in a way that no board has room for, the derivation gives what the
numbers must obey, and what one would estimate by hand.

>>> from qsim import MM1
>>> print(derive(MM1(arrival_rate=16, service_rate=20)).steps[2].equation())
rho = lambda / mu = 16 / 20 = 0.8
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qsim.analytic import find_formula, queue_formula
from qsim.analytic.closed import classes as closed_classes
from qsim.analytic.closed import network as closed_network
from qsim.analytic.closed import random_routing, repairman
from qsim.analytic.formula import Formula
from qsim.analytic.networks import jackson, open_classes
from qsim.analytic.networks import mixed as mixed_network
from qsim.analytic.open import (
    approximations,
    disciplines,
    gimc,
    infinite_servers,
    loss,
    mdc,
    mg1,
    mm1,
    mmc,
    mmck,
    priorities,
    split,
)
from qsim.analytic.views import OpenQueue
from qsim.derivations import class_networks, classes, closed_networks, general, numerical, open_networks, poisson
from qsim.derivations import closed_stations as circles
from qsim.derivations import reductions as combined
from qsim.derivations.derivation import Derivation, DerivationStep, DerivationTable, Line, Page, Remark
from qsim.errors import NoFormulaError
from qsim.models import Network

__all__ = ["Derivation", "DerivationStep", "DerivationTable", "Line", "Remark", "derive"]

_PAGES: Mapping[Formula[Any], Callable[[Page, Any], bool]] = {
    mm1.FORMULA: poisson.one_server,
    mmc.FORMULA: poisson.several_servers,
    mmck.FORMULA: poisson.limited_places,
    loss.FORMULA: poisson.no_queue,
    infinite_servers.FORMULA: poisson.endless_servers,
    mg1.FORMULA: general.pollaczek,
    mdc.FORMULA: general.constant,
    gimc.FORMULA: general.any_arrivals,
    approximations.FORMULA: general.by_authors,
    split.FORMULA: combined.split,
    disciplines.FORMULA: combined.other_order,
    repairman.FORMULA: circles.repairman,
    random_routing.FORMULA: circles.scattered,
    jackson.FORMULA: open_networks.jackson,
    closed_network.FORMULA: closed_networks.network,
    priorities.FORMULA: classes.by_priority,
    open_classes.FORMULA: class_networks.open_classes,
    closed_classes.FORMULA: class_networks.closed_classes,
    mixed_network.FORMULA: class_networks.mixed,
}


def derive(model: Network) -> Derivation:
    """The derivation of :func:`qsim.solve` for this model.

    Raises what solve raises: UnstableQueueError, NoFormulaError, ValueError.
    """
    from qsim.analytic import solve

    answer = solve(model)
    family = find_formula(model)
    if family is None:
        raise NoFormulaError(model.kendall)
    page, write = Page(_queue), _PAGES.get(family)
    if write is None or not write(page, family.view(model)):
        page = Page()
        numerical.write(page, model, answer)
    return page.derivation(model, answer.method)


def _queue(page: Page, queue: OpenQueue) -> bool:
    """The page of a station that another one reduces to."""
    family = queue_formula(queue)
    write = None if family is None else _PAGES.get(family)
    return write is not None and write(page, queue)
