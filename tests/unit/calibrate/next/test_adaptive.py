"""Adaptive sweeps: where the next point goes, when they stop, and that they come near the full sweep's knee."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibrate import fit
from calibrate.fitting.curve_fit import fit_points
from calibrate.models.closed import PNorm
from calibrate.next.adaptive import LOADS, AdaptiveResult, adaptive, next_choice
from calibrate.next.load import knee_shares
from calibrate.points import points_of
from measure.errors import DataError
from measure.sweep import Sweep
from qsim import MMcN, solve

GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
Curve = Callable[[float], float]


def bend(knee: float, peak: float = 1000.0, sharpness: float = 2.6) -> Curve:
    return lambda load: peak * (1 + (knee / load) ** sharpness) ** (-1 / sharpness)


def repairman(load: float) -> float:
    return float(solve(MMcN(int(load), 100e-6, 100e-6, 8)).throughput)  # N* = 16


def sweep_of(pairs: Sequence[tuple[float, float]]) -> Sweep:
    """Points (load, throughput) in the order in which they were measured."""
    table = pd.DataFrame(pairs, columns=["load", "throughput_per_s"])
    table = table.assign(series="d", latency_s=table["load"] / table["throughput_per_s"])
    table["started_at"] = [f"2026-01-01T00:00:{second:02d}" for second in range(len(table))]
    table["repeat"] = table.groupby("load").cumcount()
    return Sweep(table)


class Bench:
    """Measures a curve, notes what it was asked for, and fails at ``broken`` loads."""

    def __init__(self, curve: Curve, noise: float = 0.0, broken: Sequence[float] = (), seed: int = 0) -> None:
        self.curve, self.noise, self.broken = curve, noise, broken
        self.rng = np.random.default_rng(seed)
        self.asked: list[tuple[float, int]] = []
        self.pairs: list[tuple[float, float]] = []

    def __call__(self, load: float, repeat: int) -> Sweep | None:
        self.asked.append((load, repeat))
        if load not in self.broken:
            self.pairs.append((load, self.curve(load) * float(np.exp(self.noise * self.rng.standard_normal()))))
        return sweep_of(self.pairs) if self.pairs else None


@pytest.fixture(scope="module")
def plain() -> AdaptiveResult:
    """The search on a well-behaved device, without noise."""
    return adaptive(Bench(bend(6)), 14)


def loads(result: AdaptiveResult) -> list[float]:
    return [s.load for s in result.steps]


# --- the result ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [bend(5), bend(20, sharpness=1.0), bend(20, sharpness=8.0), repairman])
def test_a_third_of_the_points_gives_the_knee_of_the_full_sweep(curve: Curve) -> None:
    full = fit(sweep_of([(n, curve(n)) for n in GRID]), GRID).knee
    result = adaptive(Bench(curve, noise=0.01), len(GRID) // 3, loads=GRID)
    assert len(result.steps) <= 6
    assert result.knee.load == pytest.approx(full.load, rel=0.1)
    assert result.knee.low is not None
    assert result.knee.high is not None
    assert result.knee.low < full.load < result.knee.high


def test_it_begins_at_both_ends_and_stops_when_the_interval_is_narrow(plain: AdaptiveResult) -> None:
    assert loads(plain)[:2] == [1, 32]
    assert [s.why for s in plain.steps[:2]] == ["start", "start"]
    assert plain.stopped == "narrow enough"
    assert plain.half_width <= 0.1
    assert 4 < len(plain.steps) < 14
    assert plain.steps[-1].why == "repeat"  # nothing is believed that was not measured twice
    assert plain.repeat_noise == pytest.approx(0.0, abs=1e-12)
    assert "within the ±10 %" in str(plain)


def test_the_result_is_json_and_a_table(plain: AdaptiveResult) -> None:
    result = plain
    document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert document["points_used"] == len(result.steps)
    assert document["points_allowed"] == 28
    assert document["knee"]["load"] == result.knee.load
    assert [s["load"] for s in document["steps"]] == loads(result)
    lines = str(result).splitlines()
    assert lines[0].split() == ["load", "throughput", "knee", "so", "far", "why"]
    assert len([line for line in lines if line.startswith(" ")]) >= len(result.steps)


# --- where the next point goes -------------------------------------------------------------------------------------


def test_what_a_point_would_explain_is_what_conditioning_the_table_on_it_takes_away() -> None:
    """Against the posterior itself: rows reweighted by the likelihood of each outcome, averaged over outcomes.

    A linear regression explains at most what the conditional mean does.
    """
    points = points_of(sweep_of([(n, bend(8)(n)) for n in (1, 32)]))
    fitted = fit_points(points, PNorm())
    candidates = np.array([2.0, 4.0, 10.0, 100.0])
    weight, knee = fitted.table.weight, np.log(fitted.curve_model.knee(fitted.table.values).load)
    expected = fitted.measurements(candidates)
    variance = weight @ knee**2 - (weight @ knee) ** 2
    taken = []
    for mean, deviation in zip(expected.mean.T, expected.deviation.T, strict=True):
        outcomes = np.linspace((mean - 4 * deviation).min(), (mean + 4 * deviation).max(), 4000)
        density = weight[:, None] * np.exp(-0.5 * ((outcomes - mean[:, None]) / deviation[:, None]) ** 2)
        density /= deviation[:, None]
        whole = density.sum(axis=0) + 1e-300
        left = knee**2 @ density / whole - (knee @ density / whole) ** 2
        taken.append(1 - float(left @ whole / whole.sum()) / variance)
    share = knee_shares(fitted, candidates)
    assert (share <= np.array(taken) + 0.05).all()
    assert share.max() > 0.3 * max(taken)
    assert np.argmax(share) == np.argmax(taken) == 3


def test_an_unsaturated_deep_point_sends_the_next_one_deeper_step_by_step() -> None:
    result = adaptive(Bench(bend(90)), 7, tolerance=0.02)
    deeper = [s.load for s in result.steps if s.why == "deeper"]
    assert deeper == [128, 256]  # at most four times deeper each, and no deeper than allowed
    assert "the knee may lie as high as" in next(s.reason for s in result.steps if s.why == "deeper")
    assert result.knee.load == pytest.approx(90, rel=0.1)


def test_a_share_of_the_choices_checks_the_widest_gap() -> None:
    result = adaptive(Bench(bend(6), noise=0.02), 7, tolerance=0.001)
    checks = [i for i, s in enumerate(result.steps) if s.why == "check"]
    assert checks == [3, 6]
    before = np.array(loads(result)[:3])
    gap = [np.abs(np.log(n / before)).min() for n in LOADS if n <= 4 * before.max()]
    assert np.abs(np.log(result.steps[3].load / before)).min() == pytest.approx(max(gap))


def test_a_point_off_the_curve_is_measured_again() -> None:
    curve = bend(8)
    points = [(1, curve(1)), (3, 0.7 * curve(3)), (8, curve(8)), (32, curve(32)), (128, curve(128))]
    sweep = points_of(sweep_of(points))
    choice = next_choice(fit_points(sweep, PNorm()), sweep, LOADS, chosen=5)
    assert choice is not None
    assert (choice.why, choice.load) == ("repeat", 3)
    assert "noise, or the model?" in choice.reason


def test_a_noisy_lone_request_is_repeated_where_it_has_no_neighbour() -> None:
    curve = bend(8)
    points = [(1, 1.15 * curve(1)), (1, 0.87 * curve(1)), (32, curve(32)), (64, curve(64)), (128, curve(128))]
    sweep = points_of(sweep_of(points))
    choice = next_choice(fit_points(sweep, PNorm()), sweep, [1, 32, 64, 128], chosen=5)
    assert choice is not None
    assert (choice.why, choice.load) == ("repeat", 1)


# --- what can go wrong ---------------------------------------------------------------------------------------------


def test_a_load_that_fails_counts_and_is_not_tried_again() -> None:
    bench = Bench(bend(6), broken=(32,))
    result = adaptive(bench, 4)
    assert bench.asked[:3] == [(1, 0), (32, 0), (38, 0)]  # the next deep one takes its place
    assert sum(load == 32 for load, _ in bench.asked) == 1
    assert [s.measured for s in result.steps[:3]] == [True, False, True]
    assert "failed" in str(result)


def test_where_nothing_can_be_measured_it_says_so() -> None:
    with pytest.raises(DataError, match="fewer than two loads"):
        adaptive(Bench(bend(6), broken=LOADS[1:]), 40)
    with pytest.raises(DataError, match="fewer than two loads"):
        adaptive(Bench(bend(6), broken=LOADS), 5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": 2}, "budget is 2"),
        ({"budget": 5, "loads": (1, 8, 8)}, "at least 3 different"),
        ({"budget": 5, "loads": (0, 4, 8)}, "above zero"),
        ({"budget": 5, "tolerance": 1.0}, "tolerance is 1"),
        ({"budget": 5, "tolerance": 0.0}, "tolerance is 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_measured(settings: dict, message: str) -> None:
    bench = Bench(bend(6))
    with pytest.raises(ValueError, match=message):
        adaptive(bench, **settings)
    assert bench.asked == []


# --- going on where it was -----------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_changes_no_order() -> None:
    bench = Bench(bend(20), noise=0.02)
    straight = adaptive(bench, 5, tolerance=0.02)
    kept = sweep_of(bench.pairs)
    backwards = kept.points.assign(
        sequence=range(len(kept)), started_at=[f"2026-01-01T00:00:{59 - i}" for i in range(len(kept))]
    )
    resumed = adaptive(Bench(bend(20)), 5, tolerance=0.02, already=replace(kept, points=backwards))
    assert resumed.steps == straight.steps
    lost = adaptive(
        Bench(bend(20)), 5, tolerance=0.02, already=replace(kept, points=backwards.drop(columns="sequence"))
    )
    assert lost.steps != straight.steps  # without their numbers the times are all there is


def test_points_of_another_sweep_are_used_and_called_so() -> None:
    curve = bend(6)
    bench = Bench(curve)
    bench.pairs = [(n, curve(n)) for n in (2, 4, 8, 64)]
    result = adaptive(bench, 6, already=sweep_of(bench.pairs))
    assert [s.why for s in result.steps[:4]] == ["there"] * 4
    assert bench.asked[0] == (1, 0)
    assert result.fit.used[0] == 1
    assert len(result.steps) <= 6


def test_nothing_is_measured_where_the_points_are_there(plain: AdaptiveResult) -> None:
    idle = Bench(bend(6))
    again = adaptive(idle, 14, already=plain.sweep)
    assert idle.asked == []
    assert again.steps == plain.steps
    assert again.stopped == "narrow enough"
