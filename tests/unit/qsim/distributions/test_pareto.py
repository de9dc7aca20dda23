"""Pareto times against scipy."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from qsim import Pareto


def test_a_pareto_is_that_of_scipy() -> None:
    law, known = Pareto(3.5, 2.0), stats.pareto(3.5, scale=2.0)
    assert (law.mean, law.variance, law.moment(3)) == pytest.approx((known.mean(), known.var(), known.moment(3)))
    x = [1.0, 2.0, 5.0, 40.0]
    assert law.cdf(x) == pytest.approx(known.cdf(x))
    assert law.pdf(x) == pytest.approx(known.pdf(x))
    assert law.quantile(0.9) == pytest.approx(known.ppf(0.9))


def test_a_tail_too_heavy_is_said() -> None:
    assert Pareto(1.5, 1.0).scv == math.inf
    with pytest.raises(ValueError, match="shape must exceed 1"):
        Pareto(1.0, 1.0)
