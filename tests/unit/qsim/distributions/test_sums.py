"""Sums of times: moments, laws, draws, and as services."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qsim import MG1, Deterministic, Erlang, Exponential, Shifted, Sum, Uniform, solve
from qsim.distributions.as_dict import law_from_dict, law_to_dict


def test_stages_of_exponentials_are_an_erlang() -> None:
    total = Exponential(1.0) + Exponential(1.0) + Exponential(1.0)
    known = Erlang(3, 3.0)
    x = [0.5, 3.0, 9.0]
    assert total.cdf(x) == pytest.approx(known.cdf(x), abs=1e-12)
    assert (total.mean, total.scv, total.moment(3)) == pytest.approx((known.mean, known.scv, known.moment(3)))
    assert solve(MG1(0.2, total)).quantile(0.9) == pytest.approx(solve(MG1(0.2, known)).quantile(0.9))


def test_two_uniforms_are_a_triangle_and_constants_shift_it() -> None:
    total = sum([Uniform(0, 1), Uniform(0, 1), 2.0])
    assert isinstance(total, Sum)
    known = stats.triang(0.5, loc=2.0, scale=2.0)
    x = np.array([1.9, 2.3, 3.0, 3.9, 4.1])
    assert total.cdf(x) == pytest.approx(known.cdf(x), abs=2e-4)
    assert total.pdf(x) == pytest.approx(known.pdf(x), abs=1e-2)
    assert (total.mean, total.variance) == pytest.approx((known.mean(), known.var()))
    assert stats.kstest(total.sample(np.random.default_rng(2), 50_000), known.cdf).pvalue > 1e-4


def test_a_constant_and_a_time_are_a_shifted_time() -> None:
    total, known = 0.5 + Exponential(2.0), Shifted(Exponential(2.0), 0.5)
    x = [0.4, 0.6, 5.0]
    assert total.cdf(x) == pytest.approx(known.cdf(x), abs=2e-4)
    assert solve(MG1(0.2, total)).Wq == pytest.approx(solve(MG1(0.2, known)).Wq)


def test_a_sum_is_stored_and_scaled() -> None:
    total = Uniform(1, 2) + Deterministic(3.0)
    assert law_from_dict(law_to_dict(total)) == total
    assert total.scaled(2.0).mean == pytest.approx(2 * total.mean)


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"parts\[1\] must be zero or positive"):
        Sum((Exponential(1.0), -1.0))
    with pytest.raises(ValueError, match="parts must not be empty"):
        Sum(())
