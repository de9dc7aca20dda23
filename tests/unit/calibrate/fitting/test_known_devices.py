"""Devices that are known exactly: N*, shallow depths and their bands from two and three depths without noise."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, fit, predict
from measure import Sweep
from qsim import MMcN, solve

SERVICE = 3e-3
SHALLOW = np.array([2.0, 3.0])


def rates(law: str, servers: int, depths: np.ndarray, delay: float = 0.0) -> np.ndarray:
    """X at ``depths`` (m,): the bounds of constant service, or the machine repairman of exponential service."""
    if law == "deterministic":
        return np.minimum(depths / (SERVICE + delay), servers / SERVICE)
    return np.array([solve(MMcN(int(n), delay, SERVICE, servers)).throughput for n in depths])


def calibrated(law: str, servers: int, use: tuple[float, ...], delay: float = 0.0) -> Fit:
    return fit(Sweep(points_at(use, rates(law, servers, np.array(use), delay))))


@pytest.mark.parametrize("use", [(1.0, 3, 32), (1.0, 8, 64), (1.0, 32)], ids=str)
@pytest.mark.parametrize("servers", [1, 3, 4, 8])
@pytest.mark.parametrize("law", ["deterministic", "exponential"])
def test_the_knee_is_the_number_of_servers(law: str, servers: int, use: tuple[float, ...]) -> None:
    made = calibrated(law, servers, use)
    assert made.knee.load == pytest.approx(servers, rel=0.07)  # from two points the peak lies a little beyond
    assert made.knee.low is not None
    assert made.knee.high is not None
    assert made.knee.low <= servers <= made.knee.high
    n_star = made.curve_model.knee
    low, middle, high = made.table.quantiles(lambda v: n_star(v).load, (0.05, 0.5, 0.95))
    assert low <= servers * (1 + 1e-3)
    assert servers <= high
    assert middle == pytest.approx(
        servers, rel=0.05 if len(use) > 2 else 0.1
    )  # without what was measured at depth 1, too


HARDEST = ("1, 8 and 64", 3)
"""Depth 8 is far beyond a knee of 3, so that nothing tells a sharp knee from a soft one: depth 3 is missed by 12 % at
most and within its band. Depth 3 itself, or 4, tells."""


@pytest.mark.parametrize(("use", "name"), [((1.0, 3, 32), "1, 3 and 32"), ((1.0, 8, 64), "1, 8 and 64")])
@pytest.mark.parametrize("servers", [1, 3, 4, 8])
@pytest.mark.parametrize("law", ["deterministic", "exponential"])
def test_depths_2_and_3_are_predicted_from_three(law: str, servers: int, use: tuple[float, ...], name: str) -> None:
    curve = predict(calibrated(law, servers, use), SHALLOW)
    true = rates(law, servers, SHALLOW)
    missed = np.abs(curve.throughput_per_s / true - 1)
    assert missed[0] < 0.04
    assert missed[1] < (0.125 if (name, servers) == HARDEST else 0.04)
    assert (curve.throughput_low_per_s <= true).all()
    assert (true <= curve.throughput_high_per_s).all()


@pytest.mark.parametrize("servers", [3, 4, 8])
@pytest.mark.parametrize("use", [(1.0, 8, 64), (1.0, 4, 16, 128)], ids=str)
def test_a_delay_moves_the_knee_by_its_share(servers: int, use: tuple[float, ...]) -> None:
    made = calibrated("exponential", servers, use, delay=SERVICE)  # N* = c (Z + S) / S
    assert made.knee.load == pytest.approx(2 * servers, rel=0.05)
    assert made.knee.low <= 2 * servers <= made.knee.high  # type: ignore[operator]
