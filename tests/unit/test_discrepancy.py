"""What a model misses: made independent, and carried from measured loads to others by the textbook's formulas."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.discrepancy import Discrepancy, Whitening, beyond_the_points, together

USED, NEW = np.array([1.0, 4.0, 32.0]), np.array([2.0, 8.0, 64.0, 5000.0])
NOISE = np.array([0.01, 0.0, 0.03])
SOME = Discrepancy(length=1.0, own=0.05)
ERROR = np.array([0.02, 0.1, 0.3])


def test_whitened_misses_have_the_variances_they_claim() -> None:
    white = Whitening.of(NOISE, SOME.among(USED))
    for i, error in enumerate(ERROR):
        covariance = error**2 * SOME.among(USED) + np.diag(NOISE**2)
        assert white.basis @ covariance @ white.basis.T == pytest.approx(np.diag(white.variance(ERROR)[i]), abs=1e-12)


def test_without_correlation_nothing_is_changed() -> None:
    white = Whitening.of(NOISE)
    assert (white.basis == np.eye(3)).all()
    assert white.variance(ERROR) == pytest.approx(ERROR[:, None] ** 2 + NOISE**2)


def test_mean_and_spread_are_those_of_conditional_normals() -> None:
    misses = np.array([[0.05, -0.1, 0.2]] * 3)
    mean, spread = beyond_the_points(SOME, USED, NOISE, misses, ERROR, NEW)
    for i, error in enumerate(ERROR):
        inverse = np.linalg.inv(error**2 * SOME.among(USED) + np.diag(NOISE**2))
        cross = error**2 * SOME.between(NEW, USED)
        assert mean[i] == pytest.approx(cross @ inverse @ misses[i])
        variance = error**2 * SOME.among(NEW) - cross @ inverse @ cross.T
        assert spread[i] ** 2 == pytest.approx(np.diag(variance))
        one = together(SOME, USED, NOISE, ERROR[i : i + 1], NEW)
        assert one == pytest.approx(variance)


def test_far_from_the_points_nothing_is_known_and_beside_them_nearly_all() -> None:
    mean, spread = beyond_the_points(SOME, USED, 0 * NOISE, np.full((1, 3), 0.1), np.array([0.1]), np.array([4.0, 1e6]))
    assert mean[0] == pytest.approx([0.1, 0.0], abs=0.02)
    assert spread[0, 1] == pytest.approx(0.1, rel=1e-3)
    assert spread[0, 0] < 0.05


def test_no_discrepancy_leaves_each_load_to_itself() -> None:
    mean, spread = beyond_the_points(None, USED, NOISE, np.ones((3, 3)), ERROR, NEW)
    assert (mean == 0).all()
    assert (spread == ERROR[:, None]).all()
