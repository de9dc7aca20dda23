"""Closed and mixed networks of product form, exactly.

The state probabilities have product form when every station is a delay, serves first come first served with
exponential times of one mean for all, or shares its servers among all present (PS) or lets the newcomer interrupt
(LCFS-PR), in which cases each class may have its own service of any law.  Normalising constants come from
:mod:`qsim.analytic.networks.normalizing`, which cannot overflow or cancel.  An arrival of class r sees the network in
time average without itself (arrival theorem), so

    Wᵢᵣ = Sᵢᵣ·Σₖ pᵢ(k | N⃗ - e_r)·(k+1)/sᵢ(k+1),   X_r = N_r/(Z_r + Σᵢ Vᵢᵣ·Wᵢᵣ),   Lᵢᵣ = X_r·Vᵢᵣ·Wᵢᵣ,

where k counts customers of all classes: sums of positive terms with Little's law built in.  c servers have speeds
s(k) = min(k, c); k single servers picked at random behave as one station of speeds s(n) = n·k/(n + k - 1).

**One class that circles among single servers** is the quick case.  With D = V·S and the constants G(n) of
:mod:`qsim.analytic.networks.normalizing`, an arrival finds k or more at station i with probability
Dᵢᵏ·G(N-1-k)/G(N-1), so that Wᵢ = Sᵢ·(1 + Σₖ Dᵢᵏ·G(N-1-k)/G(N-1)), for all stations at once.  G is the complete
symmetric polynomial of the demands, for which Newton's identities hold: n·G(n) = Σₖ pₖ·G(n-k), with pₖ = Σᵢ Dᵢᵏ;
delays add Z to p₁.  The rows of the stations are made when they are read, and the distributions there too.

**Mixed networks** of single servers: open customers use the share Uᵢ of a server, which slows it for the closed ones.
The closed classes are solved alone with services Sᵢᵣ/(1 - Uᵢ), and the open ones queue with both:
Wᵢᵣ = Sᵢᵣ·(1 + Lᵢ(closed))/(1 - Uᵢ).

Source: Gordon & Newell (1967), Operations Research 15; Buzen (1973), Communications of the ACM 16; Baskett, Chandy,
Muntz & Palacios (1975), J. ACM 22; Reiser & Kobayashi (1975), IBM J. Res. Dev. 19; arrival theorem: Lavenberg & Reiser
(1980), J. Applied Probability 17; Sevcik & Mitrani (1981), J. ACM 28; mixed: Zahorjan & Wong (1981), Performance
Evaluation 1; Lazowska, Zahorjan, Graham & Sevcik (1984), Quantitative System Performance, chapters 6 to 8; Newton's
identities: Macdonald (1995), Symmetric Functions and Hall Polynomials, eq. I.2.11.

>>> from qsim import Arrivals, Closed, Delay, Exponential, Network, Station, solve
>>> stations = [Delay(15), *(Station(Exponential(d)) for d in (0.605, 2.1, 1.35))]
>>> r = solve(Closed(population=3, stations=stations))  # Lazowska et al. (1984), p. 117
>>> round(r.throughput, 6), round(r.W, 6), [round(s.L, 6) for s in r.stations]
(0.151516, 4.799825, [0.097566, 0.394657, 0.23503])
>>> r = solve(Closed(2, [Delay(4.0), Station(Exponential(1.0)), Station(Exponential(2.0))]))
>>> round(r.W, 6), [round(s.W, 6) for s in r.stations]
(3.714286, [1.142857, 2.571429])
>>> mixed = solve(Network({"disk": Station(Exponential(1.0))}, {"write": Arrivals(0.5), "read": 1}))
>>> [round(c.W, 6) for c in mixed.classes]
[4.0, 2.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import mul

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.networks import normalizing
from qsim.analytic.networks.assembly import VisitTimes, network_metrics
from qsim.analytic.networks.classes import Circle, ClassNetwork, ClassStation, class_network
from qsim.analytic.networks.normalizing import Centre, Found, Presence
from qsim.analytic.open.birth_death import FirstComeTimes, TabulatedStates, require_few_states
from qsim.analytic.views import ROUNDING, Formula
from qsim.errors import NoFormulaError, UnstableQueueError
from qsim.metrics import Later, Metrics

METHOD = "product form, convolution in logarithms (Buzen 1973; Baskett, Chandy, Muntz & Palacios 1975)"
SEVERAL = "product form of several classes, convolution in logarithms (Reiser & Kobayashi 1975)"
MIXED = "mixed network of product form (Zahorjan & Wong 1981)"

LARGEST_LATTICE = 2_000_000  # populations (N₁+1)···(N_R+1) that fit into memory several times over
MOST_TERMS = 1_000_000_000  # products to add up for all convolutions: some seconds
RECURSION, ROW_COST = 10, 5_000
"""Cost of a step of the recursion along the populations, and of a row of the lattice, in products."""


def centre_of(station: ClassStation, population: int) -> Centre:
    """The station's demands and speeds, up to ``population`` present."""
    if station.station.speeds is not None:
        return Centre(station.demands, tuple(station.station.speeds[:population]))
    kind = normalizing.random_queues if station.queues > 1 else normalizing.servers
    return kind(station.demands, station.servers, population)


