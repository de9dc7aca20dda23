"""Mean value analysis where the exact solution does not reach: named approximations for closed networks.

A customer of class r who comes to station i waits for what it finds there.  With Lᵢₛ customers of class s found, of
which Uᵢₛ in service, c servers taken as one that is c times faster followed by a delay of Sᵢᵣ·(c-1)/c,

    PS, LCFS-PR:  Wᵢᵣ = Sᵢᵣ + Sᵢᵣ/c·Σₛ Lᵢₛ,      FCFS:  Wᵢᵣ = Sᵢᵣ + Σₛ Sᵢₛ/c·(Lᵢₛ - Uᵢₛ·(1 - scvᵢₛ)/2):

served in turn, everyone ahead takes a service of its own, and the one in service has (1 + scv)/2 of it left.  What
is found is what the network without that customer has in time average.  Two ways to know that:

:func:`lattice`, from population to population up to N⃗ (Reiser 1979): exact for single servers with product form;
:func:`schweitzer`, from the full network itself (Bard 1979; Schweitzer 1979), Lᵢₛ(N⃗ - e_r) taken as Lᵢₛ(N⃗), for s = r
times (N_r - 1)/N_r: a fixed point whose cost does not grow with the populations.

Validity: Schweitzer's step costs a few per cent at most where a class has more than a handful of customers.  Under
FCFS the error grows with the difference of the classes' services: against the exact chain of 4 + 3 customers, within
5 % of the throughput at a ratio of 2, within 16 % at 5 (tests/unit/test_qsim_networks.py); open classes would be exact.

Source: Reiser (1979), IEEE Trans. Communications 27, "A queueing network analysis of computer communication networks
with window flow control"; Bard (1979), Some extensions to multiclass queueing network analysis; Schweitzer (1979),
Approximate analysis of multiclass closed networks of queues; servers: Seidmann, Schweitzer & Shalev-Oren (1987),
Large Scale Systems 12; Lazowska et al. (1984), Quantitative System Performance, chapters 6, 7 and 11.

>>> from qsim import Closed, Delay, Exponential, Station
>>> stations = [Delay(15), *(Station(Exponential(d)) for d in (0.605, 2.1, 1.35))]
>>> round(schweitzer(Closed(population=3, stations=stations)).throughput, 4)  # exact: 0.1515
0.151
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.closed_classes import LARGEST_LATTICE
from qsim.analytic.parts import ClassTimes, closed_metrics
from qsim.distributions import Distribution
from qsim.errors import NoFormulaError, QsimError
from qsim.metrics import Metrics
from qsim.models import ClassStation, Closed, ClosedClasses, Model, Station

SCHWEITZER = "Bard-Schweitzer mean value analysis (Bard 1979; Schweitzer 1979)"
LATTICE = "mean value analysis with class-dependent FCFS service (Reiser 1979)"
SEIDMANN = ", several servers as one fast server and a delay (Seidmann, Schweitzer & Shalev-Oren 1987)"

CONVERGED = 1e-13
MOST_ROUNDS = 200_000


@dataclass(frozen=True)
class _Network:
    """The network as arrays; shapes (stations, classes) unless said otherwise."""

    populations: FloatArray
    """Shape (classes,)."""
    think_times: FloatArray
    """Shape (classes,)."""
    visits: FloatArray
    services: FloatArray
    delays: FloatArray
    """What of a service is passed without queueing."""
    pace: FloatArray
    """pace[i, r, s]: how long class r is held up at i by each customer of class s found there."""
    relief: FloatArray
    """relief[i, r, s]: how much shorter that is for one found in service."""
    servers: FloatArray

    def response(self, present: FloatArray, busy: FloatArray) -> FloatArray:
        """W[i, r, ...] of class r at station i that finds ``present[r, i, s, ...]``, of these ``busy`` in service."""
        held_up = np.einsum("irs,ris...->ir...", self.pace, present) - np.einsum("irs,ris...->ir...", self.relief, busy)
        services = self.services.reshape(self.services.shape + (1,) * (held_up.ndim - 2))
        return np.asarray(services + np.maximum(held_up, 0.0))


def _network(model: Closed | ClosedClasses) -> _Network:
    """Arrays of the model; raises NoFormulaError for a station these approximations do not know."""
    if isinstance(model, Closed):
        places: list[Station | ClassStation] = list(model.queueing)
        laws: list[Sequence[Distribution | None]] = [(s.service,) for s in model.queueing]
        visits = np.array([[s.visits] for s in model.queueing])
        populations, think_times = [model.population], [model.think_time]
        for s in model.queueing:
            if s.speeds is not None or s.capacity is not None:
                raise NoFormulaError(model.kendall, "no approximation here for speeds or limited places")
    else:
        places, laws = list(model.stations), [s.services for s in model.stations]
        visits = np.array([s.visits for s in model.stations])
        populations, think_times = list(model.populations), list(model.think_times)
    come = visits > 0
    services = np.array([[0.0 if d is None else d.mean for d in row] for row in laws]) * come
    scv = np.array([[1.0 if d is None else d.scv for d in row] for row in laws])
    c = np.array([[float(p.servers)] for p in places])
    one_queue = np.array([[p.queues == "shared"] for p in places])
    in_turn = np.array([p.discipline == "FCFS" for p in places])[:, None, None]
    share = services / c
    pace = np.where(in_turn, share[:, None, :], share[:, :, None] * np.ones_like(share)[:, None, :])
    relief = np.where(in_turn, (share * (1 - scv) / 2)[:, None, :], 0.0)
    return _Network(
        np.array(populations, dtype=float),
        np.array(think_times),
        visits,
        services,
        np.where(one_queue, services * (c - 1) / c, 0.0),
        pace * come[:, :, None],
        relief * come[:, :, None],
        c,
    )


def schweitzer(model: Closed | ClosedClasses) -> Metrics:
    """The Bard-Schweitzer approximation, for closed networks of any size.

    FCFS stations may have any service distribution.  Raises NoFormulaError for load-dependent stations and limited
    places, and QsimError should the fixed point not be found.
    """
    if not isinstance(model, Closed | ClosedClasses):
        raise ValueError(f"model must be Closed or ClosedClasses, not {model!r}")
    net = _network(model)
    classes = net.populations.size
    # What an arrival of class r finds of class s, as a share of what there is: [r, 1, s].
    found = np.ones((classes, classes))
    np.fill_diagonal(found, (net.populations - 1) / net.populations)
    found = found[:, None, :]
    present = net.visits * net.services / max(float((net.visits * net.services).sum()), 1e-300)
    busy = np.zeros_like(present)
    for _ in range(MOST_ROUNDS):
        response = net.response(found * present, found * busy)
        X = net.populations / (net.think_times + (net.visits * response).sum(axis=0))
        before, present = present, X * net.visits * (response - net.delays)
        busy = np.minimum(X * net.visits * net.services / net.servers, 1.0)
        if np.all(np.abs(present - before) <= CONVERGED * net.populations.sum()):
            return _metrics(model, net, net.response(found * present, found * busy), SCHWEITZER)
    raise QsimError(f"no fixed point for {model.kendall} after {MOST_ROUNDS:,} rounds; use simulate instead")


def lattice(model: Closed | ClosedClasses) -> Metrics:
    """The same from population to population up to the full one; raises NoFormulaError where these are too many."""
    net = _network(model)
    N = net.populations.astype(int)
    shape = tuple(int(n) + 1 for n in N)
    if math.prod(shape) > LARGEST_LATTICE:
        raise NoFormulaError(model.kendall, "too many populations on the way to the full one")
    axes = np.indices(shape).reshape(N.size, -1)
    strides = np.array([math.prod(shape[r + 1 :]) for r in range(N.size)])
    total = axes.sum(axis=0)
    levels = np.split(np.argsort(total, kind="stable"), np.cumsum(np.bincount(total))[:-1])
    stations = net.services.shape[0]
    present = np.zeros((stations, N.size, total.size))
    busy = np.zeros((stations, N.size, total.size))
    response = np.empty((stations, N.size, 1))
    for points in levels[1:]:
        n = axes[:, points]
        # Without the arriving customer; a class that is not there takes nobody away, and its result is not used.
        fewer = [points - np.where(n[r] > 0, strides[r], 0) for r in range(N.size)]
        response = net.response(np.stack([present[:, :, f] for f in fewer]), np.stack([busy[:, :, f] for f in fewer]))
        cycle = net.think_times[:, None] + (net.visits[:, :, None] * response).sum(axis=0)
        X = n / cycle
        present[:, :, points] = X * net.visits[:, :, None] * (response - net.delays[:, :, None])
        busy[:, :, points] = np.minimum(X * (net.visits * net.services / net.servers)[:, :, None], 1.0)
    return _metrics(model, net, response[:, :, -1], LATTICE)


def applies(model: Model) -> bool:
    """Closed classes that the exact solution does not reach."""
    return isinstance(model, ClosedClasses)


def solve(model: Model) -> Metrics:
    """An approximation, named in ``method``: from population to population, or Bard-Schweitzer where these are many."""
    assert isinstance(model, ClosedClasses)  # noqa: S101
    if math.prod(n + 1 for n in model.populations) <= LARGEST_LATTICE:
        return lattice(model)
    return schweitzer(model)


def _metrics(model: Closed | ClosedClasses, net: _Network, response: FloatArray, method: str) -> Metrics:
    if np.any(net.delays > 0):
        method += SEIDMANN
    waiting = response - net.services
    unknown = np.full_like(response, math.nan)
    if isinstance(model, ClosedClasses):
        times = ClassTimes(response, waiting, unknown, (None,) * len(model.stations))
        return closed_metrics(model, times, "approximation", method)
    return _one_class(model, response[:, 0], waiting[:, 0], method)


def _one_class(model: Closed, response: FloatArray, waiting: FloatArray, method: str) -> Metrics:
    """The Metrics of a Closed model; ``response`` and ``waiting`` are per visit, shape (stations,)."""
    visits = np.array([s.visits for s in model.queueing])
    W, Wq = float(visits @ response), float(visits @ waiting)
    X = model.population / (model.think_time + W)

    def part(x: float, rho: float, w: float, wq: float, name: str, parts: tuple[Metrics, ...] = ()) -> Metrics:
        return Metrics(
            model=model,
            throughput=x,
            utilization=min(rho, 1.0),
            L=x * w,
            Lq=x * wq,
            W=w,
            Wq=wq,
            p_wait=math.nan,
            p_block=0.0,
            kind="approximation",
            method=method,
            name=name,
            stations=parts,
        )

    stations = tuple(
        part(X * s.visits, X * s.demand / s.servers, float(w), float(wq), s.name or f"station {i + 1}")
        for i, (s, w, wq) in enumerate(zip(model.queueing, response, waiting, strict=True))
    )
    return part(X, max(s.utilization for s in stations), W, Wq, "", stations if len(stations) > 1 else ())
