"""Single queues with Poisson arrivals, and an estimate by hand for any other.

The theory with its sources is in :mod:`qsim.analytic.open`, in the file of each family.  A function returns False for a
model too large to write out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from qsim.analytic.views import OpenQueue
from qsim.derivations.builder import DerivationBuilder, number

LITTLE = "Little's law"
PASTA = "Poisson arrivals see time averages"
_LARGEST = 1e300

ONE_SERVER = """
rho = lam / mu | share of time that the server is busy; below 1, so there is a steady state
X = lam | nobody is lost, so as many leave as come
p_wait = rho | an arrival that finds the server busy waits: Poisson arrivals see time averages
# up from n at rate lambda, down at rate mu: lambda p(n) = mu p(n+1), so p(n) = (1 - rho) rho^n
p_0 = 1 - rho | the probabilities add up to 1
L = rho / (1 - rho) | the mean of that geometric law, sum of n p(n)
W = L / lam | Little's law; it is also 1 / (mu - lambda)
Wq = W - 1 / mu | the response less the service
Lq = rho**2 / (1 - rho) | Little's law again, lambda Wq
p_block = 0 | places are not limited
"""
OFFERED = """
a = lam / mu | erlangs offered: servers kept busy on average
rho = a / c | share of time that each server is busy; below 1, so there is a steady state
X = lam | nobody is lost
"""
ERLANG_C_WAIT = """
p_wait = C | Poisson arrivals see time averages
Lq = C * rho / (1 - rho) | above c the number waiting is geometric with ratio rho
Wq = Lq / lam | Little's law
W = Wq + 1 / mu | and the service
L = lam * W | Little's law
p_block = 0 | places are not limited
"""
NO_QUEUE = """
X = lam * (1 - p_block) | those who are let in
rho = X / mu / {c} | share of time that each server is busy
W = 1 / mu | nobody waits
L = X * W | Little's law
Lq = 0 | there is no place to wait
Wq = 0 | there is no place to wait
p_wait = 0 | there is no place to wait
"""
FROM_THE_WAIT = """
W = Wq + S | and the service
Lq = lam * Wq | Little's law
L = lam * W | Little's law
p_block = 0 | places are not limited
"""
POLLACZEK = """
rho = lam * S | share of time that the server is busy; below 1, so there is a steady state
X = lam | nobody is lost
p_wait = rho | an arrival that finds the server busy waits: Poisson arrivals see time averages
ES2 = (1 + cs2) * S**2 | second moment of the service time
rest = ES2 / (2 * S) | what is left of a service that one comes into: long ones are met more often
Wq = rho * rest / (1 - rho) | Pollaczek-Khinchine: that rest, and everyone ahead
"""
MOMENTS = """
a = lam * S | erlangs offered
rho = a / c | share of time that each server is busy
X = lam | nobody is lost
"""
ALLEN_CUNNEEN = """
WMMc = C * S / (c - a) | what the wait would be if all were exponential
AC = (ca2 + cs2) / 2 * WMMc | Allen-Cunneen: half the sum of the variabilities
"""


def rates(to: DerivationBuilder, model: OpenQueue) -> None:
    """λ, μ and c as given; c only where there are several servers."""
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("mu", model.service_rate, "what a busy server finishes per time unit")
    if model.servers not in (1, math.inf):
        to.given("c", model.servers, "servers")


def poisson(to: DerivationBuilder, model: OpenQueue) -> bool:
    """M/M/1 and M/M/c."""
    if model.arrival_rate == 0:
        return False
    rates(to, model)
    if model.servers == 1:
        to.steps(ONE_SERVER)
        return True
    to.steps(OFFERED)
    _erlang_c(to, model.servers)
    to.steps(ERLANG_C_WAIT)
    return True


def _erlang_b(to: DerivationBuilder, servers: int) -> str:
    """Erlang's B of ``a`` by its recursion; the name of the last value."""
    to.given("B_0", 1.0, "Erlang's B without a server: everybody is lost")
    to.repeat(range(1, servers + 1), {"B": "a * B_{j} / ({i} + a * B_{j})"}, "one server more (Erlang 1917)")
    return f"B_{servers}"


