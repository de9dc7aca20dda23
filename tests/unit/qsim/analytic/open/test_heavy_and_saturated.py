"""Laws of large scv and loads near one: examples that came out wrong, each against a value known otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from class_networks import Flow as ClassFlow
from class_networks import queue_of

from qsim import MG1, MM1K, Deterministic, Empirical, Exponential, GGc, LogNormal, Weibull, solve
from qsim.analytic.evidence import with_errors


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
