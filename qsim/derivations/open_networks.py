"""Open networks: the traffic equations with their numbers, then every station as if it stood alone.

The theory with its sources is in :mod:`qsim.analytic.networks.jackson`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.views import OpenChain
from qsim.derivations.derivation import Page
from qsim.derivations.poisson import LITTLE, PASTA
from qsim.models import Station

MOST_STATIONS = 12
"""More have no room on a page."""
_NEGLIGIBLE = 1e-17


def jackson(page: Page, model: OpenChain) -> bool:
    """Stations fed from outside and by each other."""
    if len(model.stations) > MOST_STATIONS or not model.arrival_rate > 0:
        return False
    _traffic(page, model)
    page.remark(
        "product form: in the long run the numbers at the stations are independent, each as if that station stood "
        "alone with Poisson arrivals of rate lambda(i), whatever the way back is"
    )
    places, queueing = range(1, len(model.stations) + 1), []
    for i, (station, rate) in enumerate(zip(model.stations, model.throughputs, strict=True), 1):
        if station.is_delay:
            page.remark(f"place {i} is a delay: as many servers as customers")
            page.given(f"Z_{i}", station.time.mean, "mean time spent there")
            page.let(f"L_{i}", f"lam_{i} * Z_{i}", LITTLE)
            continue
        queueing.append(i)
        _station(page, station, i, rate)
    if all(_is_single(model.stations[i - 1]) for i in queueing):
        page.let("p_0", _joined("(1 - rho_{i})", queueing, " * "), "the product: nobody is at any of them")
    page.remark("the network as a whole:")
    page.let(
        "rho",
        f"max({_joined('rho_{i}', queueing)})" if len(queueing) > 1 else f"rho_{queueing[0]}",
        "the busiest station decides what the network can take",
    )
    page.let("L", _joined("L_{i}", places, " + "), "present, over all places")
    page.let("Lq", _joined("Lq_{i}", queueing, " + "), "waiting, over all stations")
    page.let("W", "L / X", f"{LITTLE} for the network: from coming in to leaving")
    page.let("Wq", "Lq / X", LITTLE)
    page.let("p_block", "0", "places are not limited")
    i = queueing[0]
    once = len(queueing) == 1 and math.isclose(model.throughputs[i - 1], model.arrival_rate)
    if once and _in_turn(model.stations[i - 1]):
        page.let("p_wait", f"C_{i}" if f"C_{i}" in page.values else f"rho_{i}", PASTA)
    return True


def _joined(form: str, indices: Sequence[int], by: str = ", ") -> str:
    return by.join(form.format(i=i) for i in indices)


def _is_single(station: Station) -> bool:
    return station.servers == 1 and station.speeds is None


def _in_turn(station: Station) -> bool:
    return station.discipline == "FCFS"


def _traffic(page: Page, model: OpenChain) -> None:
    """``X`` and λ(i) of each station, from the visits or from the routing matrix."""
    outside = np.atleast_1d(np.asarray(model.arrival_rates, dtype=float))
    count = len(model.stations)
    if model.routing is None:
        page.given("X", float(outside[0]), "arrivals from outside per time unit; as many leave")
        page.remark("forced flow: a station that each customer visits V times sees V times as many")
        for i, station in enumerate(model.stations, 1):
            page.given(f"V_{i}", station.visit_count, _called(station, i))
            page.let(f"lam_{i}", f"X * V_{i}")
        page.let("X", "X", "nobody is lost")
        return
    for i, rate in enumerate(outside, 1):
        if rate > 0:
            page.given(f"gamma_{i}", float(rate), f"arrivals from outside per time unit at {_called_short(model, i)}")
    page.remark(
        "traffic equations: what comes to a station is what comes from outside and from the others, "
        "lambda(j) = gamma(j) + sum of lambda(i) P(i,j); solved together:"
    )
    page.values |= {f"lam_{i}": rate for i, rate in enumerate(model.throughputs, 1)}
    for j in range(1, count + 1):
        terms = [f"gamma_{j}"] if outside[j - 1] > 0 else []
        for i in range(1, count + 1):
            if share := model.routing[i - 1][j - 1]:
                terms.append(f"lam_{i}" if share == 1 else f"{float(share)!r} * lam_{i}")
        page.let(f"lam_{j}", " + ".join(terms) or "0", f"customers per time unit through {_called_short(model, j)}")
    page.let(
        "X",
        " + ".join(f"gamma_{i}" for i, rate in enumerate(outside, 1) if rate > 0),
        "as many leave as come from outside",
    )


def _called(station: Station, i: int) -> str:
    name = station.name if station.name else f"station {i}"
    return f"visits to {name}"


def _called_short(model: OpenChain, i: int) -> str:
    station = model.stations[i - 1]
    return f"{i}, {station.name}" if station.name else f"station {i}"


def _station(page: Page, station: Station, i: int, rate: float) -> None:
    """ρ, L, Lq and W of one station, from λ(i)."""
    what = f" ({station.name})" if station.name else ""
    order = "" if _in_turn(station) else f", {station.discipline}: only the mean of the service counts"
    if station.speeds is not None:
        page.remark(f"station {i}{what}: a birth-death process whose speed depends on the number present{order}")
        _by_speed(page, station, i, rate)
    elif station.queues == "random" and station.servers > 1:
        page.remark(f"station {i}{what}: {station.servers} servers, each M/M/1 with its share of the arrivals{order}")
        _given(page, station, i)
        page.let(f"rho_{i}", f"lam_{i} * S_{i} / c_{i}", "share of time that each server is busy")
        page.let(f"L_{i}", f"c_{i} * rho_{i} / (1 - rho_{i})", "so many times M/M/1")
        page.let(f"Lq_{i}", f"c_{i} * rho_{i}**2 / (1 - rho_{i})")
    elif station.servers > 1:
        page.remark(f"station {i}{what}: M/M/{station.servers}{order}")
        _given(page, station, i)
        page.let(f"a_{i}", f"lam_{i} * S_{i}", "erlangs offered: servers kept busy on average")
        page.let(f"rho_{i}", f"a_{i} / c_{i}", "share of time that each server is busy")
        page.found(
            f"C_{i}",
            erlang_c(station.servers, rate * station.time.mean),
            f"ErlangC(c({i}), a({i}))",
            "all servers are busy; step by step with qsim solve mmc --explain",
        )
        page.let(f"Lq_{i}", f"C_{i} * rho_{i} / (1 - rho_{i})")
        page.let(f"L_{i}", f"Lq_{i} + a_{i}")
    else:
        page.remark(f"station {i}{what}: M/M/1{order}")
        _given(page, station, i)
        page.let(f"rho_{i}", f"lam_{i} * S_{i}", "share of time that the server is busy")
        page.let(f"L_{i}", f"rho_{i} / (1 - rho_{i})", f"p(n) = (1 - rho({i})) rho({i})^n")
        page.let(f"Lq_{i}", f"rho_{i}**2 / (1 - rho_{i})")
    if rate > 0:
        page.let(f"W_{i}", f"L_{i} / lam_{i}", f"{LITTLE}, per visit")


def _given(page: Page, station: Station, i: int) -> None:
    page.given(f"S_{i}", station.time.mean, "mean service time")
    if station.servers > 1:
        page.given(f"c_{i}", station.servers, "servers")


def _by_speed(page: Page, station: Station, i: int, rate: float) -> None:
    """The state probabilities, summed until they no longer matter."""
    assert station.speeds is not None  # noqa: S101
    _given(page, station, i)
    load = page.let(f"a_{i}", f"lam_{i} * S_{i}", "work that comes per time unit")
    weights, n = [1.0], 0
    while n < len(station.speeds) or weights[-1] > _NEGLIGIBLE * math.fsum(weights):
        n += 1
        weights.append(weights[-1] * load / station.speeds[min(n, len(station.speeds)) - 1])
    p = np.array(weights) / math.fsum(weights)
    count = np.arange(p.size)
    speeds = ", ".join(f"{s:.6g}" for s in station.speeds)
    page.remark(f"w({i},n) = w({i},n-1) a({i}) / s(n), with the speeds s = {speeds} and the last one from there on")
    page.total(f"w_{i}", weights, "w(0) + w(1) + ...")
    page.let(f"rho_{i}", f"a_{i} / {max(station.speeds)!r}", "the work, as a share of the highest speed")
    page.let(f"B_{i}", f"1 - 1 / w_{i}", "somebody is there")
    page.total(f"L_{i}", (count * p).tolist(), f"sum of n w(n) / w({i})")
    page.let(f"Lq_{i}", f"L_{i} - B_{i}", "but for the one in service")
