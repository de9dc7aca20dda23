"""Closed models: bounds, the machine repairman, random routing by mean value analysis.

The theory with its sources is in :mod:`qsim.analytic`, in the file of each family.
"""

from __future__ import annotations

import numpy as np

from qsim.analytic.views import ClosedChain
from qsim.derivations.derivation import Page
from qsim.derivations.poisson import LITTLE

_LARGEST = 1e300
ARRIVALS_SEE = "an arrival sees the station with one customer less (arrival theorem)"


def bounds(page: Page, model: ClosedChain) -> None:
    """What no closed system of these demands can do, and its knee."""
    stations = model.queueing
    page.given("N", model.population, "customers that circle")
    page.given("Z", model.think_time, "time away from the servers, in each cycle")
    if len(stations) == 1 and stations[0].visits == 1:
        page.given("S", stations[0].time.mean, "mean service time")
        page.given("c", stations[0].servers, "servers")
        page.let("Xmax", "c / S", "all servers busy: no more is ever done")
        page.let("Xfree", "N / (Z + S)", "nobody ever waits: nor more than this")
        page.let("knee", "(Z + S) * Xmax", "where these two bounds cross (Denning & Buzen 1978)")
        return
    demands = [s.visit_count * s.time.mean for s in stations]
    page.total("D", demands, "visits * service, over all stations", "service in each cycle")
    page.found(
        "Dmax",
        max(d / s.servers for d, s in zip(demands, stations, strict=True)),
        "max(visits * service / servers)",
        "what a cycle takes of the bottleneck",
    )
    page.let("Xmax", "1 / Dmax", "the bottleneck is always busy: no more is ever done")
    page.let("Xfree", "N / (Z + D)", "nobody ever waits: nor more than this")
    page.let("knee", "(Z + D) * Xmax", "where these two bounds cross (Denning & Buzen 1978)")


def repairman(page: Page, model: ClosedChain) -> bool:
    """M/M/c//N: mean value analysis for one server, the state probabilities for several."""
    bounds(page, model)
    (station,) = model.queueing
    N, Z, c = model.population, model.think_time, station.servers
    if Z == 0:
        return _nobody_thinks(page, N, c)
    if c == 1:
        _mean_values(page, N, "S * (1 + Q_{j})")
        page.let("p_wait", f"S * X_{N - 1}" if N > 1 else "0", "the server is busy: " + ARRIVALS_SEE)
        return True
    return _birth_and_death(page, model)


def scattered(page: Page, model: ClosedChain) -> bool:
    """Servers with queues of their own, picked at random."""
    bounds(page, model)
    N = model.population
    _mean_values(page, N, "S * (1 + Q_{j} / c)")
    page.let("p_wait", f"S / c * X_{N - 1}" if N > 1 else "0", "the server picked is busy: " + ARRIVALS_SEE)
    return True


def _mean_values(page: Page, N: int, response: str) -> None:
    page.remark(
        f"mean value analysis (Reiser & Lavenberg 1980): {ARRIVALS_SEE}, and waits for those it sees; "
        "then Little's law over the cycle, and at the station"
    )
    page.let("Q_0", "0", "nobody is there")
    page.repeat(range(1, N + 1), {"R": response, "X": "{i} / (Z + R_{i})", "Q": "X_{i} * R_{i}"})
    page.let("X", f"X_{N}")
    page.let("W", f"R_{N}")
    _rest(page)


def _rest(page: Page) -> None:
    """``rho``, ``Wq``, ``L`` and ``Lq`` from ``X`` and ``W``."""
    page.let("rho", "X * S / c", "share of time that each server is busy")
    page.let("Wq", "W - S", "the response less the service")
    page.let("L", "X * W", LITTLE)
    page.let("Lq", "X * Wq", LITTLE)
    page.let("p_block", "0", "places are not limited")


def _nobody_thinks(page: Page, N: int, c: int) -> bool:
    page.remark("nobody thinks, so all N are always at the station")
    page.let("X", "min(N, c) / S", "as many servers are busy as there are customers for")
    page.let("W", "N / X", LITTLE)
    _rest(page)
    page.let("p_wait", "1" if N > c else "0", "the others keep all servers busy" if N > c else "a server is free")
    return True


def _birth_and_death(page: Page, model: ClosedChain) -> bool:
    (station,) = model.queueing
    N, Z, S, c = model.population, model.think_time, station.time.mean, station.servers
    n = np.arange(N + 1)

    def weights(population: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        k = np.arange(population)
        with np.errstate(over="ignore", under="ignore"):
            return np.concatenate(([1.0], np.cumprod((population - k) / Z * S / np.minimum(k + 1, c))))

    w, seen = weights(N), weights(N - 1)
    if not w.sum() < _LARGEST:
        return False
    page.remark(
        f"N - n of them come at rate 1/Z each, min(n, {c}) leave at rate 1/S each: "
        f"p(n+1) / p(n) = (N - n) / Z * S / min(n + 1, {c}), which gives weights w(0) = 1, w(1), ..."
    )
    page.total("w", w.tolist(), "w(0) + ... + w(N)")
    page.total("busy", (np.minimum(n, c) * w / w.sum()).tolist(), f"sum of min(n, {c}) p(n)", "busy servers on average")
    page.let("X", "busy / S", "each of them finishes 1/S per time unit")
    beyond = np.maximum(n - c, 0)[c + 1 :] * w[c + 1 :] / w.sum()
    page.total("Lq", beyond.tolist(), f"sum of (n - {c}) p(n) above {c}")
    page.let("Wq", "Lq / X", LITTLE)
    page.let("W", "Wq + S", "and the service")
    page.let("L", "X * W", f"{LITTLE} again; over the cycle it is X (Z + W) = N")
    page.let("rho", "X * S / c", "share of time that each server is busy")
    page.let("p_block", "0", "places are not limited")
    page.found(
        "p_wait",
        float(seen[c:].sum() / seen.sum()),
        f"(w(c) + ... + w({N - 1})) / (w(0) + ... + w({N - 1})) of {N - 1}",
        ARRIVALS_SEE,
    )
    return True
