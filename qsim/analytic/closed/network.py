"""Closed networks: N customers circle through delays and stations; exact for one class.

With Vᵢ visits per cycle and Sᵢ the mean service time, the state probabilities have product form when every station
is a delay, serves first come first served with exponential times, or shares its servers among all present (PS) or
lets the newcomer interrupt (LCFS-PR), in which cases only the mean service time matters.  Normalising constants and
the probabilities at each station come from :mod:`qsim.analytic.closed.normalizing`, which cannot overflow or cancel; an
arrival at station i sees it as it would be in time average with N - 1 customers (arrival theorem), so

    Wᵢ = Sᵢ·Σₖ pᵢ(k | N-1)·(k+1)/sᵢ(k+1),   X = N/(Z + Σ Vᵢ·Wᵢ),   Lᵢ = X·Vᵢ·Wᵢ,

sums of positive terms with Little's law built in.  c servers have speeds s(k) = min(k, c); k single servers picked
at random behave as one station of speeds s(n) = n·k/(n + k - 1).

Source: Gordon & Newell (1967), Operations Research 15; Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; arrival
theorem: Lavenberg & Reiser (1980), J. Applied Probability 17; Sevcik & Mitrani (1981), J. ACM 28; mean values:
Reiser & Lavenberg (1980), J. ACM 27; Lazowska, Zahorjan, Graham & Sevcik (1984), Quantitative System Performance,
chapters 6 and 8.

>>> from qsim import Closed, Delay, Exponential, Station, solve
>>> stations = [Delay(15), *(Station(Exponential(d)) for d in (0.605, 2.1, 1.35))]
>>> r = solve(Closed(population=3, stations=stations))  # Lazowska et al. (1984), p. 117
>>> round(r.throughput, 6), round(r.W, 6), [round(s.L, 6) for s in r.stations]
(0.151516, 4.799825, [0.097566, 0.394657, 0.23503])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.analytic.closed import normalizing, random_routing, repairman
from qsim.analytic.closed.cycle_times import cycle_times
from qsim.analytic.closed.normalizing import Centre
from qsim.analytic.closed.populations import PopulationCurve, one_queue_curve, own_queues_curve
from qsim.analytic.closed.random_routing import OwnQueueTimes
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import FirstComeTimes, TabulatedStates, require_few_states
from qsim.analytic.shape import CLOCKWORK, is_clockwork, is_insensitive
from qsim.analytic.views import ClosedChain, closed_chain, is_usual
from qsim.distributions import Exponential
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.metrics import Metrics, TimeDistribution
from qsim.models import Network, Station

METHOD = "product form, convolution in logarithms (Buzen 1973; Baskett, Chandy, Muntz & Palacios 1975)"

MOST_TERMS = 600_000_000
"""Products to add up for all convolutions: about ten seconds."""

RECURSION = 10
"""A step of the recursion along the populations costs as much as so many products."""


def centre_of(station: Station, population: int) -> Centre:
    """The station as its weights see it."""
    if station.speeds is not None:
        return Centre((station.demand,), tuple(station.speeds[:population]))
    kind = normalizing.random_queues if station.queues == "random" else normalizing.servers
    return kind((station.demand,), station.servers, population)


def has_product_form(station: Station) -> bool:
    """Whether the network keeps product form with this station in it, and only its mean service time matters."""
    insensitive = is_insensitive(station.discipline, station.servers, station.queues)
    known = station.capacity is None and is_usual(station)
    return known and (insensitive or isinstance(station.time, Exponential))


def applies(model: ClosedChain) -> bool:
    """Every station of a kind that keeps product form."""
    return all(has_product_form(s) for s in model.queueing)


@dataclass(frozen=True)
class PresentStates:
    """Probabilities of the number at all queueing stations together; the rest of the population thinks."""

    population: int
    think_time: float
    centres: tuple[Centre, ...]

    def p(self, n: int) -> float:
        return float(self._table[n]) if n <= self.population else 0.0

    @cached_property
    def _table(self) -> FloatArray:
        lattice = (self.population,)
        thinking = normalizing.empty_network([self.think_time], lattice)
        nobody = normalizing.empty_network([0.0], lattice)
        logs = normalizing.constant(nobody, self.centres) + np.flip(thinking)
        terms = np.exp(logs - logs.max())
        return np.asarray(terms / terms.sum())


def solve(model: ClosedChain) -> Metrics:
    """Exact, for every number of servers and range of demands; ``stations`` holds each, per visit.

    Raises NoFormulaError where the population is so large that the convolutions take more than ten seconds.
    """
    N, Z = model.population, model.think_time
    require_few_states(model, N)
    centres = [centre_of(s, N) for s in model.queueing]
    terms = sum(normalizing.convolution_terms(c, (N + 1,)) + RECURSION * N for c in centres)
    if len(centres) > 1 and math.log2(len(centres) + 1) * terms > MOST_TERMS:
        why = "the exact solution takes more than ten seconds for so many"
        raise NoFormulaError(model.kendall, why, "asymptotic_bounds(), between which it lies,")
    unit = normalizing.time_unit([N], [Z], centres)
    scaled = [c.in_units_of(unit) for c in centres]
    start = normalizing.empty_network([Z / unit], (N,))
    rests = normalizing.without_each(start, scaled)
    seen = [normalizing.present(c, rest, [N - 1]) for c, rest in zip(scaled, rests, strict=True)]
    visit_times = [_visit_time(s, c, p) for s, c, p in zip(model.queueing, centres, seen, strict=True)]
    W = math.fsum(s.visit_count * t for s, t in zip(model.queueing, visit_times, strict=True))
    # The ceilings hold in exact arithmetic; rounding may pass them by a few units in the last place.
    X = min(N / (Z + W), *(max(c.speeds) / c.demands[0] for c in centres))
    stations = tuple(
        _station(model, number, c, X, t, before, normalizing.present(c, rest, [N]))
        for number, (t, before, c, rest) in enumerate(zip(visit_times, seen, scaled, rests, strict=True))
    )
    Lq = math.fsum(s.Lq for s in stations)
    alone = stations[0] if len(stations) == 1 and model.queueing[0].visits == 1 else None
    clockwork = is_clockwork([*(d.time for d in model.delays), *(s.time for s in model.queueing)], N)
    return Metrics(
        model=model,
        throughput=X,
        utilization=max(s.utilization for s in stations),
        L=min(X * W, float(N)),
        Lq=Lq,
        W=W,
        Wq=Lq / X,
        p_wait=alone.p_wait if alone else math.nan,
        p_block=0.0,
        kind="approximation" if clockwork else "exact",
        method=METHOD + CLOCKWORK if clockwork else METHOD,
        stations=() if alone else stations,
        states=alone.states if alone else PresentStates(N, Z / unit, tuple(scaled)),
        times=alone.times if alone else cycle_times(model, W),
    )


def _visit_time(station: Station, centre: Centre, seen: FloatArray) -> float:
    """The response time of one visit, by the arrival theorem."""
    k = np.arange(1, seen.size + 1)
    return station.time.mean * float(seen @ (k / centre.speed(k)))


def _station(
    model: ClosedChain, number: int, centre: Centre, X: float, W: float, seen: FloatArray, p: FloatArray
) -> Metrics:
    """One station, per visit; ``seen`` are the probabilities an arrival finds, ``p`` those in time average."""
    station, N = model.queueing[number], model.population
    S, c, x = station.time.mean, station.servers, X * station.visit_count
    n = np.arange(p.size)
    times: TimeDistribution | None = None
    if station.speeds is not None:
        Wq = S * float(seen @ (n[:-1] / centre.speed(n[1:])))  # = E[max(0, n - 1)]/x, one being in service
        utilization, p_wait = x * S / station.peak, min(float(seen[1:].sum()), 1.0)
    elif station.queues == "random" and c > 1:
        # n others spread evenly over c queues, so any arrangement is as likely: at least j at a given one of them.
        Wq = S * float(seen @ n[:-1]) / c
        utilization, p_wait = x * S / c, centre.p_wait(seen)
        times = OwnQueueTimes(_at_least(seen, c), S)
    else:
        Wq = S * float(seen @ np.maximum(n[1:] - c, 0)) / c
        utilization, p_wait = x * S / c, centre.p_wait(seen)
        times = FirstComeTimes(tuple(seen.tolist()), S, c)
    return Metrics(
        model=model,
        throughput=x,
        utilization=min(utilization, 1.0),
        L=min(x * W, float(N)),
        Lq=x * Wq,
        W=W,
        Wq=Wq,
        p_wait=p_wait if station.discipline == "FCFS" else math.nan,  # others delay those already served
        p_block=0.0,
        kind="exact",
        method=METHOD,
        name=model.names[number],
        states=TabulatedStates(tuple(p.tolist())),
        times=times if station.discipline == "FCFS" else None,
    )


def _at_least(seen: FloatArray, queues: int) -> tuple[float, ...]:
    """P(at least j at one given queue), j = 0, 1, ..., when n are spread over ``queues`` of them.

    Of the C(n+k-1, n) equally likely arrangements C(n-j+k-1, n-j) have at least j there; their ratio falls from one
    j to the next by (n - j)/(n - j + k - 1).
    """
    n = np.arange(seen.size)
    share = seen.copy()
    result = [1.0]
    for j in range(seen.size - 1):
        share = share * np.maximum(n - j, 0) / np.maximum(n - j + queues - 1, 1)
        result.append(float(share.sum()))
    return tuple(result)


def closed_curve(network: Network, populations: int | Sequence[int] | IntArray) -> PopulationCurve:
    """X, response and waiting time per cycle, exactly, at several populations of the same network.

    ``populations`` is a largest one (all of 1..N come back) or the populations wanted.  Work grows with the largest
    one squared, for a single station in proportion to it.  Raises ValueError for a network without product form.

    >>> from qsim import Closed, Delay, Exponential, Station, closed_curve
    >>> network = Closed(1, [Delay(10), Station(Exponential(1)), Station(Exponential(2))])
    >>> closed_curve(network, 3).throughput.round(6).tolist()
    [0.076923, 0.149425, 0.216598]
    """
    model = closed_chain(network if network.customers is not None else network.with_population(1))
    if model is None or not applies(model):
        raise InvalidParameterError(
            "network",
            f"must be one of product form and one class that circles by visits, not {network.kendall}",
            "FCFS stations need Exponential service",
        )
    if repairman.applies(model) or random_routing.applies(model):
        (station,) = model.queueing
        known = one_queue_curve if repairman.applies(model) else own_queues_curve
        return known(populations, model.think_time, station.time.mean, station.servers)
    wanted = _check.counts_upto("populations", populations)
    N, Z = int(wanted.max()), model.think_time
    centres = [centre_of(s, N) for s in model.queueing]
    unit = normalizing.time_unit([N], [Z], centres)
    scaled = [c.in_units_of(unit) for c in centres]
    rests = normalizing.without_each(normalizing.empty_network([Z / unit], (N - 1,)), scaled)
    log_g = normalizing.add(scaled[0], rests[0])
    k = np.arange(1, N + 1)
    response, waiting = np.zeros(N), np.zeros(N)
    for station, centre, rest in zip(model.queueing, scaled, rests, strict=True):
        log_weights = normalizing.weights(centre, (N,))
        slowdown = k / centre.speed(k)
        queued = (k - 1) / centre.speed(k) if station.speeds is not None else slowdown - 1
        response += station.demand * np.exp(normalizing.convolve(log_weights + np.log(slowdown), rest) - log_g)
        with np.errstate(divide="ignore"):
            held_up = normalizing.convolve(log_weights + np.log(queued), rest)
        waiting += station.demand * np.exp(held_up - log_g)
    ceiling = min(max(c.speeds) / c.demands[0] for c in centres)
    throughput = np.minimum(wanted / (Z + response[wanted - 1]), ceiling)
    return PopulationCurve(wanted, throughput, response[wanted - 1], waiting[wanted - 1])


FORMULA = Formula(closed_chain, applies, solve)
