"""M/G/1: the lattice of times against phases."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq
from service_laws import LAWS

from qsim import MD1, MG1, Deterministic, Distribution, solve
from qsim.analytic.times import CompoundTimes


@pytest.mark.parametrize("service", LAWS[:3], ids=repr)
def test_the_lattice_encloses_the_phase_type_answer(service: Distribution) -> None:
    r = solve(MG1(0.8, service))
    times = CompoundTimes(service, 0.8, r.Wq)
    for q in (0.1, 0.5, 0.9, 0.999):
        for of in ("W", "Wq"):
            low, high = times.quantile_interval(q, of)
            assert low <= r.quantile(q, of) * (1 + 1e-9)
            assert high >= r.quantile(q, of) * (1 - 1e-9)
            assert high - low <= 5e-3 * max(high, 0.01)


@pytest.mark.parametrize("q", [0.011, 0.015, 0.02, 0.0265])
def test_short_waits_near_saturation_are_not_taken_from_the_exponential_tail(q: float) -> None:
    """Erlang (1909): where each service takes 1, P(Wq <= t) = (1 - rho) e^(rho t) up to t = 1."""
    rho = 0.99
    times, exact = CompoundTimes(Deterministic(1.0), rho, rho / (2 * (1 - rho))), math.log(q / (1 - rho)) / rho
    for of, t in (("Wq", exact), ("W", 1 + exact)):
        low, high = times.quantile_interval(q, of)
        assert low <= t <= high
        assert times.quantile(q, of) == pytest.approx(t, rel=5e-5)


@pytest.mark.parametrize("q", [1e-14, 1e-12, 1e-6])
def test_at_the_smallest_chance_too_nobody_leaves_before_a_constant_service_ends(q: float) -> None:
    r = solve(MD1(0.5, 1.0))
    assert r.quantile(q) == pytest.approx(1.0, rel=1e-3)
    assert r.quantile(q, "Wq") == 0


def test_the_share_of_those_who_find_nobody_waits_nothing_whatever_the_rounding() -> None:
    assert 1 - 0.8 != 0.2
    assert solve(MD1(0.8, 1.0)).quantile([0.2, 0.2 + 1e-9], "Wq") == pytest.approx([0, 1e-9 / 0.16], rel=0.1, abs=0)


@pytest.mark.parametrize("of", ["W", "Wq"])
def test_near_saturation_twice_a_long_wait_is_left_by_the_square_of_its_share(of: str) -> None:
    r = solve(MD1(0.9999, 1.0))
    a_tenth = r.quantile(0.9, of)
    assert a_tenth == pytest.approx(5000 * math.log(10), rel=1e-3)  # E[Wq] = 5000, nearly exponential
    assert [r.survival(times * a_tenth, of) for times in (1, 2)] == pytest.approx([0.1, 0.01], rel=1e-3)


@pytest.mark.parametrize("rho", [0.99, 0.999])
def test_quantiles_far_out_near_saturation_follow_the_exponential_tail(rho: float) -> None:
    """Cramér and Lundberg: P(Wq > t) tends to (1 - rho) / (rho e^d - 1) e^(-d t), where rho (e^d - 1) = d."""
    decay = brentq(lambda d: rho * math.expm1(d) - d, 1e-6, 1.0, xtol=1e-15)
    factor = (1 - rho) / (rho * math.exp(decay) - 1)
    exact = math.log(factor / 1e-9) / decay
    times = CompoundTimes(Deterministic(1.0), rho, rho / (2 * (1 - rho)))
    low, high = times.quantile_interval(1 - 1e-9, "Wq")
    assert low <= exact <= high <= (1 + 1e-4) * low
