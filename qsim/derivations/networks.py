"""Networks: traffic equations and independent stations when open, mean value analysis when closed.

With single servers three lines repeat for each population from 1 to N.

Source: Jackson (1957); Reiser & Lavenberg (1980), J. ACM 27.  The theory is in :mod:`qsim.analytic.networks` and
:mod:`qsim.analytic.repairman`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.networks.classes import ClassNetwork, ClassStation
from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.views import ClosedQueue
from qsim.derivations.builder import DerivationBuilder
from qsim.derivations.queues import LITTLE, PASTA, joined

ARRIVALS_SEE = "an arrival sees the station with one customer less (arrival theorem)"
_MOST_STATIONS, _MOST_IN_TABLE = 12, 2000
_LARGEST = 1e280

BOUNDS = """
Xmax = 1 / Dmax | the bottleneck is always busy: no more is ever done
Xfree = N / (Z + D) | nobody ever waits: nor more than this
knee = (Z + D) * Xmax | where these two bounds cross (Denning & Buzen 1978)
"""
ONE_STATION_BOUNDS = """
Xmax = c / S | all servers busy: no more is ever done
Xfree = N / (Z + S) | nobody ever waits: nor more than this
knee = (Z + S) * Xmax | where these two bounds cross (Denning & Buzen 1978)
"""
ONE_STATION = """
rho = X * S / c | share of time that each server is busy
Wq = W - S | the response less the service
L = X * W | Little's law
Lq = X * Wq | Little's law
p_block = 0 | places are not limited
"""
SINGLE = """
# {place}: M/M/1{order}
rho_{i} = lam_{i} * S_{i} | share of time that the server is busy
L_{i} = rho_{i} / (1 - rho_{i}) | p(n) = (1 - rho({i})) rho({i})^n
Lq_{i} = rho_{i}**2 / (1 - rho_{i})
"""
SHARED = """
# {place}: M/M/{c}{order}
a_{i} = lam_{i} * S_{i} | erlangs offered: servers kept busy on average
rho_{i} = a_{i} / {c} | share of time that each server is busy
"""


def repairman(to: DerivationBuilder, model: ClosedQueue) -> bool:
    """M/M/c//N: mean value analysis for one server, the states for several."""
    N, Z, S, c = model.population, model.think_time, model.service.mean, model.servers
    if model.capacity is not None:
        return False
    to.given("N", N, "customers that circle")
    to.given("Z", Z, "time away from the servers, in each cycle")
    to.given("S", S, "mean service time")
    to.given("c", c, "servers")
    to.steps(ONE_STATION_BOUNDS)
    if c > 1:
        return Z > 0 and _birth_and_death(to, model)
    to.remark(
        f"mean value analysis (Reiser & Lavenberg 1980): {ARRIVALS_SEE}, and waits for those it sees; "
        "then Little's law over the cycle, and at the station"
    )
    to.let("Q_0", "0", "nobody is there")
    to.repeat(range(1, N + 1), {"R": "S * (1 + Q_{j})", "X": "{i} / (Z + R_{i})", "Q": "X_{i} * R_{i}"})
    to.let("X", f"X_{N}")
    to.let("W", f"R_{N}")
    to.steps(ONE_STATION)
    to.let("p_wait", f"S * X_{N - 1}" if N > 1 else "0", "the server it comes to is busy: " + ARRIVALS_SEE)
    return True


def _birth_and_death(to: DerivationBuilder, model: ClosedQueue) -> bool:
    N, Z, S, c = model.population, model.think_time, model.service.mean, model.servers
    n = np.arange(N + 1)

    def weights(population: int) -> FloatArray:
        k = np.arange(population)
        with np.errstate(over="ignore", under="ignore"):
            return np.concatenate(([1.0], np.cumprod((population - k) / Z * S / np.minimum(k + 1, c))))

    w, seen = weights(N), weights(N - 1)
    if not w.sum() < _LARGEST:
        return False
    to.remark(
        f"N - n of them come at rate 1/Z each, min(n, {c}) leave at rate 1/S each: "
        f"p(n+1) / p(n) = (N - n) / Z * S / min(n + 1, {c}), which gives weights w(0) = 1, w(1), ..."
    )
    to.total("w", w.tolist(), "w(0) + ... + w(N)")
    p = w / w.sum()
    to.total("busy", (np.minimum(n, c) * p).tolist(), f"sum of min(n, {c}) p(n)", "busy servers on average")
    to.let("X", "busy / S", "each of them finishes 1/S per time unit")
    to.total("Lq", ((n - c)[c + 1 :] * p[c + 1 :]).tolist(), f"sum of (n - {c}) p(n) above {c}")
    to.steps("Wq = Lq / X | Little's law\nW = Wq + S | and the service")
    to.let("L", "X * W", f"{LITTLE} again; over the cycle it is X (Z + W) = N")
    to.steps("rho = X * S / c | share of time that each server is busy\np_block = 0 | places are not limited")
    formula = f"(w(c) + ... + w({N - 1})) / (w(0) + ... + w({N - 1})) of {N - 1}"
    to.found("p_wait", float(seen[c:].sum() / seen.sum()), formula, ARRIVALS_SEE)
    return True


