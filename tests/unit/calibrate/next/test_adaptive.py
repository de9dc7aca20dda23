"""Adaptive sweeps: where the next point goes, and when they stop."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate.fitting.calibrating import fit
from calibrate.next import REACH, half_width, next_depth
from measure.sweep import Sweep


def sweep_of(depths: list[float], knee: float = 6.0, sharpness: float = 2.6) -> Sweep:
    rates = 1000 * (1 + (knee / np.array(depths)) ** sharpness) ** (-1 / sharpness)
    return Sweep(points_at(depths, rates))


def test_it_begins_with_a_lone_request_and_a_deep_queue() -> None:
    assert next_depth(None, 6) == 1
    assert next_depth(sweep_of([1.0]), 6) == 32
    assert next_depth(sweep_of([32.0]), 6) == 1


def test_the_third_depth_is_where_queueing_starts() -> None:
    assert next_depth(sweep_of([1.0, 32.0]), 6) == pytest.approx(6, abs=2)


def test_it_ends_with_the_points_it_may_take_and_where_the_knee_is_known() -> None:
    assert next_depth(sweep_of([1.0, 6.0, 32.0]), 3) is None
    assert next_depth(sweep_of([1.0, 2.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0]), 20) is None
    assert next_depth(sweep_of([1.0, 6.0, 32.0]), 4) is not None


def test_it_ends_where_the_interval_of_the_knee_is_just_as_wide_as_is_tolerated() -> None:
    depths = [1.0, 6.0, 12.0, 32.0]
    wide = half_width(fit(sweep_of(depths), depths).knee)
    assert next_depth(sweep_of(depths), 9, tolerance=wide) is None
    assert next_depth(sweep_of(depths), 9, tolerance=0.999 * wide) is not None


def test_a_knee_beyond_the_deepest_point_is_looked_for_deeper_but_not_at_once() -> None:
    depth = next_depth(sweep_of([1.0, 8.0, 32.0], knee=200.0), 6)
    assert depth is not None
    assert 32 < depth <= REACH * 32


def test_a_depth_is_never_measured_twice() -> None:
    found: list[float] = [1.0, 32.0]
    while (depth := next_depth(sweep_of(found, sharpness=1.0), 9)) is not None:
        found.append(depth)
    assert len(found) == len(set(found))
