"""General service or arrivals: Pollaczek-Khinchine, M/D/c, batches, GI/M/c, and the approximations for G/G/c.

The theory with its sources is in :mod:`qsim.analytic`, in the file of each family.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.open import gimc, mdc
from qsim.analytic.open.approximations import PREFERRED, kimura, phase_type, whitt
from qsim.analytic.views import OpenQueue
from qsim.derivations.derivation import Page
from qsim.derivations.poisson import LITTLE, PASTA, erlang_c
from qsim.distributions import Distribution

_MOST_TERMS = 100_000
_SMALLEST_TERM = 1e-15


def from_the_wait(page: Page) -> None:
    """``W``, ``Lq`` and ``L`` from ``Wq``, where nobody is lost."""
    page.let("W", "Wq + S", "and the service")
    page.let("Lq", "lam * Wq", LITTLE)
    page.let("L", "lam * W", LITTLE)
    page.let("p_block", "0", "places are not limited")


def pollaczek(page: Page, model: OpenQueue) -> bool:
    """M/G/1."""
    if model.arrival_rate == 0 or not math.isfinite(model.service.scv):
        return False
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("S", model.service.mean, "mean service time")
    page.given("cs2", model.service.scv, "its variance over its mean squared: 0 constant, 1 exponential")
    page.let("rho", "lam * S", "share of time that the server is busy; below 1, so there is a steady state")
    page.let("X", "lam", "nobody is lost")
    page.let("p_wait", "rho", f"who finds the server busy waits: {PASTA}")
    page.let("ES2", "(1 + cs2) * S**2", "second moment of the service time")
    page.let("rest", "ES2 / (2 * S)", "what is left of a service that one comes into: long ones are met more often")
    page.let("Wq", "rho * rest / (1 - rho)", "Pollaczek-Khinchine: that rest, and everyone ahead")
    from_the_wait(page)
    return True


def constant(page: Page, model: OpenQueue) -> bool:
    """M/D/c, by the sum whose terms are all positive."""
    c, a = model.servers, model.offered_load
    terms = spitzer_terms(a, c)
    if c == 1:
        return pollaczek(page, model)
    if terms is None:
        return False
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("S", model.service.mean, "every service takes this long")
    page.given("c", c, "servers")
    page.let("a", "lam * S", "erlangs offered")
    page.let("rho", "a / c", "share of time that each server is busy")
    page.let("X", "lam", "nobody is lost")
    page.remark(
        "looked at one service time apart, the number present goes N' = max(N - c, 0) + Poisson(a); "
        "t(k) = E[max(Poisson(k a) - k c, 0)] / k"
    )
    page.total("Lq", terms.tolist(), "t(1) + t(2) + ...", "the mean of such a walk (Spitzer 1956)")
    page.let("Wq", "Lq / lam", LITTLE)
    page.let("W", "Wq + S", "and the service")
    page.let("L", "lam * W", LITTLE)
    states = mdc.solve(model)
    page.found("p_wait", states.p_wait, "1 - (p(0) + ... + p(c-1))", f"all servers are busy: {PASTA}; p(n) numerically")
    page.let("p_block", "0", "places are not limited")
    return True


def spitzer_terms(offered_load: float, servers: int) -> FloatArray | None:
    """E[max(Poisson(ka) - kc, 0)]/k until they no longer matter; None where that takes too many."""
    from scipy.stats import poisson

    k, found = 1, [np.empty(0)]
    while k <= _MOST_TERMS:
        block = np.arange(k, k + 500)
        at_least, more = (np.asarray(poisson.sf(block * servers - d, block * offered_load)) for d in (1, 0))
        terms = offered_load * at_least - servers * more
        found.append(np.maximum(terms, 0.0))
        if terms[-1] <= _SMALLEST_TERM * sum(f.sum() for f in found):
            every = np.concatenate(found)
            return np.asarray(every[: max(1, int((every > 0).sum()))])
        k += 500
    return None


def any_arrivals(page: Page, model: OpenQueue) -> bool:
    """GI/M/c without a limit on places."""
    assert isinstance(model.arrivals, Distribution)  # noqa: S101
    if model.capacity is not None:
        return False
    c, mu = model.servers, model.service_rate
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("mu", mu, "what a busy server finishes per time unit")
    page.given("c", c, "servers")
    page.let("S", "1 / mu", "mean service time")
    page.let("rho", "lam / (c * mu)", "share of time that each server is busy")
    page.let("X", "lam", "nobody is lost")
    root = page.found(
        "sigma",
        gimc.sigma(model.arrivals, c * mu),
        "A(c mu (1 - sigma))",
        "the root below 1, A the transform E[e^(-s T)] of the times between arrivals",
    )
    if c == 1:
        page.let("p_wait", "sigma", "what arrivals find is geometric with ratio sigma")
    else:
        page.found(
            "p_wait",
            gimc.waiting_probability(model.arrivals, mu, c, root),
            "Takács' sum over the servers",
            "numerically, see qsim.analytic.open.gimc",
        )
    page.let("Wq", "p_wait / (c * mu * (1 - sigma))", "those who wait do so for an exponential time")
    from_the_wait(page)
    return True


def moments(page: Page, model: OpenQueue) -> None:
    """``a``, ``rho``, the two scv, and the wait of M/M/c, from which all approximations start."""
    page.given("lam", model.arrival_rate, "arrivals per time unit")
    page.given("S", model.service.mean, "mean service time")
    page.given(
        "ca2",
        model.arrivals.scv if isinstance(model.arrivals, Distribution) else math.nan,
        "variance over mean squared of the times between arrivals",
    )
    page.given("cs2", model.service.scv, "the same of the service times")
    page.given("c", model.servers, "servers")
    page.let("a", "lam * S", "erlangs offered")
    page.let("rho", "a / c", "share of time that each server is busy")
    page.let("X", "lam", "nobody is lost")
    erlang_c(page, model.servers)
    page.let("WMMc", "C * S / (c - a)", "what the wait would be if all were exponential")


def by_authors(page: Page, model: OpenQueue) -> bool:
    """G/G/c by the approximation that is preferred, the bound beside it."""
    if model.arrival_rate == 0 or phase_type(model) is not None:
        return False
    moments(page, model)
    page.let("p_wait", "C", "taken from M/M/c")
    ca2, cs2, c = page.values["ca2"], page.values["cs2"], model.servers
    allen_cunneen(page)
    names = [n for n in PREFERRED if n != "Cosmetatos" or (ca2 == 1 and cs2 <= 1)]
    names = [n for n in names if n != "Kimura" or (ca2 <= 1 and cs2 <= 1)]
    chosen = {"Cosmetatos": _cosmetatos, "Kimura": _kimura, "Whitt": _whitt}[names[0]] if c > 1 else _kraemer
    author = chosen(page, model)
    page.let("Kingman", "lam * (ca2 / lam**2 + cs2 * S**2 / c) / (2 * (1 - rho))", "an upper bound")
    page.let("Wq", f"min({author}, Kingman)", "an approximation: two moments do not decide the wait")
    from_the_wait(page)
    return True


def allen_cunneen(page: Page) -> None:
    """The simplest of them."""
    page.let("AC", "(ca2 + cs2) / 2 * WMMc", "Allen-Cunneen: half the sum of the variabilities")


def _kraemer(page: Page, _: OpenQueue) -> str:
    below = "exp(-2 * (1 - rho) * (1 - ca2)**2 / (3 * rho * (ca2 + cs2)))"
    above = "exp(-(1 - rho) * (ca2 - 1) / (ca2 + 4 * cs2))"
    if page.values["AC"] == 0:  # nothing varies, nobody waits
        return "AC"
    page.let("f", below if page.values["ca2"] <= 1 else above, "arrivals matter less at light load")
    page.let("KLB", "f * AC", "Krämer & Langenbach-Belz (1976)")
    return "KLB"


def _cosmetatos(page: Page, _: OpenQueue) -> str:
    page.let(
        "even",
        "WMMc / 2 * (1 + (1 - rho) * (c - 1) * (sqrt(4 + 5 * c) - 2) / (16 * c * rho))",
        "about the wait were all services constant, M/D/c",
    )
    page.let("Cosmetatos", "cs2 * WMMc + (1 - cs2) * even", "between the two (Cosmetatos 1976)")
    return "Cosmetatos"


def _kimura(page: Page, model: OpenQueue) -> str:
    value = kimura(model.arrival_rate, model.service.mean, page.values["ca2"], page.values["cs2"], model.servers)
    page.found(
        "Kimura",
        value,
        "(ca2 + cs2) / ((1 - ca2) / Wq(D/M/c) + (1 - cs2) / Wq(M/D/c) + 2 (ca2 + cs2 - 1) / Wq(M/M/c))",
        "between three queues whose answers are known (Kimura 1986)",
    )
    return "Kimura"


def _whitt(page: Page, model: OpenQueue) -> str:
    value = whitt(model.arrival_rate, model.service.mean, page.values["ca2"], page.values["cs2"], model.servers)
    page.found(
        "phi",
        value / page.values["AC"] if page.values["AC"] else 1.0,
        "phi(rho, ca2, cs2, c)",
        "see qsim.analytic.open.approximations for its parts",
    )
    page.let("Whitt", "phi * AC", "Whitt (1993), section 2")
    return "Whitt"
