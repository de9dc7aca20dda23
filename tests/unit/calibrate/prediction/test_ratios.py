"""Two devices: what was made to differ is found beyond the intervals, what is the same is not."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate.fitting.calibrating import fit
from calibrate.fitting.fit import Fit
from calibrate.prediction.ratios import ParameterDifference, differences
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
NAMES = ("old", "new")


def drive(idle_s: float, peak_per_s: float, noise: float = 0.01, seed: int = 1) -> Fit:
    """A drive of sharpness 3, three noisy repeats of each depth, calibrated on all of them."""
    load = np.repeat(DEPTHS, 3)
    x = ((load / idle_s) ** -3 + peak_per_s**-3) ** (-1 / 3)
    x = x * np.exp(noise * np.random.default_rng(seed).standard_normal(len(x)))
    table = points_at(load, x, repeat=np.tile([0, 1, 2], len(DEPTHS)))
    return fit(Sweep(table, name="drive"), list(DEPTHS), model="p-norm")


@pytest.fixture(scope="module")
def old() -> Fit:
    return drive(1e-4, 1e5)


def test_a_peak_that_is_half_as_high_again_lies_beyond_the_intervals(old: Fit) -> None:
    found = {d.quantity: d for d in differences(old, drive(1e-4, 1.5e5, seed=2), NAMES)}
    assert found["Xmax"].beyond
    assert found["Xmax"].low < 1.5 < found["Xmax"].high
    assert found["Xmax"].first == "old"
    assert found["Xmax"].other == "new"
    assert not found["R1"].beyond
    assert found["R1"].low < 1 < found["R1"].high


def test_the_same_device_measured_again_does_not_differ(old: Fit) -> None:
    found = differences(old, drive(1e-4, 1e5, seed=3), NAMES)
    assert {d.quantity for d in found} == {"R1", "Xmax", "N*"}
    assert not [d.quantity for d in found if d.beyond]


def test_turned_round_every_ratio_is_its_reciprocal(old: Fit) -> None:
    new = drive(2e-4, 1.2e5, seed=4)
    there = {d.quantity: d for d in differences(old, new, NAMES)}
    back = {d.quantity: d for d in differences(new, old, NAMES[::-1])}
    assert there.keys() == back.keys() >= {"R1", "Xmax", "N*"}
    for name, one in there.items():
        assert back[name].ratio == pytest.approx(1 / one.ratio)
        assert back[name].low == pytest.approx(1 / one.high, rel=0.1)
        assert back[name].beyond == one.beyond


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((1.5, 1.4, 1.61), "a peak 50 % higher (40 to 61 %)"),
        ((0.00293, 0.0025, 0.0033), "a peak 341 times lower (303 to 400)"),
        ((13_500.0, 8_730.0, 18_400.0), "a peak 13,500 times higher (8,730 to 18,400)"),
    ],
)
def test_large_ratios_are_told_as_factors(values: tuple[float, float, float], said: str) -> None:
    assert ParameterDifference("Xmax", "old", "new", *values).sentence() == said
