"""Which depths are asked for: the middle between two ends, never what was used, nothing where nothing is left."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import fit, from_datasheet, next_depth
from calibrate.curve_models import OnsetPNorm
from calibrate.points import points_of
from calibrate.probe_depths import asked_loads, asked_pair
from measure import Sweep
from measure.errors import DataError

DEPTHS = (1, 2, 4, 8, 16, 32, 64)


def drive(depths: tuple[int, ...] = DEPTHS, onset: float = 0.6, knee: float = 9.0) -> Sweep:
    """A drive that answers a lone request sooner than several."""
    loads = np.array(depths, dtype=float)
    throughput, response = OnsetPNorm().curve(np.array([[knee, 75e3, 3.0, onset]]), loads)
    return Sweep(pd.DataFrame(
        {"series": "drive", "load": loads, "throughput_per_s": throughput[0], "latency_s": response[0]}
    ))  # fmt: skip


def test_between_one_and_thirty_two_it_asks_for_about_four() -> None:
    wanted = next_depth(fit(drive(), [1, 32]))
    assert wanted is not None
    assert wanted.load in (4, 8)
    assert wanted.half_width_then < wanted.half_width_now
    assert wanted.knee_now is not None
    assert wanted.knee_then is not None
    assert wanted.knee_now[0] <= wanted.knee_then[0] < wanted.knee_then[1] <= wanted.knee_now[1]
    assert f"measure depth {wanted.load:g} next" in str(wanted)


def test_what_it_promises_of_the_knee_is_about_what_comes() -> None:
    two = fit(drive(), [1, 32])
    wanted = next_depth(two)
    assert wanted is not None
    assert wanted.knee_then is not None
    three = fit(drive(), [1, wanted.load, 32]).knee
    assert three.low is not None
    assert three.high is not None
    got, promised = np.log(three.high / three.low), np.log(wanted.knee_then[1] / wanted.knee_then[0])
    assert 0.4 < got / promised < 2.0


def test_only_named_depths_are_asked_for_and_none_twice() -> None:
    made = fit(drive(), [1, 32])
    assert next_depth(made, [1, 2, 32]).load == 2  # type: ignore[union-attr]
    assert next_depth(made, [1, 32]) is None
    assert next_depth(made, [1, 32, 1024]) is None  # where throughput may decline


def test_a_data_sheet_asks_for_nothing() -> None:
    assert next_depth(from_datasheet(80e-6, 600e3)) is None


def test_three_are_asked_for_one_after_another() -> None:
    asked = asked_loads(points_of(drive()))
    assert len(asked) == 3
    assert {asked[0], asked[-1]} == {1, 64}
    assert fit(drive()).used == tuple(asked)


@pytest.mark.parametrize(("knee", "third"), [(2.0, 4), (9.0, 8), (15.0, 16), (30.0, 32)])
def test_the_third_lies_where_the_ends_let_the_knee_be_expected_but_not_below_four(knee: float, third: int) -> None:
    sweep = drive((*DEPTHS, 128), onset=1.0, knee=knee)
    assert asked_loads(points_of(sweep)) == [1, third, 128]
    assert next_depth(fit(sweep, [1, 128]), DEPTHS).load == third  # type: ignore[union-attr]
    assert asked_loads(points_of(drive((1, 2, 3, 8, 128), onset=1.0, knee=2.0))) == [1, 8, 128]


def test_it_asks_for_a_deeper_one_where_the_deep_one_shows_no_peak() -> None:
    sweep = drive((*DEPTHS, 128), onset=1.0, knee=60.0)
    assert next_depth(fit(sweep, [1, 32])).load == 64  # type: ignore[union-attr]
    assert next_depth(fit(sweep, [1, 32]), DEPTHS[:5]).load == 16  # type: ignore[union-attr]
    assert asked_loads(points_of(drive((1, 2, 4, 8, 16, 128, 256), onset=1.0, knee=100.0))) == [1, 128, 256]


def test_no_depth_is_asked_for_where_throughput_may_decline() -> None:
    assert asked_loads(points_of(drive((1, 4, 16, 64, 512, 1024)))) == [1, 4, 64]
    assert asked_loads(points_of(drive((1, 512, 1024, 2048)))) == [1, 2048]


def test_the_pair_is_a_busy_depth_and_a_deep_one() -> None:
    assert asked_pair(points_of(drive())) == [8, 64]
    assert asked_pair(points_of(drive((1, 6, 12, 64, 256, 1024)))) == [6, 64]
    assert asked_pair(points_of(drive((1, 32)))) == [1, 32]
    with pytest.raises(DataError, match="pair of queue depths"):
        asked_pair(points_of(drive((4,))))


@pytest.mark.parametrize("depths", [(1, 32), (1, 4, 32)])
def test_one_point_is_left_to_check_where_there_are_few(depths: tuple[int, ...]) -> None:
    assert asked_loads(points_of(drive(depths))) == [1, 32]


def test_the_choice_does_not_look_at_points_that_it_did_not_ask_for() -> None:
    points = points_of(drive())
    asked = asked_loads(points)
    other = ~np.isin(points.load, asked)
    disturbed = Sweep(pd.DataFrame({
        "series": "drive", "load": points.load,
        "throughput_per_s": points.throughput_per_s * np.where(other, 0.3, 1.0),
        "latency_s": points.response_time_s / np.where(other, 0.3, 1.0),
    }))  # fmt: skip
    assert asked_loads(points_of(disturbed)) == asked
