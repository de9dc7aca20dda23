"""Servers with a queue of their own: every arrival is sent to one of them, at random or in turn.

Each server then is a G/G/1 queue by itself.  Sent at random, the Poisson arrivals of rate λ become Poisson arrivals
of rate λ/k at each, independent of each other; phase-type gaps become a geometric number of them, phase-type
again.  Sent in turn (round-robin), a server gets every k-th arrival: Poisson arrivals become Erlang-k gaps, more
even than before, which is why taking turns beats chance, and a shared queue beats both.

Source: Kleinrock (1975), Queueing Systems I, section 2.4 (Poisson streams split); Neuts (1981), Matrix-Geometric
Solutions, section 2.2 (sums and geometric sums of phase-type times); the pieces by their own formulas.

>>> from qsim import Exponential, Open, solve
>>> dies = Open(Exponential(1 / 1.6), Exponential(1.0), servers=2, queues="random")
>>> round(solve(dies).W, 9)  # two M/M/1 queues at rho 0.8; M/M/2 has 2.778
5.0
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.formula import Formula
from qsim.analytic.views import OpenQueue, open_queue
from qsim.distributions import Deterministic, Distribution, Erlang, Exponential, PhaseType
from qsim.metrics import Metrics

MOST_PHASES = 64


def arrivals_at_one(model: OpenQueue) -> Distribution | None:
    """The times between arrivals at one of the servers, or None where they are not a renewal process known here."""
    arrivals, k = model.arrivals, model.servers
    if not isinstance(arrivals, Distribution):
        return None
    if isinstance(arrivals, Exponential):
        return Exponential(arrivals.mean * k) if model.queues == "random" else Erlang(k, arrivals.mean * k)
    if model.queues == "round-robin" and isinstance(arrivals, Deterministic | Erlang):
        mean = arrivals.mean * k
        return Deterministic(mean) if isinstance(arrivals, Deterministic) else Erlang(arrivals.k * k, mean)
    phases = arrivals.phases()
    if phases is None or (model.queues == "round-robin" and phases[0].size * k > MOST_PHASES):
        return None
    alpha, T = phases
    again = np.outer(np.maximum(-T.sum(axis=1), 0.0), alpha)
    if model.queues == "random":
        # An arrival that goes elsewhere, with probability 1 - 1/k, starts another gap.
        return _phase_type(alpha, T + (1 - 1 / k) * again)
    chain = np.kron(np.eye(k), T) + np.kron(np.eye(k, k=1), again)
    return _phase_type(np.concatenate((alpha, np.zeros(alpha.size * (k - 1)))), chain)


def _phase_type(alpha: FloatArray, T: FloatArray) -> PhaseType:
    return PhaseType(tuple(alpha.tolist()), tuple(map(tuple, T.tolist())))


def _one(model: OpenQueue) -> OpenQueue | None:
    """One of the servers with its queue."""
    if model.servers in (1, math.inf):
        return None
    if model.queues not in ("random", "round-robin") or model.capacity is not None:
        return None
    own = arrivals_at_one(model)
    return None if own is None else dataclasses.replace(model, arrivals=own, servers=1, queues="shared")


def applies(model: OpenQueue) -> bool:
    """Several servers with queues of their own, at random or in turn, where one of them has a formula."""
    from qsim.analytic import queue_formula

    one = _one(model)
    return one is not None and queue_formula(one) is not None


def solve(model: OpenQueue) -> Metrics:
    """As good as what is known of one server; raises UnstableQueueError when ρ >= 1."""
    from qsim.analytic import solve_queue

    one = _one(model)
    assert one is not None  # noqa: S101
    r, k = solve_queue(one), model.servers
    return dataclasses.replace(
        r,
        model=model,
        throughput=k * r.throughput,
        L=k * r.L,
        Lq=k * r.Lq,
        method=f"each of {k} servers as {one.kendall}: {r.method}",
        states=None,  # of one server they are known, of all only where the queues are independent
    )


FORMULA = Formula(open_queue, applies, solve)
