"""Single queues: Poisson and general arrivals, constant and general service, priorities, other orders.

The theory with its sources is in :mod:`qsim.analytic.open`, in the file of each family.  A function returns False for a
model that no board has room for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from qsim.analytic.open import gimc, mdc
from qsim.analytic.open.mmc import erlang_c
from qsim.analytic.open.size_based import RULES
from qsim.analytic.open.split import SplitQueue
from qsim.analytic.views import ClassQueue, OpenQueue
from qsim.derivations.builder import DerivationBuilder
from qsim.derivations.expressions import number
from qsim.distributions import Exponential

LITTLE = "Little's law"
PASTA = "Poisson arrivals see time averages"
_LARGEST = 1e300
_MOST_CLASSES = 12

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
ENDLESS = """
X = lam | nobody is lost
W = S | a server for everyone: nobody waits
L = lam * W | Little's law
""" + "\n".join(f"{name} = 0 | a server is always free" for name in ("rho", "Lq", "Wq", "p_wait", "p_block"))
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
    """``C`` from ``a``, ``c`` and ``rho``."""
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


def endless_servers(to: DerivationBuilder, model: OpenQueue) -> bool:
    """G/G/∞."""
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("S", model.service.mean, "mean service time")
    to.steps(ENDLESS)
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


def constant(to: DerivationBuilder, model: OpenQueue) -> bool:
    """M/D/c, by the sum whose terms are all positive."""
    terms = mdc.spitzer_terms(model.offered_load, model.servers)
    if terms is None:
        return False
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("S", model.service.mean, "every service takes this long")
    to.given("c", model.servers, "servers")
    to.steps(MOMENTS)
    to.remark(
        "looked at one service time apart, the number present goes N' = max(N - c, 0) + Poisson(a); "
        "t(k) = E[max(Poisson(k a) - k c, 0)] / k"
    )
    to.total("Lq", terms.tolist(), "t(1) + t(2) + ...", "the mean of such a walk (Spitzer 1956)")
    to.steps("Wq = Lq / lam | Little's law" + FROM_THE_WAIT.replace("Lq = lam * Wq | Little's law\n", ""))
    waits = mdc.waiting_probability(model.offered_load, model.servers)
    to.found("p_wait", waits, "1 - exp(-(u(1) + u(2) + ...))", "u(k) = P(Poisson(k a) >= k c) / k, likewise")
    return True


def any_arrivals(to: DerivationBuilder, model: OpenQueue) -> bool:
    """GI/M/c without a limit on places."""
    c, mu = model.servers, model.service_rate
    to.given("lam", model.arrival_rate, "arrivals per time unit")
    to.given("mu", mu, "what a busy server finishes per time unit")
    to.given("c", c, "servers")
    to.steps(
        "S = 1 / mu | mean service time\n"
        "rho = lam / (c * mu) | share of time that each server is busy\nX = lam | nobody is lost"
    )
    why = "the root below 1, A the transform E[e^(-s T)] of the times between arrivals"
    root = to.found("sigma", gimc.sigma(model.arrivals, c * mu), "A(c mu (1 - sigma))", why)
    if c == 1:
        to.let("p_wait", "sigma", "what arrivals find is geometric with ratio sigma")
    else:
        waits = gimc.waiting_probability(model.arrivals, mu, c, root)
        to.found("p_wait", waits, "Takács' sum over the servers", "numerically, see qsim.analytic.open.gimc")
    to.let("Wq", "p_wait / (c * mu * (1 - sigma))", "those who wait do so for an exponential time")
    to.steps(FROM_THE_WAIT)
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


def own_queues(to: DerivationBuilder, view: SplitQueue) -> bool:
    """Servers with a queue of their own: one of them, and then all."""
    servers = view.whole.servers
    to.remark(f"each of the {servers} servers has a queue of its own, and is {view.one.kendall}:")
    if not to.queue(view.one):
        return False
    to.without("throughput", "L", "Lq")
    to.remark(f"and all {servers} together:")
    to.given("k", servers, "such queues")
    to.steps("\n".join(f"{name} = k * {name} | the same at each" for name in ("X", "L", "Lq")))
    return True


def other_order(to: DerivationBuilder, model: OpenQueue) -> bool:
    """Orders whose means are those of first come, first served, or of M/M/c."""
    preempting, order = model.discipline == "LCFS-PR", model.discipline
    if order in RULES:
        return False
    if order == "PS" or (preempting and model.servers == 1 and model.poisson):
        return _insensitive(to, model)
    first_come = dataclasses.replace(model, discipline="FCFS")
    to.remark(
        f"{order} does not look at how long a service takes: the means are those of {first_come.kendall}, "
        "only the spread of the waits differs"
    )
    if not to.queue(first_come):
        return False
    if preempting:
        to.drop("p_wait")
    return True


def _insensitive(to: DerivationBuilder, model: OpenQueue) -> bool:
    """PS, or LCFS-PR with any service: the number present is that of M/M/c."""
    if model.capacity is not None:
        return False
    same = OpenQueue(model.arrivals, Exponential(model.service.mean), model.servers)
    to.remark(
        f"{model.discipline} is insensitive to the law of service (Kelly 1979, section 3.3): the number present is "
        f"that of {same.kendall}, and Wq is what the others hold a customer up"
    )
    if not poisson(to, same):
        return False
    to.drop("p_wait")
    if model.servers == 1:
        to.found("alone", model.service.transform(model.arrival_rate), "E[e^(-lambda S)]", "nobody comes in a service")
        held_up = "1 - alone" if model.discipline == "LCFS-PR" else "1 - (1 - rho) * alone"
        to.let("p_wait", held_up, "others hold one up at some moment")
    return True


def priorities(to: DerivationBuilder, model: ClassQueue) -> bool:
    """Classes at one server, or at several with the same exponential service."""
    classes, c = model.classes, model.servers
    preemptive = model.priority == "preemptive-resume"
    alike = all(isinstance(k.service, Exponential) and k.service == classes[0].service for k in classes)
    finite = all(math.isfinite(k.service.variance) for k in classes)
    if len(classes) > _MOST_CLASSES or not finite or (c > 1 and (preemptive or not alike)):
        return False
    to.given("c", c, "servers")
    at = range(1, len(classes) + 1)
    for r, (k, name) in enumerate(zip(classes, model.names, strict=True), 1):
        urgency = f", priority {k.priority}" if model.priority != "none" else ""
        to.given(f"lam_{r}", k.arrival_rate, f"arrivals per time unit of {name}{urgency}")
        to.given(f"S_{r}", k.service.mean, "their mean service time")
        if c == 1:
            to.given(f"M_{r}", k.service.moment(2), "its second moment, E[S^2]")
        to.let(f"a_{r}", f"lam_{r} * S_{r}", "work that they bring per time unit")
    to.let("lam", joined("lam_{i}", at), "all arrivals")
    to.let("a", joined("a_{i}", at), "all work")
    to.let("rho", "a / c", "share of time that each server is busy; below 1, so there is a steady state")
    if c == 1:
        why = f"what is left of the service that one comes into, over all classes: {PASTA}"
        to.let("W0", joined("lam_{i} * M_{i} / 2", at), why)
    else:
        to.given("S", classes[0].service.mean, "mean service time, the same for all")
        to.found("C", erlang_c(c, model.offered_load), "ErlangC(c, a)", "all servers are busy")
        to.let("W0", "C * S / c", "until the first of them is free")
    if model.priority == "none":
        to.let("Wq_1", "W0 / (1 - rho)", "first come, first served: all wait alike")
        for r in at[1:]:
            to.let(f"Wq_{r}", "Wq_1")
    else:
        _by_level(to, model, preemptive)
    for r in at:
        to.let(f"W_{r}", f"Wq_{r} + S_{r}", "and the service")
        to.let(f"L_{r}", f"lam_{r} * W_{r}", LITTLE)
    to.remark("all classes together:")
    to.let("X", "lam", "nobody is lost")
    to.let("L", joined("L_{i}", at))
    to.let("Lq", joined("lam_{i} * Wq_{i}", at), LITTLE)
    to.steps("W = L / lam | the mean over all who come\nWq = Lq / lam\np_block = 0 | places are not limited")
    if not preemptive:
        to.let("p_wait", "rho" if c == 1 else "C", PASTA)
    return True


def _by_level(to: DerivationBuilder, model: ClassQueue, preemptive: bool) -> None:
    to.remark(
        "sigma(p) is the load of all that go before or with level p. An arrival waits for what is there, W0, and for "
        "everyone of its level or above that is there or comes meanwhile: W0 / ((1 - sigma(p-1)) (1 - sigma(p)))"
        + (" (White & Christie 1958); those below are not noticed" if preemptive else " (Cobham 1954)")
    )
    to.let("sigma_0", "0", "nobody goes before the first level")
    ahead: list[str] = []
    for p, priority in enumerate(sorted({k.priority for k in model.classes}), 1):
        members = [r for r, k in enumerate(model.classes, 1) if k.priority == priority]
        to.let(f"sigma_{p}", f"sigma_{p - 1} + {joined('a_{i} / c', members)}", f"levels up to priority {priority}")
        ahead += [f"lam_{r} * M_{r} / 2" for r in members]
        if preemptive:
            to.let(f"V_{p}", " + ".join(ahead), "what is left of the services at these levels")
        for r in members:
            wait = f"{f'V_{p}' if preemptive else 'W0'} / ((1 - sigma_{p - 1}) * (1 - sigma_{p}))"
            held_up = f" + S_{r} * sigma_{p - 1} / (1 - sigma_{p - 1})" if preemptive else ""
            why = "; interruptions count as waiting" if preemptive else ""
            to.let(f"Wq_{r}", wait + held_up, f"{model.names[r - 1]}{why}")


def joined(form: str, indices: Sequence[int], by: str = " + ") -> str:
    """A form with each index, put together; 0 of none."""
    return by.join(form.format(i=i) for i in indices) or "0"