def jackson(to: DerivationBuilder, view: ClassNetwork) -> bool:
    """One open class: the traffic equations, then each station on its own."""
    net = view.network
    if len(net.stations) > _MOST_STATIONS or len(net.classes) > 1 or not view.arrival_rates[0]:
        return False
    if any(s.station.speeds is not None or s.queues > 1 for s in view.stations):
        return False
    _traffic(to, view)
    to.remark(
        "product form: in the long run the numbers at the stations are independent, each as if that station stood "
        "alone with Poisson arrivals of rate lambda(i), whatever the way back is"
    )
    seen, places = {s.name: s for s in view.stations}, range(1, len(net.stations) + 1)
    queueing = [i for i, name in enumerate(net.stations, 1) if name in seen]
    for i, (name, place) in enumerate(net.stations.items(), 1):
        if name in seen:
            _station(to, seen[name], i)
        else:
            to.remark(f"place {i} is a delay: as many servers as customers")
            to.given(f"Z_{i}", place.mean_of(net.classes[0]), "mean time spent there")
            to.let(f"L_{i}", f"lam_{i} * Z_{i}", LITTLE)
    if all(s.servers == 1 for s in view.stations):
        to.let("p_0", joined("(1 - rho_{i})", queueing, " * "), "the product: nobody is at any of them")
    to.remark("the network as a whole:")
    to.let("rho", _busiest(queueing), "the busiest station decides what the network can take")
    to.let("L", joined("L_{i}", places), "present, over all places")
    to.let("Lq", joined("Lq_{i}", queueing), "waiting, over all stations")
    to.let("W", "L / X", f"{LITTLE} for the network: from coming in to leaving")
    to.steps("Wq = Lq / X | Little's law\np_block = 0 | places are not limited")
    if len(queueing) == 1 and view.visits[0, 0] == 1 and view.stations[0].in_turn:
        i = queueing[0]
        to.let("p_wait", f"C_{i}" if f"C_{i}" in to.values else f"rho_{i}", PASTA)
    return True


def _traffic(to: DerivationBuilder, view: ClassNetwork) -> None:
    """``X`` and λ(i) of each station, from the visits or from the routing matrix."""
    net, (rate,) = view.network, view.arrival_rates
    if net.routing is None:
        to.given("X", rate, "arrivals from outside per time unit; as many leave")
        to.remark("forced flow: a station that each customer visits V times sees V times as many")
        for i, (name, station) in enumerate(net.stations.items(), 1):
            to.given(f"V_{i}", station.visits_of(net.classes[0]), f"visits to {name}")
            to.let(f"lam_{i}", f"X * V_{i}")
        to.let("X", "X", "nobody is lost")
        return
    outside = net.outside(net.classes[0])
    for i, (name, gamma) in enumerate(zip(net.stations, outside.tolist(), strict=True), 1):
        if gamma > 0:
            to.given(f"gamma_{i}", gamma, f"arrivals from outside per time unit at {i}, {name}")
    to.remark(
        "traffic equations: what comes to a station is what comes from outside and from the others, "
        "lambda(j) = gamma(j) + sum of lambda(i) P(i,j); solved together:"
    )
    to.values |= {f"lam_{i}": float(row[0]) for i, row in enumerate(net.open_rates(), 1)}
    for j, name in enumerate(net.stations):
        terms = [f"gamma_{j + 1}"] if outside[j] > 0 else []
        shares = enumerate(net.routes[net.classes[0]][:, j].tolist(), 1)
        terms += [f"lam_{i}" if share == 1 else f"{share!r} * lam_{i}" for i, share in shares if share]
        to.let(f"lam_{j + 1}", " + ".join(terms) or "0", f"customers per time unit through {j + 1}, {name}")
    entered = [i for i, gamma in enumerate(outside.tolist(), 1) if gamma > 0]
    to.let("X", joined("gamma_{i}", entered), "as many leave as come from outside")


