"""Mean value analysis where the exact solution does not reach: named approximations for closed networks.

A customer of class r who comes to station i waits for what it finds there: Lqᵢₛ customers of class s waiting and Uᵢₛ in
service at its c servers, all of which are busy with probability B.  Served in turn, everyone ahead takes a service of
its own, and those in service have (1 + scv)/2 of theirs left; where the servers are shared, it is slowed down itself:

    FCFS:         Wᵢᵣ = Sᵢᵣ + [ Σₛ Sᵢₛ·Lqᵢₛ + B·Σₛ Uᵢₛ·Sᵢₛ·(1 + scvᵢₛ)/2 / Σₛ Uᵢₛ ]/c,
    PS, LCFS-PR:  Wᵢᵣ = Sᵢᵣ·[ 1 + (Σₛ Lqᵢₛ + B)/c ].

For one server B is its utilization u, and nothing is approximated yet.  For several, B = 0 while there are fewer than c
others, and else u^e: the exponent is c when they are c (servers busy independently of each other), √(2(c+1)) - 1 when
they are many (Sakasegawa 1977, for M/M/c), and between goes with c/others.  Of k servers with queues of their own,
picked at random, the customer meets one k-th of everything.  Throughputs stay within what the servers can do.

An arrival finds the time average of the network without itself.  Two ways to get that average:

:func:`lattice`, from population to population up to N⃗ (Reiser 1979): exact for single servers with product form;
:func:`fixed_point`, from the full network itself (Bard 1979; Schweitzer 1979), Lᵢₛ(N⃗ - e_r) taken as Lᵢₛ(N⃗), for s = r
times (N_r - 1)/N_r: a fixed point whose cost does not grow with the populations.

Validity, as tests/unit/qsim/analytic/networks hold it: one class at 2 to 32 servers, throughput within 2 % of
the exact one; FCFS classes whose services differ, against the exact chain of 7 to 9 customers, within 5 % at a ratio of
2 and 16 % at 5. Schweitzer's step costs up to some 7 % more with four customers of a class, and little with many.

Source: Reiser (1979), IEEE Trans. Communications 27, "A queueing network analysis of computer communication networks
with window flow control"; Bard (1979), Some extensions to multiclass queueing network analysis; Schweitzer (1979),
Approximate analysis of multiclass closed networks of queues; servers: Sakasegawa (1977), Annals of the Institute of
Statistical Mathematics 29, the interpolation is new here; Lazowska et al. (1984), Quantitative System Performance,
chapters 6, 7 and 11.

>>> from qsim import Closed, Delay, Erlang, Station, solve
>>> solve(Closed(population=3, stations=[Delay(15), Station(Erlang(2, 2.1))])).kind
'approximation'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import BoolArray, FloatArray
from qsim.analytic.networks.assembly import VisitTimes, network_metrics
from qsim.analytic.networks.classes import ClassNetwork, class_network
from qsim.analytic.networks.product_form import LARGEST_LATTICE
from qsim.analytic.open.approximations import with_errors
from qsim.analytic.views import Formula
from qsim.distributions import Exponential
from qsim.errors import NoFormulaError, QsimError
from qsim.metrics import Kind, Metrics

SCHWEITZER = "Bard-Schweitzer mean value analysis (Bard 1979; Schweitzer 1979)"
EXACT = "mean value analysis, exact for single servers of product form (Reiser & Lavenberg 1980)"
LATTICE = "mean value analysis with class-dependent FCFS service (Reiser 1979)"
SATURATED = "all customers at one station (Little 1961)"
SERVERS = ", all servers busy with probability u^e (after Sakasegawa 1977)"

MOST_MEASURED = 16
MEASURED = f"one FCFS station of up to 8 servers, two classes of up to {MOST_MEASURED}, scv 0.1 to 4"
"""The closed systems over which errors were measured."""

CONVERGED = 1e-13
MOST_ROUNDS = 200_000
ROUNDS_A_STEP, LEAST_STEP = 1000, 1 / 64
"""After this number of rounds steps are half as long, down to this share of the whole way."""


@dataclass(frozen=True)
class _Network:
    """The network as arrays; shapes (stations, classes) unless said otherwise."""

    populations: FloatArray  # shape (classes,)
    think_times: FloatArray  # shape (classes,)
    visits: FloatArray
    services: FloatArray
    remaining: FloatArray  # mean remaining service seen by an arrival: services·(1 + scv)/2
    servers: FloatArray  # shape (stations, 1)
    one_queue: BoolArray  # shape (stations, 1): whether the servers share a queue
    in_turn: BoolArray  # shape (stations, 1)

    def response(self, present: FloatArray, busy: FloatArray, others: FloatArray) -> FloatArray:
        """W, shape (stations, classes, points), where an arriving class r finds ``present[r]`` customers.

        ``present`` and ``busy`` (those in service) have shape (classes r, stations, classes s, points); ``others``,
        the number of others, (points,).
        """
        services, remaining = self.services[:, :, None], self.remaining[:, :, None]
        waiting = np.maximum(present - busy, 0.0)
        in_service = busy.sum(axis=2)
        blocked = np.where(self.one_queue & (self.servers > 1), self._all_busy(in_service, others), in_service)
        share = np.divide(blocked, in_service, out=np.zeros_like(blocked), where=in_service > 0)
        ahead = (services * waiting).sum(axis=2) + share * (remaining * busy).sum(axis=2)
        shared = waiting.sum(axis=2) + blocked
        own = self.services.T[:, :, None]
        held_up = np.where(self.in_turn, ahead, own * shared) / self.servers
        return np.asarray((own + held_up).swapaxes(0, 1))

    def _all_busy(self, in_service: FloatArray, others: FloatArray) -> FloatArray:
        """The probability that all servers of a shared queue are busy."""
        c = self.servers
        many = np.sqrt(2 * (c + 1)) - 1
        exponent = many + (c - many) * np.minimum(c / np.maximum(others, 1), 1.0)
        return np.where(others < c, 0.0, np.minimum(in_service / c, 1.0) ** exponent)


def _network(view: ClassNetwork) -> _Network:
    view.require_usual()
    if any(s.station.speeds is not None for s in view.stations):
        raise NoFormulaError(view.kendall, "speeds that depend on the number present, without product form")
    scv = np.array([[1.0 if d is None or not s.in_turn else d.scv for d in s.services] for s in view.stations])
    if not np.all(np.isfinite(scv)):
        raise NoFormulaError(view.kendall, "service times of infinite variance, served in turn")
    return _Network(
        populations=np.array(view.populations, dtype=float),
        think_times=np.array(view.think_times),
        visits=view.visits,
        services=view.means,
        remaining=view.means * (1 + scv) / 2,
        servers=np.array([[float(s.servers)] for s in view.stations]),
        one_queue=np.array([[s.queues == 1] for s in view.stations]),
        in_turn=np.array([[s.in_turn] for s in view.stations]),
    )


def fixed_point(view: ClassNetwork) -> Metrics:
    """The Bard-Schweitzer approximation, for closed networks of any size.

    FCFS stations may have any service distribution.  Raises NoFormulaError for load-dependent stations, and QsimError
    should the fixed point not be found.
    """
    net = _network(view)
    N = net.populations
    # The share of class s that an arrival of class r finds; shape (classes r, 1, classes s, 1).
    found = np.ones((N.size, N.size))
    np.fill_diagonal(found, (N - 1) / N)
    found = found[:, None, :, None]
    others = np.array([N.sum() - 1])
    present, busy = np.zeros_like(net.services), np.zeros_like(net.services)
    for turn in range(MOST_ROUNDS):
        response = net.response(found * present[:, :, None], found * busy[:, :, None], others)[:, :, 0]
        rates = N / (net.think_times + (net.visits * response).sum(axis=0)) * net.visits
        step = rates * response - present
        # Whole steps may swing around the fixed point of a nearly saturated station, and in rare cases halves do.
        share = max(0.5 ** (1 + turn // ROUNDS_A_STEP), LEAST_STEP)
        present, busy = present + share * step, busy + share * (rates * net.services - busy)
        if np.all(np.abs(step) <= CONVERGED * N.sum()):
            return _metrics(view, net, response, SCHWEITZER)
    raise QsimError(f"no fixed point for {view.kendall} after {MOST_ROUNDS:,} rounds; use simulate instead")


def lattice(view: ClassNetwork) -> Metrics:
    """Mean value analysis, population by population up to the full one."""
    net = _network(view)
    N = net.populations.astype(int)
    shape = tuple(int(n) + 1 for n in N)
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
        # Without the arriving customer; of an absent class none is removed, and its result is not used.
        fewer = [points - np.where(n[r] > 0, strides[r], 0) for r in range(N.size)]
        found, in_service = (np.stack([table[:, :, f] for f in fewer]) for table in (present, busy))
        response = net.response(found, in_service, total[points] - 1.0)
        cycle = net.think_times[:, None] + (net.visits[:, :, None] * response).sum(axis=0)
        rates = n / np.where(n > 0, cycle, 1.0) * net.visits[:, :, None]
        present[:, :, points] = rates * response
        busy[:, :, points] = rates * net.services[:, :, None]
    if all(s.has_product_form and s.servers == s.queues for s in view.stations):  # nothing is approximated on the way
        return _metrics(view, net, response[:, :, -1], EXACT, "exact")
    return _metrics(view, net, response[:, :, -1], _with_errors(view))


def _with_errors(view: ClassNetwork) -> str:
    """The method's text with its errors, which were measured at one station."""
    (first, *others), names = view.stations, errors_of(view)
    alike = not others and first.queues == 1 and first.in_turn
    few = len(view.classes) <= 2 and max(view.populations) <= MOST_MEASURED
    scv = [law.scv for law in first.services if law is not None]
    return with_errors(LATTICE, names, scv, 0.0, first.servers, alike and few, MEASURED)


