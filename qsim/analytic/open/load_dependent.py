"""Load-dependent service: the server works at speed s(n) with n present, as a disk that schedules better when deeper.

With Poisson arrivals the flow between neighbouring states balances, λ·p(n) = s(n+1)/S·p(n + 1), taken in logarithms.
Exact for exponential services in any order that does not look at sizes, and for any service law under processor
sharing, whose state law is insensitive.  The last speed holds on, so beyond its place the states are geometric.

Source: Kleinrock (1975), Queueing Systems I, section 3.2 (birth-death); Kelly (1979), Reversibility and Stochastic
Networks, section 3.3 (insensitivity).

>>> from qsim import Exponential, Open, solve
>>> round(solve(Open(Exponential(1 / 1.5), Exponential(1.0), speeds=(1.0, 2.0))).L, 6)  # as M/M/2
3.428571
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import TabulatedStates, birth_death, require_few_states
from qsim.analytic.views import ROUNDING, OpenQueue, open_queue
from qsim.distributions import Exponential
from qsim.errors import UnstableQueueError
from qsim.metrics import Metrics, States

METHOD = "birth-death with speeds by the number present (Kleinrock 1975, section 3.2)"


@dataclass(frozen=True)
class GeometricBeyond:
    """p(0), ..., p(m) as a table, geometric with ``ratio`` beyond."""

    table: tuple[float, ...]
    ratio: float

    def p(self, n: int) -> float:
        last = len(self.table) - 1
        return self.table[n] if n <= last else self.table[last] * self.ratio ** (n - last)


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals and speeds, at one queue; exponential services, or processor sharing."""
    return (
        model.speeds is not None
        and model.poisson
        and (
            (isinstance(model.service, Exponential) and model.discipline not in ("SJF", "PSJF", "SRPT"))
            or model.discipline == "PS"
        )
    )


def _weights(load: float, speeds: tuple[float, ...], most: int) -> FloatArray:
    """p(0), ..., p(most) up to a common factor, the largest of them 1."""
    speed = np.asarray(speeds)[np.minimum(np.arange(most), len(speeds) - 1)]
    if load == 0:
        return np.asarray(np.eye(1, most + 1)[0], dtype=np.float64)
    return birth_death(math.log(load) - np.log(speed))


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when the work that comes passes the last speed and places are not limited."""
    assert model.speeds is not None  # noqa: S101
    a, S, lam = model.offered_load, model.service.mean, model.arrival_rate
    states: States
    if model.capacity is None:
        ratio = a / model.speeds[-1]
        if ratio > 1 - ROUNDING:
            raise UnstableQueueError(model.kendall, lam, model.speeds[-1] / S, 1)
        w = _weights(a, model.speeds, len(model.speeds))
        n = np.arange(w.size)
        beyond = float(w[-1]) * ratio / (1 - ratio)
        total = float(w.sum()) + beyond
        L = (float(w @ n) + beyond * (w.size - 1 + 1 / (1 - ratio))) / total
        lost = 0.0
        states = GeometricBeyond(tuple((w / total).tolist()), ratio)
    else:
        require_few_states(model, model.capacity)
        p = _weights(a, model.speeds, model.capacity)
        p = p / p.sum()
        L, lost = float(p @ np.arange(p.size)), float(p[-1])
        states = TabulatedStates(tuple(p.tolist()))
    X = lam * (1 - lost)
    c = model.servers
    few = [states.p(n) for n in range(c)]
    busy = math.fsum(n * p for n, p in enumerate(few)) + c * (1 - math.fsum(few))
    waits = (1 - math.fsum(few) - lost) / (1 - lost)  # of those let in
    if model.discipline in (
        "PS",
        "LCFS-PR",
    ):  # whether an arrival is held up does not follow from the state that it finds
        waits = math.nan
    wait = (L - busy) / X if X > 0 else 0.0
    return Metrics.from_times(
        model,
        throughput=X,
        utilization=min(X * S / max(model.speeds), 1.0),
        service=busy / X if X > 0 else S / model.speeds[0],
        servers=c,
        Wq=wait,
        p_wait=waits,
        p_block=lost,
        method=METHOD,
        states=states,
    )


FORMULA = Formula(open_queue, applies, solve)
