"""Points of users who think calibrate the device behind them, and predict it under every kind of load."""

import re
from pathlib import Path

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, compare, fit, objective_knee
from calibrate.prediction.comparison_answer import last_lines
from calibrate.report.compared.curve_figures import little_check
from measure import Sweep, audit, load
from measure.loads import ArrivalRate, Clients, Depth
from qsim import MMcN, solve

KINDS = Path(__file__).parents[3] / "data" / "kinds"
ONE_DEVICE = Path(__file__).parents[4] / "docs" / "data" / "one-device" / "thinking.csv"
SERVICE = 0.01


@pytest.fixture(scope="module", params=["k6-thinking", "think_stats_history.csv"])
def one_server(request: pytest.FixtureRequest) -> Fit:
    """One server of 10 ms under users who think for a second, as k6 and Locust print them."""
    return fit(load(KINDS / request.param))


def test_the_device_behind_the_users_is_found(one_server: Fit) -> None:
    found = one_server.parameters
    assert found["R1"].estimate == pytest.approx(SERVICE, rel=0.05)
    assert found["Xmax"].estimate == pytest.approx(1 / SERVICE, rel=0.03)
    assert one_server.knee.load == pytest.approx(101, rel=0.02)  # (R1 + Z) Xpeak
    assert one_server.knee.definition.startswith("N* = (R1 + Z) Xpeak")
    assert one_server.ninety.load == pytest.approx(96.5, abs=2)
    assert "users who think for 1.00 s: found" in repr(one_server).splitlines()[0]


def test_its_own_users_are_predicted_through_the_chain(one_server: Fit) -> None:
    users = [25, 71, 150]
    exact = [solve(MMcN(population=n, think_time=1, service_time=SERVICE, servers=1)).W for n in users]
    found = one_server.predict(users)
    assert found.response_time_s == pytest.approx(exact, rel=0.05)
    assert found.throughput_per_s == pytest.approx(np.array(users) / (found.response_time_s + 1), rel=0.005)
    assert one_server.predict(Clients(users, think=1.0, noun="users")).response_time_s == pytest.approx(exact, rel=0.05)


def test_an_objective_of_30_ms_is_met_by_71_users(one_server: Fit) -> None:
    knee = objective_knee(one_server, 0.03)
    assert knee.load == pytest.approx(71.5, abs=1.5)
    assert knee.low <= 71.5 <= knee.high


def test_clients_who_do_not_think_and_strangers_are_predicted(one_server: Fit) -> None:
    closed = one_server.predict(Clients([1, 4, 16]))
    assert closed.throughput_per_s == pytest.approx(100, rel=0.03)
    assert closed.response_time_s == pytest.approx([0.01, 0.04, 0.16], rel=0.03)
    strangers = one_server.predict(ArrivalRate([50.0, 80.0]))
    assert strangers.response_time_s == pytest.approx([0.02, 0.05], rel=0.05)


def test_its_station_serves_requests_not_users(one_server: Fit) -> None:
    station = one_server.station()
    assert solve(one_server.queue(4)).throughput == pytest.approx(100, rel=0.03)
    assert station.time.mean == pytest.approx(SERVICE, rel=0.05)
    assert "S" not in one_server.parameters  # servers are told by closed points alone


def test_a_fit_file_keeps_the_kind_of_load(one_server: Fit) -> None:
    again = Fit.from_dict(one_server.to_dict())
    assert again.load_type == one_server.load_type
    assert again.predict([71]).to_dicts() == one_server.predict([71]).to_dicts()
    assert again.knee.load == pytest.approx(one_server.knee.load)


def test_held_out_users_are_within_their_bands() -> None:
    users = np.array([10, 20, 40, 80, 120, 200, 400])
    exact = [solve(MMcN(population=int(n), think_time=0.1, service_time=SERVICE, servers=8)) for n in users]
    made = Sweep(points_at(users, [e.throughput for e in exact], [e.W for e in exact]), load_type=Clients(think=0.1))
    compared = compare(made, [10, 80, 200])
    assert (np.abs(compared.residual_response_pct[compared.held_out]) < 15).all()
    assert compared.inside[compared.held_out].all()


