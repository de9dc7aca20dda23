"""Fits to disturbed points are draws of the posterior where the model is linear, and reach every ridge and mode."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.log_posterior import ErrorPrior, LogPosterior, Parameter
from calibrate.random_starts import random_starts

LOADS = np.log([1.0, 4.0, 16.0])
KNOWN = ErrorPrior(0.05, 1e-3)
"""A model's error that is known nearly."""


def target(parameters: list[Parameter], slopes: np.ndarray, observed: np.ndarray) -> LogPosterior:
    return LogPosterior.of(
        parameters, lambda values: np.log(values) @ slopes, observed, np.full(len(observed), 0.03), KNOWN, None
    )


def test_of_a_linear_model_they_are_draws() -> None:
    slopes = np.array([np.ones(3), LOADS])
    parameters = [Parameter("a", "", 1e-3, 1e3), Parameter("b", "", 1e-3, 1e3, 1.0, 0.1)]
    made = random_starts(target(parameters, slopes, LOADS / 5), np.zeros((1, 2)), 4000, np.random.default_rng(0))
    precision = slopes @ slopes.T / (0.05**2 + 0.03**2) + np.diag([0, 1 / 0.1**2])
    exact = np.linalg.inv(precision)
    mean = exact @ slopes @ (LOADS / 5) / (0.05**2 + 0.03**2)
    assert made[:, :2].mean(axis=0) == pytest.approx(mean, abs=0.1 * float(np.sqrt(exact.max())))
    assert np.cov(made[:, :2].T) == pytest.approx(exact, rel=0.15)
    assert np.exp(made[:, 2]) == pytest.approx(np.full(4000, 0.05), rel=0.01)


def test_they_lie_all_along_a_ridge_and_within_the_bounds() -> None:
    parameters = [Parameter("a", "", 0.1, 10.0), Parameter("b", "", 0.1, 10.0)]
    made = random_starts(
        target(parameters, np.ones((2, 3)), np.zeros(3)), np.zeros((1, 2)), 500, np.random.default_rng(0)
    )
    assert np.abs(made[:, :2]).max() <= np.log(10)
    assert np.abs(made[:, 0] + made[:, 1]).max() < 0.5
    assert np.percentile(made[:, 0], 5) < -1  # half of the descents begin at the mode
    assert np.percentile(made[:, 0], 95) > 1


def test_a_descent_that_got_stuck_is_left_out() -> None:
    """Beyond ln a = 2 there is a plateau that nothing leads away from."""
    stuck = LogPosterior.of(
        [Parameter("a", "", 1e-3, 1e6)], lambda values: np.minimum(np.log(values), 2.0) + np.zeros(3), np.zeros(3),
        np.full(3, 0.03), KNOWN, None,
    )  # fmt: skip
    made = random_starts(stuck, np.zeros((1, 1)), 500, np.random.default_rng(0))
    assert len(made) == 500
    assert np.abs(made[:, 0]).max() < 1


def test_what_a_bound_stopped_is_put_inside() -> None:
    """Far beyond the bound -ln a is exponential of rate miss / s^2, and s about what is missed at it."""
    pressed = LogPosterior.of(
        [Parameter("a", "", 1e-3, 1.0)], np.log, np.array([5.0]), np.zeros(1), ErrorPrior(0.1), None
    )  # fmt: skip
    made = random_starts(pressed, np.zeros((1, 1)), 2000, np.random.default_rng(0))
    assert np.percentile(made[:, 0], [5, 50, 95]) == pytest.approx([-2.75, -0.56, -0.04], rel=0.5)  # by quadrature
    assert (np.exp(made[:, 1]) > 1.7).mean() > 0.3  # 0.8 of them, by quadrature


def test_errors_are_tried_as_far_as_the_posterior_allows() -> None:
    """Two observations of one number that are e^5 apart."""
    apart = LogPosterior.of(
        [Parameter("a", "", 1e-6, 1e6)], lambda values: np.log(values) + np.zeros(2), np.array([-2.5, 2.5]),
        np.zeros(2), ErrorPrior(0.03, 0.7), None,
    )  # fmt: skip
    error = np.exp(np.median(random_starts(apart, np.zeros((1, 1)), 500, np.random.default_rng(0))[:, 1]))
    assert 0.8 < error < 2  # four deviations of the prior are 0.5
