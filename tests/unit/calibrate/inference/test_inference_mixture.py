"""Quantiles of weighted mixtures of normals: against scipy's normal distribution and against roots of the exact sum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from calibrate.inference.weights import FEW, quantiles

SHARES = (0.005, 0.05, 0.5, 0.95, 0.995)


def exact(mean: np.ndarray, deviation: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Quantiles by bisection of the exact distribution function."""
    low, high = (mean - 9 * deviation).min(), (mean + 9 * deviation).max()
    share = weight / weight.sum()
    return np.array([brentq(lambda x, q=q: share @ norm.cdf((x - mean) / deviation) - q, low, high) for q in SHARES])


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (17.0, 1e-6), (-3e4, 250.0)])
def test_of_one_normal_they_are_its_own(mean: float, deviation: float) -> None:
    found = quantiles(np.array([[mean]]), np.array([[deviation]]), np.ones(1), SHARES)[:, 0]
    assert (found - mean) / deviation == pytest.approx(norm.ppf(SHARES), abs=0.01)


@pytest.mark.parametrize("count", [2, 30, 5000])
@pytest.mark.parametrize("narrow", [1.0, 0.05])
def test_of_a_mixture_they_are_the_roots_of_its_distribution_function(count: int, narrow: float) -> None:
    rng = np.random.default_rng(count)
    mean, deviation = rng.normal(size=count), narrow * rng.uniform(0.2, 1.0, count)
    weight = rng.uniform(0.1, 1.0, count)
    found = quantiles(mean[:, None], deviation[:, None], weight, SHARES)[:, 0]
    wanted = exact(mean, deviation, weight)
    assert np.abs(found - wanted).max() < 0.01 * (wanted[3] - wanted[1])


def test_of_points_without_width_they_are_the_points() -> None:
    mean = np.arange(100.0)[:, None]
    found = quantiles(mean, np.zeros((100, 1)), np.ones(100), (0.1, 0.5, 0.9))[:, 0]
    assert found == pytest.approx([9.5, 49.5, 89.5], abs=0.6)
    assert quantiles(np.full((3, 1), 7.0), np.zeros((3, 1)), np.ones(3), (0.1, 0.9)).ravel().tolist() == [7.0, 7.0]


@pytest.mark.parametrize("count", [1, 3, FEW])
def test_of_a_few_components_the_distribution_function_is_met_exactly(count: int) -> None:
    rng = np.random.default_rng(count)
    mean, deviation = rng.normal(size=(count, 5)), rng.uniform(0.05, 2, (count, 5))
    weight = rng.uniform(0.1, 1, count)
    found = quantiles(mean, deviation, weight, SHARES)
    expected = [exact(mean[:, i], deviation[:, i], weight) for i in range(5)]
    assert found.T == pytest.approx(np.array(expected), abs=1e-8)


def test_a_gap_between_few_components_is_crossed() -> None:
    found = quantiles(np.array([[0.0], [1e3]]), np.array([[1.0], [1.0]]), np.array([0.6, 0.4]), (0.3, 0.6, 0.8))[:, 0]
    assert found[[0, 2]] == pytest.approx([norm.ppf(0.5), 1e3 + norm.ppf(0.5)], abs=1e-6)
    assert 3 < found[1] < 997


@pytest.mark.parametrize("count", [2, 4, 2500])
def test_between_two_halves_the_median_is_the_middle_of_the_gap_whatever_the_last_bit(count: int) -> None:
    mean = np.repeat([0.0, 100.0], count // 2)[:, None]
    medians = []
    for seed in range(4):
        weight = 1 + 1e-15 * np.random.default_rng(seed).choice([-1.0, 1.0], count)
        medians.append(quantiles(mean, np.ones((count, 1)), weight, (0.5,))[0, 0])
    assert medians == pytest.approx([50.0] * 4, abs=0.1)
    assert np.ptp(medians) < 1e-6
