"""Laws of large scv and loads near one: examples that came out wrong, each against a value known otherwise."""

from __future__ import annotations

import math
from typing import Any

import pytest
from class_networks import Flow as ClassFlow
from class_networks import queue_of

from qsim import MG1, MM1K, Deterministic, Empirical, Erlang, Exponential, Gamma, GGc, LogNormal, Weibull, solve
from qsim.analytic.open.approximations import with_errors
from qsim.distributions import Distribution


@pytest.mark.parametrize(
    ("law", "q", "known"),
    [(LogNormal(1, 50), 0.999, 6685), (LogNormal(1, 20), 0.9999, 4744), (Weibull(0.3, 1), 0.999, 1343)],
)
def test_percentiles_of_heavy_laws(law: LogNormal | Weibull, q: float, known: float) -> None:
    r = solve(MG1(0.9, law))
    low, high = r.quantile_interval(q)
    assert low <= r.quantile(q) <= high
    assert r.quantile(q) == pytest.approx(known, rel=1e-3)


def test_the_variance_of_equal_classes_is_that_of_m_m_1() -> None:
    classes = [ClassFlow(Exponential(1 / 0.4995), Exponential(1.0)) for _ in range(2)]
    assert solve(queue_of(classes)).variance("W") == pytest.approx(1e6)


def test_jumps_of_a_service_are_not_inverted() -> None:
    law = Empirical([1, 2, 5], [0.6, 0.3, 0.1])
    assert solve(queue_of([ClassFlow(Exponential(5.0), law)])).survival(1.01) == pytest.approx(0.6032, abs=1e-4)


def test_the_mean_is_given_where_the_probabilities_cannot_be() -> None:
    assert solve(GGc(Exponential(1 / 1.999998), Deterministic(1.0), 2)).Wq == pytest.approx(249999.64, rel=1e-6)


def test_constant_services_near_saturation_have_a_probability_of_waiting() -> None:
    """P(no wait) over the slack."""
    slack = [
        (1 - solve(GGc(Exponential(1 / (2 * rho)), Deterministic(1.0), 2)).p_wait) / (1 - rho)
        for rho in (0.95, 0.999, 0.99999)
    ]
    assert slack == pytest.approx([1.547, 1.5640, 1.5644], rel=1e-4)


def test_whose_probabilities_these_are() -> None:
    text = str(solve(MM1K(2, 1, 3)))
    assert "an arrival that is let in waits" in text
    assert "an arrival finds the system full and is lost" in text


def test_a_stated_error_names_its_scope_and_is_not_stated_beyond() -> None:
    measured: dict[str, Any] = {"scv": (0.1, 4.0), "load": 0.9, "servers": 8}
    scope = "for gamma, lognormal and two-point times of scv 0.02 to 4, rho up to 0.9, up to 8 servers)"
    said = with_errors("this", "Kimura", **measured)
    assert said == f"this (W off by 2.2 % at the median, 17 % at worst, {scope}"
    for beyond in ({"scv": (0.019, 4.0)}, {"scv": (0.1, 4.1)}, {"load": 0.91}, {"servers": 9}):
        assert with_errors("this", "Kimura", **measured | beyond) == f"this (error unknown: measured only {scope}"


@pytest.mark.parametrize("rho", [0.9999, 0.999999])
@pytest.mark.parametrize("of", ["W", "Wq"])
@pytest.mark.parametrize("q", [0.5, 0.99, 0.9999])
def test_quantiles_near_saturation_by_the_exponential_tail(rho: float, of: str, q: float) -> None:
    erlang, gamma = solve(MG1(rho, Erlang(2, 1.0))), solve(MG1(rho, Gamma(1.0, 0.5)))  # one law, by two methods
    exact = erlang.quantile(q, of=of)
    low, high = gamma.quantile_interval(q, of=of)
    assert gamma.quantile(q, of=of) == pytest.approx(exact, rel=1e-6)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    assert high / low < 1.001
    t = 1.5 * exact
    assert gamma.survival(t, of=of) == pytest.approx(erlang.survival(t, of=of), rel=1e-5)


@pytest.mark.parametrize(
    "law", [Deterministic(1.0), Empirical((0.5, 1.0, 4.0), (3, 2, 1), (0.5, 0.0, 1.0)), Weibull(2.0, 1.0)], ids=repr
)
def test_a_light_tail_falls_by_the_root_of_lundbergs_equation(law: Distribution) -> None:
    rho = 0.9999
    r = solve(MG1(rho / law.mean, law))
    apart = r.quantile(0.9999, of="Wq") - r.quantile(0.99, of="Wq")
    rate = math.log(100) / apart
    # rho E[e^(rate X)] = 1 for what is left of a service, by its moments: rate^4 is negligible
    left = [law.moment(n + 1) / ((n + 1) * law.mean) for n in (1, 2, 3)]
    sum_of = rate * left[0] + rate**2 * left[1] / 2 + rate**3 * left[2] / 6
    assert rho * (1 + sum_of) == pytest.approx(1.0, abs=1e-10)
