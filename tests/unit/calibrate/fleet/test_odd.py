"""Odd drives are found, and healthy ones are called odd as seldom as it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.fleet.odd import QUANTITIES, deviations, limit, with_oddness


def healthy(drives: int, seed: int, **more: object) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    values = {name: np.exp(0.05 * random.standard_normal(drives)) for name in QUANTITIES}
    for name, (low, high) in QUANTITIES.items():
        values |= {low: 0.97 * values[name], high: 1.03 * values[name]}
    return pd.DataFrame({"series": "r", "model": "m", "firmware": "1", **values, **more})


@pytest.mark.parametrize("drives", [10, 30, 100, 1000])
def test_the_share_of_false_alarms_is_what_was_asked_for(drives):
    groups = 20_000 // drives
    table = pd.concat([healthy(drives, seed, firmware=str(seed)) for seed in range(groups)], ignore_index=True)
    alarms = (with_oddness(table, false_alarms=0.01)["odd"] != "").sum()
    assert abs(alarms - 200) < 4.5 * np.sqrt(200)  # 1 % of 20,000; in a small group alarms come together


def test_a_drive_of_half_the_peak_is_odd_among_its_like_only():
    table = healthy(20, 1)
    table.loc[3, ["peak_per_s", "peak_low_per_s", "peak_high_per_s"]] *= 0.5
    found = with_oddness(table)["odd"]
    assert list(found.index[found != ""]) == [3]
    assert found[3].startswith("peak -")
    assert (with_oddness(table.assign(firmware=[str(i % 4) for i in range(20)]))["odd"] == "").all()  # groups of five


def test_a_drive_that_is_known_roughly_is_odd_only_beyond_its_own_interval():
    """At 1.6 times the median, ten standard deviations of the group: two of its own, or ten."""
    values = np.exp(0.05 * np.random.default_rng(5).standard_normal(500))
    values[0] = 1.6
    low, high = 0.97 * values, 1.03 * values
    assert deviations(values, low, high)[0] > 8
    low[0], high[0] = 1.1, 2.4
    assert 1.5 < deviations(values, low, high)[0] < 2.5
    values[0], low[0], high[0] = 0.625, 0.62, 0.9  # towards the median
    assert -2.5 < deviations(values, low, high)[0] < -1.5


def test_deviations_are_robust_and_in_logarithms():
    values, equal = np.array([1, 2, 4, 8, 16, 1e9]), np.array([2.0, 2, 2, 3])
    away = deviations(values, values, values)
    assert away[3] - away[2] == pytest.approx(away[1] - away[0])
    assert away[5] > 10
    assert list(deviations(equal, equal, np.full(4, np.nan))) == [0, 0, 0, np.inf]


def test_limits_fall_with_the_size_of_the_group_to_the_normal_quantile():
    assert limit(8) > limit(20) > limit(100) > limit(1000) == limit(5000)
    assert limit(1000) == pytest.approx(3.5877, abs=1e-3)
