"""Networks: traffic equations and stations alone, mean values from population to population, Buzen's constants.

With single servers a closed population grows from 1 to N and three lines repeat.  Several servers, or a speed that
depends on the number present, need the states: each station gets a column of weights, and G adds up their products.

Source: Jackson (1957); Reiser & Lavenberg (1980), J. ACM 27; Buzen (1973), Communications of the ACM 16.  The theory is
in :mod:`qsim.analytic.networks` and :mod:`qsim.analytic.closed`.
"""

from __future__ import annotations

import math
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
_LARGEST, _NEGLIGIBLE = 1e280, 1e-17

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
SPREAD = """
# {place}: {c} servers, each M/M/1 with its share of the arrivals{order}
rho_{i} = lam_{i} * S_{i} / {c} | share of time that each server is busy
L_{i} = {c} * rho_{i} / (1 - rho_{i}) | M/M/1, {c} times
Lq_{i} = {c} * rho_{i}**2 / (1 - rho_{i})
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
    if Z == 0:
        to.remark("nobody thinks, so all N are always at the station")
        to.let("X", "min(N, c) / S", "as many servers are busy as there are customers for")
        to.let("W", "N / X", LITTLE)
        to.steps(ONE_STATION)
        to.let("p_wait", "1" if N > c else "0", "the others keep all servers busy" if N > c else "a server is free")
        return True
    if c > 1:
        return _birth_and_death(to, model)
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
    """One class from outside: the stations fed from outside and by each other, each on its own."""
    net = view.network
    if len(net.stations) > _MOST_STATIONS or len(net.classes) > 1 or not view.arrival_rates[0]:
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
    if all(s.servers == 1 and s.station.speeds is None for s in view.stations):
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
    if place.station.speeds is not None:
        _by_speed(to, place.station.speeds, words)
    elif c == 1 or place.queues > 1:
        to.steps(SINGLE if c == 1 else SPREAD, **words)
    else:
        to.steps(SHARED, **words)
        why = "all servers are busy; step by step with qsim solve mmc --explain"
        to.found(f"C_{i}", erlang_c(c, to.values[f"a_{i}"]), f"ErlangC({c}, a({i}))", why)
        to.steps("Lq_{i} = C_{i} * rho_{i} / (1 - rho_{i})\nL_{i} = Lq_{i} + a_{i}", i=i)
    if to.values[f"lam_{i}"] > 0:
        to.let(f"W_{i}", f"L_{i} / lam_{i}", f"{LITTLE}, per visit")


def _by_speed(to: DerivationBuilder, speeds: Sequence[float], words: dict[str, object]) -> None:
    """The state probabilities, summed until they no longer matter."""
    i = words["i"]
    to.steps("# {place}: a birth-death process whose speed depends on the number present{order}", **words)
    load = to.let(f"a_{i}", f"lam_{i} * S_{i}", "work that comes per time unit")
    weights, n = [1.0], 0
    while n < len(speeds) or weights[-1] > _NEGLIGIBLE * math.fsum(weights):
        n += 1
        weights.append(weights[-1] * load / speeds[min(n, len(speeds)) - 1])
    p = np.array(weights) / math.fsum(weights)
    named = ", ".join(f"{s:.6g}" for s in speeds)
    to.remark(f"w({i},n) = w({i},n-1) a({i}) / s(n), with the speeds s = {named} and the last one from there on")
    to.total(f"w_{i}", weights, "w(0) + w(1) + ...")
    to.let(f"rho_{i}", f"a_{i} / {max(speeds)!r}", "the work, as a share of the highest speed")
    to.let(f"B_{i}", f"1 - 1 / w_{i}", "somebody is there")
    to.total(f"L_{i}", (np.arange(p.size) * p).tolist(), f"sum of n w(n) / w({i})")
    to.let(f"Lq_{i}", f"L_{i} - B_{i}", "but for the one in service")


def _in_turn_once(view: ClassNetwork) -> bool:
    """Whether everyone comes to one station once, and waits only for those who came before."""
    return len(view.stations) == 1 and view.stations[0].in_turn and all(v == 1 for v in view.stations[0].visits)


def _busiest(at: Sequence[int]) -> str:
    return f"max({joined('rho_{i}', at, ', ')})" if len(at) > 1 else f"rho_{at[0]}"


def closed(to: DerivationBuilder, view: ClassNetwork) -> bool:
    """One class that circles through stations of product form."""
    several = len(view.stations) > _MOST_STATIONS or len(view.classes) > 1
    if several or view.network.routing is not None or view.populations[0] > _MOST_IN_TABLE:
        return False
    single = all(s.servers == s.queues and s.station.speeds is None for s in view.stations)
    _bounds(to, view)
    if not single or (_in_turn_once(view) and view.stations[0].queues == 1):
        return _constants(to, view)
    _mean_values(to, view)
    return True


def _bounds(to: DerivationBuilder, view: ClassNetwork) -> None:
    """The demands, what no network of these can do, and its knee."""
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
    spread = np.array([s.servers for s in view.stations])
    at, present = range(1, len(spread) + 1), np.zeros(len(spread))
    rows: list[Sequence[float]] = []
    before = present
    for n in range(1, N + 1):
        before = present
        residence = demands * (1 + before / spread)
        throughput = n / (Z + residence.sum())
        present = throughput * residence
        rows.append((n, *residence, throughput, *present))
    to.remark(
        f"mean value analysis (Reiser & Lavenberg 1980): {ARRIVALS_SEE}, and waits for those it sees. With n in the "
        "network: R(i) = D(i) (1 + Q(i) of the row above), X = n / (Z + R(1) + R(2) + ...), Q(i) = X R(i)"
    )
    if spread.max() > 1:
        to.remark("where c servers have queues of their own, an arrival meets one c-th of Q(i)")
    to.table(("n", *(f"R({i})" for i in at), "X", *(f"Q({i})" for i in at)), rows)
    to.remark("the last row:")
    for i, c in enumerate(spread.tolist(), 1):
        to.given(f"Q_{i}", float(before[i - 1]), f"of the row above, {N - 1} in the network")
        to.let(f"R_{i}", f"D_{i} * (1 + Q_{i}{_over(c)})", "time there in a cycle")
    to.let("W", joined("R_{i}", at), "all stations of a cycle")
    to.let("X", "N / (Z + W)", f"{LITTLE} over the cycle")
    for i, c in enumerate(spread.tolist(), 1):
        to.let(f"L_{i}", f"X * R_{i}", LITTLE)
        to.let(f"rho_{i}", f"X * D_{i}{_over(c)}", "busy")
    _whole(to, [f"X * D_{i}" for i in at])
    if _in_turn_once(view):
        busy = 0.0 if N == 1 else rows[-2][len(spread) + 1] * demands[0] / spread[0]
        to.found("p_wait", busy, f"X D(1){_over(int(spread[0]))} of {N - 1}", ARRIVALS_SEE)


def _over(servers: int) -> str:
    return "" if servers == 1 else f" / {servers}"


def _whole(to: DerivationBuilder, busy: Sequence[str]) -> None:
    """The network's values from those of the stations; ``busy`` says what is in service at each."""
    at = range(1, len(busy) + 1)
    to.let("L", joined("L_{i}", at), "present, over all stations; the others think")
    to.let("Lq", f"L - ({' + '.join(busy)})" if len(busy) > 1 else f"L - {busy[0]}", "those who are not in service")
    to.let("Wq", "Lq / X", LITTLE)
    to.let("rho", _busiest(at), "of the busiest")
    to.let("p_block", "0", "places are not limited")


