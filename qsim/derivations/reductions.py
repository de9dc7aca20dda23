"""Derivations that reduce to another model's: servers with a queue of their own, other orders of service."""

from __future__ import annotations

import dataclasses

from qsim.analytic.open import split as theory
from qsim.analytic.open.size_based import RULES
from qsim.analytic.views import OpenQueue
from qsim.derivations import poisson
from qsim.derivations.derivation import Page
from qsim.distributions import Exponential


def split(page: Page, model: OpenQueue) -> bool:
    """Servers with a queue of their own: one of them, and so many times that."""
    own = theory.arrivals_at_one(model)
    if own is None:
        return False
    one = dataclasses.replace(model, arrivals=own, servers=1, queues="shared")
    page.remark(f"each of the {model.servers} servers has a queue of its own, and is {one.kendall}:")
    if not page.queue(one):
        return False
    page.without("throughput", "L", "Lq")
    page.remark(f"and all {model.servers} together:")
    page.given("k", model.servers, "such queues")
    for name in ("X", "L", "Lq"):
        page.let(name, f"k * {name}", "the same at each")
    return True


def other_order(page: Page, model: OpenQueue) -> bool:
    """Orders whose means are those of first come, first served, or of M/M/c."""
    if model.discipline in RULES:
        return False
    preempting = model.discipline == "LCFS-PR"
    if model.discipline == "PS" or (preempting and model.servers == 1 and isinstance(model.arrivals, Exponential)):
        return _insensitive(page, model)
    first_come = dataclasses.replace(model, discipline="FCFS")
    page.remark(
        f"{model.discipline} does not look at how long a service takes: the means are those of {first_come.kendall}, "
        "only the spread of the waits differs"
    )
    if not page.queue(first_come):
        return False
    if preempting:
        page.drop("p_wait")
    return True


def _insensitive(page: Page, model: OpenQueue) -> bool:
    """PS, or LCFS-PR with any service: the number present is that of M/M/c."""
    if model.capacity is not None:
        return False
    same = OpenQueue(model.arrivals, Exponential(model.service.mean), model.servers)
    page.remark(
        f"{model.discipline} is insensitive to the law of service (Kelly 1979, section 3.3): the number present is "
        f"that of {same.kendall}, and Wq is what the others hold a customer up"
    )
    if not (poisson.one_server if model.servers == 1 else poisson.several_servers)(page, same):
        return False
    page.drop("p_wait")
    if model.servers == 1:
        alone = model.service.transform(model.arrival_rate)
        page.found("alone", alone, "E[e^(-lambda S)]", "nobody comes during one's service")
        held_up = "1 - alone" if model.discipline == "LCFS-PR" else "1 - (1 - rho) * alone"
        page.let("p_wait", held_up, "others hold one up at some moment")
    return True
