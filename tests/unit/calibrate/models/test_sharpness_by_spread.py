"""The spread of latencies tells how sharp the knee is."""

from __future__ import annotations

import pytest
from made_up import points_at

from calibrate import fit, points_of
from calibrate.models.curves import FINITE, SHARPNESS_MEDIAN, Declining, OnsetPNorm, sharpness_by_spread
from measure.sweep import Sweep

UNKNOWN = float("nan")


def sweep(**columns: list[float]) -> Sweep:
    return Sweep(points_at([1, 32], [10e3, 100e3], **columns), name="drive")


@pytest.mark.parametrize(
    ("cv", "p99", "expected"),
    [
        (0.24, UNKNOWN, 1.82),
        (0.24, 9.0, 1.82),  # the standard deviation goes first
        (1.0, UNKNOWN, 1.82 * (1 / 0.24) ** -0.37),
        (0.0, UNKNOWN, 1.82 * (0.01 / 0.24) ** -0.37),
        (50.0, UNKNOWN, 1.82 * (3 / 0.24) ** -0.37),
        (UNKNOWN, 1 + 2.33 * 0.47, 1.97),
        (UNKNOWN, 1 + 2.33, 1.97 * (1 / 0.47) ** -0.23),
    ],
)
def test_median_of_the_sharpness(cv: float, p99: float, expected: float) -> None:
    assert sharpness_by_spread(cv, p99) == pytest.approx(expected)


def test_the_deepest_point_decides() -> None:
    narrow, wide = sweep(latency_sd_s=[1.0, 1e-5]), sweep(latency_sd_s=[1e-9, 1e-3])
    sharpness = [OnsetPNorm().parameters_of(points_of(s))[2].prior_median for s in (narrow, wide)]
    assert sharpness == [
        pytest.approx(sharpness_by_spread(1e-5 / 320e-6, UNKNOWN)),
        pytest.approx(sharpness_by_spread(3.0, UNKNOWN)),
    ]


def test_equal_latencies_make_a_sharper_curve() -> None:
    middle = [
        fit(s).predict([8]).throughput_per_s[0]
        for s in (sweep(latency_sd_s=[1e-6, 3e-6]), sweep(latency_sd_s=[1e-4, 9e-4]))
    ]
    assert middle[0] > 1.1 * middle[1]


def test_p99_is_used_where_no_deviation_is_known() -> None:
    known = fit(sweep(latency_p99_s=[2e-4, 33e-5])).predict([8]).throughput_per_s[0]
    assert known > 1.02 * fit(sweep()).predict([8]).throughput_per_s[0]


def test_past_the_peak_the_spread_tells_nothing() -> None:
    points = points_of(sweep(latency_sd_s=[1e-6, 3e-6]))
    assert Declining().parameters_of(points)[2].prior_median == FINITE * SHARPNESS_MEDIAN
