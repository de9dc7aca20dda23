"""A mixture of t distributions: its density, its draws, what it is fitted to, and what weights are worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_t

from calibrate.t_mixture import FREEDOM, TMixture, effective, resampled

RNG = np.random.default_rng(1)


def test_the_density_is_that_of_scipy() -> None:
    centres, factors = np.array([[0.0, 1.0], [3.0, -2.0]]), np.array([[[1.0, 0.0], [0.5, 2.0]], np.eye(2)])
    points = RNG.standard_normal((20, 2))
    parts = [multivariate_t(m, f @ f.T, df=FREEDOM).pdf(points) for m, f in zip(centres, factors, strict=True)]
    made = TMixture(np.array([0.3, 0.7]), centres, factors)
    assert made.log_density(points) == pytest.approx(np.log(0.3 * parts[0] + 0.7 * parts[1]))


def test_draws_have_the_density() -> None:
    """Weighed against itself a mixture is worth all of its draws, and the mean of the ratio to another is one."""
    made = TMixture(np.array([0.4, 0.6]), np.array([[0.0, 0.0], [4.0, 1.0]]), np.array([np.eye(2), 0.5 * np.eye(2)]))
    wider = TMixture(made.shares, made.centres, 1.5 * made.factors)
    points = wider.draw(RNG, 40_000)
    ratio = np.exp(made.log_density(points) - wider.log_density(points))
    assert ratio.mean() == pytest.approx(1.0, abs=5 * ratio.std() / 200)


def test_it_is_fitted_to_two_clouds_far_apart() -> None:
    clouds = np.concatenate([RNG.normal(0, 1, (600, 2)), RNG.normal(50, 0.1, (300, 2))])
    made = TMixture.fitted(clouds, 8, np.random.default_rng(0))
    drawn = made.draw(RNG, 9000)
    assert (drawn[:, 0] > 25).mean() == pytest.approx(1 / 3, abs=0.03)
    near = drawn[drawn[:, 0] < 25]
    assert np.median(near, axis=0) == pytest.approx([0, 0], abs=0.3)


def test_a_cloud_on_a_line_is_fitted() -> None:
    line = np.column_stack([np.linspace(0, 1, 200), np.full(200, 7.0)])
    drawn = TMixture.fitted(line, 4, np.random.default_rng(0)).draw(RNG, 500)
    assert drawn[:, 1] == pytest.approx(np.full(500, 7.0), abs=1e-6)


def test_what_weights_are_worth() -> None:
    assert effective(np.zeros(50)) == pytest.approx(50)
    assert effective(np.array([0.0, *np.full(49, -np.inf)])) == pytest.approx(1)
    assert effective(np.log([0.5, 0.25, 0.25])) == pytest.approx(1 / 0.375)


def test_resampled_draws_are_weighted_no_more() -> None:
    points = RNG.standard_normal((4000, 1))
    shifted = resampled(RNG, points, 0.5 * points[:, 0], 4000, least=10)
    assert shifted.mean() == pytest.approx(0.5, abs=0.06)  # exp(x / 2) moves a standard normal by 1 / 2
    assert abs(np.corrcoef(np.arange(4000), shifted[:, 0])[0, 1]) < 0.06  # no order


def test_weights_of_a_few_are_evened_out() -> None:
    points = np.arange(1000.0)[:, None]
    log_weights = np.where(points[:, 0] < 3, 0.0, -40.0)
    assert len(np.unique(resampled(RNG, points, log_weights, 500, least=1))) == 3
    assert len(np.unique(resampled(RNG, points, log_weights, 500, least=200))) > 100
    log_weights[500:] = -np.inf  # outside the bounds
    assert resampled(RNG, points, log_weights, 500, least=200).max() < 500
    log_weights[2:] = -np.inf  # fewer are left than the weights should be worth
    assert set(resampled(RNG, points, log_weights, 500, least=200)[:, 0]) == {0.0, 1.0}


def test_draws_of_several_are_as_if_of_the_joined_one() -> None:
    one = TMixture(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)))
    other = TMixture(np.array([0.5, 0.5]), np.array([[3.0], [5.0]]), np.ones((2, 1, 1)))
    points = RNG.standard_normal((20, 1))
    parts = 0.25 * np.exp(one.log_density(points)) + 0.75 * np.exp(other.log_density(points))
    assert np.exp(TMixture.joined([one, other], [100, 300]).log_density(points)) == pytest.approx(parts)
