"""Runs of load generators read one by one: what each figure of their output becomes."""

from __future__ import annotations

from typing import Any

from measure.formats.server_reports import ServerRun, servers_sweep


def test_failures_are_a_share_where_the_requests_were_counted() -> None:
    def told(**more: Any) -> str:
        (finding,) = servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8, failed=30.0, **more)]}).findings
        return finding.message

    assert told(requests=1000.0).startswith("run: 3 % of the answers are errors")
    assert told().startswith("run: 30 answers are errors")
    quiet = servers_sweep({"run": [ServerRun("wrk", 1e3, None, clients=8)]})
    assert (quiet.findings, quiet.points["latency_s"].tolist()) == ((), [8e-3])


def test_curves_stand_in_the_order_of_their_names_and_then_of_the_load() -> None:
    def made(series: str, clients: int) -> ServerRun:
        return ServerRun("locust", 100.0 * clients, 1e-2, clients=clients, series=series)

    runs = {"z.csv": [made("GET /b", 8), made("GET /b", 2)], "a.csv": [made("GET /a", 8), made("", 4)]}
    points = servers_sweep(runs).points
    found = list(zip(points["series"], points["load"], strict=True))
    assert found == [("GET /a", 8), ("GET /b", 2), ("GET /b", 8), ("locust", 4)]
