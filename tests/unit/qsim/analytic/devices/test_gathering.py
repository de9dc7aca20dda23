"""Groups of Poisson arrivals, where the wait is known."""

from __future__ import annotations

import math

import pytest

from qsim.analytic.devices.gathering import mean_wait


def test_alone_it_waits_for_the_timer_and_in_a_crowd_for_the_others() -> None:
    assert mean_wait(1e-15, 8, 100.0) == pytest.approx(100.0)
    assert mean_wait(100.0, 8, 1e6) == pytest.approx(7 / 2 / 100)
    assert mean_wait(1e-15, 2, 100.0) == pytest.approx(100.0)
    assert [mean_wait(rate, 1, 100.0) for rate in (0.5, 1e-15)] == [0.0, 0.0]


def test_pairs_with_a_timer() -> None:
    """Of pairs the first waits min(gap, t), (1 - e^-λt)/λ on average, and with 1 - e^-λt another leaves with it."""
    met = 1 - math.exp(-0.6)
    assert mean_wait(0.3, 2, 2.0) == pytest.approx(met / 0.3 / (1 + met))
