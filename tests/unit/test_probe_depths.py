"""Which depths are asked for: the middle between two ends, never what was used, nothing where nothing is left."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import fit, from_datasheet, next_depth
from calibrate.curve_models import OnsetPNorm
from calibrate.points import points_of
from calibrate.probe_depths import asked_loads
from measure import Sweep

DEPTHS = (1, 2, 4, 8, 16, 32, 64)


def drive(depths: tuple[int, ...] = DEPTHS, onset: float = 0.6) -> Sweep:
    """A drive that answers a lone request sooner than several."""
    loads = np.array(depths, dtype=float)
    throughput, response = OnsetPNorm().curve(np.array([[9.0, 75e3, 3.0, onset]]), loads)
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
    assert {asked[0], asked[-1]} == {1, 32}
    assert fit(drive()).used == tuple(asked)


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
