"""Impatience: customers that give up waiting (Erlang-A), and arrivals that see the queue and do not join (balking).

With Poisson arrivals, exponential services and exponential patience of mean 1/θ the number present is a birth-death
process: with n present an arrival joins with probability 1 - b(n), and

    λ(n) = λ·(1 - b(n)),      μ(n) = min(n, c)/S + max(n - c, 0)·θ,      λ(n)·p(n) = μ(n+1)·p(n+1).

Those who give up are θ·Lq per time unit.  Who is k-th in line is served with probability cμ/(cμ + kθ), cμ = c/S,
and then has waited 1/(cμ + jθ) summed over j = 1..k.  W and Wq are those of all who join; ``classes`` tells the served
from those who gave up; p_block is the share of all arrivals that leave unserved.

Source: Palm (1957), Tele 2; Garnett, Mandelbaum & Reiman (2002), M&SOM 4, "Designing a call center with impatient
customers"; balking: Ancker & Gafarian (1963), Oper. Res. 11.

>>> from qsim import Exponential, Open, solve
>>> r = solve(Open(Exponential(rate=12), Exponential(rate=1), servers=10, patience=Exponential(2.0)))
>>> round(r.p_block, 6), round(r["served"].Wq, 6)
(0.195656, 0.400834)
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import MOST_STATES, TabulatedStates, require_few_states
from qsim.analytic.shape import markovian
from qsim.analytic.stability import require_stable
from qsim.analytic.views import open_queue
from qsim.distributions import Exponential
from qsim.errors import NoFormulaError
from qsim.metrics import Metrics
from qsim.models import Open

METHOD = "birth-death with impatience (Palm 1957; Garnett, Mandelbaum & Reiman 2002)"
NEGLIGIBLE = 1e-18


def applies(model: Open) -> bool:
    """Every queue with impatient customers, of whom no other family knows."""
    return model.impatient


def _covered(model: Open) -> bool:
    return (
        markovian(model)
        and isinstance(model.patience, Exponential | None)
        and model.discipline in ("FCFS", "LCFS", "SIRO")
        and (model.queues == "shared" or model.servers == 1)
        and model.speeds is None
    )


def _rates(model: Open, states: int) -> tuple[FloatArray, FloatArray]:
    """λ(n) of n = 0, ..., states - 1 and μ(n) of n = 1, ..., states."""
    n = np.arange(states)
    balking = np.asarray(model.balking or (0.0,))
    joining = model.arrival_rate * (1 - balking[np.minimum(n, balking.size - 1)])
    giving_up = 0.0 if model.patience is None else 1 / model.patience.mean
    leaving = np.minimum(n + 1, model.servers) / model.service.mean + np.maximum(n + 1 - model.servers, 0) * giving_up
    return joining, leaving


def _state_probabilities(model: Open) -> FloatArray:
    """p(0), p(1), ... up to the places there are, or to where what is left out is less than NEGLIGIBLE."""
    if model.capacity is not None:
        require_few_states(model, model.capacity)
    states = model.capacity or 64 + 4 * model.servers
    while True:
        up, down = _rates(model, states)
        with np.errstate(divide="ignore"):
            logs = np.concatenate(([0.0], np.cumsum(np.log(up) - np.log(down))))
        weights = np.exp(logs - logs.max())
        ratio = up[-1] / down[-1]
        enough = ratio < 1 and weights[-1] * ratio / (1 - ratio) < NEGLIGIBLE * weights.sum()
        if model.capacity is not None or enough:
            return np.asarray(weights / weights.sum())
        states *= 2
        if states > 4 * MOST_STATES:
            require_few_states(model, states)


def solve(model: Open) -> Metrics:
    """Exact; raises NoFormulaError unless all times are exponential, and UnstableQueueError where the queue grows."""
    if not _covered(model):
        raise NoFormulaError(model.kendall, "with impatient customers only exponential times have a formula")
    require_stable(model)
    p, lam, S, c = _state_probabilities(model), model.arrival_rate, model.service.mean, model.servers
    n = np.arange(p.size)
    join = _rates(model, p.size)[0] * p  # customers per time unit that join with n present
    if model.capacity is not None:
        join[-1] = 0.0
    Lq, busy = float(p @ np.maximum(n - c, 0)), float(p @ np.minimum(n, c))
    joined, X = float(join.sum()), busy / S
    whole = Metrics(
        model=model,
        throughput=X,
        utilization=busy / c,
        L=Lq + busy,
        Lq=Lq,
        W=(Lq + busy) / joined if joined > 0 else S,
        Wq=Lq / joined if joined > 0 else 0.0,
        p_wait=float(join[c:].sum()) / joined if joined > 0 else 0.0,
        p_block=max(0.0, 1 - X / lam),
        kind="exact",
        method=METHOD,
        states=TabulatedStates(tuple(p.tolist())),
    )
    if model.patience is None or model.discipline != "FCFS" or joined == 0:
        return whole
    return dataclasses.replace(whole, classes=_outcomes(model, whole, join))


def _outcomes(model: Open, whole: Metrics, join: FloatArray) -> tuple[Metrics, Metrics]:
    """Those who are served, and those who gave up."""
    assert model.patience is not None  # noqa: S101
    c, S, giving_up = model.servers, model.service.mean, 1 / model.patience.mean
    places = c / S + giving_up * np.arange(1, join.size - c + 1)  # the rate at which the k-th in line gets on or goes
    waiting = join[c:] * (c / S) / places  # those who come to be served
    X = whole.throughput
    Lq = float(waiting @ np.cumsum(1 / places))
    served = dataclasses.replace(
        whole,
        name="served",
        L=Lq + X * S,
        Lq=Lq,
        W=Lq / X + S,
        Wq=Lq / X,
        p_wait=float(waiting.sum()) / X,
        p_block=0.0,
        states=None,
    )
    lost = giving_up * whole.Lq
    rest = whole.Lq - Lq
    gone = dataclasses.replace(
        whole,
        name="gave up",
        throughput=lost,
        utilization=0.0,
        L=rest,
        Lq=rest,
        p_wait=1.0,
        W=rest / lost if lost > 0 else math.nan,
        Wq=rest / lost if lost > 0 else math.nan,
        p_block=0.0,
        states=None,
    )
    return served, gone


FORMULA = Formula(open_queue, applies, solve)
