"""Poisson weights, and probabilities after a time."""

from __future__ import annotations

import pytest
from scipy.stats import poisson

from qsim.analytic.times.uniformisation import poisson_window


@pytest.mark.parametrize("expected", [0.0, 1e-3, 3.0, 500.0, 2e5])
def test_the_window_holds_all_that_counts(expected: float) -> None:
    first, weights = poisson_window(expected)
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert weights[-1] == pytest.approx(poisson.pmf(first + weights.size - 1, expected), rel=1e-6)
