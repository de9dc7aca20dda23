"""Runs of load generators read one by one: what each figure of their output becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from measure.errors import DataError
from measure.formats.servers import text_reports
from measure.formats.servers.run import ServerRun, servers_sweep
from measure.formats.servers.tools import server_runs_sweep

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
    run = text_reports.pgbench(text_of("pgbench/pgbench-c4.txt"), "run")
    assert (run.clients, run.rate_per_s) == (4, None)
    assert run.requests == 34_626
    scheduled = text_reports.pgbench(text_of("pgbench-rate.txt"), "run")
    assert scheduled.clients is None
    assert scheduled.rate_per_s == scheduled.throughput_per_s


def test_failures_are_a_share_where_the_requests_were_counted() -> None:
    def told(**more: Any) -> str:
        (finding,) = servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8, failed=30.0, **more)]}, "r").findings
        return finding.message

    assert told(requests=1000.0).startswith("run: 3 % of the answers are errors")
    assert told().startswith("run: 30 answers are errors")
    assert not servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8)]}, "r").findings


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
