"""Quantiles are found with few looks at a survival function, which may be slow to compute."""

from __future__ import annotations

import math

import pytest

from qsim.analytic.invert import quantile


@pytest.mark.parametrize("q", [0.5, 0.99, 1 - 1e-9])
def test_an_exponential_tail_is_a_line_in_logarithms(q: float) -> None:
    seen = []

    def survival(t: float) -> float:
        seen.append(t)
        return math.exp(-t)

    assert quantile(survival, q, 1.0) == pytest.approx(-math.log1p(-q), rel=1e-7)
    assert len(seen) == len(set(seen))  # no place is computed twice
    assert len(seen) <= 12


def test_a_law_may_end_or_jump() -> None:
    assert quantile(lambda t: max(0.0, 1 - t), 0.99, 0.4) == pytest.approx(0.99)
    assert quantile(lambda t: 0.5 if t < 3 else 0.0, 0.9, 1.0) == pytest.approx(3)
    assert quantile(lambda t: 0.5 if t < 3 else 0.0, 0.4, 1.0) == 0.0
