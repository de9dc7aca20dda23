"""Which loads to begin with, and which to calibrate on: the nearest to 1 and 32, or to 1, 8 and 64."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare, fit
from calibrate.next import recommended, to_calibrate_on
from calibrate.points import Points, points_of
from measure import Sweep
from measure.loads import ArrivalRate, Bandwidth, Depth, InjectedDelay, Load

DEPTH = Depth()


def points(loads: list[float], kind: Load = DEPTH, rates: list[float] | None = None) -> Points:
    x = np.array(rates if rates is not None else [n / (n + 10) * 1e5 for n in loads])
    return points_of(Sweep(points_at(loads, x, 1e-5), load_type=kind))


@pytest.mark.parametrize(
    ("depths", "two", "three"),
    [
        ([1, 2, 4, 8, 16, 32, 64, 128], [1, 32], [1, 8, 64]),
        ([1, 3, 6, 12, 40], [1, 40], [1, 6, 40]),
        ([2, 16, 200], [2, 16], [2, 16, 200]),
        ([4, 512, 1024], [4, 512], [4, 512]),
        ([64], [64], [64]),
        ([1, 512, 1024, 2048], [1, 512], [1, 512]),
    ],
)
def test_the_nearest_measured_depths_are_recommended(depths: list[float], two: list[float], three: list[float]) -> None:
    assert recommended(depths, 2)[0] == two[0]
    assert set(recommended(depths, 2)) <= set(depths)
    if max(depths) < 512:
        assert recommended(depths, 2) == two
        assert recommended(depths, 3) == three


def test_depths_where_throughput_may_fall_are_taken_only_where_there_is_nothing_else() -> None:
    assert recommended([1, 16, 512, 1024], 3) == [1, 16]
    assert recommended([512.0, 1024, 2048], 2) == [512]


def test_where_one_depth_is_the_nearest_to_all_the_ends_are_calibrated_on() -> None:
    assert recommended([16.0, 64, 256], 2) == [16, 256]
    assert to_calibrate_on(points([16, 64, 256])) == [16, 256]


def test_of_few_depths_two_are_calibrated_on_and_of_many_three() -> None:
    assert to_calibrate_on(points([1, 4, 8, 32, 64])) == [1, 32]
    assert to_calibrate_on(points([1, 2, 4, 8, 32, 64])) == [1, 8, 64]
    assert to_calibrate_on(points([16])) == [16]


def test_of_other_loads_the_ends_and_the_middle_are() -> None:
    assert to_calibrate_on(points([100, 200, 390, 500, 700], ArrivalRate())) == [100, 390, 700]
    assert to_calibrate_on(points([0, 100, 500, 2500], InjectedDelay(), [8e8, 6e8, 2.6e8, 1e8])) == [0, 500, 2500]
    assert to_calibrate_on(points([1e9, 4e9, 6.6e9, 9e9, 1e10], Bandwidth())) == [1e9, 6.6e9, 1e10]


def test_a_fit_uses_all_points_and_a_comparison_holds_out() -> None:
    x = np.minimum(np.array([1.0, 2, 4, 8, 16, 32, 64]), 8) * 1e4
    loads = np.array([1.0, 2, 4, 8, 16, 32, 64])
    sweep = Sweep(points_at(loads, x))
    assert fit(sweep).used == tuple(loads)
    assert compare(sweep).fit.used == (1, 8, 64)
