"""What each load generator printed here against a server of 8 workers of 5 ms, or a database, becomes its runs.

Run here: wrk 4.1, ApacheBench 2.3, hey 0.1.5, oha 1.16, k6 0.49 and Locust against a known server; pgbench 15,
redis-benchmark 7.0, sysbench 1.0.20 and vLLM 0.32 on this machine.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from calibrate import fit
from measure import audit, load
from measure.errors import DataError
from measure.formats.server_reports import ServerRun, servers_sweep
from measure.formats.servers import reader_of, server_runs_sweep
from measure.loads import CountedLoad

RUNS = Path(__file__).parents[4] / "data" / "servers"

KNOWN = {
    "wrk": [1, 4, 8, 16, 64],
    "ab": [1, 4, 8, 16],
    "hey": [1, 8, 32],
    "oha": [1, 8, 32],
    "k6": [1, 8, 32],
    "locust": [1, 8, 32],
}


@pytest.mark.parametrize("tool", KNOWN)
def test_runs_against_the_known_server_give_its_clients_and_its_workers(tool):
    sweep = load(RUNS / tool)
    assert list(sweep.points["load"]) == KNOWN[tool]
    assert isinstance(sweep.load_type, CountedLoad)
    found = fit(sweep)
    assert found.knee.low is not None
    assert found.knee.low < 8 < found.knee.high  # the 8 workers
    assert 5e-3 < found.parameters["R1"].estimate < 8e-3  # 5 ms and what Python and the machine add


def row(name: str) -> dict:
    return load(RUNS / name).points.iloc[0].to_dict()


@pytest.mark.parametrize(
    ("name", "unit", "figures", "percentiles"),
    [
        ("wrk/wrk-c16.txt", "connections", (16, 1292.30, 12.59e-3, 5.04e-3, 2616), {50: 11.33e-3, 99: 37.86e-3}),
        ("ab/ab-c16.txt", "clients", (16, 1219.20, 13e-3, 4.2e-3, 1600), {50: 12e-3, 95: 22e-3, 99: 39e-3}),
        ("hey/hey-c8.txt", "clients", (None, 1130.4434, 7e-3, None, 2273), {99: 20.1e-3}),
        ("oha-c8.txt", "clients", (None, 1435.3140, 5.5719e-3, None, 7172), {50: 5.5449e-3, 99.9: 7.7446e-3}),
        ("k6/k6-v8.json", "users", (8, 900.00569, 8.7559614e-3, None, 1805), {50: 6.757232e-3, 95: 16.155201e-3}),
        ("pgbench/pgbench-c4.txt", "clients", (4, 17505.331072, 0.229e-3, None, 34626), {}),
        ("pgbench-rate.txt", "clients", (None, 488.83694, 1.278e-3, 2.249e-3, 1460), {}),
        ("sysbench/sysbench-t4.txt", "threads", (4, 3064.91, 1.27e-3, None, 6287), {95: 10.09e-3}),
        ("locust/locust-u1_stats_history.csv", "users", (1, 134.5, 7.335606576573211e-3, None, 269), {}),
        (
            "redis/redis-c8.txt",
            "clients",
            (8, 4827.42, 1.374e-3, None, None),
            {50: 0.135e-3, 95: 8.719e-3, 99: 16.239e-3},
        ),
    ],
)
def test_figures_are_those_that_the_text_prints(name, unit, figures, percentiles):
    run = runs_of((RUNS / name).read_text())[0]
    sd = None if math.isnan(run.sd_s) else run.sd_s
    assert (run.clients, run.throughput_per_s, run.response_s, sd, run.requests) == pytest.approx(figures)
    assert {p: run.percentiles[p] for p in percentiles} == pytest.approx(percentiles)
    assert (run.tool[:2], run.unit, run.failed) == (name[:2], unit, 0)


@pytest.mark.parametrize(
    ("name", "before", "more", "failed"),
    [
        ("wrk/wrk-c16.txt", "Requests/sec", "  Socket errors: connect 1, read 2, write 3, timeout 4\n", 10),
        ("wrk/wrk-c16.txt", "Requests/sec", "  Non-2xx or 3xx responses: 5\n", 5),
        (
            "ab/ab-c8.txt",
            "Keep-Alive",
            "Failed requests: 90\n (Connect: 0, Receive: 0, Length: 80, Exceptions: 10)\n",
            10,
        ),
        (
            "ab/ab-c8.txt",
            "Keep-Alive",
            "Failed requests: 90\n (Connect: 0, Receive: 0, Length: 90, Exceptions: 0)\n",
            0,
        ),
        ("ab/ab-c8.txt", "Keep-Alive", "Failed requests: 0\nNon-2xx responses: 7\n", 7),
        ("hey/hey-c8.txt", "  [200]", "  [399]\t9 responses\n  [400]\t3 responses\n", 3),
        ("oha-c8.txt", "  [7] aborted", "  [4] refused\n", 4),
        ("pgbench/pgbench-c4.txt", "latency", "number of failed transactions: 6\n", 6),
        ("sysbench/sysbench-t4.txt", "    total time", "    ignored errors: 6\n", 6),
    ],
)
def test_errors_and_time_outs_are_counted_but_not_an_answer_of_another_length(name, before, more, failed):
    text = (RUNS / name).read_text().replace("Failed requests:        0\n", "")
    text = text.replace("number of failed transactions: 0 (0.000%)\n", "").replace(before, more + before, 1)
    assert runs_of(text)[0].failed == failed


def test_a_rate_that_is_not_printed_follows_from_what_is():
    text = (RUNS / "sysbench" / "sysbench-t4.txt").read_text().replace("events per second:  3064.91", "")
    assert runs_of(text)[0].throughput_per_s == pytest.approx(6287 / 2.0509)
    assert runs_of(text + "transactions: 10 (5.5 per sec.)")[0].throughput_per_s == 5.5


def test_what_was_under_way_when_the_time_was_over_is_no_failure():
    assert "aborted due to deadline" in (RUNS / "oha" / "oha-c32.json").read_text()
    assert "failed-answers" not in checks("oha/oha-c32.json")
    assert "aborted due to deadline" in (RUNS / "oha-c8.txt").read_text()
    assert "failed-answers" not in checks("oha-c8.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "dead.txt",
            "Summary:\n  Success rate:\t0.00%\n  Average:\tNaN ns\n  Requests/sec:\t109037.6\n"
            "Status code distribution:\n\nError distribution:\n  [218307] Connection refused (os error 111)\n"
            "  [5] aborted due to deadline\n",
        ),
        (
            "dead.json",
            '{"summary": {"successRate": 0.0, "average": null, "requestsPerSec": 109037.6}, '
            '"errorDistribution": {"Connection refused (os error 111)": 218307, "aborted due to deadline": 5}}',
        ),
    ],
)
def test_runs_that_nobody_answered_are_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=rf"^{name}: none of 218,307 requests was answered; check the address"):
        load(tmp_path / name)


def checks(name: str) -> dict[str, str]:
    sweep = load(RUNS / name)
    return {f.check: f.message for f in (*sweep.findings, *audit(sweep))}


def test_answers_that_are_errors_and_lost_connections_are_told():
    found = checks("wrk-404.txt")
    assert found["failed-answers"].startswith("wrk-404.txt: 100 % of the answers are errors")
    notes = [f.message for f in load(RUNS / "wrk-404.txt").findings if f.check == "load-generator"]
    assert any(note == "16 connections over 3 threads are 15: wrk divides them evenly" for note in notes)
    assert row("wrk-404.txt")["load"] == 15


def test_the_think_time_of_users_who_loop_is_what_their_iterations_leave():
    point = row("k6-think.json")
    assert point["load"] == 20
    think_s = load(RUNS / "k6-think.json").load_type.think
    assert think_s == pytest.approx(20 / point["throughput_per_s"] - point["latency_s"], rel=1e-3)
    assert "users who think for" in checks("k6-think.json")["load-kind"]


def test_a_load_generator_that_is_the_bottleneck_is_told_by_little_s_law():
    findings = [f for f in audit(load(RUNS / "redis")) if f.check == "littles-law" and f.severity == "error"]
    assert len(findings) == 2
    assert "the load generator is the bottleneck" in findings[0].hypothesis
    assert "more threads" in findings[0].remedy


def test_ab_takes_the_mean_from_little_s_law_where_its_milliseconds_are_coarse():
    ab = load(RUNS / "ab")
    coarse = ab.points[ab.points["load"] == 1].iloc[0]
    assert coarse["latency_s"] == pytest.approx(1 / coarse["throughput_per_s"])
    text = (RUNS / "ab" / "ab-c8.txt").read_text().replace("Total:          5    6   2.0", "Total:  5  10  {}")
    assert [runs_of(text.format(sd))[0].response_s for sd in (0.5, 2.0)] == [0.01, 0.01]
    assert runs_of(text.format(0.5))[0].sd_s == 5e-4
    assert math.isnan(runs_of(text.format(0.4))[0].sd_s)


OHA = {
    "summary": {
        "successRate": 0.9,
        "total": 10.0,
        "slowest": 0.2,
        "fastest": 0.001,
        "average": 0.008,
        "requestsPerSec": 1000.0,
    },
    "latencyPercentiles": {"p10": 0.001, "p50": 0.007, "p95": 0.012, "p99": 0.02, "p99.9": 0.1},
    "statusCodeDistribution": {"200": 9000, "400": 1000},
    "errorDistribution": {"refused": 5, "aborted due to deadline": 9},
}
VLLM = {
    "backend": "vllm",
    "request_rate": "inf",
    "max_concurrency": 16,
    "duration": 50.0,
    "completed": 400,
    "request_throughput": 8.0,
    "output_throughput": 1600.0,
    "mean_ttft_ms": 60.0,
    "mean_tpot_ms": 9.0,
    "mean_e2el_ms": 2000.0,
    "median_e2el_ms": 1950.0,
    "p99_e2el_ms": 2900.0,
    "std_e2el_ms": 500.0,
}


OF_A_SERVER_THAT_TAKES_02_S_OR_12_S_IN_TURN = """Running 10s test @ http://127.0.0.1:8765/
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   202.56ms    5.75ms 237.51ms   94.59%
    Req/Sec    14.44      6.46    30.00     86.36%
  Latency Distribution
     50%  201.12ms
     99%  237.51ms
  141 requests in 10.04s, 5.51KB read
  Socket errors: connect 0, read 0, write 0, timeout 67
