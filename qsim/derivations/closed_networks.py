"""Closed networks of several stations: the table of mean value analysis, or of Buzen's constants.

With single servers the population grows from 1 to N and three lines repeat.  Several servers, or a speed that depends
on the number present, need the states: each station gets a column of weights, and G adds up their products.

Source: Reiser & Lavenberg (1980), J. ACM 27; Buzen (1973), Communications of the ACM 16; see also
:mod:`qsim.analytic.closed.network`, which does the same in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.views import ClosedChain
from qsim.derivations.closed_stations import ARRIVALS_SEE
from qsim.derivations.derivation import Page
from qsim.derivations.open_networks import MOST_STATIONS
from qsim.derivations.poisson import LITTLE
from qsim.models import Station

_LARGEST, _MOST = 1e280, 2000


def network(page: Page, model: ClosedChain) -> bool:
    """A closed network of product form, of one class."""
    stations = model.queueing
    if len(stations) > MOST_STATIONS or model.population > _MOST:
        return False
    bounds(page, model)
    if _alone(stations) or any(s.speeds is not None or (s.servers > 1 and s.queues == "shared") for s in stations):
        return _constants(page, model)
    _mean_values(page, model)
    return True


def _alone(stations: Sequence[Station]) -> bool:
    """Whether who waits is a question: at one station, served in turn."""
    return len(stations) == 1 and stations[0].visits == 1 and stations[0].discipline == "FCFS"


def bounds(page: Page, model: ClosedChain) -> None:
    """The demands, what no network of these can do, and its knee."""
    stations = model.queueing
    page.given("N", model.population, "customers that circle")
    page.given("Z", model.think_time, "time away from the servers, in each cycle")
    for i, s in enumerate(stations, 1):
        servers = f", {s.servers} servers" if s.servers > 1 else ""
        name = f"{s.name or f'station {i}'}{servers}"
        if s.visits == 1:
            page.given(f"D_{i}", s.time.mean, f"demand at {name}: service in each cycle")
            continue
        page.given(f"V_{i}", s.visit_count, f"visits in each cycle to {name}")
        page.given(f"S_{i}", s.time.mean, "mean service time of a visit")
        page.let(f"D_{i}", f"V_{i} * S_{i}", "demand: service in each cycle")
    indices = range(1, len(stations) + 1)
    page.let("D", " + ".join(f"D_{i}" for i in indices), "all service of a cycle")
    shares = [f"D_{i}" if (fastest := _fastest(s)) == 1 else f"D_{i} / {fastest!r}" for i, s in enumerate(stations, 1)]
    page.let(
        "Dmax", f"max({', '.join(shares)})" if len(shares) > 1 else shares[0], "what a cycle takes of the bottleneck"
    )
    page.let("Xmax", "1 / Dmax", "the bottleneck is always busy: no more is ever done")
    page.let("Xfree", "N / (Z + D)", "nobody ever waits: nor more than this")
    page.let("knee", "(Z + D) * Xmax", "where these two bounds cross (Denning & Buzen 1978)")


def _fastest(station: Station) -> float:
    return float(station.servers if station.speeds is None else max(station.speeds))


def _mean_values(page: Page, model: ClosedChain) -> None:
    """The recursion as a table, its last row written out."""
    stations, N, Z = model.queueing, model.population, model.think_time
    demands = np.array([s.demand for s in stations])
    spread = [s.servers for s in stations]
    at, present = range(1, len(stations) + 1), np.zeros(len(stations))
    rows: list[Sequence[float]] = []
    before = present
    for n in range(1, N + 1):
        before = present
        residence = demands * (1 + before / np.array(spread))
        throughput = n / (Z + residence.sum())
        present = throughput * residence
        rows.append((n, *residence, throughput, *present))
    page.remark(
        f"mean value analysis (Reiser & Lavenberg 1980): {ARRIVALS_SEE}, and waits for those it sees. With n in the "
        "network: R(i) = D(i) (1 + Q(i) of the row above), X = n / (Z + R(1) + R(2) + ...), Q(i) = X R(i)"
    )
    if max(spread) > 1:
        page.remark("where c servers have queues of their own, an arrival meets one c-th of Q(i)")
    page.table(("n", *(f"R({i})" for i in at), "X", *(f"Q({i})" for i in at)), rows)
    page.remark("the last row:")
    for i in at:
        page.given(f"Q_{i}", float(before[i - 1]), f"of the row above, {N - 1} in the network")
        seen = f"Q_{i}" if spread[i - 1] == 1 else f"Q_{i} / {spread[i - 1]}"
        page.let(f"R_{i}", f"D_{i} * (1 + {seen})", "time there in a cycle")
    page.let("W", " + ".join(f"R_{i}" for i in at), "all stations of a cycle")
    page.let("X", "N / (Z + W)", f"{LITTLE} over the cycle")
    for i in at:
        page.let(f"L_{i}", f"X * R_{i}", LITTLE)
        page.let(f"rho_{i}", f"X * D_{i}" if spread[i - 1] == 1 else f"X * D_{i} / {spread[i - 1]}", "busy")
    _whole(page, [f"X * D_{i}" for i in at], len(stations))


def _whole(page: Page, busy: Sequence[str], count: int) -> None:
    """The network's values from those of the stations; ``busy`` says who is in service at each."""
    at = range(1, count + 1)
    page.let("L", " + ".join(f"L_{i}" for i in at), "present, over all stations; the others think")
    page.let("Lq", f"L - ({' + '.join(busy)})" if count > 1 else f"L - {busy[0]}", "those who are not in service")
    page.let("Wq", "Lq / X", LITTLE)
    page.let("rho", f"max({', '.join(f'rho_{i}' for i in at)})" if count > 1 else "rho_1", "of the busiest")
    page.let("p_block", "0", "places are not limited")