def test_a_closed_sweep_of_the_device_agrees_with_that_of_its_users() -> None:
    loads = np.array([1, 2, 4, 8, 32])
    closed = fit(Sweep(points_at(loads, np.minimum(loads, 4) / SERVICE), load_type=Depth()))
    users = np.array([4, 40, 60, 80, 160])
    exact = [solve(MMcN(population=int(n), think_time=0.2, service_time=SERVICE, servers=4)) for n in users]
    thinking = fit(
        Sweep(points_at(users, [e.throughput for e in exact], [e.W for e in exact]), load_type=Clients(think=0.2))
    )
    for load_asked in (Depth([2, 16]), ArrivalRate([100.0, 300.0]), Clients([30, 90], think=0.2)):
        one, other = (f.predict(load_asked).response_time_s for f in (closed, thinking))
        assert one == pytest.approx(other, rel=0.12)
    assert thinking.station().speeds[15] == pytest.approx(4, rel=0.1)


def test_users_who_think_are_judged_by_their_response_time() -> None:
    """Below the knee N users complete N / Z whatever the device is: a band of ±1 % said nothing of it."""
    done = compare(load(ONE_DEVICE), [2, 10, 60])
    assert done.judges_response.all()
    bands = done.predicted.response_time_high_s / done.predicted.response_time_low_s
    (sure,) = (line for line in last_lines([done]) if line.startswith("SURE?"))
    wide = float(np.median(bands[done.held_out]))
    assert f"bands of response time, but the bands are wide: typically a factor of {wide:.1f} from end to end; " in sure
    assert sure.endswith("where queueing starts is sure, 90 % of the peak rough")  # 10 and 60 users are far from it
    (worst,) = (line for line in last_lines([done]) if line.startswith("WORST"))
    assert " ms measured, " in worst


def test_a_wait_shows_the_peak_of_users_who_think_and_none_hides_it() -> None:
    """400 of them still raised the throughput like their number, and queued for 80 ms of a service of 20."""
    users = np.array([50, 100, 200, 300, 400])
    exact = [solve(MMcN(population=int(n), think_time=2, service_time=0.02, servers=4)) for n in users]
    table = points_at(users, [e.throughput for e in exact], [e.W for e in exact])
    for count, said in ((5, []), (3, ["no-saturated-point"])):
        sweep = Sweep(table[:count], load_type=Clients(think=2.0))
        assert [f.check for f in audit(sweep) if f.severity == "warning"] == said


def test_users_without_a_think_time_are_said_to_have_none_where_those_measured_think(one_server: Fit) -> None:
    assert one_server.predict(Clients([10])).notes == ("no think time, while those measured think for 1.00 s",)


def test_a_report_holds_the_users_against_those_present_and_those_who_think() -> None:
    drawn = little_check(compare(load(ONE_DEVICE)))
    (observed,) = (trace for trace in drawn.data if trace["name"] == "observed X·(R + Z)")
    assert np.array(observed["y"]) == pytest.approx(np.array(observed["x"]), rel=0.03)


def test_a_measured_throughput_above_the_printed_peak_is_named_beside_it() -> None:
    users, think = np.array([10.0, 100, 300, 400, 500, 600, 800]), 1.0
    rates = np.array([9.9, 99, 296, 383, 388, 400, 412])
    points = points_at(users, rates, users / rates - think)
    noisy = repr(fit(Sweep(points, Clients(think=think))))
    assert re.search(r"PEAK +(?:39|40)\d /s \(.*\), up to 412 /s measured, sure;", noisy)
    points.loc[points["load"] == 800, ["throughput_per_s", "latency_s"]] = [400.0, 1.0]
    assert "measured, sure" not in repr(fit(Sweep(points, Clients(think=think))))
