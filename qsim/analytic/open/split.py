"""Servers with a queue of their own: every arrival is sent to one of them, at random or in turn.

Each server then is a queue by itself.  Sent at random, the Poisson arrivals of rate λ become Poisson arrivals of rate
λ/k at each, independent of each other.  Sent in turn (round-robin), a server gets every k-th arrival, so that gaps are
Erlang-k: more even than before, which is why taking turns beats chance, and a shared queue beats both.

Source: Kleinrock (1975), Queueing Systems I, section 2.4 (Poisson streams split); the pieces by their own formulas.

>>> from qsim import Exponential, Open, solve
>>> dies = Open(Exponential(1 / 1.6), Exponential(1.0), servers=2, queues="random")
>>> round(solve(dies).W, 9)  # two M/M/1 queues at rho 0.8; M/M/2 has 2.778
5.0
"""

from __future__ import annotations

import dataclasses
import math

from qsim.analytic.open.one_queue import queue_formula, solve_queue
from qsim.analytic.views import Formula, OpenQueue, open_queue
from qsim.distributions import Erlang, Exponential
from qsim.metrics import Metrics


def one_of(model: OpenQueue) -> OpenQueue:
    """One of the servers, with the arrivals that come to it."""
    k, gap = model.servers, model.arrivals.mean * model.servers
    in_turn = model.queues == "round-robin" and gap < math.inf
    own = Erlang(k, gap) if in_turn else Exponential(gap)
    return dataclasses.replace(model, arrivals=own, servers=1, queues="shared")


def applies(model: OpenQueue) -> bool:
    """Poisson arrivals, several servers joined at random or in turn, and one of them has a formula."""
    several = model.own_queues and model.capacity is None and model.poisson
    return several and model.queues != "shortest" and queue_formula(one_of(model)) is not None


def solve(model: OpenQueue) -> Metrics:
    """As accurate as the formula of one server; raises UnstableQueueError when ρ >= 1."""
    one = one_of(model)
    r, k = solve_queue(one), model.servers
    return dataclasses.replace(
        r,
        model=model,
        throughput=k * r.throughput,
        L=k * r.L,
        Lq=k * r.Lq,
        method=f"each of {k} servers as {one.kendall}: {r.method}",
        states=None,  # known for one server, for all only where the queues are independent
    )


FORMULA = Formula(open_queue, applies, solve)
