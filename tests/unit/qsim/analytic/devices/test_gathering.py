"""Groups by count and timer, at loads where the wait is known."""

from __future__ import annotations

import pytest

from qsim.analytic.devices.gathering import mean_wait


def test_alone_it_waits_for_the_timer_and_in_a_crowd_for_the_others() -> None:
    assert mean_wait(1e-15, 8, 100.0) == pytest.approx(100.0)
    assert mean_wait(100.0, 8, 1e6) == pytest.approx(7 / 2 / 100)
    assert mean_wait(0.5, 1, 100.0) == 0.0