def errors_of(view: ClassNetwork) -> str:
    """The key in ``approximations.ERRORS`` of :func:`lattice` for such services."""
    laws = [law for s in view.stations if s.in_turn for law in s.services]
    exponential = all(law is None or isinstance(law, Exponential) for law in laws)
    return "closed FCFS classes" if exponential else "closed FCFS of general services"


def solve(view: ClassNetwork) -> Metrics:
    """:func:`lattice`, or :func:`fixed_point` where populations are many; ``method`` and ``kind`` say which.

    Where all customers always are at one station, its min(N, c) servers are busy, or it works at the speed s(N) all the
    time: exact by Little's law for any law of service, with X = min(N, c)/S or s(N)/S.
    """
    view.require_usual()
    (first, *others), N = view.stations, view.populations[0]
    if not others and view.think_times == (0.0,) and first.in_turn and first.queues == 1:
        speeds, S, busy = first.station.speeds, first.means[0], float(min(N, first.servers))
        pace = busy if speeds is None else speeds[min(N, len(speeds)) - 1]
        W, Wq, p_wait = (np.array([[v]]) for v in (N * S / pace, (N - busy) * S / pace, float(busy < N)))
        return network_metrics(view, VisitTimes(W, Wq, p_wait), "exact", SATURATED)
    if math.prod(n + 1 for n in view.populations) <= LARGEST_LATTICE:
        return lattice(view)
    return fixed_point(view)


def _metrics(
    view: ClassNetwork, net: _Network, response: FloatArray, method: str, kind: Kind = "approximation"
) -> Metrics:
    if np.any(net.one_queue & (net.servers > 1)):
        method += SERVERS
    response = _within_capacity(net, response)
    unknown = np.full_like(response, math.nan)
    return network_metrics(view, VisitTimes(response, response - net.services, unknown), kind, method)


def _within_capacity(net: _Network, response: FloatArray) -> FloatArray:
    """Response times with waits added where a station's throughput would exceed what its servers can do."""
    response = response.copy()
    for _ in range(response.shape[0]):
        cycle = net.think_times + (net.visits * response).sum(axis=0)
        load = (net.populations / cycle * net.visits * net.services).sum(axis=1) / net.servers[:, 0]
        i = int(load.argmax())
        if load[i] <= 1:
            break
        come = net.visits[i] > 0
        response[i, come] += (load[i] - 1) * cycle[come] / net.visits[i, come]
    return response


FORMULA = Formula(class_network, lambda view: not view.arrival_rates, solve)
