"""Moments, transforms and phases: what the families say of themselves against plain integration and sampling."""

from __future__ import annotations

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from qsim import (
    BurrXII,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Mixture,
    Shifted,
    Weibull,
)

SMOOTH = [
    Exponential(2.0),
    Erlang(3, 2.0),
    HyperExponential((0.3, 0.7), (1.0, 5.0)),
    Gamma(2.0, 0.3),
    LogNormal(2.0, 3.0),
    Weibull(0.7, 2.0),
    BurrXII(2.0, 4.0, 2.0),
    Mixture((Exponential(1.0), Erlang(2, 4.0)), (0.2, 0.8)),
]
STEPPED = [Deterministic(2.0), Shifted(Gamma(1.0, 2.0), 0.5), Empirical((1.0, 2.0, 5.0), (1, 2, 3), (0.5, 0.0, 1.0))]


@pytest.mark.parametrize("law", [*SMOOTH, *STEPPED], ids=repr)
def test_moments_and_transform_against_integration(law: Distribution) -> None:
    rel = 1e-6 if law in SMOOTH else 0.05  # plain integration stumbles over jumps
    assert law.moment(0) == pytest.approx(1.0)
    assert law.moment(1) == pytest.approx(law.mean)
    assert law.moment(2) == pytest.approx(law.variance + law.mean**2)
    assert law.moment(3) == pytest.approx(Distribution.moment(law, 3), rel=rel)
    assert law.transform(0.0) == pytest.approx(1.0)
    for s in (1e-3, 0.5, 4.0):
        assert law.transform(s) == pytest.approx(Distribution.transform(law, s), rel=rel)


WITH_ZEROS = [Shifted(Deterministic(0.0), 0.5), Mixture((Deterministic(0.0), Exponential(1.0)), (0.4, 0.6))]


@pytest.mark.parametrize("law", [*SMOOTH, *STEPPED, *WITH_ZEROS], ids=repr)
def test_the_transform_of_what_is_left_of_a_time_follows_from_that_of_the_time(law: Distribution) -> None:
    for s in (0.01, 0.5, 4.0):
        assert law.residual(s) == pytest.approx((1 - law.transform(s)) / (s * law.mean), rel=1e-8)


@pytest.mark.parametrize("law", [*SMOOTH, *STEPPED], ids=repr)
def test_limited_mean_against_integration(law: Distribution) -> None:
    fine = np.linspace(0.0, 40.0, 400_001)
    height = 1 - law.cdf(fine)
    area = np.concatenate(([0.0], np.cumsum((height[1:] + height[:-1]) / 2 * 1e-4)))
    wanted = np.append(np.linspace(-1.0, 40.0, 400), [3.0, 0.2])  # in no order, from below zero
    np.testing.assert_allclose(law.limited_mean(wanted), np.interp(wanted, fine, area), atol=2e-4, rtol=2e-3)
    assert float(law.limited_mean(np.array([1e6]))[0]) <= law.mean * (1 + 1e-9)


@pytest.mark.parametrize("law", [d for d in SMOOTH if d.phases() is not None], ids=repr)
def test_phases_describe_the_same_law(law: Distribution) -> None:
    alpha, T = law.phases()  # type: ignore[misc]
    assert alpha @ np.linalg.solve(-T, np.ones(alpha.size)) == pytest.approx(law.mean)
    for t in (0.0, 0.3, 2.0, 11.0):
        assert alpha @ expm(T * t) @ np.ones(alpha.size) == pytest.approx(float(law.survival(t)), abs=1e-12)


def test_burr_is_its_relatives_at_their_shapes() -> None:
    lomax = BurrXII(1.0, 3.0, 2.0)  # scale 4: P(T > t) = (1 + t/4)^-3
    assert lomax.scale == pytest.approx(4.0)
    assert float(lomax.cdf(4.0)) == pytest.approx(1 - 2.0**-3)
    assert lomax.scv == pytest.approx(3.0)
    assert lomax.moment(3) == np.inf
    assert BurrXII(1.0, 2.0, 1.0).scv == np.inf


@pytest.mark.filterwarnings("error")
def test_a_steep_burr_is_computed_without_overflow() -> None:
    steep = BurrXII(609.0, 0.0234, 53.2e-6)  # as fitted to published percentiles
    for q in (1e-6, 0.5, 0.999, 1 - 1e-12):
        assert float(steep.cdf(steep.quantile(q))) == pytest.approx(q, rel=1e-9)
    assert steep.cdf([0.0, 1e-9, 1.0, 1e300]).tolist() == pytest.approx([0.0, 0.0, 1.0, 1.0])
    assert Weibull(300.0, 1.0).cdf([0.0, 1e3]).tolist() == [0.0, 1.0]
    heavy = BurrXII(2000.0, 6e-4, 1.0)  # one draw in 1.5 has a hazard whose exponential is beyond every number
    draws = heavy.sample(np.random.default_rng(1), 20_000)
    assert np.isfinite(draws).all()
    assert (draws <= heavy.quantile(0.5)).mean() == pytest.approx(0.5, abs=0.02)


SHAPES = product([1.5, 10.0, 29.0, 31.0, 431.9, 1e4, 1e8, 1e12], [0.02, 1.0, 3.0, 1e4, 1e6, 1e14, 1e19, 1e100])


@pytest.mark.parametrize(("c", "k"), [(c, k) for c, k in SHAPES if c * k > 2.5])  # with a variance
def test_the_scv_of_burr_is_right_for_any_shapes(c: float, k: float) -> None:
    with mpmath.workdps(250):
        C, K = mpmath.mpf(c), mpmath.mpf(k)
        one, two = (mpmath.loggamma(K - r / C) + mpmath.loggamma(1 + r / C) - mpmath.loggamma(K) for r in (1, 2))
        exact = float(mpmath.expm1(two - 2 * one))
    assert BurrXII(c, k, 1.0).scv == pytest.approx(exact, rel=1e-6)
