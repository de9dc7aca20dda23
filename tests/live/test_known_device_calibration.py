"""The whole road against an answer that is known: real fio, four servers of 2 ms behind nbdkit, a knee at exactly 4."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate import compare, fit
from measure import Sweep

pytestmark = pytest.mark.live


def test_two_points_give_the_knee(known_device_sweep: Sweep) -> None:
    knee = fit(known_device_sweep, [1, 32]).knee
    assert knee.load == pytest.approx(4.0, abs=0.3)
    assert knee.low is not None
    assert knee.high is not None
    assert knee.low < 4.0 < knee.high


def test_three_points_give_the_throughput_everywhere(known_device_sweep: Sweep) -> None:
    comparison = compare(known_device_sweep, [1, 4, 32])
    asked = np.isin(comparison.points.load, [2, 3, 6, 8, 16])
    assert asked.sum() == 5
    assert comparison.held_out[asked].all()
    assert np.abs(comparison.residual_throughput_pct[asked]).max() <= 6.0


def test_the_audit_has_no_quarrel_with_it(known_device_sweep: Sweep) -> None:
    assert [f for f in compare(known_device_sweep, [1, 32]).audit if f.severity == "error"] == []
