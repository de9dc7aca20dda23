"""Adaptive sweeps do as well as fixed depths with fewer points: a short version of their table."""

from __future__ import annotations

import adaptive_accuracy
import numpy as np


def test_it_comes_as_near_as_six_fixed_depths_with_fewer_points() -> None:
    """Ten devices, noise 3 %; the medians have about the same standard error, 1 %."""
    done = list(adaptive_accuracy.trials(0.03, 10, seed=3))
    points = {name: np.mean([trial[name][0] for trial in done]) for name in done[0]}
    error = {name: np.median([trial[name][1] for trial in done]) for name in done[0]}
    assert points["adaptive"] < 6
    assert error["adaptive"] < error["six fixed: 1, 4, 16, 32, 64, 256"] + 0.025
    assert error["adaptive"] < 0.07
