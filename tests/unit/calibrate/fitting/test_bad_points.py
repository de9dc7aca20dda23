"""Points that no device would give: every answer is finite and lies in its interval, without a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare, fit, predict
from measure import Sweep

AT = np.array([1.0, 2, 8, 64, 300])
Pairs = list[tuple[float, float]]

CASES: dict[str, Pairs] = {
    "repeats that differ": [(1, 100), (1, 140), (8, 500), (8, 900), (8, 600), (64, 1000)],
    "one point": [(4, 100)],
    "a lone point at depth 64": [(64, 1e5)],
    "depth 1 alone, three times": [(1, 100), (1, 101), (1, 102)],
    "falling everywhere": [(1, 1000), (2, 800), (8, 300), (64, 100)],
    "all the same": [(1, 500), (2, 500), (4, 500), (32, 500)],
    "two far depths": [(1e5, 1e6), (2e5, 1.1e6)],
    "a thousand points": [(float(n), 1e5 * n / (n + 30)) for n in range(1, 1001)],
    "small floats": [(1, 1e-15), (8, 5e-15), (64, 9e-15)],
    "large floats": [(1, 1e15), (8, 5e15), (64, 9e15)],
    "more than linear": [(1, 100), (2, 500), (4, 3000), (8, 30000)],
    "up and down": [(1, 10), (2, 1000), (4, 5), (8, 1e6)],
    "a straight line": [(1, 1e4), (2, 2e4), (256, 256e4)],
    "far apart": [(1, 1), (1000, 1e6)],
}


def sweep_of(pairs: Pairs) -> Sweep:
    return Sweep(points_at(*zip(*pairs, strict=True)))


def holds(low: float | None, value: float | None, high: float | None) -> bool:
    return value is None or ((low is None or low <= value) and (high is None or value <= high))


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_finite_and_in_its_interval_without_a_warning(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = fit(sweep_of(CASES[case]))
        curve = predict(made, AT)
        knee, parameters = made.knee, made.parameters
        ninety = made.ninety
    for row in curve.to_dicts():
        assert np.isfinite(list(row.values())).all()
        assert 0 < row["throughput_low_per_s"] <= row["throughput_per_s"] <= row["throughput_high_per_s"]
        assert 0 < row["response_time_low_s"] <= row["response_time_s"] <= row["response_time_high_s"]
        assert row["throughput_per_s"] * row["response_time_s"] == pytest.approx(row["load"])
    assert knee.load is not None
    assert knee.load >= 1
    assert holds(knee.low, knee.load, knee.high)
    assert np.isfinite([knee.low, knee.high, knee.throughput_per_s, knee.response_time_s]).all()  # type: ignore[list-item]
    for name, e in parameters.items():
        assert holds(e.low, e.estimate, e.high), name
    assert holds(ninety.low, ninety.load, ninety.high)
    assert str(made)


@pytest.mark.parametrize("case", [name for name, pairs in CASES.items() if len(pairs) < 100])
def test_it_is_compared_and_written(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = compare(sweep_of(CASES[case]))
        assert made.to_dict()["points"]
        assert str(made)


def clients(latency_at_one: float) -> Sweep:
    n = np.array([1.0, 2, 4, 8, 16])
    rate = np.array([80.0, 160, 320, 330, 331])
    latency = n / rate
    latency[0] = latency_at_one
    return Sweep(points_at(n, rate, latency))


def test_a_latency_that_breaks_littles_law_is_not_calibrated_on() -> None:
    honest, stalled = fit(clients(1 / 80)), fit(clients(0.018))
    assert stalled.knee.load == pytest.approx(honest.knee.load)
    assert [n for n in stalled.notes if "Little's law" in n] == [
        "depth 1: the latency of 18.0 ms breaks Little's law; calibrated on N / X = 12.5 ms"
    ]
    assert not [n for n in honest.notes if "Little's law" in n]


def test_latencies_that_all_break_littles_law_stay() -> None:
    sweep = clients(1 / 80)
    doubled = Sweep(sweep.points.assign(latency_s=2 * sweep.points["latency_s"]))
    assert fit(doubled).used_response_s == tuple(doubled.points["latency_s"])


def test_the_throughput_at_the_knee_is_at_most_the_peak() -> None:
    made = fit(clients(1 / 80))
    assert made.knee.throughput_per_s <= made.parameters["Xmax"].estimate


@pytest.mark.parametrize("factor", [1e-3, 1e3, 1e6])
def test_latencies_in_another_unit_move_no_knee(factor: float) -> None:
    n = np.array([1.0, 4, 16, 64])
    x = 1e5 * n / (n + 7)
    right, wrong = (fit(Sweep(points_at(n, x, times * n / x))) for times in (1.0, factor))
    assert wrong.knee == right.knee
    assert any("as in another unit; calibrated on N / X" in note for note in wrong.notes)
