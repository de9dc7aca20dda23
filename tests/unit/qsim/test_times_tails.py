"""Variances from tails, against closed forms."""

from __future__ import annotations

import math

import pytest

from qsim.metrics import variance_from_tail


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_variance_of_a_uniform_and_an_exponential_time(scale: float) -> None:
    assert variance_from_tail(lambda t: max(0.0, 1 - t / 2), scale) == pytest.approx(4 / 12, rel=1e-7)
    assert variance_from_tail(lambda t: math.exp(-t), scale) == pytest.approx(1, rel=1e-6)


def test_a_tail_too_heavy_has_an_infinite_variance() -> None:
    assert variance_from_tail(lambda t: (1 + t) ** -1.5, 1.0) == math.inf
