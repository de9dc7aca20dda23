"""``qsim predict --at`` with loads of another kind: arrivals a second, and users who think."""

from pathlib import Path

import pytest

from qsim import MMcN, solve

KINDS = Path(__file__).parents[2] / "data" / "kinds"

FOUR_SERVERS = """iodepth,iops,latency_us
1,333,3003
2,667,2999
4,1333,3001
8,1333,6001
32,1333,24006
"""


@pytest.fixture
def drive(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text(FOUR_SERVERS)
    return str(path)


def test_arrivals_at_a_rate_are_named_with_their_gaps(qsim, drive):
    run = qsim("predict", drive, "--at", "300/s,800/s")
    assert "ARRIVALS" in run.out
    assert "Poisson arrivals" in run.out
    points = qsim("predict", drive, "--at", "300/s,800/s", "--json").json["points"]
    assert [p["load"] for p in points] == [300, 800]
    assert [p["throughput_per_s"] for p in points] == [300, 800]
    assert 2.8e-3 < points[0]["response_time_s"] < points[1]["response_time_s"]
    assert "evenly spaced arrivals" in qsim("predict", drive, "--at", "800/s:paced").out


def test_rates_alone_predict_clients_and_even_gaps_though_they_are_fitted_by_another_model(qsim, tmp_path):
    rates = tmp_path / "rates.csv"  # of a single server of 10 ms, by the formula of M/M/1
    rates.write_text("asked_rate,served (req/s),mean latency (ms)\n10,10,11.11\n50,50,20\n80,80,50\n90,90,100\n")
    assert "M/G/c" in qsim("predict", str(rates), "--at", "50/s").out
    points = qsim("predict", str(rates), "--at", "1,4clients", "--json").json["points"]
    assert [p["throughput_per_s"] for p in points] == pytest.approx([100, 100], rel=0.02)
    assert [p["response_time_s"] for p in points] == pytest.approx([0.01, 0.04], rel=0.02)
    even = qsim("predict", str(rates), "--at", "80/s:paced", "--json").json["points"][0]
    assert even["response_time_low_s"] < 0.0269 < even["response_time_high_s"]  # D/M/1


def test_strangers_are_answered_with_a_simulated_p99(qsim, drive):
    run = qsim("predict", drive, "--at", "800/s")
    assert "P99, SIMULATED (90 % band)" in run.out
    assert "p99 is simulated: first come, first served" in run.out
    (point,) = qsim("predict", drive, "--at", "800/s", "--json").json["points"]
    assert point["response_time_s"] < point["p99_low_s"] <= point["p99_s"] <= point["p99_high_s"]


def test_users_who_think_obey_the_interactive_response_time_law(qsim, drive):
    (point,) = qsim("predict", drive, "--at", "200users:think=1s", "--json").json["points"]
    assert point["throughput_per_s"] * (point["response_time_s"] + 1) == pytest.approx(200)
    assert "a think time of 1.00 s" in qsim("predict", drive, "--at", "200users:think=1s").out


def test_a_closed_sweep_says_from_how_many_thinking_users_on_queueing_starts(qsim, drive):
    asked = ("predict", drive, "--at", "200users:think=1s")
    found = qsim(*asked, "--json").json
    idle, peak = (found["parameters"][name]["estimate"] for name in ("R1", "Xmax"))
    users = found["users"]
    assert users["load"] == pytest.approx((idle + 1) * peak)
    assert users["low"] < users["load"] < users["high"]
    (line,) = (one for one in qsim(*asked).out.splitlines() if one.startswith("USERS   "))
    assert f" {users['load']:.0f} (" in line
    assert "users" not in qsim("predict", drive, "--at", "8", "--json").json


def test_the_report_draws_what_was_asked_for(qsim, drive, tmp_path):
    report = tmp_path / "report.html"
    qsim("predict", drive, "--at", "300/s,800/s", "--report", str(report))
    assert "arrival rate" in report.read_text()


def test_a_change_of_the_device_is_judged_by_the_response_at_a_rate(qsim, drive):
    run = qsim("predict", drive, "--at", "1.1k/s", "--what-if", "drives=1:2")
    assert run.out.startswith("With 2 drives for 1: ")
    assert "less response time at arrival rate 1.10 k/s" in run.out.splitlines()[0]


BEHIND_THE_LAST = "say it behind the last alone, as 2k/s,8k/s:paced or 10,50users:think=1s"


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        ("--at 2k/s", "2.00 k/s is not served", 1),
        ("--at 1333/s", "there are often more requests present than the points cover", 1),
        ("--at 0/s", "expected a value above 0", 2),
        ("--at 3/s:often", "expected paced or poisson, as 2k/s,8k/s:paced", 2),
        ("--at 5users:think", "expected a think time, as 10..200users:think=1s", 2),
        ("--at 10users:think=-1s", "think must be zero or more seconds", 2),
        ("--at 1.5users:think=1s", "expected whole numbers", 2),
        ("--at 40users:think=1s,45users:think=1s", BEHIND_THE_LAST, 2),
        ("--at 60%users:think=1s,90%users:think=1s", BEHIND_THE_LAST, 2),
        ("--at 0%", "invalid share of the peak 0: expected above 0% and below 100%, e.g. 60%,80%", 2),
        ("--at 100%", "invalid share of the peak 100", 2),
        ("--at 60%,800/s", "'800/s' stands beside shares of the peak: give shares alone, as 60%,80%", 2),
        ("--at 60%,8", "'8' stands beside shares of the peak", 2),
        ("--at 60%:often", "expected paced or poisson", 2),
        ("--columns latency=iops:ms,throughput=iops", "'iops' is declared as latency and as throughput; keep one", 1),
        ("--columns think=10s", "nobody thinks for 10.0 s here", 1),
        ("--columns think=-1s", "the think time '-1s' is below zero; write it like think=1s, or think=0", 1),
    ],
)
def test_a_load_that_cannot_be_predicted_is_refused_in_one_line(qsim, drive, words, said, code):
    run = qsim("predict", drive, *words.split())
    assert run.code == code
    assert said in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_prediction_of_another_kind_is_not_sealed(qsim, drive, tmp_path):
    run = qsim("predict", drive, "--at", "800/s", "--seal", str(tmp_path / "sealed.json"))
    assert run.code == 2
    assert "leave the unit of --at out" in run.err


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("10,100,100\n20,100,100\n40,100,100", "the kind of load is unknown; say which it was: --columns think=1s"),
        ("20,10,30", "one point does not tell; say which it was"),
        ("10,100,300\n20,200,300", "R is above N / X at 10 users: 300 ms and 100 ms"),
        ("1,100,10\n8,400,20\n120,120,10\n320,320,13", "kinds of load are mixed in one table"),
    ],
)
def test_a_load_of_unknown_kind_is_asked_about_before_a_model_is_fitted(qsim, tmp_path, rows, said):
    path = tmp_path / "users.csv"
    path.write_text(f"users,requests_per_s,latency_ms\n{rows}\n")
    for command in ("fit", "compare", "predict"):
        run = qsim(command, str(path))
        assert run.code == 1
        assert said in run.err
        assert len(run.err.strip().splitlines()) == 1
    assert qsim("fit", str(path), "--columns", "think=0").code == 0


