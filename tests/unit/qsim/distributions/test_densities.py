"""Each density is the slope of its distribution function; each family from a mean and an scv has them."""

from __future__ import annotations

import math

import numpy as np
import pytest

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
    Pareto,
    PhaseType,
    Shifted,
    TruncatedNormal,
    Uniform,
    Weibull,
)

DENSE = [
    Exponential(2.0),
    Erlang(3, 2.0),
    HyperExponential.from_moments(2, 4),
    Gamma(2, 0.3),
    LogNormal(2, 2),
    Weibull(0.6, 2.0),
    BurrXII(3, 2, 2.0),
    PhaseType.from_moments(2, 0.4),
    Shifted(Exponential(1.0), 0.5),
    Pareto(3, 1.0),
    Uniform(1, 4),
    TruncatedNormal(2, 1),
    Empirical.from_histogram([0, 1, 4], [3, 1]),
    Mixture((Exponential(1.0), Gamma(5, 0.1)), (0.5, 0.5)),
]


@pytest.mark.parametrize("law", DENSE, ids=repr)
def test_a_density_is_the_slope_of_the_cdf(law: Distribution) -> None:
    x = np.array([0.31, 0.9, 1.7, 3.3, 8.1])
    slope = (law.cdf(x + 1e-5) - law.cdf(x - 1e-5)) / 2e-5
    assert law.pdf(x) == pytest.approx(slope, rel=1e-3, abs=1e-5)
    assert law.pdf([-1.0]).tolist() == [0.0]
    assert law.pdf(0.9) == pytest.approx(law.pdf(x)[1])


def test_atoms_have_no_density() -> None:
    for law in (Deterministic(1.0), Empirical((1, 2))):
        with pytest.raises(ValueError, match="has no density"):
            law.pdf(1.0)


@pytest.mark.parametrize(
    ("family", "scv"),
    [
        (Exponential, 1.0),
        (Deterministic, 0.0),
        (Erlang, 0.25),
        (HyperExponential, 3.0),
        (Gamma, 2.0),
        (LogNormal, 0.2),
        (Weibull, 0.05),
        (Weibull, 1.0),
        (Weibull, 9.0),
        (BurrXII, 0.5),
        (BurrXII, 20.0),
        (PhaseType, 0.3),
        (Pareto, 0.4),
        (Pareto, 5.0),
        (Uniform, 0.1),
        (TruncatedNormal, 0.04),
        (TruncatedNormal, 0.7),
    ],
)
def test_a_family_from_two_moments_has_them(family: type[Distribution], scv: float) -> None:
    law = family.from_moments(3.0, scv)
    assert isinstance(law, family)
    assert (law.mean, law.scv) == pytest.approx((3.0, scv), rel=1e-6)


@pytest.mark.parametrize(
    ("family", "scv", "said"),
    [
        (Exponential, 2.0, "scv of an exponential time must be 1"),
        (Erlang, 0.4, "scv of an Erlang time"),
        (Deterministic, 1.0, "scv of a constant time must be 0"),
        (Weibull, 1e40, "must not be as far from 1"),
        (Empirical, 1.0, "determine no Empirical"),
    ],
)
def test_moments_that_a_family_cannot_have_are_refused(family: type[Distribution], scv: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        family.from_moments(3.0, scv)


def test_a_rate_is_one_over_the_mean() -> None:
    assert Exponential(rate=4.0) == Exponential(0.25)
    assert Exponential(math.inf).rate == 0.0
    for wrong in ({}, {"mean": 1.0, "rate": 1.0}):
        with pytest.raises(ValueError, match="mean or rate must be given, and not both"):
            Exponential(**wrong)
    with pytest.raises(ValueError, match="rate must be positive"):
        Exponential(rate=-1.0)
