"""Several classes of customers at one station: who is served before whom, and what that costs the others.

The theory with its sources is in :mod:`qsim.analytic.open.priorities`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.views import ClassFlow, ClassQueue
from qsim.derivations.derivation import Page
from qsim.derivations.poisson import LITTLE, PASTA
from qsim.distributions import Exponential

_MOST_CLASSES = 12


def by_priority(page: Page, model: ClassQueue) -> bool:
    """Classes at one server, or at several with the same exponential service."""
    classes, c = tuple(model.classes), model.servers
    if len(classes) > _MOST_CLASSES or not all(math.isfinite(k.service.variance) for k in classes):
        return False
    if c > 1 and not all(isinstance(k.service, Exponential) and k.service == classes[0].service for k in classes):
        return False
    if c > 1 and model.priority == "preemptive-resume":
        return False
    _given(page, model)
    levels = _levels(model)
    at = range(1, len(classes) + 1)
    if c == 1:
        page.let(
            "W0",
            " + ".join(f"lam_{r} * M_{r} / 2" for r in at),
            f"what is left of the service that one comes into, over all classes: {PASTA}",
        )
    else:
        page.given("S", classes[0].service.mean, "mean service time, the same for all")
        page.found("C", erlang_c(c, model.offered_load), "ErlangC(c, a)", "all servers are busy")
        page.let("W0", "C * S / c", "until the first of them is free")
    if model.priority == "none":
        page.let("Wq_1", "W0 / (1 - rho)", "first come, first served: all wait alike")
        for r in at[1:]:
            page.let(f"Wq_{r}", "Wq_1")
    else:
        _by_level(page, model, levels)
    for r in at:
        page.let(f"W_{r}", f"Wq_{r} + S_{r}", "and the service")
        page.let(f"L_{r}", f"lam_{r} * W_{r}", LITTLE)
    page.remark("all classes together:")
    page.let("X", "lam", "nobody is lost")
    page.let("L", " + ".join(f"L_{r}" for r in at))
    page.let("Lq", " + ".join(f"lam_{r} * Wq_{r}" for r in at), LITTLE)
    page.let("W", "L / lam", "the mean over all who come")
    page.let("Wq", "Lq / lam")
    page.let("p_block", "0", "places are not limited")
    if model.priority != "preemptive-resume":
        page.let("p_wait", "rho" if c == 1 else "C", PASTA)
    return True


def _given(page: Page, model: ClassQueue) -> None:
    """λ, S, E[S²] and the load of each class, and the whole."""
    classes, c = model.classes, model.servers
    page.given("c", c, "servers")
    for r, (k, name) in enumerate(zip(classes, model.names, strict=True), 1):
        urgency = f", priority {k.priority}" if model.priority != "none" else ""
        page.given(f"lam_{r}", k.arrival_rate, f"arrivals per time unit of {name}{urgency}")
        page.given(f"S_{r}", k.service.mean, "their mean service time")
        if c == 1:
            page.given(f"M_{r}", k.service.moment(2), "its second moment, E[S^2]")
        page.let(f"a_{r}", f"lam_{r} * S_{r}", "work that they bring per time unit")
    at = range(1, len(classes) + 1)
    page.let("lam", " + ".join(f"lam_{r}" for r in at), "all arrivals")
    page.let("a", " + ".join(f"a_{r}" for r in at), "all work")
    page.let("rho", "a / c", "share of time that each server is busy; below 1, so there is a steady state")


def _levels(model: ClassQueue) -> list[tuple[int, list[int]]]:
    """(priority, classes counted from 1), the most urgent first."""
    classes: Sequence[ClassFlow] = model.classes
    return [
        (p, [r for r, k in enumerate(classes, 1) if k.priority == p]) for p in sorted({k.priority for k in classes})
    ]


def _by_level(page: Page, model: ClassQueue, levels: Sequence[tuple[int, list[int]]]) -> None:
    preemptive = model.priority == "preemptive-resume"
    page.remark(
        "sigma(p) is the load of all that go before or with level p. Who comes waits for what is there, W0, and for "
        "everyone of its level or above that is there or comes meanwhile: W0 / ((1 - sigma(p-1)) (1 - sigma(p)))"
        + (" (White & Christie 1958); those below are not noticed" if preemptive else " (Cobham 1954)")
    )
    page.let("sigma_0", "0", "nobody goes before the first level")
    ahead: list[str] = []
    for p, (priority, members) in enumerate(levels, 1):
        loads = " + ".join(f"a_{r} / c" for r in members)
        page.let(f"sigma_{p}", f"sigma_{p - 1} + {loads}", f"levels up to priority {priority}")
        ahead += [f"lam_{r} * M_{r} / 2" for r in members]
        remaining = "W0"
        if preemptive:
            remaining = f"V_{p}"
            page.let(remaining, " + ".join(ahead), "what is left of the services at these levels")
        for r in members:
            wait = f"{remaining} / ((1 - sigma_{p - 1}) * (1 - sigma_{p}))"
            if preemptive:
                wait += f" + S_{r} * sigma_{p - 1} / (1 - sigma_{p - 1})"
            page.let(
                f"Wq_{r}", wait, f"{model.names[r - 1]}" + ("; interruptions count as waiting" if preemptive else "")
            )
