"""The memory delay law solved against plain bisection, and its knee against the power it maximises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from calibrate.delay_law import MISSES, DelayLaw
from calibrate.fitting import fit_points
from calibrate.points import Points
from calibrate.prediction import predict

TYPICAL = np.array([57.0, 1.2e-9, 1.36e-9, 65e-9, 5e-9, 4.8e8, 1.3])
DELAYS = np.array([0.0, 2.0, 15.0, 100.0, 500.0, 20_000.0])


def by_bisection(values: np.ndarray, delay: float) -> tuple[float, float]:
    lines, between, per_unit, idle, queueing, peak, q = values

    def excess(rho: float) -> float:
        response = idle + queueing * rho / (1 - rho)
        cycle = ((between + per_unit * delay) ** q + response**q) ** (1 / q)
        return lines / cycle + 1 / response - rho * peak

    rho = brentq(excess, 0.0, 1 - 1e-13, xtol=1e-15)
    return rho * peak, idle + queueing * rho / (1 - rho)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("which", range(7))
def test_curve_agrees_with_bisection(which: int, scale: float) -> None:
    values = TYPICAL.copy()
    values[which] *= scale
    throughput, response = DelayLaw().curve(values[None, :], DELAYS)
    expected = np.array([by_bisection(values, d) for d in DELAYS])
    assert throughput[0] == pytest.approx(expected[:, 0], rel=1e-8)
    assert response[0] == pytest.approx(expected[:, 1], rel=1e-8)


def test_loaders_and_probe_share_the_memory() -> None:
    throughput, response = DelayLaw().curve(TYPICAL[None, :], DELAYS)
    lines, between, per_unit, q = TYPICAL[[0, 1, 2, 6]]
    loaders = lines / ((between + per_unit * DELAYS) ** q + response[0] ** q) ** (1 / q)
    assert throughput[0] == pytest.approx(loaders + 1 / response[0], rel=1e-9)


def test_the_knee_maximises_power() -> None:
    knee = DelayLaw().knee(TYPICAL[None, :])
    idle, queueing, peak = TYPICAL[3:6]

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
    after[6], while_accessing[6] = 1.0, 3.0
    throughput, _ = DelayLaw().curve(np.array([after, while_accessing]), DELAYS)
    assert (throughput[1] > throughput[0]).all()
    gain = throughput[1] / throughput[0]
    assert gain.max() > 1.2  # where delay and access take equally long
    assert gain[-1] < 1.02


def test_misses_at_near_delays_go_together_and_zero_is_near_to_two() -> None:
    alike = MISSES.between(np.array([0.0, 500.0]), np.array([2.0, 550.0, 20_000.0]))
    assert alike[0, 0] > 0.75
    assert alike[1, 1] > 0.75
    assert alike[1, 2] < 0.01


def test_between_its_points_the_prediction_leans_to_what_the_law_misses() -> None:
    """Throughputs 10 % above every law at one delay are predicted above the law next to it, and not far away."""
    loads = np.array([0.0, 500.0, 1000.0, 20_000.0])
    throughput, response = (v[0] for v in DelayLaw().curve(TYPICAL[None, :], loads))
    bent = response * np.array([1.0, 1.0, 1.3, 1.0])
    nothing = np.full(len(loads), np.nan)
    points = Points("read", "injected_delay", "cycles", loads, throughput, bent, np.ones(4), nothing, nothing)
    fit = fit_points(points, DelayLaw())
    predicted = predict(fit, [1000.0, 1100.0, 20_000.0]).response_time_s
    law = DelayLaw().curve(fit.mode[None, :], np.array([1000.0, 1100.0, 20_000.0]))[1][0]
    assert predicted[0] > 1.05 * law[0]
    assert predicted[1] > 1.05 * law[1]
    assert predicted[2] == pytest.approx(law[2], rel=0.06)
