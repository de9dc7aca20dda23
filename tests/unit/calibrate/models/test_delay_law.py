"""The memory delay law: its curve against bisection, its knee, what three delays, repeats and a known peak leave."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from calibrate import predict
from calibrate.fitting.calibrating import fit_points
from calibrate.models.memory_models import MISSES, BothAxes, DelayLaw
from calibrate.points import Points
from measure.loads import InjectedDelay

TYPICAL = np.array([57.0, 1.36e-9, 65e-9, 5e-9, 4.8e8, 1.3])
DELAYS = np.array([0.0, 2.0, 15.0, 100.0, 500.0, 20_000.0])


def by_bisection(values: np.ndarray, delay: float) -> tuple[float, float]:
    lines, per_unit, idle, queueing, peak, q = values

    def excess(rho: float) -> float:
        response = idle + queueing * rho / (1 - rho)
        cycle = ((per_unit * delay) ** q + response**q) ** (1 / q)
        return lines / cycle + 1 / response - rho * peak

    rho = brentq(excess, 0.0, 1 - 1e-13, xtol=1e-15)
    return rho * peak, idle + queueing * rho / (1 - rho)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("which", range(6))
def test_curve_agrees_with_bisection(which: int, scale: float) -> None:
    values = TYPICAL.copy()
    values[which] *= scale
    throughput, response = DelayLaw().curve(values[None, :], DELAYS)
    expected = np.array([by_bisection(values, d) for d in DELAYS])
    assert throughput[0] == pytest.approx(expected[:, 0], rel=1e-8)
    assert response[0] == pytest.approx(expected[:, 1], rel=1e-8)


def test_loaders_and_probe_share_the_memory() -> None:
    throughput, response = DelayLaw().curve(TYPICAL[None, :], DELAYS)
    lines, per_unit, q = TYPICAL[[0, 1, 5]]
    loaders = lines / ((per_unit * DELAYS) ** q + response[0] ** q) ** (1 / q)
    assert throughput[0] == pytest.approx(loaders + 1 / response[0], rel=1e-9)


def test_the_knee_maximises_power() -> None:
    knee = DelayLaw().knee(TYPICAL[None, :])
    idle, queueing, peak = TYPICAL[2:5]

    def negative_power(rho: float) -> float:
        return -rho / (idle + queueing * rho / (1 - rho))

    best = minimize_scalar(negative_power, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-12}).x
    assert knee.throughput[0] == pytest.approx(best * peak, rel=1e-4)
    at_knee, response = DelayLaw().curve(TYPICAL[None, :], knee.load)
    assert at_knee[0, 0] == pytest.approx(knee.throughput[0], rel=1e-9)
    assert response[0, 0] == pytest.approx(knee.response[0], rel=1e-9)


def test_a_knee_that_the_loaders_cannot_reach_has_no_delay() -> None:
    weak = TYPICAL.copy()
    weak[0] = 1.0  # one line in flight
    assert np.isnan(DelayLaw().knee(weak[None, :]).load[0])


def test_waiting_while_accessing_gives_more_than_waiting_after_it() -> None:
    after, while_accessing = TYPICAL.copy(), TYPICAL.copy()
    after[5], while_accessing[5] = 1.0, 3.0
    throughput, _ = DelayLaw().curve(np.array([after, while_accessing]), DELAYS)
    assert throughput[1, 0] == pytest.approx(throughput[0, 0])  # without a delay nothing overlaps
    assert (throughput[1, 1:] > throughput[0, 1:]).all()
    gain = throughput[1] / throughput[0]
    assert gain.max() > 1.2  # where delay and access take equally long
    assert gain[-1] < 1.02


def measured(values: np.ndarray = TYPICAL, loads: np.ndarray = DELAYS, bent: np.ndarray | float = 1.0) -> Points:
    """The law's own points, their response times multiplied by ``bent``."""
    throughput, response = (v[0] for v in DelayLaw().curve(values[None, :], loads))
    nothing = np.full(len(loads), np.nan)
    ones = np.ones(len(loads))
    return Points("read", InjectedDelay(), loads, throughput, response * bent, ones, nothing, nothing)


def test_between_its_points_the_prediction_leans_to_what_the_law_misses() -> None:
    """A latency 30 % above every law at one delay is predicted above the law next to it, and not far away."""
    loads = np.array([0.0, 500.0, 1000.0, 20_000.0])
    fit = fit_points(measured(loads=loads, bent=np.array([1.0, 1.0, 1.3, 1.0])), DelayLaw())
    predicted = predict(fit, [1000.0, 1100.0, 20_000.0]).response_time_s
    law = DelayLaw().curve(fit.table.most_probable[None, :], np.array([1000.0, 1100.0, 20_000.0]))[1][0]
    assert predicted[0] > 1.05 * law[0]
    assert predicted[1] > 1.05 * law[1]
    assert predicted[2] == pytest.approx(law[2], rel=0.06)


@pytest.mark.parametrize("overlap", [1.0, 1.3, 3.0])
@pytest.mark.parametrize("queueing", [2e-9, 15e-9])
def test_three_delays_predict_the_others(overlap: float, queueing: float) -> None:
    law = np.array([57.0, 1.36e-9, 65e-9, queueing, 4.8e8, overlap])
    loads = np.array([0.0, 20.0, 50, 100, 200, 500, 1000, 2500])
    points = measured(law, loads)
    found = predict(fit_points(points.choose([0, 500, 2500]), DelayLaw()), loads)
    missed = np.abs(found.throughput_per_s / points.throughput_per_s - 1)
    assert np.median(missed) < 0.03
    assert (found.throughput_low_per_s <= points.throughput_per_s).mean() > 0.8
    assert (points.throughput_per_s <= found.throughput_high_per_s).mean() > 0.8


def test_a_miss_in_throughput_says_nothing_of_one_in_response() -> None:
    both = BothAxes(1.0, 0.2, 20.0).among(np.array([[0.0, 0.0], [500.0, 0.0], [0.0, 1.0], [500.0, 1.0]]))
    assert both[:2, 2:] == pytest.approx(np.zeros((2, 2)))
    assert both[:2, :2] == pytest.approx(MISSES.among(np.array([0.0, 500.0])))
    assert both[2:, 2:] == pytest.approx(both[:2, :2])


def test_a_known_peak_moves_the_law_to_it_where_the_sweep_ends_below() -> None:
    points = measured(loads=np.array([100.0, 500.0, 2500.0]))  # the shortest delay is far from saturation
    truth = TYPICAL[4]
    blind, told = (
        fit_points(points, DelayLaw(), peak_per_s=p).parameters["B"].estimate for p in (None, 0.87 * 64 * truth)
    )
    assert abs(np.log(told / truth)) < 0.5 * abs(np.log(blind / truth))
