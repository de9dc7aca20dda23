"""Distributions: moments, distribution functions and draws tell the same story."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

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
from qsim.distributions import law_from_dict

EVERY = [
    Exponential(2.0),
    Deterministic(3.0),
    Erlang(4, 2.0),
    Gamma(2.0, 0.3),
    HyperExponential.from_moments(2.0, 4.0),
    HyperExponential((0.2, 0.3, 0.5), (1.0, 2.0, 5.0)),
    LogNormal(2.0, 1.5),
    Weibull(0.7, 2.0),
    BurrXII(2.0, 4.0, 2.0),
    Mixture((Exponential(1.0), Shifted(LogNormal(2.0, 0.1), 1.0)), (0.4, 0.6)),
    Shifted(Erlang(2, 1.0), 0.5),
    Empirical((1.0, 2.0, 5.0), (3, 1, 1)),
    Empirical.from_histogram((0.0, 1.0, 4.0, 5.0), (2, 5, 1)),
]


@pytest.fixture(params=EVERY, ids=lambda d: type(d).__name__)
def law(request: pytest.FixtureRequest) -> Distribution:
    distribution = request.param
    assert isinstance(distribution, Distribution)
    return distribution


def test_draws_have_the_stated_moments(law: Distribution) -> None:
    draws = law.sample(np.random.Generator(np.random.SFC64(7)), 200_000)
    spread = np.sqrt(law.variance / draws.size)
    assert abs(draws.mean() - law.mean) <= 5 * spread + 1e-12
    # The error of a sample variance comes from the fourth moment, here the sample's own.
    fourth = ((draws - draws.mean()) ** 4).mean()
    assert abs(draws.var() - law.variance) <= 5 * np.sqrt(fourth / draws.size) + 1e-12
    assert law.scv == pytest.approx(law.variance / law.mean**2)


def test_draws_follow_the_distribution_function(law: Distribution) -> None:
    draws = np.sort(law.sample(np.random.Generator(np.random.SFC64(11)), 50_000))
    points = np.unique(draws)
    empirical = np.searchsorted(draws, points, side="right") / draws.size
    # Dvoretzky-Kiefer-Wolfowitz: a distance of 0.014 has a chance below 1e-8.
    assert np.max(np.abs(empirical - law.cdf(points))) < 0.014


@pytest.mark.parametrize("q", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_quantile_inverts_the_distribution_function(law: Distribution, q: float) -> None:
    t = law.quantile(q)
    assert float(law.cdf(t)) >= q - 1e-9
    assert float(law.cdf(t * (1 - 1e-9))) <= q + 1e-6 or isinstance(law, Deterministic | Empirical)


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (Gamma(2.0, 0.3), stats.gamma(1 / 0.3, scale=0.6)),
        (LogNormal(2.0, 1.5), stats.lognorm(math.sqrt(math.log(2.5)), scale=2 / math.sqrt(2.5))),
        (Weibull(0.7, 2.0), stats.weibull_min(0.7, scale=2 / math.gamma(1 + 1 / 0.7))),
        (BurrXII(2.0, 4.0, 2.0), stats.burr12(2.0, 4.0, scale=2 / stats.burr12(2.0, 4.0).mean())),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, Distribution) else "scipy",
)
def test_a_family_is_that_of_scipy(law: Distribution, known: stats.rv_continuous) -> None:
    assert (law.mean, law.variance) == pytest.approx((known.mean(), known.var()), rel=1e-6)
    x = known.ppf([0.01, 0.5, 0.99])
    assert law.cdf(x) == pytest.approx([0.01, 0.5, 0.99])
    assert law.survival(known.isf(1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert [law.quantile(q) for q in (0.01, 0.5, 0.99)] == pytest.approx(x)


def test_a_hyperexponential_from_two_moments_has_them() -> None:
    law = HyperExponential.from_moments(3.0, 3.0)
    assert (law.mean, law.scv) == pytest.approx((3.0, 3.0), rel=1e-6)


@pytest.mark.parametrize("shape", [30.0, 1e4, 1e8])
def test_a_nearly_constant_weibull_has_a_variance(shape: float) -> None:
    """That of a Gumbel time over shape², from its next term on a share 1/shape less."""
    assert Weibull(shape, 1.0).scv == pytest.approx(math.pi**2 / 6 / shape**2, rel=5 / shape)
    assert Weibull(shape, 1.0).scv == pytest.approx(Weibull(shape * (1 + 1e-12), 1.0).scv, rel=1e-9)


@pytest.mark.parametrize("shape", [1.5, 3.5])
def test_a_burr_law_of_large_c_is_paretos(shape: float) -> None:
    """Of P(T > t) = (m/t)^shape from m on, E[min(T, x)] = E[T] - x^(1-shape)·m^shape/(shape - 1)."""
    law, m = BurrXII(1e8, shape * 1e-8, 1.0), (shape - 1) / shape
    x = np.array([m, 1.0, 2.0, 1e3, 1e9])
    assert law.limited_mean(x) == pytest.approx(1 - x ** (1 - shape) * m**shape / (shape - 1), rel=1e-6)
    narrow = BurrXII(1e8, 1e10, 1.0)
    assert narrow.limited_mean([0.5, 1.0, 2.0]) == pytest.approx([0.5, 1.0, 1.0], rel=1e-8)


def test_a_rate_is_one_over_the_mean() -> None:
    assert Exponential(rate=4.0) == Exponential(0.25)
    assert Exponential(math.inf).rate == 0.0
    for wrong in ({}, {"mean": 1.0, "rate": 1.0}):
        with pytest.raises(ValueError, match="mean or rate must be given, and not both"):
            Exponential(**wrong)


def test_scaling_multiplies_times_and_keeps_the_shape(law: Distribution) -> None:
    scaled = law.scaled(1e-6)
    assert type(scaled) is type(law)
    assert scaled.mean == pytest.approx(1e-6 * law.mean)
    assert scaled.scv == pytest.approx(law.scv)
    assert scaled.quantile(0.7) == pytest.approx(1e-6 * law.quantile(0.7), rel=1e-9)


def test_values_compare_hash_and_travel(law: Distribution) -> None:
    copy = pickle.loads(pickle.dumps(law))  # noqa: S301
    assert copy == law
    assert hash(copy) == hash(law)


def test_a_histogram_spreads_times_evenly_within_a_bin() -> None:
    histogram = Empirical.from_histogram((0.0, 1.0, 3.0), (1, 1))
    assert histogram.mean == pytest.approx(1.25)
    assert histogram.cdf([0.5, 1.0, 2.0, 3.0, 9.0]) == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: Exponential(0), "mean"),
        (lambda: Exponential(float("nan")), "mean"),
        (lambda: Exponential("fast"), "mean"),  # type: ignore[arg-type]
        (lambda: Deterministic(-1), "value"),
        (lambda: Erlang(0, 1.0), "k"),
        (lambda: Erlang(2.5, 1.0), "k"),  # type: ignore[arg-type]
        (lambda: Gamma(1.0, 0), "scv"),
        (lambda: LogNormal(-1.0, 1), "mean"),
        (lambda: LogNormal(float("inf"), 1), "mean"),
        (lambda: Weibull(0, 1), "shape"),
        (lambda: BurrXII(0, 1, 1), "c"),
        (lambda: BurrXII(1.0, 1.0, 1.0), "c times k"),
        (lambda: HyperExponential((0.5, 0.6), (1, 2)), "probabilities"),
        (lambda: HyperExponential((0.5, 0.5), (1, 2, 3)), "means"),
        (lambda: HyperExponential.from_moments(1.0, 0.5), "scv"),
        (lambda: Mixture((Exponential(1),), (0.5,)), "weights"),
        (lambda: Mixture((3.0,), (1.0,)), "components"),  # type: ignore[arg-type]
        (lambda: Mixture((Exponential(float("inf")),), (1.0,)), "components"),
        (lambda: Shifted(Exponential(1), -1), "shift"),
        (lambda: Empirical(()), "values"),
        (lambda: Empirical(3.0), "values"),  # type: ignore[arg-type]
        (lambda: Empirical((1.0, "slow")), "values"),  # type: ignore[arg-type]
        (lambda: Mixture(3, 4), "components"),  # type: ignore[arg-type]
        (lambda: Empirical((1.0, -2.0)), "values"),
        (lambda: Empirical((1.0, 2.0), (1.0,)), "weights"),
        (lambda: Empirical((1.0, 2.0), (0.0, 0.0)), "weights"),
        (lambda: Empirical.from_histogram((0, 2, 1), (1, 1)), "edges"),
        (lambda: Empirical.from_histogram((0, 1), (1, 1)), "edges"),
        (lambda: Exponential(1).quantile(1.0), "q"),
        (lambda: Exponential(rate=-1.0), "rate must be positive"),
        (lambda: Exponential(1).scaled(0), "factor"),
    ],
)
def test_nonsense_is_refused_by_name(build: object, parameter: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=parameter):
        build()


@pytest.mark.parametrize("wrong", [True, "2", [1.0, False]])
def test_a_law_on_file_takes_numbers_alone(wrong):
    with pytest.raises(ValueError, match=r'a law takes numbers, not (true|false|"2")'):
        law_from_dict({"family": "Exponential", "mean": wrong})
