"""Which depths are asked for: the middle between two ends, never what was used, nothing where nothing is left."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import fit, from_datasheet, next_depth
from calibrate.asked_depths import asked_loads, asked_pair
from calibrate.curve_models import OnsetPNorm
from calibrate.points import points_of
from calibrate.probe_depths import NextDepth
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


def test_a_knee_that_would_not_get_narrower_is_not_told() -> None:
    same = NextDepth(2, 0.29, 0.19, (1.1421, 3.5650), (1.1422, 3.5649))
    assert str(same) == "measure depth 2 next: it would narrow the bands from about ±29 % to ±19 %"
    narrower = NextDepth(2, 0.29, 0.19, (1.1421, 3.5650), (1.1422, 3.54))
    assert str(narrower).endswith(", and the knee from [1.14, 3.56] to about [1.14, 3.54]")


@pytest.mark.parametrize(("crossing", "told"), [(3.0, True), (9.0, False)])
def test_depth_2_at_a_shallow_crossing_says_what_it_is_for(crossing: float, told: bool) -> None:
    made = fit(drive(onset=1.0, knee=crossing), [1, 32])
    wanted = next_depth(made, [1, 2, 32])  # of a deeper crossing 2 is merely all that is left
    assert wanted is not None
    assert wanted.load == 2
    assert ("it tells the latency of the busy device, on which the knee hangs, and would" in str(wanted)) is told
    assert list(wanted.to_dict()) == ["load", "half_width_now", "half_width_then", "knee_now", "knee_then"]


def test_depth_2_after_three_points_is_chosen_by_the_bands() -> None:
    wanted = next_depth(fit(drive(onset=1.0, knee=3.0), [1, 4, 32]), [2])
    assert wanted is not None
    assert "busy" not in str(wanted)


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


@pytest.mark.parametrize(("knee", "third"), [(1.2, 4), (2.5, 2), (4.0, 2), (6.0, 8), (9.0, 16), (15.0, 16), (30.0, 32)])
def test_the_third_is_2_below_a_shallow_crossing_and_else_a_little_beyond_it(knee: float, third: int) -> None:
    sweep = drive((*DEPTHS, 128), onset=1.0, knee=knee)
    assert asked_loads(points_of(sweep)) == [1, third, 128]
    assert next_depth(fit(sweep, [1, 128]), DEPTHS).load == third  # type: ignore[union-attr]


def test_beyond_a_crossing_nothing_below_4_is_asked_for_while_there_is_another() -> None:
    assert asked_loads(points_of(drive((1, 2, 3, 8, 128), onset=1.0, knee=1.2))) == [1, 8, 128]
    assert asked_loads(points_of(drive((1, 2, 3, 128), onset=1.0, knee=1.2))) == [1, 3, 128]
    assert asked_loads(points_of(drive((3, 4, 8, 128), onset=1.0, knee=3.0))) == [3, 4, 128]  # 2 was not measured


def test_a_slow_lone_request_moves_the_knee_of_the_three_by_less_than_half_of_what_depth_4_would() -> None:
    """A SATA drive: a lone request takes 1.3 times as long as one of several."""
    sweep, knee = drive((1, 2, 4, 8, 16, 32, 64), onset=1.3, knee=2.8), 2.8
    asked, from_four = fit(sweep), fit(sweep, [1, 4, 64])
    assert asked.used == (1, 2, 64)
    assert asked.knee.load is not None
    assert from_four.knee.load is not None
    assert abs(asked.knee.load / knee - 1) < 0.5 * abs(from_four.knee.load / knee - 1)


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