def _station(to: DerivationBuilder, place: ClassStation, i: int) -> None:
    """ρ, L, Lq and W of one station, from λ(i)."""
    c, order = place.servers, place.station.discipline
    words = {
        "i": i,
        "c": c,
        "place": f"station {i} ({place.name})",
        "order": "" if place.in_turn else f", {order}: only the mean of the service counts",
    }
    to.given(f"S_{i}", place.means[0], f"mean service time at {place.name}")
    if c == 1:
        to.steps(SINGLE, **words)
    else:
        to.steps(SHARED, **words)
        why = "all servers are busy; step by step with qsim solve mmc --explain"
        to.found(f"C_{i}", erlang_c(c, to.values[f"a_{i}"]), f"ErlangC({c}, a({i}))", why)
        to.steps("Lq_{i} = C_{i} * rho_{i} / (1 - rho_{i})\nL_{i} = Lq_{i} + a_{i}", i=i)
    if to.values[f"lam_{i}"] > 0:
        to.let(f"W_{i}", f"L_{i} / lam_{i}", f"{LITTLE}, per visit")


def _busiest(at: Sequence[int]) -> str:
    return f"max({joined('rho_{i}', at, ', ')})" if len(at) > 1 else f"rho_{at[0]}"


def closed(to: DerivationBuilder, view: ClassNetwork) -> bool:
    """One class that circles through stations of product form."""
    several = len(view.stations) > _MOST_STATIONS or len(view.classes) > 1
    if several or view.network.routing is not None or view.populations[0] > _MOST_IN_TABLE:
        return False
    _bounds(to, view)
    if any(s.servers > 1 or s.station.speeds is not None for s in view.stations):
        return False
    _mean_values(to, view)
    return True


def _bounds(to: DerivationBuilder, view: ClassNetwork) -> None:
    """The demands, the bounds on throughput and response time, and the knee."""
    to.given("N", view.populations[0], "customers that circle")
    to.given("Z", view.think_times[0], "time away from the servers, in each cycle")
    shares = []
    for i, s in enumerate(view.stations, 1):
        name = f"{s.name}, {s.servers} servers" if s.servers > 1 else s.name
        if s.visits[0] == 1:
            to.given(f"D_{i}", s.means[0], f"demand at {name}: service in each cycle")
        else:
            to.given(f"V_{i}", s.visits[0], f"visits in each cycle to {name}")
            to.given(f"S_{i}", s.means[0], "mean service time of a visit")
            to.let(f"D_{i}", f"V_{i} * S_{i}", "demand: service in each cycle")
        peak = float(s.station.peak)
        shares.append(f"D_{i}" if peak == 1 else f"D_{i} / {peak!r}")
    to.let("D", joined("D_{i}", range(1, len(shares) + 1)), "all service of a cycle")
    most = f"max({', '.join(shares)})" if len(shares) > 1 else shares[0]
    to.let("Dmax", most, "what a cycle takes of the bottleneck")
    to.steps(BOUNDS)


def _mean_values(to: DerivationBuilder, view: ClassNetwork) -> None:
    """The recursion as a table, its last row written out."""
    (N,), (Z,), demands = view.populations, view.think_times, view.demands[:, 0]
    at, present = range(1, len(demands) + 1), np.zeros(len(demands))
    rows: list[Sequence[float]] = []
    before = present
    for n in range(1, N + 1):
        before = present
        residence = demands * (1 + before)
        throughput = n / (Z + residence.sum())
        present = throughput * residence
        rows.append((n, *residence, throughput, *present))
    to.remark(
        f"mean value analysis (Reiser & Lavenberg 1980): {ARRIVALS_SEE}, and waits for those it sees. With n in the "
        "network: R(i) = D(i) (1 + Q(i) of the row above), X = n / (Z + R(1) + R(2) + ...), Q(i) = X R(i)"
    )
    to.table(("n", *(f"R({i})" for i in at), "X", *(f"Q({i})" for i in at)), rows)
    to.remark("the last row:")
    for i in at:
        to.given(f"Q_{i}", float(before[i - 1]), f"of the row above, {N - 1} in the network")
        to.let(f"R_{i}", f"D_{i} * (1 + Q_{i})", "time there in a cycle")
    to.let("W", joined("R_{i}", at), "all stations of a cycle")
    to.let("X", "N / (Z + W)", f"{LITTLE} over the cycle")
    for i in at:
        to.let(f"L_{i}", f"X * R_{i}", LITTLE)
        to.let(f"rho_{i}", f"X * D_{i}", "busy")
    to.let("L", joined("L_{i}", at), "present, over all stations; the others think")
    to.let("rho", _busiest(at), "of the busiest")
    to.let("Lq", f"L - ({joined('rho_{i}', at)})" if len(at) > 1 else "L - rho_1", "those who are not in service")
    to.let("Wq", "Lq / X", LITTLE)
    to.let("p_block", "0", "places are not limited")
