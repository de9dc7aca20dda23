"""Services measured at arrival rates, and drives watched in production, are calibrated through the chain."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from made_up import open_sweep

from calibrate import Fit, WhatIf, compare, fit, objective_knee, what_if
from calibrate.fitting.calibrating import fit_points
from calibrate.models.choice import ANY_LOAD
from calibrate.models.through_chain import AnyLoad
from calibrate.points import points_of
from measure import DataError, audit, load
from measure.loads import ArrivalRate, Clients, Depth, Outstanding
from qsim import MMc, solve

KINDS = Path(__file__).parents[3] / "data" / "kinds"


@pytest.fixture(scope="module")
def one_server() -> Fit:
    """One server of 10 ms; made by the formula of Poisson arrivals, which k6 does not send: so that is told."""
    return fit(load(KINDS / "k6-rates", {"gaps": "poisson"}))


def test_arrival_rates_tell_the_idle_latency_and_the_capacity(one_server: Fit) -> None:
    assert one_server.model == ANY_LOAD
    assert one_server.load_type == ArrivalRate()
    assert one_server.parameters["R1"].estimate == pytest.approx(0.01, rel=0.02)
    assert one_server.parameters["Xmax"].estimate == pytest.approx(100, rel=0.02)
    assert one_server.knee.load == pytest.approx(50, rel=0.02)  # of M/M/1: half of the capacity
    assert one_server.knee.response_time_s == pytest.approx(0.02, rel=0.05)
    assert "Poisson arrivals: told" in repr(one_server).splitlines()[0]


def test_clients_are_predicted_from_arrival_rates(one_server: Fit) -> None:
    closed = one_server.predict(Clients([1, 4, 16]))
    assert closed.throughput_per_s == pytest.approx(100, rel=0.02)
    assert closed.response_time_s == pytest.approx([0.01, 0.04, 0.16], rel=0.02)


def test_other_rates_and_an_objective_are_those_of_m_m_1(one_server: Fit) -> None:
    rates = np.array([20.0, 60.0, 85.0])
    assert one_server.predict(rates.tolist()).response_time_s == pytest.approx(1 / (100 - rates), rel=0.05)
    assert objective_knee(one_server, 0.03).load == pytest.approx(100 - 1 / 0.03, rel=0.03)


def test_k6_sends_at_even_gaps_unless_told_otherwise() -> None:
    sweep = load(KINDS / "k6-rates")
    assert sweep.load_type == ArrivalRate(gaps="paced")
    assert sweep.points["load"].tolist() == pytest.approx([10, 50, 80, 90, 95])
    assert fit(sweep).parameters["Xmax"].estimate == pytest.approx(100, rel=0.05)
    assert load(KINDS / "k6-workshop.json").points["load"].tolist() == [19.8]


def test_wrk2_holds_rates_and_its_percentiles_leave_nothing_out() -> None:
    sweep = load([KINDS / "wrk2" / "r2000.txt", KINDS / "wrk2" / "r4000.txt"])
    assert sweep.load_type == ArrivalRate(gaps="paced")
    assert sweep.points["load"].tolist() == pytest.approx([1999.97, 3999.9], rel=1e-3)
    assert sweep.points["latency_s"].tolist() == pytest.approx([0.98e-3, 0.644e-3], rel=0.01)
    assert not any("coordinated omission" in f.message for f in sweep.findings)
    assert load(KINDS / "wrk2" / "r1000.txt").points["latency_p99_s"].tolist() == pytest.approx([0.0553])


def test_a_rate_beyond_the_capacity_of_a_service_is_no_response_though_its_last_answer_is_awaited() -> None:
    overloaded = KINDS / "vegeta-overload"  # real: one worker of 10 ms, asked for 130 a second for 15 s
    for last in ("r130.txt", "r130.json"):
        (point,) = load(overloaded / last).points.to_dict("records")
        assert (point["load"], point["throughput_per_s"]) == pytest.approx((130.06, 99.99), abs=0.01)
    made = fit(load(sorted(overloaded.glob("*.txt"))))
    assert made.notes[0] == "of 130 /s asked for 100 /s came: the capacity, and no response"
    assert made.parameters["Xmax"].estimate == pytest.approx(100, rel=0.05)
    assert made.parameters["R1"].estimate == pytest.approx(0.01, rel=0.15)
    assert (made.is_far_off, made.never_waits) == (False, "")


def test_answers_that_grew_all_along_tell_a_rate_that_the_tool_does_not_print(tmp_path: Path) -> None:
    said = (KINDS / "wrk2" / "r1000.txt").read_text()
    assert load(KINDS / "wrk2" / "r1000.txt").points["load"].tolist() == [995.3]
    percentiles = {"50.000": "2.50s", "75.000": "3.75s", "90.000": "4.50s", "99.000": "4.95s", "99.900": "4.99s"}
    for percent, time in percentiles.items():
        said = re.sub(rf" {re.escape(percent)}%.*", f" {percent}%    {time}", said)
    grown = tmp_path / "r1200.txt"
    grown.write_text(re.sub("Latency    23.98ms   16.68ms  62.40ms", "Latency     2.50s     1.44s    5.00s", said))
    sweep = load(grown)
    (point,) = sweep.points.to_dict("records")
    assert point["throughput_per_s"] == 995.3
    assert any(
        "does not print the rate it was asked for; about 1.19 k/s is inferred" in f.message for f in sweep.findings
    )
    assert point["load"] == pytest.approx(995.3 / (1 - 5 / 30), rel=1e-3)  # a sixth of 30 s was still queued


def test_iterations_of_k6_that_pile_up_tell_the_rate_at_which_they_were_started() -> None:
    sweep = load(sorted((KINDS / "k6-overload").glob("*.json")))  # real: asked for 15, 65, 90 and 130 a second
    assert sorted(sweep.points["load"]) == pytest.approx([15, 65, 90, 130], rel=0.01)
    origins = sweep.points.sort_values("load")["load_origin"].tolist()
    assert origins == ["measured"] * 3 + ["computed: X T / (T - 2 R) of a run of T seconds in which the queue grew"]
    assert any(
        "k6 does not print the rate it was asked for; about 131 /s is inferred" in f.message for f in sweep.findings
    )
    made = fit(sweep)
    assert made.notes[0] == "of about 131 /s asked for 99.7 /s came: the capacity, and no response"
    assert made.parameters["Xmax"].estimate == pytest.approx(100, rel=0.05)


def test_a_service_whose_times_are_evenly_long_is_not_taken_for_a_queue_that_grew(tmp_path: Path) -> None:
    found = json.loads((KINDS / "k6-overload" / "r65.json").read_text())
    even = {"avg": 10.0, "min": 0.1, "med": 10.0, "max": 20.0, "p(90)": 18.0, "p(95)": 19.0}
    found["metrics"] |= dict.fromkeys(("http_req_duration", "iteration_duration"), even)
    (tmp_path / "uniform.json").write_text(json.dumps(found))
    sweep = load(tmp_path / "uniform.json")
    assert sweep.points["load"].tolist() == sweep.points["throughput_per_s"].tolist()
    assert not any("does not print" in f.message for f in sweep.findings)


@pytest.mark.parametrize(
    ("tool", "asked", "came"),
    [
        ("pgbench", 125.4, 96.35),
        ("sysbench", 900.0, 757.21),
    ],  # pgbench: 130 were asked for, and its text does not say it
)
def test_poisson_arrivals_beyond_the_capacity_are_no_response_either(tool: str, asked: float, came: float) -> None:
    sweep = load(sorted((KINDS / f"{tool}-overload").glob("*.txt")))  # real
    point = sweep.points.sort_values("load").iloc[-1]
    assert (point["load"], point["throughput_per_s"]) == pytest.approx((asked, came), rel=1e-3)
    made = fit(sweep)
    assert len(made.used) == len(sweep.points) - 1
    assert any(note.endswith("came: the capacity, and no response") for note in made.notes)
    assert made.parameters["Xmax"].estimate == pytest.approx(came, rel=0.05)


def test_requests_that_wait_for_a_free_client_in_a_steady_run_are_responses(tmp_path: Path) -> None:
    said = (KINDS / "pgbench-overload" / "r60.txt").read_text()
    mean, lag = "latency average = 900.0 ms\nlatency stddev = 520.0 ms", "rate limit schedule lag: avg 800.0 (max 3000"
    said = re.sub(r"latency average = .*\nlatency stddev = .*", mean, said)
    said = re.sub(r"rate limit schedule lag: avg \S+ \(max \S+", lag, said)
    for seconds, steady in ((15, False), (1500, True)):  # a wait of 6 % of the run, and of 0.06 %
        file = tmp_path / f"{seconds}.txt"
        count = round(60 * seconds)
        told = re.sub(r"actually processed: \d+", f"actually processed: {count}", said)
        file.write_text(re.sub(r"tps = \S+", "tps = 60.0", told))
        (point,) = load(file).points.to_dict("records")
        assert (point["load"] == 60.0) is steady


def test_a_service_that_answers_sooner_at_a_higher_rate_keeps_the_model_that_sleeps() -> None:
    sweep = load([KINDS / "wrk2" / "r2000.txt", KINDS / "wrk2" / "r4000.txt"])
    assert fit(sweep).model == "M/G/c with setup"


def test_open_sweeps_of_fio_keep_their_model() -> None:
    rates = np.array([10.0, 50.0, 80.0, 90.0])
    assert fit(open_sweep(rates, 1 / (100 - rates))).model.startswith("M/G/c")


@pytest.fixture(scope="module")
def watched() -> Fit:
    """A drive of 100 \N{MICRO SIGN}s under Poisson reads, as iostat prints it."""
    return fit(load(KINDS / "iostat-open.txt"))


def test_a_drive_in_production_is_read_as_open_and_both_readings_are_shown(watched: Fit) -> None:
    assert watched.load_type == Outstanding(arrivals=True)
    assert watched.parameters["R1"].estimate == pytest.approx(100e-6, rel=0.02)
    assert watched.parameters["Xmax"].estimate == pytest.approx(10e3, rel=0.02)
    assert watched.knee.load == pytest.approx(1.0, rel=0.05)
    (note,) = [n for n in watched.notes if n.startswith("Poisson arrivals are assumed")]
    assert "had a fixed number been in flight, the idle latency would be 200" in note


def test_a_watched_drive_is_predicted_at_means_depths_and_rates(watched: Fit) -> None:
    means = watched.predict([1, 4])
    assert means.throughput_per_s == pytest.approx([5e3, 8e3], rel=0.02)  # L / (1 + L) of the capacity
    assert watched.predict(Depth([1, 4])).throughput_per_s == pytest.approx(10e3, rel=0.02)
    assert watched.predict(ArrivalRate([5e3])).response_time_s == pytest.approx([200e-6], rel=0.02)


def test_a_fit_file_of_a_watched_drive_predicts_the_same(watched: Fit) -> None:
    again = Fit.from_dict(watched.to_dict())
    assert again.load_type == watched.load_type
    assert again.predict([2]).to_dicts() == watched.predict([2]).to_dicts()


def test_several_servers_are_found_from_rates_whatever_the_law_of_service() -> None:
    rates = 400 * np.array([0.1, 0.4, 0.7, 0.85, 0.95])
    sweep = open_sweep(rates, [solve(MMc(rate, 100, 4)).W for rate in rates])
    made = fit_points(points_of(sweep), AnyLoad(ArrivalRate()))
    assert made.parameters["N*"].estimate == pytest.approx(4, rel=0.05)
    assert made.station().speeds[15] == pytest.approx(4, rel=0.05)


def test_a_comparison_predicts_rates_that_it_did_not_see() -> None:
    compared = compare(load(KINDS / "k6-rates", {"gaps": "poisson"}), [10, 50, 95])
    assert (np.abs(compared.residual_response_pct[compared.held_out]) < 10).all()
    assert compared.inside[compared.held_out].all()


def test_a_comparison_holds_where_a_rate_is_above_the_peak_that_a_few_points_tell() -> None:
    compared = compare(load(KINDS / "k6-rates", {"gaps": "poisson"}), [10, 50])
    assert np.isfinite(compared.predicted.response_time_s).all()


def test_a_rate_that_is_not_served_is_refused(one_server: Fit) -> None:
    with pytest.raises(DataError, match="is not served"):
        one_server.predict([150.0])


def test_a_changed_device_is_compared_under_the_load_that_was_measured(one_server: Fit, watched: Fit) -> None:
    twice = what_if(one_server, WhatIf(workers=(1, 2))).fit.predict(ArrivalRate([80.0]))
    assert twice.response_time_s == pytest.approx([solve(MMc(80, 100, 2)).W], rel=0.1)
    faster = what_if(watched, WhatIf(service=0.5)).fit.predict(Outstanding([1.0], arrivals=True))
    assert faster.throughput_per_s == pytest.approx([10e3], rel=0.15)


def test_a_model_of_requests_in_flight_is_refused_for_users_who_think() -> None:
    with pytest.raises(ValueError, match="takes users for requests in flight, and these think"):
        fit(load(KINDS / "think_rps.csv"), model="p-norm")


def test_even_gaps_to_a_service_whose_first_answers_are_slower_are_no_poisson_arrivals(tmp_path: Path) -> None:
    table = tmp_path / "paced.csv"
    table.write_text("rate,achieved,mean_ms\n60,60,11\n160,160,10.4\n260,260,10.3\n360,360,10.4\n")
    made = fit(load(table, {"gaps": "paced"}))
    assert made.model == ANY_LOAD
    assert made.parameters["Xmax"].estimate == pytest.approx(400, rel=0.05)  # four servers are the fewest


def test_slower_first_answers_are_no_queue_and_the_peak_is_assumed(tmp_path: Path) -> None:
    table = tmp_path / "paced.csv"
    table.write_text("rate,achieved,mean_ms\n60,60,15\n160,160,10.4\n260,260,10.3\n360,360,10.4\n")
    sweep = load(table, {"gaps": "paced"})
    made = fit(sweep)
    assert made.hides_its_peak
    assert made.parameters["Xmax"].low == pytest.approx(360)  # which were served, of the 400 of four servers
    assert made.parameters["Xmax"].high is None
    assert "no-saturated-point" in [finding.check for finding in audit(sweep)]


@pytest.mark.parametrize("model", [ANY_LOAD, "M/G/c"])
def test_a_rate_above_a_peak_that_is_assumed_is_refused_as_that(tmp_path: Path, model: str) -> None:
    table = tmp_path / "paced.csv"
    table.write_text("rate,achieved,mean_ms\n60,60,10.4\n160,160,10.4\n260,260,10.3\n360,360,10.4\n")
    made = fit(load(table, {"gaps": "paced"}), model=model)
    with pytest.raises(DataError, match=r"5\.00 k/s is above .*, what is assumed of the peak, as no"):
        made.predict([5000.0])
