"""Networks of several classes: loads and response times of open ones, mean values from population to population.

The theory with its sources is in :mod:`qsim.analytic.networks.open_classes`, :mod:`qsim.analytic.closed.classes` and
:mod:`qsim.analytic.networks.mixed`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.closed.classes import has_product_form
from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.views import ClassNetwork, VisitedStation
from qsim.derivations.derivation import Page
from qsim.derivations.open_networks import MOST_STATIONS
from qsim.derivations.poisson import LITTLE

_MOST_CLASSES, _MOST_POPULATIONS = 6, 4000


def open_classes(page: Page, model: ClassNetwork) -> bool:
    """Classes that come from outside: each station by its load, the classes at it by their services."""
    stations, classes = model.stations, range(1, len(model.names) + 1)
    if len(stations) > MOST_STATIONS or len(classes) > _MOST_CLASSES or not all(map(has_product_form, stations)):
        return False
    for r, (rate, name) in enumerate(zip(model.arrival_rates, model.names, strict=True), 1):
        page.given(f"lam_{r}", rate, f"arrivals per time unit of {name}")
    for i, station in enumerate(stations, 1):
        _loads(page, station, i, classes)
        queues = station.servers if station.queues == "random" else 1
        c = station.servers // queues
        share = f"a_{i}" if queues == 1 else f"a_{i} / {queues}"
        page.let(f"rho_{i}", f"{share} / {c}" if c > 1 else share, "share of time that each server is busy")
        slowed = f"1 / (1 - rho_{i})"
        if c > 1:
            page.found(
                f"C_{i}", erlang_c(c, page.values[f"rho_{i}"] * c), f"ErlangC({c}, a({i}))", "all servers are busy"
            )
            slowed = f"1 + C_{i} / ({c} - {share})"
        page.let(f"f_{i}", slowed, "the load stretches every service by this, whatever the class")
        for r in classes:
            if station.visits[r - 1]:
                page.let(f"W_{i}_{r}", f"S_{i}_{r} * f_{i}", f"a visit of {model.names[r - 1]}")
    _passages(page, model.stations, classes, model.names)
    page.let("X", " + ".join(f"lam_{r}" for r in classes), "as many leave as come")
    _whole(page, model.stations, classes, {r: f"lam_{r}" for r in classes})
    if len(stations) == 1 and _in_turn_once(stations[0]):
        page.let("p_wait", "C_1" if "C_1" in page.values else "rho_1", "whatever the class")
    return True


def closed_classes(page: Page, model: ClassNetwork) -> bool:
    """Classes that circle: exact mean value analysis over all populations up to the full one."""
    if not _fits(model.stations, model.populations):
        return False
    demands = np.array([s.demands for s in model.stations])
    last = _mean_values(page, model.stations, demands, model.populations, model.think_times, model.names, 0)
    classes = range(1, len(model.names) + 1)
    page.let("X", " + ".join(f"X_{r}" for r in classes), "all classes")
    for i in range(1, len(model.stations) + 1):
        page.let(f"rho_{i}", _busy(model.stations, i, classes), "each server busy")
    _whole(page, model.stations, classes, {r: f"X_{r}" for r in classes})
    (first, *others) = model.stations
    if not others and _in_turn_once(first):
        shares = [float(last[r - 1] @ demands[0]) / first.servers for r in classes]
        for r, share in zip(classes, shares, strict=True):
            page.found(
                f"B_{r}", share, f"X(1) D(1,1) + ... without one of class {r}", "the server that one comes to is busy"
            )
        parts = " + ".join(f"X_{r} * B_{r}" for r in classes)
        page.let("p_wait", f"({parts}) / X", "the mean over all who come")
    return True


def _in_turn_once(station: VisitedStation) -> bool:
    """Whether everyone comes there once, and waits only for those who came before."""
    return station.discipline == "FCFS" and all(visits == 1 for visits in station.visits)


def mixed(page: Page, model: ClassNetwork) -> bool:
    """Open classes make the servers slower for the closed ones, and meet those on their way."""
    opens = len(model.arrival_rates)
    if not _fits(model.stations, model.populations):
        return False
    every = range(1, len(model.names) + 1)
    coming, circling = every[:opens], every[opens:]
    for r in coming:
        page.given(f"lam_{r}", model.arrival_rates[r - 1], f"arrivals per time unit of {model.names[r - 1]}")
    for i, station in enumerate(model.stations, 1):
        for r in every:
            if station.visits[r - 1]:
                page.given(
                    f"S_{i}_{r}", station.means[r - 1], f"service of {model.names[r - 1]} at {_named(station, i)}"
                )
        come = [f"lam_{r} * {station.visits[r - 1]!r} * S_{i}_{r}" for r in coming if station.visits[r - 1]]
        page.let(
            f"U_{i}", " + ".join(come) or "0", "share of time that open classes take; the rest is left to closed ones"
        )
    demands = np.array([s.demands[opens:] for s in model.stations])
    slower = np.array([1 - page.values[f"U_{i}"] for i in range(1, len(model.stations) + 1)])
    page.remark("the closed classes alone, with D(i,r) = visits * S(i,r) / (1 - U(i)):")
    _mean_values(
        page,
        model.stations,
        demands / slower[:, None],
        model.populations,
        model.think_times,
        model.names[opens:],
        opens,
    )
    page.remark("an open customer finds the closed ones' queues on top of its own:")
    for i, station in enumerate(model.stations, 1):
        queued = " + ".join(f"X_{r} * R_{i}_{r}" for r in circling if station.visits[r - 1])
        page.let(f"Q_{i}", queued or "0", "closed customers there")
        for r in coming:
            if station.visits[r - 1]:
                page.let(f"W_{i}_{r}", f"S_{i}_{r} * (1 + Q_{i}) / (1 - U_{i})", "a visit")
    _passages(page, model.stations, coming, model.names)
    page.let("X", " + ".join([*(f"lam_{r}" for r in coming), *(f"X_{r}" for r in circling)]), "all classes")
    for i, station in enumerate(model.stations, 1):
        circles = [f"X_{r} * {station.visits[r - 1]!r} * S_{i}_{r}" for r in circling if station.visits[r - 1]]
        page.let(f"rho_{i}", " + ".join([f"U_{i}", *circles]), "busy with all of them")
    _whole(page, model.stations, every, {r: f"lam_{r}" if r in coming else f"X_{r}" for r in every})
    return True


def _fits(stations: Sequence[VisitedStation], populations: Sequence[int]) -> bool:
    """Whether mean values alone give the exact answer, on a page."""
    return (
        len(stations) <= MOST_STATIONS
        and len(populations) <= _MOST_CLASSES
        and math.prod(n + 1 for n in populations) <= _MOST_POPULATIONS
        and all(has_product_form(s) and (s.servers == 1 or s.queues == "random") for s in stations)
    )


def _named(station: VisitedStation, i: int) -> str:
    return station.name or f"station {i}"


def _loads(page: Page, station: VisitedStation, i: int, classes: Sequence[int]) -> None:
    """The service of each class at a station, and the work that all bring there."""
    servers = "1 server" if station.servers == 1 else f"{station.servers} servers"
    page.remark(f"{_named(station, i)}: {servers}, {station.discipline}")
    terms = []
    for r in classes:
        if visits := station.visits[r - 1]:
            page.given(f"S_{i}_{r}", station.means[r - 1], f"mean service of class {r} at station {i}")
            terms.append(f"lam_{r} * S_{i}_{r}" if visits == 1 else f"lam_{r} * {visits!r} * S_{i}_{r}")
    page.let(f"a_{i}", " + ".join(terms), "work that comes per time unit, each class with its visits")


def _passages(page: Page, stations: Sequence[VisitedStation], classes: Sequence[int], names: Sequence[str]) -> None:
    """W(r), over all stations, from the times of the visits."""
    for r in classes:
        visits = [(i, s.visits[r - 1]) for i, s in enumerate(stations, 1) if s.visits[r - 1]]
        terms = [f"W_{i}_{r}" if v == 1 else f"{v!r} * W_{i}_{r}" for i, v in visits]
        page.let(f"W_{r}", " + ".join(terms) or "0", f"{names[r - 1]} from coming in to leaving")


def _busy(stations: Sequence[VisitedStation], i: int, classes: Sequence[int]) -> str:
    """The utilization of a station from the throughputs."""
    station = stations[i - 1]
    terms = [f"X_{r} * D_{i}_{r}" for r in classes if station.visits[r - 1]]
    return " + ".join(terms) if station.servers == 1 else f"({' + '.join(terms)}) / {station.servers}"


def _whole(page: Page, stations: Sequence[VisitedStation], classes: Sequence[int], rates: dict[int, str]) -> None:
    """The totals, from each class's rate and its W(r); those in service are one per unit of work."""
    page.let("L", " + ".join(f"{rates[r]} * W_{r}" for r in classes), f"{LITTLE}, each class")
    work = [float(sum(s.demands[r - 1] for s in stations)) for r in classes]
    served = " + ".join(f"{rates[r]} * {w!r}" for r, w in zip(classes, work, strict=True))
    page.let("Lq", f"L - ({served})", "but for those in service")
    page.let("W", "L / X", "the mean over all classes")
    page.let("Wq", "Lq / X")
    at = range(1, len(stations) + 1)
    page.let("rho", f"max({', '.join(f'rho_{i}' for i in at)})" if len(at) > 1 else "rho_1", "of the busiest station")
    page.let("p_block", "0", "places are not limited")


