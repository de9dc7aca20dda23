"""Closed networks of several classes of customers, such as reads and writes; exact.

The network keeps product form when each station either serves first come first served with exponential times *of
the same mean for every class*, or shares its servers among all present (PS) or lets the newcomer interrupt
(LCFS-PR), in which cases each class may have its own service of any distribution.  With the constants of
:mod:`qsim.analytic.closed.normalizing` over the lattice of populations N⃗ and an arrival of class r seeing the network
without itself,

    Wᵢᵣ = Sᵢᵣ·Σₖ pᵢ(k | N⃗ - e_r)·(k+1)/sᵢ(k+1),   X_r = N_r/(Z_r + Σᵢ Vᵢᵣ·Wᵢᵣ),   Lᵢᵣ = X_r·Vᵢᵣ·Wᵢᵣ,

where k counts customers of all classes.  What has no product form (a FCFS device whose writes take longer than its
reads), and what is too large for the lattice, is left to :mod:`qsim.analytic.closed.mean_value`, by name.

Source: Baskett, Chandy, Muntz & Palacios (1975), J. ACM 22; Reiser & Kobayashi (1975), IBM J. Res. Dev. 19; arrival
theorem: Lavenberg & Reiser (1980), J. Applied Probability 17; Reiser & Lavenberg (1980), J. ACM 27.

>>> from qsim import Exponential, Network, Station, solve
>>> cpu = Station({"A": Exponential(0.1), "B": Exponential(0.4)}, visits={"A": 10, "B": 5}, discipline="PS")
>>> disk = Station({"A": Exponential(1 / 3), "B": Exponential(1.0)}, visits={"A": 9, "B": 4}, discipline="PS")
>>> r = solve(Network({"cpu": cpu, "disk": disk}, {"A": 1, "B": 1}))  # Lazowska et al. (1984), p. 142
>>> [round(c.throughput, 6) for c in r.classes]
[0.157895, 0.105263]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qsim.analytic.class_metrics import ClassTimes, closed_metrics
from qsim.analytic.closed import normalizing
from qsim.analytic.closed.normalizing import Centre
from qsim.analytic.formula import Formula
from qsim.analytic.open.first_come import TabulatedStates
from qsim.analytic.shape import is_insensitive, is_one_exponential
from qsim.analytic.views import ClassNetwork, VisitedStation, class_network
from qsim.metrics import Metrics

METHOD = "product form of several classes, convolution in logarithms (Reiser & Kobayashi 1975)"

LARGEST_LATTICE = 2_000_000
"""Populations (N₁+1)···(N_R+1) that fit into memory several times over."""

MOST_TERMS = 1_000_000_000
"""Products to add up for all convolutions: some seconds."""

ROW_COST = 5_000
"""What a row of the lattice costs on its own, in products."""


def centre_of(station: VisitedStation, population: int) -> Centre:
    """The station as its weights see it."""
    kind = normalizing.random_queues if station.queues == "random" else normalizing.servers
    return kind(station.demands, station.servers, population)


def has_product_form(station: VisitedStation) -> bool:
    """Whether the network keeps product form with this station in it, and only its mean service times matter."""
    coming = [s for s, v in zip(station.services, station.visits, strict=True) if s is not None and v > 0]
    return is_insensitive(station.discipline, station.servers, station.queues) or is_one_exponential(coming)


def is_small(stations: Sequence[VisitedStation], populations: Sequence[int]) -> bool:
    """Whether the exact solution takes no more than seconds."""
    shape = tuple(n + 1 for n in populations)
    if math.prod(shape) > LARGEST_LATTICE:
        return False
    centres = [centre_of(s, sum(populations)) for s in stations]
    rounds = max(1, math.ceil(math.log2(len(centres))))
    rows = math.prod(shape[:-1]) * len(shape)
    terms = sum(normalizing.convolution_terms(c, shape) + rows * ROW_COST for c in centres)
    return rounds * terms <= MOST_TERMS


def applies(model: ClassNetwork) -> bool:
    """Every station of a kind that keeps product form, and populations that are not too large."""
    if model.arrival_rates:
        return False
    return all(has_product_form(s) for s in model.stations) and is_small(model.stations, model.populations)


def solve(model: ClassNetwork) -> Metrics:
    """Exact; ``classes`` holds each class per cycle, ``stations`` each station per visit with its ``classes``."""
    centres = [centre_of(s, model.population) for s in model.stations]
    services = [s.means for s in model.stations]
    times = product_form(model.populations, model.think_times, services, centres)
    in_turn = np.array([[s.discipline == "FCFS"] for s in model.stations])
    times = replace(times, p_wait=np.where(in_turn, times.p_wait, math.nan))  # others delay those already served
    return closed_metrics(model, times, "exact", METHOD)


def product_form(
    populations: Sequence[int],
    think_times: Sequence[float],
    services: Sequence[Sequence[float]],
    centres: Sequence[Centre],
) -> ClassTimes:
    """Response times per visit, probabilities of waiting, and the number present at each station.

    ``services[i][r]`` is the mean service time per visit; ``centres`` hold the demands.
    """
    unit = normalizing.time_unit(populations, think_times, centres)
    scaled = [c.in_units_of(unit) for c in centres]
    start = normalizing.empty_network([Z / unit for Z in think_times], populations)
    rests = normalizing.without_each(start, scaled)
    shape = (len(centres), len(populations))
    W, Wq, p_wait = np.zeros(shape), np.zeros(shape), np.full(shape, math.nan)
    for i, (centre, rest) in enumerate(zip(scaled, rests, strict=True)):
        for r in range(len(populations)):
            if centre.demands[r] == 0:
                continue
            seen = normalizing.present(centre, rest, [n - (s == r) for s, n in enumerate(populations)])
            k = np.arange(1, seen.size + 1)
            slowdown = k / centre.speed(k)
            W[i, r] = services[i][r] * float(seen @ slowdown)
            Wq[i, r] = services[i][r] * float(seen @ (slowdown - 1))
            p_wait[i, r] = centre.p_wait(seen)
    states = tuple(
        TabulatedStates(tuple(normalizing.present(c, rest, populations).tolist()))
        for c, rest in zip(scaled, rests, strict=True)
    )
    return ClassTimes(W, Wq, p_wait, states)


FORMULA = Formula(class_network, applies, solve)
