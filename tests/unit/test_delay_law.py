"""The memory delay law solved against plain bisection, and its knee against the power it maximises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from calibrate.delay_law import DelayLaw

TYPICAL = np.array([57.0, 1.2e-9, 1.36e-9, 65e-9, 5e-9, 4.8e8])
DELAYS = np.array([0.0, 2.0, 15.0, 100.0, 500.0, 20_000.0])


def by_bisection(values: np.ndarray, delay: float) -> tuple[float, float]:
    lines, between, per_unit, idle, queueing, peak = values

    def excess(rho: float) -> float:
        response = idle + queueing * rho / (1 - rho)
        return lines / (between + per_unit * delay + response) + 1 / response - rho * peak

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
    lines, between, per_unit = TYPICAL[:3]
    loaders = lines / (between + per_unit * DELAYS + response[0])
    assert throughput[0] == pytest.approx(loaders + 1 / response[0], rel=1e-9)


def test_the_knee_maximises_power() -> None:
    knee = DelayLaw().knee(TYPICAL[None, :])
    idle, queueing, peak = TYPICAL[3:]

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
