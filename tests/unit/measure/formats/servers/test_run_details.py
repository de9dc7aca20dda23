"""Runs of load generators read one by one: what each figure of their output becomes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from measure.errors import DataError
from measure.formats.servers import json_reports, text_reports
from measure.formats.servers.locust import locust
from measure.formats.servers.run import ServerRun, circulating, servers_sweep
from measure.formats.servers.tools import reader_of, server_runs_sweep

RUNS = Path(__file__).parents[4] / "data" / "servers"


def text_of(name: str) -> str:
    return (RUNS / name).read_text("utf-8")


def oha(**changes: Any) -> dict[str, Any]:
    usual = {"summary": {"requestsPerSec": 1000.0, "average": 8e-3}, "statusCodeDistribution": {"200": 900}}
    return {**usual, **changes}


def k6(**changes: Any) -> dict[str, Any]:
    times = {"avg": 8.0, "med": 7.0, "p(95)": 12.0, "p(99)": 20.0}
    usual = {"http_reqs": {"rate": 1000.0, "count": 5000}, "http_req_duration": times, "vus_max": {"max": 8}}
    return {"metrics": {**usual, **changes}}


def test_clients_that_a_tool_prints_are_taken_whatever_the_file_is_called() -> None:
    (run,) = text_reports.pgbench(text_of("pgbench/pgbench-c4.txt"), "run")
    assert (run.clients, run.rate_per_s) == (4, None)
    assert run.requests == 34_626
    (scheduled,) = text_reports.pgbench(text_of("pgbench-rate.txt"), "run")
    assert scheduled.clients is None
    assert scheduled.rate_per_s == scheduled.throughput_per_s


def test_ab_counts_whole_milliseconds() -> None:
    (run,) = text_reports.ab(text_of("ab/ab-c8.txt"), "run")
    assert run.percentiles[95.0] == pytest.approx(10e-3)
    assert run.percentiles[99.0] == pytest.approx(16e-3)
    assert run.response_s == pytest.approx(8 / run.throughput_per_s)  # 6 ms: its mean is not one of them
    assert "whole milliseconds" in run.notes[-1]
    slow = text_of("ab/ab-c8.txt").replace("Total:          5    6   2.0      6      20", "Total:  5  10  2.0  6  20")
    (run,) = text_reports.ab(slow, "run")
    assert run.response_s == pytest.approx(10e-3)
    assert len(run.notes) == 1


def test_wrk_counts_answers_that_are_errors_and_lost_connections() -> None:
    text = text_of("wrk/wrk-c16.txt")
    (clean,) = text_reports.wrk(text, "run")
    assert clean.failed == 0
    lost = "  Socket errors: connect 1, read 20, write 300, timeout 4000\nRequests/sec:"
    (broken,) = text_reports.wrk(text.replace("Requests/sec:", f"  Non-2xx or 3xx responses: 50000\n{lost}"), "run")
    assert broken.failed == 54321


def test_hey_without_an_average_is_cut_off_unless_nobody_answered() -> None:
    answered = "Requests/sec: 100\nStatus code distribution:\n  [200] 90 responses\n"
    broken = "Error distribution:\n  [10] refused\n"
    for cut_off in (answered, answered + broken, "Requests/sec: 100\n"):
        with pytest.raises(DataError, match="Average"):
            text_reports.hey(cut_off, "run")
    (run,) = text_reports.hey("Requests/sec: 100\n" + broken, "run")
    assert (run.response_s, run.requests, run.failed) == (None, 10, 10)


def test_oha_counts_errors_from_400_on_and_leaves_out_empty_percentiles() -> None:
    codes = {"200": 900, "302": 50, "399": 1, "400": 20, "503": 29}
    found = oha(
        statusCodeDistribution=codes,
        errorDistribution={"refused": 7, json_reports.CUT_OFF: 8},
        latencyPercentiles={"p50": 7e-3, "p99": 2e-2, "p99.9": None},
    )
    (run,) = json_reports.oha(found, "run")
    assert (run.requests, run.failed) == (1007, 56)
    assert run.percentiles == {50.0: 7e-3, 99.0: 2e-2}
    assert (run.throughput_per_s, run.response_s) == (1000.0, 8e-3)
    (nothing_counted,) = json_reports.oha(oha(statusCodeDistribution={}), "run")
    assert (nothing_counted.requests, nothing_counted.response_s) == (None, 8e-3)


def test_k6_counts_what_failed_by_its_share() -> None:
    (run,) = json_reports.k6(k6(http_req_failed={"rate": 0.02}), "run")
    assert (run.requests, run.failed) == (5000, 100)
    assert run.percentiles == {50.0: 7e-3, 95.0: 12e-3, 99.0: 20e-3}
    (older,) = json_reports.k6(k6(http_req_failed={"value": 0.5}), "run")
    assert older.failed == 2500
    (uncounted,) = json_reports.k6(k6(http_reqs={"rate": 1000.0}, http_req_failed={"rate": 0.02}), "run")
    assert (uncounted.requests, uncounted.failed) == (None, 0)


def test_k6_says_its_users_in_either_of_two_places() -> None:
    assert json_reports.k6(k6(), "run")[0].clients == 8
    document = k6(vus={"max": 16, "value": 9}, http_req_duration={"avg": 16.0})
    del document["metrics"]["vus_max"]
    assert json_reports.k6(document, "run")[0].clients == 16
    del document["metrics"]["vus"]
    assert json_reports.k6(document, "run")[0].clients is None


def test_what_is_whose() -> None:
    assert json_reports.is_vllm({"request_throughput": 1, "output_throughput": 2})
    for less in ({"request_throughput": 1}, {"output_throughput": 2}, {}):
        assert not json_reports.is_vllm(less)
    assert not json_reports.is_oha({"summary": {"rate": 1}})
    assert not json_reports.is_oha({"summary": []})
    assert not json_reports.is_k6({"metrics": {"other": 1}})
    assert not json_reports.is_k6({"metrics": None})
    assert json_reports.documents("[1]") == []
    assert json_reports.documents("{") == []
    assert reader_of("nothing of the kind") is None


def test_a_language_models_server_by_hand() -> None:
    found = {
        "request_throughput": 2.0,
        "output_throughput": 300.0,
        "mean_e2el_ms": 4000.0,
        "max_concurrency": 8,
        "median_e2el_ms": 3900.0,
        "p99_e2el_ms": 9000.0,
        "mean_ttft_ms": 250.0,
        "completed": 100,
        "request_rate": "inf",
        "failed": 3,
    }
    (run,) = json_reports.vllm(found, "run")
    assert (run.clients, run.rate_per_s, run.response_s) == (8, None, 4.0)
    assert run.percentiles == {50.0: 3.9, 99.0: 9.0}
    assert (run.tokens_per_s, run.first_token_s, run.requests) == (300.0, 0.25, 100)
    assert run.notes == ("3 requests failed and are left out",)
    (opened,) = json_reports.vllm({**found, "max_concurrency": None, "request_rate": 2.5, "failed": 0}, "run")
    assert (opened.clients, opened.rate_per_s, opened.notes) == (None, 2.5, ())
    (both,) = json_reports.vllm({**found, "request_rate": 2.5}, "run")
    assert (both.clients, both.rate_per_s) == (8, None)
    with pytest.raises(DataError, match="all requests were sent at once"):
        json_reports.vllm({**found, "max_concurrency": None}, "run")


def test_locust_takes_each_step_by_itself() -> None:
    """From the first row of a step to its last: requests, failures, and the sum of their times."""
    head = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time"
    rows = ["0,4,,Aggregated,100,10,50", "50,4,,Aggregated,600,30,75", "50,4,,/page,9,9,9"]
    (run,) = locust("\n".join([head, *rows]), "run")
    assert (run.requests, run.failed, run.seconds, run.throughput_per_s) == (500, 20, 50, 10)
    assert run.response_s == pytest.approx((600 * 75 - 100 * 50) / 500 / 1e3)


def test_users_think_below_four_fifths() -> None:
    assert circulating(10, 8.0) == (10, ())
    assert circulating(10, 7.996)[0] == 8.0
    assert circulating(10, 7.9)[0] == 7.9


def test_the_number_of_clients_by_littles_law_is_near_a_whole_one() -> None:
    def load(outstanding: float) -> float:
        run = ServerRun("hey", 1000.0, outstanding / 1000)
        return float(servers_sweep({"run": [run]}, "run").points["load"].iloc[0])

    assert [load(x) for x in (0.95, 7.5, 8.4, 1.09)] == [1, 8, 8, 1]
    for unclear in (0.85, 1.2, 1.5, 3.4):
        with pytest.raises(DataError, match="is no whole one"):
            load(unclear)
    with pytest.raises(DataError, match="X R = 0 is no whole one"):
        servers_sweep({"run": [ServerRun("hey", 1000.0, None)]}, "run")


def test_without_a_mean_the_clients_over_the_throughput_stand_for_it() -> None:
    table = servers_sweep({"run": [ServerRun("wrk", 1000.0, None, clients=8)]}, "run").points
    assert table["latency_s"].iloc[0] == pytest.approx(8e-3)


def test_failures_are_a_share_where_the_requests_were_counted() -> None:
    def told(**more: Any) -> str:
        (finding,) = servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8, failed=30.0, **more)]}, "r").findings
        return finding.message

    assert told(requests=1000.0).startswith("run: 3 % of the answers are errors")
    assert told().startswith("run: 30 answers are errors")
    assert not servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8)]}, "r").findings


def test_tokens_and_first_tokens_are_means_of_the_runs_at_a_load() -> None:
    runs = [
        ServerRun("vllm", 2.0, 1.0, clients=2, tokens_per_s=t, first_token_s=f) for t, f in ((100.0, 0.2), (300.0, 0.4))
    ]
    quiet = ServerRun("vllm", 4.0, 1.0, clients=4, tokens_per_s=500.0)
    (finding,) = servers_sweep({"a": runs, "b": [quiet]}, "runs").findings
    assert finding.message.endswith("(and the first after): 200 (300 ms) at 2, 500 at 4")
    assert math.isnan(quiet.first_token_s)


def test_a_sweep_of_one_file_has_its_name_and_of_several_none() -> None:
    one = {"ab-c8.txt": text_of("ab/ab-c8.txt")}
    assert server_runs_sweep(one).name == "ab-c8.txt"
    assert server_runs_sweep({**one, "ab-c4.txt": text_of("ab/ab-c4.txt")}).name == ""
    with pytest.raises(DataError, match=r"^x is of no load generator"):
        server_runs_sweep({"x": json.dumps({})})


def test_curves_stand_in_the_order_of_their_names_and_then_of_the_load() -> None:
    def made(series: str, clients: int) -> ServerRun:
        return ServerRun("locust", 100.0 * clients, 1e-2, clients=clients, series=series)

    runs = {"z.csv": [made("GET /b", 8), made("GET /b", 2)], "a.csv": [made("GET /a", 8), made("", 4)]}
    points = servers_sweep(runs, "runs").points
    found = list(zip(points["series"], points["load"], strict=True))
    assert found == [("GET /a", 8), ("GET /b", 2), ("GET /b", 8), ("locust", 4)]