def _mean_values(
    page: Page,
    stations: Sequence[VisitedStation],
    demands: FloatArray,
    populations: Sequence[int],
    think_times: Sequence[float],
    names: Sequence[str],
    before: int,
) -> list[FloatArray]:
    """D, the recursion as a table, and the last row written out; classes are counted on from ``before``.

    Returns the throughputs, shape (classes,), of the full population without one of each class.
    """
    spread = [s.servers for s in stations]
    at, classes = range(1, len(stations) + 1), range(1, len(populations) + 1)
    for r, (n, think, name) in enumerate(zip(populations, think_times, names, strict=True), before + 1):
        page.given(f"N_{r}", n, f"{name}: customers that circle")
        page.given(f"Z_{r}", think, "time away from the servers, in each cycle")
    for i in at:
        for r in classes:
            if demands[i - 1, r - 1]:
                page.given(
                    f"D_{i}_{before + r}",
                    float(demands[i - 1, r - 1]),
                    f"work of class {before + r} at station {i} in a cycle",
                )
    page.remark(
        "mean value analysis (Reiser & Lavenberg 1980): an arrival sees each station as it would be without it. "
        "R(i,r) = D(i,r) (1 + Q(i) without one of class r), X(r) = n(r) / (Z(r) + R(1,r) + ...), "
        "Q(i) = sum of X(r) R(i,r)"
    )
    full = tuple(populations)
    present: dict[tuple[int, ...], FloatArray] = {}
    rates: dict[tuple[int, ...], FloatArray] = {}
    rows: list[Sequence[float]] = []
    for mix in product(*(range(k + 1) for k in full)):
        X, Q = np.zeros(len(full)), np.zeros(len(stations))
        for r, count in enumerate(mix):
            if count:
                residence = demands[:, r] * (1 + present[_without(mix, r)] / np.array(spread))
                X[r] = count / (think_times[r] + residence.sum())
                Q += X[r] * residence
        present[mix], rates[mix] = Q, X
        rows.append((*mix, *X, *Q))
    page.table(
        (*(f"n({before + r})" for r in classes), *(f"X({before + r})" for r in classes), *(f"Q({i})" for i in at)), rows
    )
    page.remark("the last row:")
    for r in classes:
        seen, terms = present[_without(full, r - 1)], []
        for i in at:
            if not demands[i - 1, r - 1]:
                continue
            name = f"Q_{i}_{before + r}"
            page.given(name, float(seen[i - 1]), f"at station {i}, of the row without one of class {before + r}")
            found = name if spread[i - 1] == 1 else f"{name} / {spread[i - 1]}"
            page.let(f"R_{i}_{before + r}", f"D_{i}_{before + r} * (1 + {found})", "time there in a cycle")
            terms.append(f"R_{i}_{before + r}")
        page.let(f"W_{before + r}", " + ".join(terms), f"{names[r - 1]}: all stations of a cycle")
        page.let(f"X_{before + r}", f"N_{before + r} / (Z_{before + r} + W_{before + r})", f"{LITTLE} over the cycle")
    return [rates[_without(full, r)] for r in range(len(full))]


def _without(population: tuple[int, ...], r: int) -> tuple[int, ...]:
    return (*population[:r], population[r] - 1, *population[r + 1 :])
