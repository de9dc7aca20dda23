"""Odd drives are found at the loads where they are odd, and healthy fleets are left alone as often as stated."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from places import TESTS

from calibrate.fleet.drives import _seen, fit_fleet, make_of, model_rows
from calibrate.fleet.odd import Power, apart, crowds, with_oddness
from measure.origin import Provenance
from measure.sweep import Sweep

DEPTHS = 2.0 ** np.arange(7)
FLEETS = 100


@cache
def drives(count: int, **more: object) -> pd.DataFrame:
    return pd.DataFrame({"series": "r", "model": "m", "firmware": "1", "drive": np.arange(count), **more})


def curves(count: int, seed: int, together: float = 0.014, each: float = 0.014) -> pd.DataFrame:
    """Throughputs whose logarithms vary by 2 %: a part shared by all loads of a drive, a part of each load."""
    random = np.random.default_rng(seed)
    away = together * random.standard_normal((count, 1)) + each * random.standard_normal((count, len(DEPTHS)))
    return pd.DataFrame(1e5 * np.exp(away), columns=DEPTHS)


def odd_of(table: pd.DataFrame) -> list[int]:
    found = with_oddness(drives(len(table)), table)[0]["odd"]
    return list(found.index[found != ""])


@pytest.mark.parametrize("count", [8, 10, 30])
@pytest.mark.parametrize(("together", "each"), [(0.02, 0.0), (0.0, 0.02), (0.014, 0.014)])
def test_a_healthy_fleet_has_an_odd_drive_at_most_one_time_in_twenty(count, together, each):
    alarms = sum(bool(odd_of(curves(count, seed, together, each))) for seed in range(FLEETS))
    assert alarms <= 5 + 2.3 * np.sqrt(5)  # 5 % of 100 fleets, at 99 %


@pytest.mark.parametrize("odd", [1, 3])
def test_drives_a_fifth_slower_at_four_depths_are_found_among_thirty(odd):
    found = []
    for seed in range(FLEETS):
        table = curves(30, seed)
        table.iloc[:odd, 2:6] *= 0.8
        found.append(set(range(odd)) <= set(odd_of(table)))
    assert np.mean(found) >= 0.8


def test_a_drive_odd_at_one_load_is_named_with_it():
    found = []
    for seed in range(60):
        table = curves(30, seed)
        table.iloc[4, 3] *= 0.7
        text = with_oddness(drives(30), table)[0]["odd"][4]
        found.append("% at 8" in text)
    assert np.mean(found) >= 0.8


def test_the_loss_that_would_have_been_found_is_found():
    found = []
    for seed in range(FLEETS):
        seen = with_oddness(drives(20), curves(20, seed + 1000))[1][0].one_load_pct
        table = curves(20, seed)
        table.iloc[0, 3] *= 1 - (seen or 0) / 100
        found.append(0 in odd_of(table))
    assert np.mean(found) >= 0.8


def test_a_fleet_whose_drives_are_each_slow_at_another_load_is_judged_too():
    table = curves(8, 1)
    for row in range(8):
        table.iloc[row, row % len(DEPTHS)] *= 0.3
    found = with_oddness(drives(8), table)[0]["odd"]
    assert [text.split(" % at ")[1] for text in found] == [f"{DEPTHS[row % len(DEPTHS)]:g}" for row in range(8)]


def test_two_models_in_one_folder_are_judged_apart():
    table = pd.concat([curves(12, 1), 2 * curves(10, 2)], ignore_index=True)
    table.iloc[15, 3] *= 0.3
    found, powers = with_oddness(drives(22, model=""), table)
    assert found["kind"].tolist() == [1] * 12 + [2] * 10
    assert list(found.index[found["odd"] != ""]) == [15]
    assert [p.drives for p in powers] == [12, 10]


def test_a_half_that_is_a_fifth_slower_is_a_kind_of_its_own() -> None:
    found = fit_fleet([TESTS / "data" / "fleet10"])
    assert sorted(found.drives.groupby("kind").size()) == [5, 5]
    assert found.odd.empty
    slow = found.drives.groupby("kind")["peak_per_s"].median()
    assert slow.min() / slow.max() == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("slow", [1, 2])
def test_fewer_than_three_drives_are_no_kind(slow: int) -> None:
    table = np.log(curves(5, 1).to_numpy())
    table[:slow] += np.log(0.7)
    assert not crowds(table).any()


@pytest.mark.parametrize(("count", "fleets"), [(10, 150), (100, 40), (500, 40)])
def test_heavy_tails_alarm_in_at_most_one_fleet_in_twenty(count: int, fleets: int) -> None:
    random = np.random.default_rng(4)
    tables = [
        pd.DataFrame(1e5 * np.exp(0.02 * random.standard_t(3, (count, len(DEPTHS)))), columns=DEPTHS)
        for _ in range(fleets)
    ]
    expected = 0.05 * fleets
    assert sum(bool(odd_of(table)) for table in tables) <= expected + 2.3 * np.sqrt(expected)


def test_nbd_exports_are_of_one_model_unless_told() -> None:
    points = pd.DataFrame({"series": "r", "load": [1.0], "throughput_per_s": [1e4], "latency_s": [1e-4]})
    made = [Provenance(device=f"nbd://127.0.0.1:{port}") for port in (10809, 10810)]
    made.append(Provenance(device="nbd+unix:///disk?socket=/tmp/a", details={"model": "X"}))
    assert [make_of(Sweep(points, provenance=p))["model"] for p in made] == ["NBD", "NBD", "X"]


def test_one_model_is_seldom_taken_for_two():
    assert sum(crowds(np.log(curves(10, seed).to_numpy())).any() for seed in range(FLEETS)) <= 4


def test_drives_are_compared_at_the_loads_that_most_have():
    table = curves(12, 1, 0.01, 0.001)
    table.iloc[0, 3:] = np.nan  # shallow: not judged
    table[512.0] = np.nan
    table.iloc[5, 7] = 1.0  # a load of one drive alone
    table.iloc[7, 0] *= 0.5
    assert odd_of(table) == [7]


def test_small_groups_are_not_judged_and_say_so():
    table = curves(7, 1)
    table.iloc[0] *= 0.1
    found, powers = with_oddness(drives(7), table)
    assert (found["odd"] == "").all()
    assert powers[0].one_load_pct is None


@pytest.mark.parametrize(
    ("one", "every", "said"),
    [
        (42.0, 17.0, "a drive 42 % slower at any one load, or 17 % at all, would have been found nine times in ten"),
        (99.96, 17.0, "a drive 17 % slower at all loads would have been found nine times in ten"),
        (99.96, 99.7, "nothing for sure: like drives differ so much here that none is odd by being slower"),
    ],
)
def test_no_drive_is_said_to_be_a_hundred_percent_slower(one: float, every: float, said: str) -> None:
    assert _seen([Power("r", "m", "1", 0, 30, one, every)]) == said


def test_equal_values_hold_no_odd_one():
    assert not apart(np.ones(10), 0.05).any()
    assert apart(np.array([1.0] * 9 + [2.0]), 0.05).tolist() == [False] * 9 + [True]


def test_a_fleet_says_which_curves_it_compares_by_latencies(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("iodepth,iops,lat_us\n1,10000,100\n8,60000,133\n64,80000,800\n")
    measured = fit_fleet([tmp_path])
    assert "NOTE" not in repr(measured)
    (tmp_path / "times.csv").write_text("iodepth,lat_us\n1,100\n8,133\n64,800\n")
    both = fit_fleet([tmp_path])
    assert "the throughput of 1 of 2 curves was computed as N / R: of these, latencies alone are compared" in repr(both)
    assert both.drives.set_index("drive")["throughput_measured"].to_dict() == {"rates.csv": True, "times.csv": False}


def test_alarms_are_shared_among_all_loads_and_the_mean_of_each_kind_of_drive():
    """Seven loads and their mean are 8 tests; another model, measured at one load, makes them 10."""
    one, other = curves(12, 1), curves(12, 2)[[4.0]]
    both = drives(24).assign(model=["m"] * 12 + ["other"] * 12)
    alone = with_oddness(drives(12), one, false_alarms=0.02)[1][0]
    beside = with_oddness(both, pd.concat([one, other], ignore_index=True), false_alarms=0.025)[1][0]
    assert (beside.drives, beside.one_load_pct) == (12, pytest.approx(alone.one_load_pct))
    assert beside.all_loads_pct == pytest.approx(alone.all_loads_pct)


def test_the_middle_drives_queueing_starts_at_its_idle_latency_times_its_peak() -> None:
    table = drives(3).assign(idle_latency_s=[1e-4, 2e-4, 3e-3], peak_per_s=[5e5, 1e5, 2e5], kind=1)
    table["knee"] = table["idle_latency_s"] * table["peak_per_s"]  # 50, 20 and 600: the median is of no such drive
    assert model_rows(table)[0][-3:] == ("40", "200 k/s", "200 µs")
