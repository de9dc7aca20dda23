"""Closed networks with product form, many at a time: rows differ in their rates, as draws of an uncertain device do.

Two stations together are one that serves at the throughput of the two alone (Chandy, Herzog and Woo 1975), so that a
network is put together station by station. With a(n) and b(n) the rates of two with n customers, and q(j|n) the
probability that j of n are at the second,

    q(0|n) = X(n) q(0|n-1) / a(n),    q(j|n) = X(n) q(j-1|n-1) / b(j),    X(n) = 1 / (their sum without X)

Only positive numbers are added, where the usual recursion for load-dependent stations subtracts (Reiser and Lavenberg
1980, JACM 27). Stations without a formula, and percentiles, are simulated at each number of clients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from calibrate.inference.parameters import Array
from qsim import Arrivals, Exponential, Metrics, Network, Station, simulate
from qsim._types import IntArray

Places: TypeAlias = Mapping[str, Station]
Run: TypeAlias = Callable[[Places, int, int], Sequence[Metrics]]
"""Simulates a network at each load, with a seed and a number of responses."""

TINY = 1e-290
"""Probabilities below this are zero: arithmetic with denormal numbers is slow."""

SWEEP = 16
"""Steps after which they are set to zero."""


def has_product_form(station: Station) -> bool:
    """Whether only the mean of its service matters, so that the formula is exact."""
    shares = station.discipline in ("PS", "LCFS-PR")
    alike = station.discipline == "FCFS" and isinstance(station.service, Exponential)
    return station.capacity is None and (station.is_delay or shares or alike)


def rates(station: Station, top: int) -> Array:
    """Cycles per time unit (top,) that 1, 2, ... customers get done there alone."""
    n = np.arange(1.0, top + 1)
    if station.is_delay:
        return n / station.demand if station.demand > TINY else np.full(top, np.inf)
    if station.speeds is not None:
        speed = np.asarray(station.speeds)[np.minimum(np.arange(top), len(station.speeds) - 1)]
    elif station.own_queues:
        speed = n * station.servers / (n + station.servers - 1)
    else:
        speed = np.minimum(n, station.servers)
    return np.asarray(speed / station.demand)


def peak(station: Station) -> float:
    """The most cycles per time unit that it can serve."""
    return station.peak / station.demand


def doubled(alone: Array) -> Array:
    """The rates (rows, top) of two such stations between which customers are spread evenly; a lone one gains nothing.

    >>> doubled(np.array([[1.0, 2.0, 2.0, 2.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    n = np.arange(1.0, alone.shape[1] + 1)
    half = np.maximum(n / 2, 1.0)
    each = np.array([np.interp(half, n, row) for row in alone])
    return np.asarray(2 * each * np.minimum(n / 2, 1.0))


def together(stations: Sequence[Array]) -> Array:
    """Throughput (rows, top) of 1, 2, ... customers in the network of stations with these rates (rows or 1, top)."""
    return reduce(lambda a, b: pair(a, b)[0], stations)


def pair(a: Array, b: Array) -> tuple[Array, Array]:
    """Throughput (rows, top) of two stations, and the probabilities (rows, top + 1) of 0..top at the second, of top.

    >>> x, q = pair(np.array([[1.0, 1.0]]), np.array([[1.0, 1.0]]))
    >>> x.round(3).tolist(), q.round(3).tolist()
    ([[0.5, 0.667]], [[0.333, 0.333, 0.333]])
    """
    rows, top = max(len(a), len(b)), a.shape[1]
    slow_a, slow_b = (np.ascontiguousarray(np.broadcast_to(1 / r, (rows, top)).T) for r in (a, b))
    at = np.zeros((top + 1, rows))
    at[0] = 1.0
    throughput = np.empty((top, rows))
    for n in range(1, top + 1):
        none, some = at[0] * slow_a[n - 1], at[:n] * slow_b[:n]
        x = 1 / (none + some.sum(axis=0))
        at[0] = x * none
        np.multiply(some, x, out=at[1 : n + 1])
        throughput[n - 1] = x
        if n % SWEEP == 0:
            seen = at[: n + 1]
            seen[seen < TINY] = 0.0
    return throughput.T, at.T


def beyond(stations: Sequence[Array], which: int, most: int) -> float:
    """The probability that more than ``most`` are at one of the stations, with all customers (first rows alone)."""
    others = [s[:1] for i, s in enumerate(stations) if i != which]
    if not others:
        return float(stations[which].shape[1] > most)
    _, present = pair(together(others), stations[which][:1])
    return math.fsum(present[0, most + 1 :].tolist())


SHARES = (0.5, 0.95, 0.99, 0.999)
RUNS = 10
"""Runs, each with its own seed, whose mean is the estimate and whose spread is its error."""
ROWS = 200
"""Rows that tell an estimate's distribution."""


def run_with(populations: Sequence[int] | Sequence[Arrivals], routing: Mapping[str, Any] | None = None) -> Run:
    """Simulates a network with each of the ``populations``: so many clients, or arrivals."""

    def run(stations: Places, seed: int, customers: int) -> list[Metrics]:
        places = {name: replace(s, most=None) for name, s in stations.items()}
        networks = [Network(places, each, routing) for each in populations]
        return [simulate(n, customers=customers, seed=seed, engine="compiled", allow_short=True) for n in networks]

    return run


def simulated(
    networks: Sequence[Places], run: Run, seed: int, customers: int
) -> tuple[Array, Array, Mapping[float, Array]]:
    """The first of ``networks`` at each load (m,), by ``customers`` responses in ``RUNS`` runs.

    Throughput and mean response (1 + ROWS, m), the estimate first, and percentiles {share: (1 + ROWS, m)} of the
    response. The other rows hold what moves the estimate: the draws, which are the other networks, each held against
    the first run by the same random numbers; and the error of the mean of the runs, by Student's t.
    """
    each = max(customers // RUNS, 1)
    seeds = [s.generate_state(1).item() for s in np.random.SeedSequence(seed).spawn(RUNS)]
    runs = np.array([_measured(run(networks[0], s, each)) for s in seeds])
    estimate = runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) / math.sqrt(RUNS)
    draws = np.array([_measured(run(stations, seeds[0], each)) for stations in networks[1:]])
    ratios = draws / runs[0] if len(draws) else np.ones((1, *estimate.shape))
    student = stdtrit(RUNS - 1, (np.arange(ROWS) + 0.5) / ROWS)
    moved = ratios[drawn_row(len(draws))] * (estimate + student[:, None, None] * error)
    throughput, mean, *percentiles = np.concatenate([estimate[None], moved]).transpose(1, 0, 2)
    return throughput, mean, dict(zip(SHARES, percentiles, strict=True))


def drawn_row(draws: int) -> IntArray:
    """The index of the draw that each of the ``ROWS`` rows stands for."""
    return np.arange(ROWS) % max(draws, 1)


def as_simulated(peaks: Array, draws: int) -> Array:
    """The peaks (1 + ROWS, stations) beside simulated rows, from those of the estimate and its draws."""
    return peaks[[0, *(drawn_row(draws) + (draws > 0))]]


def with_two(
    stations: Places, names: Iterable[str], run: Run, seed: int, customers: int, figure: Literal["throughput", "W"]
) -> dict[str, Array]:
    """A figure (m,) with two of each station of ``names``, by its name."""
    more = {name: {**stations, name: two_of(stations[name])} for name in names}
    return {n: np.array([float(getattr(m, figure)) for m in run(s, seed, customers)]) for n, s in more.items()}


def _measured(runs: Sequence[Metrics]) -> Array:
    """Throughput, mean response and its percentiles (2 + shares, m) of the run at each load."""
    return np.array(
        [[m.throughput for m in runs], [m.W for m in runs], *([m.quantile(q) for m in runs] for q in SHARES)]
    )


def at_rates(station: Station, cycles_per_s: Array) -> Station:
    """A station with ``speeds`` that works at these rates (n,) of cycles instead."""
    x = cycles_per_s * station.visit_count
    service = station.time.scaled(1 / (x[0] * station.time.mean))
    return replace(station, speeds=tuple((x / x[0]).tolist()), service=service)


def two_of(station: Station) -> Station:
    """Two of it, between which requests are spread evenly."""
    if station.speeds is None:
        return replace(station, servers=2 * station.servers)
    return at_rates(station, doubled(rates(station, 2 * len(station.speeds))[None])[0])
