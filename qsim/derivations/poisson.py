"""Poisson arrivals and exponential service: M/M/1, M/M/c, M/M/c/K, Erlang's loss system, M/G/∞.

The theory with its sources is in :mod:`qsim.analytic`, in the file of each family.
"""

from __future__ import annotations

import math

import numpy as np

from qsim.analytic.views import OpenQueue
from qsim.derivations.derivation import Page
from qsim.derivations.expressions import number

LITTLE = "Little's law"
PASTA = "Poisson arrivals see time averages"
_LARGEST = 1e300


def rates(page: Page, model: OpenQueue) -> None:
    """λ, μ and c as given; c only where there are several servers."""
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("mu", model.service_rate, "what a busy server finishes per time unit")
    if model.servers not in (1, math.inf):
        page.given("c", model.servers, "servers")


def one_server(page: Page, model: OpenQueue) -> bool:
    """M/M/1."""
    if model.arrival_rate == 0:
        return False
    rates(page, model)
    page.let("rho", "lam / mu", "share of time that the server is busy; below 1, so there is a steady state")
    page.let("X", "lam", "nobody is lost, so as many leave as come")
    page.let("p_wait", "rho", f"who finds the server busy waits: {PASTA}")
    page.remark("up from n at rate lambda, down at rate mu: lambda p(n) = mu p(n+1), so p(n) = (1 - rho) rho^n")
    page.let("p_0", "1 - rho", "the probabilities add up to 1")
    page.let("L", "rho / (1 - rho)", "the mean of that geometric law, sum of n p(n)")
    page.let("W", "L / lam", f"{LITTLE}; it is also 1 / (mu - lambda)")
    page.let("Wq", "W - 1 / mu", "the response less the service")
    page.let("Lq", "rho**2 / (1 - rho)", f"{LITTLE} again, lambda Wq")
    page.let("p_block", "0", "places are not limited")
    return True


def erlang_b(page: Page, servers: int) -> str:
    """Erlang's B of ``a`` by its recursion; the name of the last value."""
    page.given("B_0", 1.0, "Erlang's B without a server: everybody is lost")
    page.repeat(range(1, servers + 1), {"B": "a * B_{j} / ({i} + a * B_{j})"}, "one server more (Erlang 1917)")
    return f"B_{servers}"


def erlang_c(page: Page, servers: int) -> None:
    """``C`` from ``a``, ``c`` and ``rho``."""
    if servers == 1:
        page.let("C", "rho", "Erlang's C: the one server is busy")
        return
    last = erlang_b(page, servers)
    page.let("C", f"{last} / (1 - rho * (1 - {last}))", "Erlang's C: all servers are busy, and one may wait")


def several_servers(page: Page, model: OpenQueue) -> bool:
    """M/M/c."""
    if model.arrival_rate == 0:
        return False
    rates(page, model)
    page.let("a", "lam / mu", "erlangs offered: servers kept busy on average")
    page.let("rho", "a / c", "share of time that each server is busy; below 1, so there is a steady state")
    page.let("X", "lam", "nobody is lost")
    erlang_c(page, model.servers)
    page.let("p_wait", "C", PASTA)
    page.let("Lq", "C * rho / (1 - rho)", "above c the number waiting is geometric with ratio rho")
    page.let("Wq", "Lq / lam", LITTLE)
    page.let("W", "Wq + 1 / mu", "and the service")
    page.let("L", "lam * W", LITTLE)
    page.let("p_block", "0", "places are not limited")
    return True


def limited_places(page: Page, model: OpenQueue) -> bool:
    """M/M/c/K."""
    assert model.capacity is not None  # noqa: S101
    if model.arrival_rate == 0:
        return False
    c, K, a = model.servers, model.capacity, model.offered_load
    with np.errstate(over="ignore", under="ignore"):
        weights = np.concatenate(([1.0], np.cumprod(a / np.minimum(np.arange(1, K + 1), c))))
        if not weights.sum() < _LARGEST:
            return False
    rates(page, model)
    page.given("K", K, "places, the servers included")
    page.let("a", "lam / mu", "erlangs offered; no load is too much where places are limited")
    flow = (
        "lambda p(n) = mu p(n+1), so p(n) = p(n-1) a"
        if c == 1
        else (f"lambda p(n) = min(n + 1, {c}) mu p(n+1), so p(n) = p(n-1) a / min(n, {c})")
    )
    page.remark(f"{flow}: weights w(0) = 1, w(1), ..., w(K)")
    page.total("w", weights.tolist(), "w(0) + ... + w(K)")
    page.let("p_0", "1 / w", "the probabilities add up to 1")
    page.found(
        "p_block",
        weights[-1] / weights.sum(),
        "w(K) / w",
        f"who finds all places taken is lost: {PASTA}",
        f"{number(weights[-1])} / {number(weights.sum())}",
    )
    page.let("X", "lam * (1 - p_block)", "those who are let in")
    page.let("rho", "X / mu / c" if "c" in page.values else "X / mu", "share of time that each server is busy")
    waiting = np.arange(c + 1, K + 1)
    page.total("Lq", ((waiting - c) * weights[c + 1 :] / weights.sum()).tolist(), f"sum of (n - {c}) p(n) above {c}")
    page.let("Wq", "Lq / X", f"{LITTLE}, of those who are let in")
    page.let("W", "Wq + 1 / mu", "and the service")
    page.let("L", "X * W", LITTLE)
    page.found(
        "p_wait",
        float(weights[c:K].sum() / weights[:K].sum()),
        "(w(c) + ... + w(K-1)) / (w(0) + ... + w(K-1))",
        "of those who are let in",
    )
    return True


def no_queue(page: Page, model: OpenQueue) -> bool:
    """M/G/c/c."""
    if model.arrival_rate == 0:
        return False
    rates(page, model)
    page.let("a", "lam / mu", "erlangs offered")
    page.let("p_block", erlang_b(page, model.servers), "Erlang's B, whatever the law of service (Sevastyanov 1957)")
    page.let("X", "lam * (1 - p_block)", "those who are let in")
    page.let("rho", f"X / mu / {model.servers}", "share of time that each server is busy")
    page.let("W", "1 / mu", "nobody waits")
    page.let("L", "X * W", LITTLE)
    for name in ("Lq", "Wq", "p_wait"):
        page.let(name, "0", "there is no place to wait")
    return True


def endless_servers(page: Page, model: OpenQueue) -> bool:
    """G/G/∞."""
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("S", model.service.mean, "mean service time")
    page.let("X", "lam", "nobody is lost")
    page.let("W", "S", "a server for everyone: nobody waits")
    page.let("L", "lam * W", LITTLE)
    for name in ("rho", "Lq", "Wq", "p_wait", "p_block"):
        page.let(name, "0", "there are always more servers than customers")
    return True
