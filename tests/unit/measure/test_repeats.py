"""Intervals of means over repeats, outliers among repeats and along a curve."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from made_up import points_at
from scipy import stats

from measure.auditing.all_checks import audit
from measure.loads import LOADS as KINDS
from measure.repeats import check_outliers, flag_outliers, half_width, intervals, outlying_points, outlying_repeats
from measure.sweep import Sweep

LOADS = np.array([1.0, 2, 4, 8, 16, 32, 64])
CURVE = 1 / (1 / (LOADS * 1000) ** 2.5 + 1 / 2e4**2.5) ** (1 / 2.5)


def table(repeats: int, sd: float, seed: int = 0) -> pd.DataFrame:
    noise = np.exp(sd * np.random.default_rng(seed).standard_normal((len(LOADS), repeats)))
    rates = (CURVE[:, None] * noise).ravel()
    return points_at(np.repeat(LOADS, repeats), rates, repeat=np.tile(range(repeats), len(LOADS)))


# --- intervals ------------------------------------------------------------------------------------------------------


def test_the_interval_of_the_throughput_is_students() -> None:
    x = np.array([98.0, 101.0, 104.0, 99.0])
    low, high = stats.t.interval(0.95, 3, loc=x.mean(), scale=x.std(ddof=1) / 2)
    found = intervals(x, [1.0] * 4)
    assert (found["throughput_low"], found["throughput_high"]) == pytest.approx((low, high))
    assert half_width(x - x.mean(), 0.9) == pytest.approx(stats.t.interval(0.9, 3)[1] * x.std(ddof=1) / 2)


def test_one_repeat_has_no_interval() -> None:
    assert all(math.isnan(v) for v in intervals([100.0], [1.0]).values())


def test_no_limit_is_below_zero() -> None:
    assert intervals([1.0, 100.0], [1.0, 0.01])["throughput_low"] == 0


def test_ninety_five_percent_intervals_hold_the_truth_that_often() -> None:
    """1,000 points of 4 repeats: a latency that is N / X, weighted by requests; the truth of both is known."""
    rng = np.random.default_rng(3)
    inside = np.zeros(2)
    for _ in range(1000):
        x = 1000 * (1 + 0.05 * rng.standard_normal(4))
        found = intervals(x, 8 / x)
        inside += (
            found["throughput_low"] <= 1000 <= found["throughput_high"],
            found["latency_low"] <= 8e-3 <= found["latency_high"],
        )
    assert inside / 1000 == pytest.approx([0.95, 0.95], abs=0.025)


def test_mean_points_carry_the_intervals() -> None:
    points = table(4, 0.03)
    means = Sweep(points).mean_points()
    one = points[points["load"] == 8]
    expected = intervals(one["throughput_per_s"], one["latency_s"])
    row = means[means["load"] == 8].iloc[0]
    assert {k: row[k] for k in expected} == pytest.approx(expected)
    assert row["throughput_low"] < row["throughput_per_s"] < row["throughput_high"]
    assert row["latency_low"] < row["latency_s"] < row["latency_high"]


# --- outliers among repeats -----------------------------------------------------------------------------------------


def test_three_repeats_alone_cannot_tell_which_is_off() -> None:
    assert not outlying_repeats([100.0, 101.0, 60.0]).any()
    assert outlying_repeats([100.0, 101.0, 60.0], others_sd=0.01).tolist() == [False, False, True]
    assert not outlying_repeats([100.0, 60.0], others_sd=0.01).any()


def test_three_repeats_that_all_differ_have_no_outlier() -> None:
    assert not outlying_repeats([100.0, 80.0, 60.0], others_sd=0.01).any()


def test_five_repeats_can() -> None:
    assert outlying_repeats([100.0, 101.0, 99.0, 100.5, 60.0]).tolist() == [False] * 4 + [True]
    two = outlying_repeats([100.0, 101.0, 99.0, 100.5, 60.0, 99.5, 150.0, 100.0])
    assert np.flatnonzero(two).tolist() == [4, 6]


def test_what_does_not_matter_is_no_outlier() -> None:
    assert not outlying_repeats([100.0, 100.001, 99.999, 100.0, 97.0]).any()


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_noise_is_seldom_flagged_and_a_lost_third_is_found(repeats: int) -> None:
    false = found = 0
    for seed in range(100):
        quiet = table(repeats, 0.03, seed)
        false += int((flag_outliers(quiet) != "").any())
        i = seed % len(quiet)
        quiet.loc[i, "throughput_per_s"] *= 0.6
        found += int(flag_outliers(quiet)[i] == "repeat")
    assert false <= 10  # of 100 sweeps with 7 points each
    assert found >= 95


# --- outliers along a curve -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("off", "factor"), [(1, 0.5), (1, 0.7), (2, 0.5), (2, 0.7), (3, 0.5), (3, 0.7), (4, 0.5), (5, 0.5)]
)
def test_a_point_that_falls_out_of_the_curve_is_found(off: int, factor: float) -> None:
    x = CURVE.copy()
    x[off] *= factor
    assert np.flatnonzero(outlying_points(LOADS, x)).tolist() == [off]


def test_of_two_points_either_of_which_leaves_a_smooth_curve_the_slow_one_is_the_outlier() -> None:
    slowed_at_8 = [290.0, 579, 1090, 796, 1070, 1100, 1120]  # four servers of 3.4 ms
    assert np.flatnonzero(outlying_points([1, 2, 4, 8, 16, 32, 64], slowed_at_8)).tolist() == [3]


@pytest.mark.parametrize(
    "x",
    [
        CURVE,
        [10, 18, 30, 40, 42, 38, 30],  # falls past its peak for good
        [10, 28, 60, 110, 160, 170, 170],  # idle states at depth 1: latency falls at first
        [10, 20, 21, 40, 62, 62, 62],  # latency jumps between 2 and 4, then stays flat
        [30, 20, 20, 20, 20, 20, 20],  # left the write cache: falls and does not come back
    ],
)
def test_curves_that_devices_have_hold_no_outlier(x: list[float]) -> None:
    assert not outlying_points(LOADS, x).any()


def test_a_curve_that_few_points_do_not_explain_has_no_outlier() -> None:
    assert not outlying_points(LOADS, [10, 30, 10, 30, 10, 30, 10]).any()


def test_noise_widens_the_tolerance() -> None:
    x = CURVE.copy()
    x[5] *= 0.6
    assert outlying_points(LOADS, x).any()
    assert not outlying_points(LOADS, x, 0.2).any()


def test_all_repeats_of_such_a_point_are_flagged_in_closed_sweeps_only() -> None:
    points = table(2, 0.005)
    points.loc[points["load"] == 8, "throughput_per_s"] *= 0.5
    assert (flag_outliers(points) == "curve").sum() == 2
    assert (flag_outliers(points, closed=False) == "").all()


# --- findings -------------------------------------------------------------------------------------------------------


def test_outliers_are_findings_of_the_audit_with_the_way_to_measure_again() -> None:
    points = table(3, 0.005)
    points.loc[4, "throughput_per_s"] *= 0.6
    found = [f for f in audit(Sweep(points)) if f.check == "outlier"]
    assert [(f.severity, f.load) for f in found] == [("warning", 2.0)]
    assert "repeat 2 at depth 2 gives 1.20 k/s where the other 2 give 2.00 k/s to 2.00 k/s" in found[0].message
    assert "--repeats" in found[0].remedy


def test_a_point_off_its_curve_is_told_beside_its_neighbours() -> None:
    points = table(1, 0.0)
    points.loc[3, "throughput_per_s"] *= 0.5
    (found,) = check_outliers(points, KINDS["queue_depth"])
    assert found.load == 8
    assert "3.85 k/s at depth 8, between 3.97 k/s at 4 and 13.4 k/s at 16" in found.message


# --- means ----------------------------------------------------------------------------------------------------------


def test_mean_points_are_those_of_each_load_by_itself() -> None:
    rows = pd.concat([table(3, 0.05), table(1, 0.05).assign(series="a", bandwidth_bytes_per_s=[1e6, *[math.nan] * 6])])
    shuffled = rows.sample(frac=1, random_state=1).sort_values("series", ascending=False, kind="stable")
    found = Sweep(shuffled).mean_points()
    assert found["series"].tolist() == ["made"] * 7 + ["a"] * 7
    for _, point in found.iterrows():
        runs = rows[(rows["series"] == point["series"]) & (rows["load"] == point["load"])]
        x, r = runs["throughput_per_s"], runs["latency_s"]
        assert point["repeats"] == len(runs)
        assert point["throughput_per_s"] == pytest.approx(x.mean())
        assert point["latency_s"] == pytest.approx((x * r).mean() / x.mean())
        assert point["throughput_spread"] == pytest.approx(x.std(ddof=1) / x.mean(), nan_ok=True)
        assert point["latency_spread"] == pytest.approx(r.std(ddof=1) / r.mean(), nan_ok=True)
        assert point["bandwidth_bytes_per_s"] == pytest.approx(runs["bandwidth_bytes_per_s"].mean(), nan_ok=True)


def test_what_is_done_to_means_leaves_the_sweep_as_it_was() -> None:
    sweep = Sweep(table(2, 0.05))
    means = sweep.mean_points()
    means.loc[:, "throughput_per_s"] = 0.0
    assert (sweep.mean_points()["throughput_per_s"] > 0).all()
