"""Poisson weights, and probabilities after a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array
from scipy.stats import poisson

from qsim.analytic.chains.uniformisation import advanced, poisson_window


@pytest.mark.parametrize("expected", [0.0, 1e-3, 3.0, 500.0, 2e5])
def test_the_window_holds_all_that_counts(expected: float) -> None:
    first, weights = poisson_window(expected)
    assert weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert weights[-1] == pytest.approx(poisson.pmf(first + weights.size - 1, expected), rel=1e-6)


def test_long_and_short_times_are_those_of_the_exponential() -> None:
    Q = np.array([[-5.0, 5.0, 0.0], [1.0, -3.0, 2.0], [0.0, 40.0, -40.0]])
    begin = np.array([0.2, 0.8, 0.0])
    for t in (0.0, 0.01, 1.0, 30.0):
        assert advanced(begin, csr_array(Q), t) == pytest.approx(begin @ expm(Q * t), abs=1e-12)
