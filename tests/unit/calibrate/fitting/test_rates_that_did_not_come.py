"""A rate of which less than 98 % came is a capacity: a throughput without a response."""

import json
from pathlib import Path

import numpy as np
import pytest
from made_up import points_at

from calibrate import compare, fit, points_of
from calibrate.models.choice import ANY_LOAD
from measure import DataError, Sweep, audit, load
from measure.loads import ArrivalRate
from qsim import MMc, solve

RATES = np.array([10.0, 50.0, 80.0, 150.0])
RESPONSES = np.array([*(1 / (100 - RATES[:3])), 4.0])


def asked(last: float, **more: object) -> Sweep:
    """One server of 10 ms at four rates, of the last of which ``last`` came."""
    return Sweep(points_at(RATES, [*RATES[:3], last], RESPONSES, **more), load_type=ArrivalRate())


def test_the_capacity_tells_the_peak_and_its_response_counts_for_nothing() -> None:
    made = fit(asked(99.0))
    assert made.model == ANY_LOAD
    assert made.used == (10, 50, 80)
    assert made.parameters["Xmax"].estimate == pytest.approx(100, rel=0.02)
    assert made.parameters["Xmax"].high < 108
    assert "of 150 /s asked for 99.0 /s came: the capacity, and no response" in made.notes
    assert compare(asked(99.0)).points.load.tolist() == [10, 50, 80]


def test_a_rate_above_the_peak_of_a_drive_is_refused_and_beside_one_that_was_measured_endless() -> None:
    rates = np.array([80.0, 200, 320, 360])
    drive = fit(Sweep(points_at(rates, rates, [solve(MMc(rate, 100, 4)).W for rate in rates]), ArrivalRate()))
    with pytest.raises(DataError, match=r"500 /s is not served: the peak is (39|40)\d /s; ask for less"):
        drive.predict([300, 500])
    assert np.isinf(drive.predict([500], refuse=False).response_time_high_s).all()


def test_a_rate_of_which_nearly_all_came_or_less_by_chance_is_a_load() -> None:
    assert len(points_of(asked(147.5))) == 4
    assert len(points_of(asked(140.0, requests=1000.0))) == 4
    assert len(points_of(asked(140.0, requests=10_000.0))) == 3


def test_a_device_that_is_overloaded_at_every_rate_is_refused() -> None:
    made = Sweep(points_at([150.0, 200.0], [99.0, 101.0], [2.0, 4.0]), load_type=ArrivalRate())
    with pytest.raises(DataError, match=r"overloaded at every rate.*measure below 101 /s"):
        fit(made)


def test_the_audit_says_what_such_a_rate_is() -> None:
    (found,) = [f for f in audit(asked(99.0)) if f.check == "arrival-rate"]
    assert "150 /s was asked for and 99.0 /s came" in found.message
    assert found.remedy.startswith("a rate that did not come is a capacity")


def test_a_table_of_rates_asked_for_and_reached_is_read_so(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    path.write_text("arrival_rate,tps,latency_ms\n10,10,11.1\n50,50,20\n80,80,50\n150,99,4000\n")
    assert fit(load(path)).parameters["Xmax"].estimate == pytest.approx(100, rel=0.03)


def test_iterations_that_k6_dropped_were_asked_for(tmp_path: Path) -> None:
    metrics = {
        "http_req_duration": {"avg": 400.0},
        "http_reqs": {"count": 6000, "rate": 100.0},
        "iteration_duration": {"avg": 400.0},
        "iterations": {"count": 6000, "rate": 100.0},
        "dropped_iterations": {"count": 3000, "rate": 50.0},
        "vus": {"value": 40, "min": 40, "max": 40},
        "vus_max": {"value": 40, "min": 40, "max": 40},
    }
    path = tmp_path / "overloaded.json"
    path.write_text(json.dumps({"metrics": metrics}))
    sweep = load(path)
    assert sweep.load_type == ArrivalRate(gaps="paced")
    assert sweep.points[["load", "throughput_per_s"]].to_numpy().tolist() == [[150, 100]]
    assert any("33 % were dropped" in f.message for f in sweep.findings)
