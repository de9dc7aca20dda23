"""A device has one peak, in whatever command it is read."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import fit, predict, system
from measure.sweep import Sweep
from qsim import Delay, Exponential, Network, Station, simulate, solve

DEPTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
FALLS = np.array([15.2, 28.0, 55.9, 77.1, 79.9, 70.3, 42.7])
"""A drive that falls past its peak: PEAK said 64 beside a table and an application that reached 77."""
RISES = np.array([5.3, 9.6, 15.2, 23.0, 31.6, 38.2, 42.7])


@pytest.mark.parametrize("rates", [FALLS, RISES], ids=["falls", "rises"])
def test_fit_prediction_and_application_have_one_peak(rates: np.ndarray) -> None:
    made = fit(Sweep(points_at(DEPTHS, rates)))
    peak = made.curve_parameters["Xmax"].estimate
    assert predict(made, np.geomspace(1, 512, 100)).throughput_per_s.max() <= peak * 1.005
    found = system({"drive": made.station()}, [1, 64], draws=20)
    assert found.peak.estimate == pytest.approx(peak, rel=1e-9)
    assert found.knee.estimate == pytest.approx(made.knee.load, rel=1e-6)
    alone = solve(Network({"drive": made.station()}, 64))
    assert alone.utilization == pytest.approx(alone.throughput / peak, rel=5e-3)


def test_no_wait_is_shown_where_all_present_are_served_together() -> None:
    """W 557 µs, "548 µs of it waiting", of a drive whose lone request takes 135 µs."""
    station = fit(Sweep(points_at(DEPTHS, RISES))).station()
    solved = solve(Network({"drive": station}, 64))
    text = str(solved)
    assert "waiting" not in text
    assert "no wait is shown" in text
    assert solved.to_dict()["Wq"] is None
    assert solved.to_frame()[["Lq", "Wq"]].isna().all(axis=None)


def test_no_interval_of_a_wait_is_shown_where_all_present_are_served_together() -> None:
    station = Station(Exponential(1.0), speeds=(1.0, 1.5))
    found = simulate(Network({"users": Delay(1.0), "drive": station}, 4), customers=10_000, seed=1)
    assert {"W", "Wq"} <= set(found.intervals)
    assert not {"Lq", "Wq"} & set(found.to_dict()["intervals"])
    assert "W_low" in found.to_frame()
    assert not {"Lq_low", "Wq_low"} & set(found.to_frame())


def test_the_wait_before_an_ordinary_server_beside_such_a_station_is_shown() -> None:
    together = Station(Exponential(1.0), speeds=(1.0, 1.5))
    solved = solve(Network({"cpu": Station(Exponential(2.0)), "drive": together}, 4))
    frame = solved.to_frame().set_index("name")
    assert frame.loc["cpu", "Wq"] == pytest.approx(solved["cpu"].W - 2.0)
    assert np.isnan(frame.loc["drive", "Wq"])
    assert solved.to_dict()["Wq"] is None


def test_a_share_of_draws_is_not_rounded_to_all() -> None:
    made = fit(Sweep(points_at(DEPTHS, RISES)))
    found = system({"drive": made.station(), "cpu": made.station()}, [1, 64], draws=300)
    assert "in 100 %" not in repr(found)
    assert "-0 %" not in repr(found)
