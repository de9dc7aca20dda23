"""Uniform and truncated normal times against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qsim import TruncatedNormal, Uniform


@pytest.mark.parametrize(("location", "deviation"), [(10.0, 1.0), (1.0, 1.0), (-2.0, 1.0), (-11.0, 2.0)])
def test_a_truncated_normal_is_that_of_scipy(location: float, deviation: float) -> None:
    law = TruncatedNormal(location, deviation)
    known = stats.truncnorm(-location / deviation, np.inf, loc=location, scale=deviation)
    assert (law.mean, law.variance) == pytest.approx((known.mean(), known.var()), rel=1e-6)
    x = known.ppf([0.01, 0.5, 0.99])
    assert law.cdf(x) == pytest.approx([0.01, 0.5, 0.99])
    assert law.pdf(x) == pytest.approx(known.pdf(x))
    drawn = law.sample(np.random.default_rng(1), 100_000)
    assert stats.kstest(drawn, known.cdf).pvalue > 1e-4
    assert drawn.min() >= 0


def test_what_is_no_such_time_is_refused() -> None:
    with pytest.raises(ValueError, match="high must be above low"):
        Uniform(2, 1)
    with pytest.raises(ValueError, match="scv of a uniform time must be at most 1/3"):
        Uniform.from_moments(1, 0.5)
    with pytest.raises(ValueError, match="scv of a normal time above zero must be at most"):
        TruncatedNormal.from_moments(1, 1.0)
    with pytest.raises(ValueError, match="location must be at least -6 deviations"):
        TruncatedNormal(-10, 1)
