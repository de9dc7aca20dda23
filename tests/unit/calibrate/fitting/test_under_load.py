"""Objectives in users and arrivals, and shares of the peak, are readings of the curve that ``predict`` prints."""

from pathlib import Path

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, fit, from_datasheet, objective_knee, objective_under
from calibrate.fitting.other_loads import load_at_share
from measure import Sweep, load, load_dataset
from measure.errors import DataError
from measure.loads import ArrivalRate, Clients, Depth, PeakShare
from qsim import MMcN, solve

SERVICE = 0.01
DATA = Path(__file__).parents[4] / "docs" / "data"


@pytest.fixture(scope="module")
def one_server() -> Fit:
    """One server of 10 ms, measured closed: 100 /s at every depth."""
    depths = np.array([1.0, 2, 4, 8, 16, 32, 64])
    return fit(Sweep(points_at(depths, np.full(depths.size, 1 / SERVICE))))


def test_a_share_of_the_peak_is_that_rate_of_arrivals(one_server: Fit) -> None:
    found = one_server.predict(PeakShare([0.6, 0.8]))
    assert found.load_type == ArrivalRate()
    assert found.load == pytest.approx([60, 80], rel=0.01)
    assert found.response_time_s == pytest.approx(one_server.predict(ArrivalRate(found.load)).response_time_s)
    assert one_server.predict(PeakShare([0.6], ArrivalRate(gaps="paced"))).load_type.gaps == "paced"


def test_no_response_is_predicted_below_that_of_a_lone_request() -> None:
    """Of a noisy disk near its peak the band of ``1.5 ms (5e-15 and more)`` began below anything."""
    made = fit(load(DATA / "quick"))
    near_the_peak = made.predict(ArrivalRate([80e3]))
    alone = made.predict([1.0])
    assert near_the_peak.response_time_low_s[0] > 0.5 * alone.response_time_low_s[0]
    assert near_the_peak.response_time_low_s[0] < near_the_peak.response_time_s[0]


def test_a_share_of_the_peak_in_users_is_the_number_that_gives_it(one_server: Fit) -> None:
    (users,) = load_at_share(one_server, PeakShare([0.6], Clients(think=1.0))).values
    exact = {n: solve(MMcN(population=n, think_time=1, service_time=SERVICE, servers=1)).throughput for n in (61, 62)}
    assert exact[61] < 60 < exact[62]
    assert users in (61, 62)
    assert one_server.predict(Clients([users], think=1.0)).throughput_per_s == pytest.approx(60, rel=0.02)


def test_a_share_of_the_peak_in_depths_lies_on_the_printed_curve() -> None:
    drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    (depth,) = load_at_share(drive, PeakShare([0.9], Depth())).values
    assert depth == pytest.approx(drive.ninety.load, rel=0.02)
    assert drive.predict([depth]).throughput_per_s == pytest.approx(540e3, rel=0.005)


def test_a_share_is_between_none_and_all_of_a_peak_that_the_fit_has() -> None:
    with pytest.raises(ValueError, match="shares must lie between 0 and 1"):
        PeakShare([60])
    memory = fit(load_dataset("001-memory"), series=load_dataset("001-memory").series[0])
    with pytest.raises(DataError, match="no peak throughput to take a share of; give delays"):
        memory.predict(PeakShare([0.6]))


def test_an_objective_is_answered_in_users_of_a_device_that_was_measured_closed(one_server: Fit) -> None:
    users = Clients(think=1.0, noun="users")
    found = objective_under(one_server, 0.03, users)
    assert found.load == pytest.approx(71.5, abs=3)
    assert found.low <= 71.5 <= found.high
    assert found.load_name == "users N"
    there = one_server.predict(Clients([found.load], think=1.0))
    assert there.response_time_s == pytest.approx(0.03, rel=0.02)
    assert found.throughput_per_s * (found.response_time_s + 1) == pytest.approx(found.load)


def test_users_beyond_the_deepest_point_are_no_extrapolation_where_few_of_them_are_present(one_server: Fit) -> None:
    found = objective_under(one_server, 0.03, Clients(think=1.0))
    assert found.load > max(one_server.used) > found.throughput_per_s * found.response_time_s
    assert "extrapolation" not in found.note
    assert "extrapolation" in objective_under(one_server, 0.7, Clients(think=1.0)).note


def test_an_objective_is_answered_in_arrivals(one_server: Fit) -> None:
    found = objective_under(one_server, 0.03, ArrivalRate())
    assert found.low <= 100 - 1 / 0.03 <= found.high  # M/M/1: R = 1 / (100 - rate)
    assert found.load == found.throughput_per_s
    assert one_server.predict(ArrivalRate([found.load])).response_time_s == pytest.approx(0.03, rel=0.02)


def test_an_objective_in_the_fit_s_own_kind_is_the_reading_of_its_own_curve(one_server: Fit) -> None:
    assert objective_under(one_server, 0.03, Depth()) == objective_knee(one_server, 0.03)


def test_an_objective_that_no_load_or_every_load_meets_says_so(one_server: Fit) -> None:
    users = Clients(think=1.0, noun="users")
    assert objective_under(one_server, 1e-3, users).note.startswith("even at 1 user the predicted response takes ")
    strangers = objective_under(one_server, 1e-3, ArrivalRate())
    assert strangers.load is None
    with pytest.raises(ValueError, match="slo must be a positive time"):
        objective_under(one_server, 0.0, users)