def centres_of(view: ClassNetwork) -> list[Centre] | None:
    """Those of all stations; None where the exact solution takes more than seconds."""
    populations = view.populations
    shape = tuple(n + 1 for n in populations)
    if math.prod(shape) > LARGEST_LATTICE:
        return None
    centres = [centre_of(s, sum(populations)) for s in view.stations]
    if len(centres) == 1 and len(shape) == 1:
        return centres
    rows = math.prod(shape[:-1]) * len(shape)
    steps = RECURSION * math.prod(shape) + ROW_COST * rows
    terms = sum(normalizing.convolution_terms(c, shape) + steps for c in centres)
    return centres if max(1, math.ceil(math.log2(len(centres)))) * terms <= MOST_TERMS else None


def applies(view: ClassNetwork) -> bool:
    """Closed classes, every station of a kind that keeps product form; several classes of few customers."""
    if view.circle is not None:
        return True
    if view.arrival_rates or not view.stations or not view.has_product_form:
        return False
    return len(view.populations) == 1 or centres_of(view) is not None


def solve(view: ClassNetwork) -> Metrics:
    """Exact; raises NoFormulaError where one class is so large that the convolutions take more than ten seconds."""
    if view.circle is not None and view.circle.population <= normalizing.FEW:
        return _solve_circle(view.circle)
    if len(view.populations) == 1:
        require_few_states(view, view.populations[0])
    centres = centres_of(view)
    if centres is None:
        why = "the exact solution takes more than ten seconds for this population"
        raise NoFormulaError(view.kendall, why, "asymptotic_bounds(), between which it lies,")
    found = closed_times(view, centres, view.means)
    return network_metrics(view, found, "exact", METHOD if len(view.classes) == 1 else SEVERAL)


def _solve_circle(circle: Circle) -> Metrics:
    """One class at single servers: any number of stations, up to ``normalizing.FEW`` customers."""
    network, N, Z, visits, services = circle
    demands = list(map(mul, visits, services))
    service, largest = math.fsum(demands), max(demands)
    unit = max((Z + service) / N, largest)
    found = normalizing.found_at_single_servers(Z / unit, np.array(demands) / unit, N - 1)
    queued = math.fsum(map(mul, demands, found.present))
    X = N / (Z + service + queued)
    X /= max(X * largest, 1.0)  # but for rounding, no server does more than it can
    return Metrics.from_times(
        network,
        throughput=X,
        utilization=min(X * largest, 1.0),
        service=service,
        servers=1,
        Wq=queued,
        most=float(N),
        p_wait=math.nan,
        method=METHOD,
        stations=Later(_CircleRows(circle, X, unit, found).stations),
    )


@dataclass(frozen=True)
class _CircleRows:
    """What the rows of the stations are made of; ``unit`` is the time unit in which G stays near one."""

    circle: Circle
    throughput: float
    unit: float
    found: Found

    def stations(self) -> tuple[Metrics, ...]:
        """One for each server, per visit; its figures are those of :meth:`Metrics.from_times`."""
        network, N, _, visits, services = self.circle
        alike = Metrics.from_times(network, throughput=0, service=0, servers=1, Wq=0, method=METHOD).alike
        queueing = [(name, station) for name, station in network.stations.items() if not station.is_delay]
        made = []
        for i, (name, station) in enumerate(queueing):
            X, S, in_turn = self.throughput * visits[i], services[i], station.discipline == "FCFS"
            Wq = S * self.found.present[i]
            row = alike(
                name=name,
                throughput=X,
                utilization=min(X * S, 1.0),
                L=min(X * (Wq + S), float(N)),
                Lq=X * Wq,
                W=Wq + S,
                Wq=Wq,
                p_wait=self.found.busy[i] if in_turn else math.nan,  # others delay those already served
                states=Later(self.states, i),
                times=Later(self.times, i) if in_turn else None,
            )
            made.append(row)
        return tuple(made)

    @cached_property
    def presence(self) -> Presence:
        """The distributions of the number at each station."""
        _, N, Z, visits, services = self.circle
        demands = [v * s / self.unit for v, s in zip(visits, services, strict=True)]
        return normalizing.at_single_servers(Z / self.unit, demands, N)

    def states(self, i: int) -> TabulatedStates:
        """The number at one station."""
        return TabulatedStates(tuple(self.presence.present[i].tolist()))

    def times(self, i: int) -> FirstComeTimes:
        """The times of a visit to one station."""
        return FirstComeTimes(tuple(self.presence.seen[i].tolist()), self.circle.services[i], 1)