MIXED = """kind,load,requests_per_s,latency_ms
closed,1,100,10
closed,2,200,10
closed,4,400,10
closed,8,400,20
poisson,120,120,10.07
poisson,320,320,17.46
"""


def test_a_table_of_several_kinds_is_fitted_compared_and_shown(qsim, tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text(MIXED)
    assert "depths 1, 2, 4 and 8 and rates 120 /s and 320 /s" in qsim("fit", str(path)).out
    compared = qsim("compare", str(path), "--use", "1,4,8")
    assert "predicted from depths 1, 4 and 8, with another kind of load" in compared.out
    assert "Both held-out points are inside" in compared.out
    assert {s["load"] for s in qsim("compare", str(path), "--json").json["series"]} == {
        "outstanding requests N",
        "arrival rate (requests/s)",
    }
    shown = qsim("show", str(path)).out
    assert "320 /s" in shown


def test_a_fit_of_one_kind_is_compared_with_points_of_another(qsim, tmp_path, drive):
    fitted, opened, report = tmp_path / "fit.json", tmp_path / "open.csv", tmp_path / "report.html"
    assert qsim("fit", drive, "--out", str(fitted)).code == 0
    opened.write_text("arrival_rate,iops,latency_ms\n400,400,3.02\n1000,1000,4.53\n")
    compared = qsim("compare", str(opened), "--prediction", str(fitted), "--report", str(report))
    assert "with another kind of load" in compared.out
    assert "held-out points are inside" in compared.out
    assert report.exists()


def test_the_knee_of_a_changed_device_is_in_requests_present(qsim):
    run = qsim("predict", str(KINDS / "think_rps.csv"), "--what-if", "workers=1:2", "--at", "50")
    assert "queueing starts at 2.1 (2.0 to 2.5) requests present" in run.out
    assert "depth" not in run.out


def test_a_rate_beyond_what_was_measured_is_warned_of_in_predict_and_compare(qsim, drive, tmp_path):
    shallow = tmp_path / "shallow.csv"
    shallow.write_text("\n".join(FOUR_SERVERS.splitlines()[:5]) + "\n")
    said = "more than 8 requests, the deepest load measured, are present over 1 % of the time"
    assert f"{said}\n" in qsim("predict", str(shallow), "--at", "1.1k/s").out
    assert said in qsim("predict", str(shallow), "--at", "1.1k/s", "--json").json["doubts"][0]
    fitted, opened = tmp_path / "fit.json", tmp_path / "open.csv"
    qsim("fit", str(shallow), "--out", str(fitted))
    opened.write_text("arrival_rate,iops,latency_ms\n400,400,3.02\n1100,1100,5.4\n")
    compared = qsim("compare", str(opened), "--prediction", str(fitted))
    assert "warning: other-load: above" in compared.err
    assert said in compared.err


def test_rates_without_a_device_ask_for_one(qsim):
    run = qsim("predict", "--at", "2k/s")
    assert (run.code, "nothing to predict from" in run.err) == (2, True)


def test_a_changed_device_says_from_how_many_thinking_users_on_queueing_starts_too(qsim, drive):
    asked = ("predict", drive, "--at", "200users:think=1s", "--what-if", "drives=1:2")
    then = qsim(*asked, "--json").json["what_if"]
    peak = then["parameters"]["Xmax"]["estimate"]
    assert then["users"]["load"] == pytest.approx(then["knee"]["load"] + peak, rel=0.01)
    (line,) = (one for one in qsim(*asked).out.splitlines() if one.startswith("THEN") and "users" in one)
    assert line.startswith(f"THEN    queueing starts at {then['users']['load']:.0f} (")


def test_clients_who_think_for_no_time_are_clients(qsim, drive):
    none, plain = (qsim("predict", drive, "--at", at, "--json").json["points"] for at in ("8users:think=0s", "8"))
    assert none[0]["throughput_per_s"] == pytest.approx(plain[0]["throughput_per_s"], rel=0.02)


def test_a_service_measured_at_one_rate_is_not_sent_to_fio(qsim, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("arrival_rate,tps,latency_ms\n10,10,11\n")
    run = qsim("fit", str(path))
    assert "measure more rates with the tool that sent these" in run.err
    assert "fio" not in run.err


def test_60_percent_of_the_peak_under_strangers_is_answered_in_one_line(qsim, drive):
    run = qsim("predict", drive, "--at", "60%")
    (line,) = (one for one in run.out.splitlines() if one.startswith("60 %    "))
    assert line.startswith("60 %    of PEAK is 80")  # of 1333 /s
    assert "of Poisson arrivals: " in line
    assert " on average, p99 " in line
    assert "the same rate as depth 2.4" in line
    found = qsim("predict", drive, "--at", "60%,80%", "--json").json
    peak = found["parameters"]["Xmax"]["estimate"]
    assert [p["load"] for p in found["points"]] == pytest.approx([0.6 * peak, 0.8 * peak])
    assert found["shares_of_peak"] == [0.6, 0.8]


def test_a_share_of_the_peak_in_clients_or_users_is_their_number(qsim, drive):
    closed = qsim("predict", drive, "--at", "60%clients")
    assert "60 %    of PEAK is depth 2.4" in closed.out
    assert "P99" not in closed.out
    users = qsim("predict", drive, "--at", "60%users:think=1s").out
    assert "users who think for 1.00 s: 80" in users
    assert "arrivals" not in users


def test_an_objective_is_answered_in_the_kind_of_load_that_is_asked_for(qsim, drive):
    asked = ("predict", drive, "--at", "200users:think=1s", "--slo", "6ms")
    first = qsim(*asked).out.splitlines()[0]
    assert first.startswith("Under 6.00 ms: 1.")
    assert "users who think for 1.00 s, sure." in first
    objective = qsim(*asked, "--json").json["objective"]
    assert objective["load_name"] == "users N"
    assert objective["response_time_s"] == pytest.approx(6e-3, rel=0.02)
    assert " of Poisson arrivals, sure." in qsim("predict", drive, "--at", "300/s", "--slo", "6ms").out.splitlines()[0]
    assert " at depth " in qsim("predict", drive, "--at", "8", "--slo", "6ms").out.splitlines()[0]
    tail = qsim("predict", drive, "--at", "200users:think=1s", "--slo", "p99=20ms")
    assert tail.code == 2
    assert "look for 20.0 ms in the column of p99 there" in tail.err


def test_a_table_of_any_name_is_calibrated_on_and_not_taken_for_a_fit(qsim, tmp_path):
    rows = [
        (10, 9.8915, 10.966),
        (40, 39.367, 16.080),
        (70, 68.031, 28.943),
        (90, 85.39, 53.985),
        (120, 99.431, 206.87),
    ]
    path = tmp_path / "users.md"
    path.write_text(
        "| users | req/s | mean ms |\n|---|---|---|\n" + "".join(f"| {n} | {x} | {r} |\n" for n, x, r in rows)
    )
    found = qsim("predict", str(path), "--at", "60%users:think=1s", "--json").json
    assert found["knee"]["load"] == pytest.approx(101, rel=0.02)
    kept = tmp_path / "kept"
    qsim("fit", str(path), "--out", str(kept))
    assert qsim("predict", str(kept), "--at", "70users:think=1s", "--json").json["knee"] == found["knee"]


THINKING = "users,requests_per_s,latency_ms\n10,9.88,12\n100,90.1,110\n200,99.8,1004\n"


def test_a_think_time_of_zero_beside_users_who_think_is_not_sure(qsim, tmp_path):
    path = tmp_path / "users.csv"
    path.write_text(THINKING)
    run = qsim("fit", str(path), "--columns", "think=0")
    assert ", sure" not in run.out
    assert "X R / N is " in run.err


def as_users(header, row, users, think_s, servers=1, noise=0.0):
    """A table of users who think, at servers of 10 ms, by exact MVA; the noise alternates."""
    lines = [header]
    for i, n in enumerate(users):
        exact = solve(MMcN(population=n, think_time=think_s, service_time=0.01, servers=servers))
        off = 1 + noise * (-1) ** i
        lines.append(row(n, float(exact.throughput) * off, float(exact.W) / off))
    return "\n".join(lines) + "\n"


def plain(n, rate, time_s):
    return f"{n},{rate:.3f},{1e3 * time_s:.3f}"


USERS = (10, 40, 70, 90, 100, 120)


@pytest.mark.parametrize(
    ("text", "knee", "peak", "within"),
    [
        (as_users("users,rps,latency_ms", plain, USERS, 1), 101, 100, 0.02),
        (as_users("users,rps,latency_ms", plain, USERS, 1, noise=0.03), 101, 100, 0.05),
        (as_users("users,rps,latency_ms", plain, USERS[1::2], 1), 101, 100, 0.03),
        (as_users("users,rps,latency_ms", plain, (30, 100, 200, 280, 310, 350), 3), 301, 100, 0.02),
        (as_users("users,rps,latency_ms", plain, (3, 8, 14, 18, 22, 30), 0.2), 21, 100, 0.02),
        (as_users("users,rps,latency_ms", plain, (50, 150, 300, 380, 420, 500), 1, servers=4), 404, 400, 0.02),
        (
            as_users(
                "Benutzer;Anfragen/s;mittlere Latenz (ms)",
                lambda n, x, r: f"{n};{x:.2f};{1e3 * r:.2f}".replace(".", ","),
                USERS,
                1,
            ),
            101,
            100,
            0.02,
        ),
        (
            as_users("clients,krps,latency_us", lambda n, x, r: f"{n},{x / 1e3:.5f},{1e6 * r:.0f}", USERS, 1),
            101,
            100,
            0.02,
        ),
        (
            as_users("VUs,http_reqs/s,http_req_duration avg", lambda n, x, r: f"{n},{x:.2f},{1e3 * r:.2f}ms", USERS, 1),
            101,
            100,
            0.02,
        ),
        (
            as_users(
                "| users | req/s | mean (s) |\n|---|---|---|", lambda n, x, r: f"| {n} | {x:.3f} | {r:.5f} |", USERS, 1
            ),
            101,
            100,
            0.02,
        ),
    ],
)
def test_users_who_think_are_found_however_their_table_is_written(qsim, tmp_path, text, knee, peak, within):
    path = tmp_path / "table.txt"
    path.write_text(text)
    found = qsim("fit", str(path), "--json").json
    assert found["knee"]["load"] == pytest.approx(knee, rel=within)
    assert found["parameters"]["Xmax"]["estimate"] == pytest.approx(peak, rel=within)
    assert found["parameters"]["R1"]["estimate"] == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize(("file", "load"), [("field/vllm.json", 30), ("bombardier-json/bombardier-c8.json", 8)])
def test_the_json_of_any_tool_is_calibrated_on_and_not_taken_for_a_fit(qsim, file, load):
    found = qsim("predict", str(KINDS.parent / "servers" / file), "--peak-iops", "5k", "--json")
    assert found.code == 0, found.err
    assert found.json["model"]["used"] == [load]


@pytest.fixture
def two_points(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("iodepth,iops,latency_us\n1,11000,90.9\n32,180000,177.8\n")
    return str(path)


def test_a_band_without_an_end_is_open_and_no_huge_number(qsim, two_points):
    """``208 µs (134 to 9.1e+07)``, where some possible devices do not serve the rate."""
    run = qsim("predict", two_points, "--at", "80%")
    assert "e+0" not in run.out
    (line,) = (one for one in run.out.splitlines() if one.startswith("80 % "))
    assert " and more) on average" in line
    assert qsim("predict", two_points, "--at", "80%", "--json").json["points"][0]["response_time_high_s"] is None


def test_a_gain_is_no_surer_than_today_s_figure(qsim, two_points):
    answer = qsim("predict", two_points, "--what-if", "drives=1:2", "--at", "8,64").out.splitlines()[0]
    assert "more throughput at depth 64" in answer  # that of one drive there was never measured
    assert answer.endswith(", rough.")


def test_a_think_time_that_was_measured_has_one_line_of_where_queueing_starts(qsim):
    data = str(KINDS / "think_stats_history.csv")
    own = qsim("predict", data, "--at", "10..100users:think=1s").out
    assert own.lower().count("queueing starts") == 1
    assert qsim("predict", data, "--at", "10..100users:think=2s").out.lower().count("queueing starts") == 2


def test_an_objective_of_arrivals_names_its_rate_once(qsim, tmp_path):
    data = tmp_path / "open.csv"
    rows = [f"{rate},{rate},{1e3 / (100 - rate):.5g}" for rate in (10, 40, 70, 90)]
    data.write_text("\n".join(["arrival_rate,throughput_per_s,latency_ms", *rows]) + "\n")
    first = qsim("fit", str(data), "--slo", "50ms").out.splitlines()[0]
    assert first.startswith("Under 50.0 ms: ")
    assert first.count("/s") == 2  # the answer, and the heaviest that was measured
    assert first.endswith(" of Poisson arrivals, sure. At 90.0 /s it took 100 ms.")


def test_a_rate_that_a_possible_queue_does_not_serve_has_no_end_in_text_and_report(qsim, tmp_path):
    """``1.3 ms (0.63 to 238853)``, and ``to inf ns`` in the report."""
    data, report = tmp_path / "open.csv", tmp_path / "open.html"
    data.write_text("arrival_rate,throughput_per_s,latency_us\n995,995,24000\n2000,2000,980\n4000,4000,644\n")
    run = qsim("predict", str(data), "--at", "3k/s,6.8k/s", "--report", str(report))
    lines = [line for line in run.out.splitlines() if line.startswith(("3.00 k/s", "6.80 k/s"))]
    assert [" and more)" in line for line in lines] == [False, True]
    page = report.read_text(encoding="utf-8")
    assert "inf ns" not in page
    assert " and more)" in page


def test_a_fit_on_file_keeps_the_spread_of_lone_requests_and_predicts_as_its_points(qsim, tmp_path):
    path, kept = tmp_path / "four.csv", tmp_path / "four.json"
    path.write_text("clients,rps,avg_ms,latency_sd_ms\n1,100,10,1\n4,400,10,1\n8,400,20,\n32,400,80,\n")
    qsim("fit", str(path), "--out", str(kept))
    asked = ("--at", "380/s", "--json")
    assert qsim("predict", str(kept), *asked).json["points"] == qsim("predict", str(path), *asked).json["points"]
    assert "an scv of 0.01, as the latencies at depth 1" in qsim("predict", str(kept), "--at", "380/s").out


def test_a_spread_that_was_fitted_to_several_kinds_is_said_to_be(qsim, tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text(MIXED)
    out = qsim("predict", str(path), "--at", "150/s").out
    assert ", as fitted" in out
    assert "an scv near 1 assumed" not in out


def test_users_of_whom_more_are_present_than_were_measured_are_doubted(qsim, tmp_path):
    path = tmp_path / "four.csv"
    path.write_text("clients,rps,avg_ms\n1,100,10\n4,400,10\n8,400,20\n")
    beyond = "users more than 8 requests, the deepest load measured, are present over 1 % of the time"
    assert beyond in qsim("predict", str(path), "--at", "1kusers:think=1s").out
    assert beyond not in qsim("predict", str(path), "--at", "100users:think=1s").out
    path.write_text(THINKING)
    assert "are present over" not in qsim("predict", str(path), "--at", "200users:think=1s").out
