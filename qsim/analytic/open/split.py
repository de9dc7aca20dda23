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
from qsim.models import Network

MOST_PHASES = 64


def arrivals_at_one(model: OpenQueue) -> Distribution | None:
    """The times between arrivals at one of the servers, or None where their law is not known here."""
    arrivals, k = model.arrivals, model.servers
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


@dataclasses.dataclass(frozen=True)
class SplitQueue:
    """Several servers with queues of their own, and ``one`` of them with its arrivals."""

    whole: OpenQueue
    one: OpenQueue


def split_queue(network: Network) -> SplitQueue | None:
    """One station of several servers that are joined at random or in turn, where the arrivals at each are known."""
    queue = open_queue(network)
    if queue is None or queue.servers in (1, math.inf) or queue.capacity is not None:
        return None
    own = arrivals_at_one(queue) if queue.queues in ("random", "round-robin") else None
    if own is None:
        return None
    return SplitQueue(queue, dataclasses.replace(queue, arrivals=own, servers=1, queues="shared"))


def applies(view: SplitQueue) -> bool:
    """One of the servers has a formula."""
    from qsim.analytic import queue_formula

    return queue_formula(view.one) is not None


def solve(view: SplitQueue) -> Metrics:
    """As good as what is known of one server; raises UnstableQueueError when ρ >= 1."""
    from qsim.analytic import solve_queue

    r, k = solve_queue(view.one), view.whole.servers
    return dataclasses.replace(
        r,
        model=view.whole,
        throughput=k * r.throughput,
        L=k * r.L,
        Lq=k * r.Lq,
        method=f"each of {k} servers as {view.one.kendall}: {r.method}",
        states=None,  # of one server they are known, of all only where the queues are independent
    )


FORMULA = Formula(split_queue, applies, solve)
