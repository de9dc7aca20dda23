"""Whether a device moved: told by repeats, or by the smoothness of the ratio, and at the level that is claimed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.points import Points, points_of
from calibrate.prediction.change import changes
from measure.errors import DataError
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def drive(seed: int, repeats: int = 3, slower: float = 1.0, peak: float = 1e5, noise: float = 0.02) -> Points:
    """A drive with R1 = 100 us and p = 3, measured with this relative noise."""
    random = np.random.default_rng(seed)
    rows = []
    for repeat in range(repeats):
        x = ((DEPTHS / (1e-4 * slower)) ** -3 + peak**-3) ** (-1 / 3)
        x = x * np.exp(noise * random.standard_normal(len(DEPTHS)))
        rows.append(
            pd.DataFrame(
                {"series": "r", "load": DEPTHS, "throughput_per_s": x, "latency_s": DEPTHS / x, "repeat": repeat}
            )
        )
    return points_of(Sweep(pd.concat(rows, ignore_index=True)))


@pytest.mark.parametrize("repeats", [1, 3])
def test_what_did_not_move_is_said_to_have_moved_as_often_as_the_level_allows(repeats):
    false = [c.moved for k in range(150) for c in changes(drive(2 * k, repeats), drive(2 * k + 1, repeats))[:2]]
    assert 0.05 < np.mean(false) < 0.16  # 10 % of 300, three standard errors


@pytest.mark.parametrize(("repeats", "often"), [(1, 0.8), (3, 0.95)])
def test_a_latency_ten_per_cent_longer_and_a_peak_ten_per_cent_lower_are_found(repeats, often):
    found = [changes(drive(2 * k, repeats), drive(2 * k + 1, repeats, 1.1, 9e4)) for k in range(40)]
    for place, (quantity, worse) in enumerate((("idle latency", 0.1), ("peak", 0.1))):
        assert found[0][place].quantity == quantity
        assert np.mean([c[place].moved for c in found]) > often
        assert np.median([c[place].worse for c in found]) == pytest.approx(worse, abs=0.02)


def test_the_knee_is_the_product_and_neither_better_nor_worse():
    idle, peak, knee = changes(drive(0, noise=1e-6), drive(1, slower=0.5, peak=2e5, noise=1e-6))
    assert (idle.ratio, peak.ratio, knee.ratio) == pytest.approx((0.5, 2, 1), rel=1e-2)
    assert (idle.worse, peak.worse, knee.worse) == (0, 0, 0)
    assert idle.moved
    assert peak.moved


def test_an_interval_of_one_repeated_point_is_the_one_of_a_textbook():
    """Two repeats each of 100 and 104, then 110 and 114: pooled sd of ratio by hand, t with 2 degrees of freedom."""

    def points(*rates: float) -> Points:
        table = pd.DataFrame({"series": "r", "load": 1.0, "throughput_per_s": rates, "latency_s": 1 / np.array(rates)})
        return points_of(Sweep(table.assign(repeat=range(len(rates)))))

    peak = changes(points(100, 104), points(110, 114))[1]
    spread = np.sqrt(((8 / 102**2) + (8 / 112**2)) / 2)
    assert np.log(peak.high / peak.ratio) == pytest.approx(2.919986 * spread, rel=1e-3)


def test_what_cannot_be_compared_is_refused_in_a_line():
    few = drive(0, 1).at(DEPTHS < 4)
    with pytest.raises(DataError, match="nothing was measured twice, and 2 common loads tell no noise; measure with"):
        changes(few, few)
    with pytest.raises(DataError, match="have no common load"):
        changes(drive(0).at(DEPTHS < 4), drive(0).at(DEPTHS > 4))
