"""Poisson weights, and probabilities after a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array
from scipy.stats import poisson

from qsim.analytic.chains import uniformisation
from qsim.analytic.chains.uniformisation import advanced, poisson_window
from qsim.errors import InvalidParameterError


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


def test_a_chain_that_has_settled_is_not_followed_on() -> None:
    Q = csr_array(np.array([[-5.0, 5.0, 0.0], [1.0, -3.0, 2.0], [0.0, 40.0, -40.0]]))
    begin = np.array([1.0, 0.0, 0.0])
    settled = advanced(begin, Q, 1e12)
    assert settled == pytest.approx(advanced(begin, Q, 1e3), abs=1e-12)
    assert settled @ Q.toarray() == pytest.approx(np.zeros(3), abs=1e-12)


def test_one_that_has_not_settled_after_two_million_steps_is_refused_by_the_time_it_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uniformisation, "MOST_STEPS", 2000)
    slow = csr_array(np.array([[-1e-6, 1e-6, 0.0], [1e-6, -1.0, 1.0], [0.0, 1.0, -1.0]]))
    with pytest.raises(InvalidParameterError, match=r"t must be at most 2e\+03 for this chain, not 1e\+07"):
        advanced(np.array([1.0, 0.0, 0.0]), slow, 1e7)
    assert advanced(np.array([1.0, 0.0, 0.0]), slow, 1000.0)[0] == pytest.approx(1 - 1e-3, rel=1e-5)