def _erlang_c(to: DerivationBuilder, servers: int) -> None:
    if servers == 1:
        to.let("C", "rho", "Erlang's C: the one server is busy")
        return
    last = _erlang_b(to, servers)
    to.let("C", f"{last} / (1 - rho * (1 - {last}))", "Erlang's C: all servers are busy, and one may wait")


def limited_places(to: DerivationBuilder, model: OpenQueue) -> bool:
    """M/M/c/K."""
    c, K, a = model.servers, model.capacity or 0, model.offered_load
    with np.errstate(over="ignore", under="ignore"):
        weights = np.concatenate(([1.0], np.cumprod(a / np.minimum(np.arange(1, K + 1), c))))
    if model.arrival_rate == 0 or not weights.sum() < _LARGEST:
        return False
    rates(to, model)
    to.given("K", K, "places, the servers included")
    to.let("a", "lam / mu", "erlangs offered; no load is too much where places are limited")
    up, by = ("", "") if c == 1 else (f"min(n + 1, {c}) ", f" / min(n, {c})")
    to.remark(f"lambda p(n) = {up}mu p(n+1), so p(n) = p(n-1) a{by}: weights w(0) = 1, w(1), ..., w(K)")
    to.total("w", weights.tolist(), "w(0) + ... + w(K)")
    to.let("p_0", "1 / w", "the probabilities add up to 1")
    p = weights / weights.sum()
    shown = f"{number(weights[-1])} / {number(weights.sum())}"
    to.found("p_block", p[-1], "w(K) / w", f"an arrival that finds all places taken is lost: {PASTA}", shown)
    to.let("X", "lam * (1 - p_block)", "those who are let in")
    to.let("rho", "X / mu" if c == 1 else "X / mu / c", "share of time that each server is busy")
    to.total("Lq", (np.arange(1, K + 1 - c) * p[c + 1 :]).tolist(), f"sum of (n - {c}) p(n) above {c}")
    to.let("Wq", "Lq / X", f"{LITTLE}, of those who are let in")
    to.steps("W = Wq + 1 / mu | and the service\nL = X * W | Little's law")
    formula = "(w(c) + ... + w(K-1)) / (w(0) + ... + w(K-1))"
    to.found("p_wait", float(weights[c:K].sum() / weights[:K].sum()), formula, "of those who are let in")
    return True


def no_queue(to: DerivationBuilder, model: OpenQueue) -> bool:
    """M/G/c/c."""
    if model.arrival_rate == 0:
        return False
    rates(to, model)
    to.let("a", "lam / mu", "erlangs offered")
    to.let("p_block", _erlang_b(to, model.servers), "Erlang's B, whatever the law of service (Sevastyanov 1957)")
    to.steps(NO_QUEUE, c=model.servers)
    return True


def pollaczek(to: DerivationBuilder, model: OpenQueue) -> bool:
    """M/G/1."""
    if model.arrival_rate == 0 or not math.isfinite(model.service.scv):
        return False
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("S", model.service.mean, "mean service time")
    to.given("cs2", model.service.scv, "its variance over its mean squared: 0 constant, 1 exponential")
    to.steps(POLLACZEK + FROM_THE_WAIT)
    return True


def two_moments(to: DerivationBuilder, model: OpenQueue) -> None:
    """The two scv, the wait of M/M/c, and that of Allen and Cunneen, from which all approximations start."""
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("S", model.service.mean, "mean service time")
    to.given("ca2", model.arrivals.scv, "variance over mean squared of the times between arrivals")
    to.given("cs2", model.service.scv, "the same of the service times")
    to.given("c", model.servers, "servers")
    to.steps(MOMENTS)
    _erlang_c(to, model.servers)
    to.steps(ALLEN_CUNNEEN)


def joined(form: str, indices: Sequence[int], by: str = " + ") -> str:
    """The ``form`` with each index, joined; "0" for none."""
    return by.join(form.format(i=i) for i in indices) or "0"