Requests/sec:     14.05
"""


def test_times_that_wrk_leaves_out_as_they_exceed_its_limit_are_in_the_mean_by_little_s_law():
    [run] = runs_of(OF_A_SERVER_THAT_TAKES_02_S_OR_12_S_IN_TURN)  # with --timeout 1s
    assert (run.response_s, run.percentiles) == (None, {})
    assert "the mean of 203 ms and the percentiles leave out 48 % of the answers" in run.notes[-1]
    point = servers_sweep({"x": [run]}).points.iloc[0]
    assert point["latency_s"] == pytest.approx((0.2 + 1.2) / 2, rel=0.02)  # 10 / 14.05


def runs_of(text: str, name: str = "x"):
    read = reader_of(text)
    assert read is not None
    return read(text, name)


def test_oha_s_clients_come_from_little_s_law_and_its_errors_are_counted():
    run = runs_of(json.dumps(OHA))[0]
    assert (run.throughput_per_s, run.response_s, run.failed, run.requests) == (1000, 0.008, 1005, 10005)


def test_language_models_are_read_as_whole_requests(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps(VLLM))
    sweep = load(tmp_path / "m.json")
    assert (sweep.points["load"][0], sweep.points["throughput_per_s"][0], sweep.points["latency_s"][0]) == (16, 8, 2)
    assert not sweep.findings
    assert reader_of(without(VLLM, "output_throughput")) is None
    (run,) = runs_of(json.dumps({**VLLM, "failed": 3}))
    assert run.percentiles == pytest.approx({50.0: 1.95, 99.0: 2.9}, rel=1e-12)
    assert (run.sd_s, run.requests, run.notes) == (0.5, 400, ("3 requests failed and are left out",))


def test_a_file_of_vllm_as_it_was_written_is_read(repository):
    file = repository / "docs" / "data" / "llm-server" / "round1-clients8.json"
    found, (run,) = json.loads(file.read_text()), runs_of(file.read_text())
    assert (run.tool, run.clients, run.requests, run.failed) == ("vllm", 8, 128, 0)
    assert run.throughput_per_s == found["completed"] / found["duration"]
    assert run.throughput_per_s * run.response_s == pytest.approx(8, rel=0.01)
    assert run.response_s < run.percentiles[95] < run.percentiles[99]


@pytest.mark.parametrize(
    ("rate", "at_once", "kind", "load_"),
    [(5.0, 8, "queue_depth", 8), (5.0, None, "arrival_rate", 5), ("inf", 8, "queue_depth", 8)],
)
def test_a_benchmark_at_a_rate_is_open_unless_it_limits_what_is_sent_at_once(tmp_path, rate, at_once, kind, load_):
    (tmp_path / "v.json").write_text(json.dumps({**VLLM, "request_rate": rate, "max_concurrency": at_once}))
    sweep = load(tmp_path / "v.json")
    assert (sweep.load_type.kind, sweep.points["load"][0]) == (kind, load_)


def without(document: dict, *keys: str) -> str:
    return json.dumps({key: value for key, value in document.items() if key not in keys})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            without({**VLLM, "request_rate": 5.0}, "mean_e2el_ms", "max_concurrency"),
            "has times of tokens and none of whole requests",
        ),
        (without(VLLM, "max_concurrency"), "all requests were sent at once"),
        (json.dumps({**OHA, "summary": {**OHA["summary"], "average": None}}), "has no average"),
        (json.dumps({**OHA, "summary": {**OHA["summary"], "average": 0.0014}}), "X R = 1.4 is no whole one"),
        ("Running 9s test @ http://x\n  1 threads and 4 connections\n", "has no Requests/sec: the run was interrupted"),
        ((RUNS / "locust-u8_stats.csv").read_text(), "has no number of users"),
        ("pgbench (15.2)\nnumber of transactions actually processed: 0\n", "has no tps: the run was interrupted"),
    ],
    ids=["no whole requests", "no load", "null", "no whole number", "cut off", "no users", "no answer"],
)
def test_what_is_no_run_is_refused_in_a_line(tmp_path, text, why):
    (tmp_path / "run").write_text(text)
    with pytest.raises(DataError, match=f"^run:? .*{why}"):
        load(tmp_path / "run")


def test_of_locust_only_numbers_of_users_that_held_and_answered_count(tmp_path):
    head = "Timestamp,User Count,Type,Name,Total Request Count,Total Failure Count,Total Average Response Time"
    times = [(0, 0, 0), (30, 0, 9), (31, 4, 10), (32, 4, 30), (40, 8, 100), (70, 8, 400), (71, 9, 400), (99, 9, 400)]
    rows = [f"{at},{users},,Aggregated,{count},{count // 10},800" for at, users, count in times]
    (tmp_path / "run_stats_history.csv").write_text("\n".join([head, *rows]) + "\n")
    sweep = load(tmp_path / "run_stats_history.csv")
    (point,) = sweep.points.itertuples()
    messages = " ".join(finding.message for finding in sweep.findings)
    assert "10 % of the answers are errors" in messages
    assert "users that lasted less than 2 s, or without answers, are left out: 4, 9" in messages
    assert (point.load, point.throughput_per_s, point.latency_s) == (8, 10, pytest.approx(0.8))


def test_tools_are_not_mixed_and_kinds_of_load_are_one_device(tmp_path):
    for name in ("wrk/wrk-c1.txt", "ab/ab-c4.txt"):
        (tmp_path / Path(name).name).write_text((RUNS / name).read_text())
    with pytest.raises(DataError, match="runs of ab and wrk cannot be one sweep"):
        load([tmp_path / "ab-c4.txt", tmp_path / "wrk-c1.txt"])
    both = load([RUNS / "pgbench-rate.txt", RUNS / "pgbench" / "pgbench-c1.txt"])
    assert [sweep.load_type.kind for sweep in (both, *both.also)] == ["queue_depth", "arrival_rate"]


@pytest.mark.parametrize("tool", ["wrk", "ab", "hey", "oha", "k6"])
def test_several_runs_in_one_file_are_several_points(tool: str, tmp_path: Path):
    files = sorted((RUNS / tool).iterdir())[:2]
    joined = tmp_path / "all.txt"
    joined.write_text("\n".join(path.read_text() for path in files))
    assert sorted(load(joined).points["throughput_per_s"]) == sorted(load(files).points["throughput_per_s"])


def test_a_broken_file_is_one_sentence_and_the_others_are_read(tmp_path: Path):
    for path in (RUNS / "k6").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    document = json.loads(next((RUNS / "k6").iterdir()).read_text())
    document["metrics"]["http_req_duration"] = None
    (tmp_path / "broken.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"broken\.json"):
        load(tmp_path / "broken.json")
    sweep = load(tmp_path)
    assert list(sweep.points["load"]) == KNOWN["k6"]
    assert any("broken.json" in finding.message for finding in sweep.findings)


def test_a_negative_percentile_is_refused():
    text = json.loads(next(path for path in (RUNS / "oha").iterdir()).read_text())
    text["latencyPercentiles"]["p99"] = -1.0
    with pytest.raises(DataError, match="negative"):
        server_runs_sweep({"f": json.dumps(text)})


def test_failures_are_a_share_where_the_requests_were_counted():
    def told(**more):
        (finding,) = servers_sweep({"run": [ServerRun("wrk", 1e3, 8e-3, clients=8, failed=30.0, **more)]}).findings
        return finding.message

    assert told(requests=1000.0).startswith("run: 3 % of the answers are errors")
    assert told().startswith("run: 30 answers are errors")
    quiet = servers_sweep({"run": [ServerRun("wrk", 1e3, None, clients=8)]})
    assert (quiet.findings, quiet.points["latency_s"].tolist()) == ((), [8e-3])


def test_curves_stand_in_the_order_of_their_names_and_then_of_the_load():
    def made(series, clients):
        return ServerRun("locust", 100.0 * clients, 1e-2, clients=clients, series=series)

    runs = {"z.csv": [made("GET /b", 8), made("GET /b", 2)], "a.csv": [made("GET /a", 8), made("", 4)]}
    points = servers_sweep(runs).points
    found = list(zip(points["series"], points["load"], strict=True))
    assert found == [("GET /a", 8), ("GET /b", 2), ("GET /b", 8), ("locust", 4)]