def closed_times(view: ClassNetwork, centres: Sequence[Centre], services: FloatArray) -> VisitTimes:
    """Times per visit of the closed classes; ``services`` are means per visit, ``centres`` hold the demands."""
    populations, think_times = view.populations, view.think_times
    unit = normalizing.time_unit(populations, think_times, centres)
    thinking = [Z / unit for Z in think_times]
    if len(populations) == 1 and populations[0] <= normalizing.FEW and all(c.speeds == (1.0,) for c in centres):
        demands = [c.demands[0] / unit for c in centres]
        return _single_servers(view, services, normalizing.at_single_servers(thinking[0], demands, populations[0]))
    scaled = [replace(c, demands=tuple(d / unit for d in c.demands)) for c in centres]
    rests = normalizing.without_each(normalizing.empty_network(thinking, populations), scaled)
    W, Wq, p_wait = np.zeros((3, len(centres), len(populations)))
    states, times = [], []
    for i, (station, centre, rest) in enumerate(zip(view.stations, scaled, rests, strict=True)):
        in_turn, speeds = station.in_turn, station.station.speeds is not None
        law = None
        for r in range(len(populations)):
            if centre.demands[r] == 0:
                continue
            seen = normalizing.present(centre, rest, [n - (s == r) for s, n in enumerate(populations)])
            k = np.arange(1, seen.size + 1)
            slowdown = k / centre.speed(k)
            queued = (k - 1) / centre.speed(k) if speeds else slowdown - 1
            W[i, r], Wq[i, r] = services[i, r] * float(seen @ slowdown), services[i, r] * float(seen @ queued)
            waits = min(float(seen[1:].sum()), 1.0) if speeds else centre.p_wait(seen)
            p_wait[i, r] = waits if in_turn else math.nan  # others delay those already served
            if len(populations) == 1 and in_turn and not speeds and station.queues == 1:
                law = FirstComeTimes(tuple(seen.tolist()), services[i, r], station.servers)
        states.append(TabulatedStates(tuple(normalizing.present(centre, rest, populations).tolist())))
        times.append(law)
    return VisitTimes(W, Wq, p_wait, states, times)


def _single_servers(view: ClassNetwork, services: FloatArray, found: Presence) -> VisitTimes:
    """The same for one class at single servers, all stations at once."""
    queued = np.arange(found.seen.shape[1])
    W, Wq = services * (found.seen @ (queued + 1))[:, None], services * (found.seen @ queued)[:, None]
    in_turn = np.array([station.in_turn for station in view.stations])
    p_wait = np.where(in_turn, np.minimum(found.seen[:, 1:].sum(axis=1), 1.0), math.nan)[:, None]
    times = [
        FirstComeTimes(tuple(seen), service, s.servers)
        if s.in_turn and s.queues == 1 and s.station.speeds is None
        else None
        for s, service, seen in zip(view.stations, services[:, 0].tolist(), found.seen.tolist(), strict=True)
    ]
    return VisitTimes(W, Wq, p_wait, [TabulatedStates(tuple(row)) for row in found.present.tolist()], times)


def solve_mixed(view: ClassNetwork) -> Metrics:
    """Open and closed classes at single servers of product form, exactly; raises NoFormulaError, UnstableQueueError."""
    view.require_usual()
    single = all(s.servers == 1 and s.station.speeds is None and s.has_product_form for s in view.stations)
    if not single or centres_of(view) is None:
        raise NoFormulaError(view.kendall, "open and closed classes at stations without product form")
    rates, opens = np.array(view.arrival_rates), len(view.arrival_rates)
    used = view.demands[:, :opens] @ rates
    for i, station in enumerate(view.stations):
        if used[i] > 1 - ROUNDING:
            arriving = float(view.visits[i, :opens] @ rates)
            raise UnstableQueueError(f"{station.name} of {view.kendall}", arriving, arriving / float(used[i]), 1)
    slower = (1 - used)[:, None]
    centres = [Centre(tuple(row)) for row in (view.demands[:, opens:] / slower).tolist()]
    closed = closed_times(view, centres, view.means[:, opens:] / slower)
    visits = view.visits[:, opens:]
    X = np.array(view.populations) / (np.array(view.think_times) + (visits * closed.response).sum(axis=0))
    circling = (X * visits * closed.response).sum(axis=1)
    response = np.hstack([view.means[:, :opens] * (1 + circling)[:, None] / slower, closed.response])
    times = VisitTimes(response, response - view.means, np.full_like(response, math.nan))
    return network_metrics(view, times, "exact", MIXED)


FORMULA = Formula(class_network, applies, solve)
MIXED_FORMULA = Formula(class_network, lambda view: bool(view.arrival_rates and view.populations), solve_mixed)