def _constants(page: Page, model: ClosedChain) -> bool:
    """Buzen's convolution, in units of the bottleneck's demand so that no number grows too large."""
    stations, N = model.queueing, model.population
    at = range(1, len(stations) + 1)
    scale = page.values["Dmax"]
    thinking = _weights(model.think_time / scale, np.arange(1.0, N + 1))
    columns = [_weights(s.demand / scale, _speeds(s, N)) for s in stations]
    rests = [_product([thinking, *(w for j, w in enumerate(columns) if j != i)]) for i in range(len(stations))]
    G = _product([thinking, *columns])
    if not (np.isfinite(G).all() and G.max() < _LARGEST and G[N] > 0):
        return False
    page.remark(
        "product form: P(n(1), n(2), ...) is a product of weights, one for each station. In units of Dmax, "
        "w(i,k) = w(i,k-1) D(i) / Dmax / s(i,k), where s(i,k) = min(k, c) servers work (or its speed with k present); "
        "thinking is a station with a server for everyone"
    )
    page.remark("G(n) adds up the products over all ways to place n customers (Buzen 1973), column by column:")
    header = ("n", "thinking", *(f"w({i},n)" for i in at), "G(n)")
    page.table(header, list(zip(range(N + 1), thinking, *columns, G, strict=True)))
    page.values |= {f"G_{N - 1}": float(G[N - 1]), f"G_{N}": float(G[N])}
    page.let("X", f"G_{N - 1} / G_{N} / Dmax", "one customer less over all of them, in units of Dmax")
    busy = []
    k = np.arange(N + 1)
    for i, (s, w, rest) in enumerate(zip(stations, columns, rests, strict=True), 1):
        p = w * rest[::-1] / G[N]
        page.total(f"L_{i}", (k * p).tolist(), f"sum of k w({i},k) G({N}-k without {i}) / G({N})", "mean number there")
        if s.speeds is not None:
            page.let(f"rho_{i}", f"X * D_{i} / {max(s.speeds)!r}", "the work, as a share of the highest speed")
            page.found(f"B_{i}", float(p[1:].sum()), f"1 - p({i},0)", "somebody is there")
            busy.append(f"B_{i}")
        else:
            page.let(f"rho_{i}", f"X * D_{i}" if s.servers == 1 else f"X * D_{i} / {s.servers}", "each server busy")
            busy.append(f"X * D_{i}")
    page.let("W", f"({' + '.join(f'L_{i}' for i in at)}) / X", f"{LITTLE}: time at the stations in a cycle")
    _whole(page, busy, len(stations))
    if _alone(stations):
        (s,), (w,), (rest,) = stations, columns, rests
        if s.queues == "random":
            return False
        seen = w[:N] * rest[N - 1 :: -1] / G[N - 1]
        busy_states = f"p({s.servers}) + p({s.servers + 1}) + ... of {N - 1}"
        page.total("p_wait", seen[s.servers :].tolist() or [0.0], busy_states, ARRIVALS_SEE)
    return True


def _speeds(station: Station, population: int) -> FloatArray:
    """The work done per time unit with 1 to N there."""
    k = np.arange(1.0, population + 1)
    if station.speeds is not None:
        speeds = np.asarray(station.speeds, dtype=float)
        return np.asarray(speeds[np.minimum(k.astype(int), speeds.size) - 1])
    if station.queues == "random":
        return np.asarray(k * station.servers / (k + station.servers - 1))
    return np.asarray(np.minimum(k, station.servers))


def _weights(demand: float, speeds: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate(([1.0], np.cumprod(demand / speeds)))


def _product(columns: Sequence[FloatArray]) -> FloatArray:
    """The columns convolved, up to the full population."""
    result = columns[0]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for column in columns[1:]:
            result = np.asarray([math.fsum(result[: n + 1] * column[n::-1]) for n in range(result.size)])
    return result