def _constants(to: DerivationBuilder, view: ClassNetwork) -> bool:
    """Buzen's convolution, in units of the bottleneck's demand so that no number grows too large."""
    (N,), (Z,), at = view.populations, view.think_times, range(1, len(view.stations) + 1)
    scale = to.values["Dmax"]
    thinking = _weights(Z / scale, np.arange(1.0, N + 1))
    columns = [_weights(s.demands[0] / scale, _speeds(s, N)) for s in view.stations]
    rests = [_convolved([thinking, *(w for j, w in enumerate(columns) if j != i)]) for i in range(len(columns))]
    G = _convolved([thinking, *columns])
    once = _in_turn_once(view)
    if not (np.isfinite(G).all() and G.max() < _LARGEST and G[N] > 0):
        return False
    to.remark(
        "product form: P(n(1), n(2), ...) is a product of weights, one for each station. In units of Dmax, "
        "w(i,k) = w(i,k-1) D(i) / Dmax / s(i,k), where s(i,k) = min(k, c) servers work (or its speed with k present); "
        "thinking is a station with a server for everyone"
    )
    to.remark("G(n) adds up the products over all ways to place n customers (Buzen 1973), column by column:")
    header = ("n", "thinking", *(f"w({i},n)" for i in at), "G(n)")
    to.table(header, list(zip(range(N + 1), thinking, *columns, G, strict=True)))
    to.values |= {f"G_{N - 1}": float(G[N - 1]), f"G_{N}": float(G[N])}
    to.let("X", f"G_{N - 1} / G_{N} / Dmax", "one customer less over all of them, in units of Dmax")
    busy, k = [], np.arange(N + 1)
    for i, (s, w, rest) in enumerate(zip(view.stations, columns, rests, strict=True), 1):
        p = w * rest[::-1] / G[N]
        to.total(f"L_{i}", (k * p).tolist(), f"sum of k w({i},k) G({N}-k without {i}) / G({N})", "mean number there")
        if s.station.speeds is not None:
            to.let(f"rho_{i}", f"X * D_{i} / {s.station.peak!r}", "the work, as a share of the highest speed")
            to.found(f"B_{i}", float(p[1:].sum()), f"1 - p({i},0)", "somebody is there")
        else:
            to.let(f"rho_{i}", f"X * D_{i}{_over(s.servers)}", "each server busy")
        busy.append(f"X * D_{i}" if s.station.speeds is None else f"B_{i}")
    to.let("W", f"({joined('L_{i}', at)}) / X", f"{LITTLE}: time at the stations in a cycle")
    _whole(to, busy)
    if once:
        c, seen = view.stations[0].servers, columns[0][:N] * rests[0][N - 1 :: -1] / G[N - 1]
        to.total("p_wait", seen[c:].tolist() or [0.0], f"p({c}) + p({c + 1}) + ... of {N - 1}", ARRIVALS_SEE)
    return True


def _speeds(s: ClassStation, population: int) -> FloatArray:
    """The work done per time unit with 1 to N there."""
    k = np.arange(1, population + 1)
    if s.station.speeds is not None:
        speeds: FloatArray = np.array(s.station.speeds)[np.minimum(k, len(s.station.speeds)) - 1]
        return speeds
    return np.asarray(k * s.queues / (k + s.queues - 1) if s.queues > 1 else np.minimum(k, s.servers))


def _weights(demand: float, speeds: FloatArray) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate(([1.0], np.cumprod(demand / speeds)))


def _convolved(columns: Sequence[FloatArray]) -> FloatArray:
    """The columns convolved, up to the full population."""
    result = columns[0]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for column in columns[1:]:
            result = np.asarray([math.fsum(result[: n + 1] * column[n::-1]) for n in range(result.size)])
    return result
