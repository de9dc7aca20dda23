"""The tools of load_tools.toml: each reads what it printed, also as others save it, and names what it cannot know.

Printed here, by a server of four workers of 10 ms: autocannon 8, bombardier 1.2, h2load 1.52, vegeta 12.13, k6 0.49 and
1.8, and sysbench 1.0.20; those of ``data/servers/paced`` at a rate. Also printed here, in ``data/servers/field``: those
of fortio 1.66, ghz 0.93 and perf_analyzer 2.34 (-9, -rate) by four workers of 10 ms, of go-ycsb 1.0.3 (but go-ycsb.txt)
by Redis, of YCSB 0.17 (but ycsb.txt and ycsb-threads.txt) by its BasicDB of 0 to 20 ms, and JMeter 5.5's jmeter-16.txt.
Retyped from public issues: the others, but perf-analyzer.txt, elbencho, DiskSpd's XML, memtier's JSON, go-ycsb.txt,
ycsb-threads.txt and JMeter's results, which have the layout of their documentation, with numbers made to fit N = X R.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from calibrate import fit
from measure import audit, load
from measure.errors import DataError
from measure.formats.load_tools import parse_seconds, tools
from measure.formats.servers import runs_in, server_runs_sweep
from measure.formats.which_kind import of_its_kind
from measure.loads import ArrivalRate
from measure.origin import ORIGIN
from measure.text_files import read_text

SERVERS = Path(__file__).parents[4] / "data" / "servers"
FIELD = SERVERS / "field"
# file: tool, clients, rate, throughput, response, percentiles
RIGHT: dict[str, tuple[str, float | None, float | None, float, float | None, dict[int, float]]] = {
    "autocannon-thousands.txt": ("autocannon", 1000, None, 50052, 19.82e-3, {50: 19e-3, 99: 34e-3}),
    "autocannon.txt": ("autocannon", 10, None, 41024, None, {99: 1e-3}),  # whole milliseconds: too coarse for a mean
    "autocannon-2.txt": ("autocannon", 10, None, 43112, None, {}),
    "bombardier-errors.txt": ("bombardier", 10, None, 2.87, 3.42, {50: 3.31, 95: 5.5, 99: 6.01}),
    "bombardier.txt": ("bombardier", 125, None, 59035.57, 2.11e-3, {}),
    "diskspd.txt": ("DiskSpd", 128, None, 39993.33, 3.2e-3, {}),
    "diskspd.xml": ("DiskSpd", 128, None, 2.4e6 / 60.01, 3.2e-3, {}),
    "elbencho.txt": ("elbencho", 128, None, 94100, 1358e-6, {}),
    "elbencho-3.txt": ("elbencho", 128, None, 301480, 424e-6, {}),
    "fortio-rate.txt": ("fortio", None, 99.11, 99.11, 16.603343e-3, {50: 16e-3, 99: 25.539e-3, 99.9: 26.0114e-3}),
    "fortio.json": ("fortio", 4, None, 360.4025, 11.096278e-3, {50: 10.6638e-3, 99: 17.5971e-3, 99.9: 19.9766e-3}),
    "fortio.txt": ("fortio", 4, None, 360.4, 11.096278e-3, {50: 10.6638e-3, 99: 17.5971e-3, 99.9: 19.9766e-3}),
    "ghz-rate.txt": ("ghz", None, 99.63, 99.63, 12.13e-3, {50: 11.42e-3, 95: 16.39e-3, 99: 22.73e-3}),
    "ghz.json": ("ghz", 4, None, 226.507975, 17.380531e-3, {50: 14.495593e-3, 95: 38.518902e-3, 99: 38.627891e-3}),
    "ghz.txt": ("ghz", None, None, 297.41, 13.34e-3, {50: 11.76e-3, 95: 20.53e-3, 99: 39.27e-3}),
    "go-ycsb-rmw.txt": ("go-ycsb", 4, None, 24798.8, 154e-6, {50: 90e-6, 95: 344e-6, 99: 2.061e-3, 99.9: 5.647e-3}),
    "go-ycsb-target.txt": ("go-ycsb", None, 400, 398, 1.015e-3, {50: 123e-6, 99: 20.639e-3}),
    "go-ycsb-two.txt": ("go-ycsb", 1, None, 19574.6, 47e-6, {50: 30e-6, 95: 51e-6, 99: 79e-6}),
    "go-ycsb.txt": ("go-ycsb", 64, None, 28169, 2.27e-3, {50: 2.1e-3, 95: 3.501e-3, 99: 6.001e-3, 99.9: 9.001e-3}),
    "h2load.txt": ("h2load", 1, None, 1312, 758e-6, {}),
    "hey-command.txt": ("hey", 120, None, 1377.5186, 79.4e-3, {50: 53.3e-3, 95: 89.1e-3, 99: 438.9e-3}),
    "jmeter-16.txt": ("JMeter", 16, None, 340.6, 43e-3, {}),
    "jmeter-summary.txt": ("JMeter", 10, None, 26.2, 380e-3, {}),
    "jmeter.csv": ("jmeter", 2, None, 200.334, 10e-3, {}),
    "k6-1.txt": ("k6", 8, None, 313.362131, 25.19e-3, {50: 22.92e-3, 95: 40.09e-3}),
    "k6-text.txt": ("k6", None, 19.8, 19.8, 136.91e-3, {50: 101.07e-3, 95: 376.24e-3}),
    "memtier-old.txt": ("memtier_benchmark", 200, None, 21536.09, 9.231e-3, {}),
    "memtier.txt": ("memtier_benchmark", 64, None, 3595.9, 17.726e-3, {50: 16.511e-3, 99: 35.327e-3}),
    "memtier.json": ("memtier_benchmark", 64, None, 3595.9, 17.726e-3, {50: 16.511e-3, 99: 35.327e-3}),
    "oha-ten-seconds.txt": ("oha", None, None, 5.9976, 6.694, {50: 5.024, 95: 10.049, 99: 10.051}),
    "perf-analyzer-9.txt": ("perf_analyzer", 1, None, 32.8791, 30.355e-3, {50: 28.384e-3, 99: 63.963e-3}),
    "perf-analyzer-rate.txt": ("perf_analyzer", None, 50, 48.4689, 31.3e-3, {50: 28.887e-3, 99: 85.448e-3}),
    "perf-analyzer-summary.txt": ("perf_analyzer", 1, None, 1200, 832e-6, {}),
    "perf-analyzer.txt": ("perf_analyzer", 8, None, 115.85, 68.959e-3, {50: 68.12e-3, 99: 74.9e-3}),  # batches of 8
    "pgbench-9.5.txt": ("pgbench", 10, None, 2394.718707, 4.176e-3, {}),
    "rados.txt": ("rados bench", 16, None, 6294, 2.53945e-3, {}),
    "redis-benchmark-old.txt": ("redis-benchmark", 50, None, 84745.77, None, {}),
    "sglang.jsonl": ("sglang", 1, None, 0.125, 7.99, {50: 8.0, 99: 10.387}),
    "sglang.txt": ("sglang", 4, None, 0.47, 8.43223, {50: 8.5603}),
    "spdk-perf.txt": ("SPDK perf", None, None, 566530.93, 225.9e-6, {}),
    "vegeta.txt": ("vegeta", None, 50.57, 24.76, 583.523e-3, {50: 417.547e-3, 99: 2.816}),
    "vllm.json": ("vllm", 30, None, 1.21, None, {}),  # times of tokens alone: N / X
    "vllm.txt": ("vllm", 30, None, 1.21, None, {}),
    "wrk2-short.txt": ("wrk2", None, 2000.59, 2000.59, 1.97e-3, {}),
    "ycsb-insert.txt": ("YCSB", 4, None, 353.232073, 10.470847e-3, {95: 19.103e-3, 99: 36.895e-3}),
    "ycsb-intended.txt": ("YCSB", None, 100, 98.863075, (10844.41e-6 + 11847.495e-6) / 2, {}),
    "ycsb-rmw.txt": ("YCSB", 4, None, 252.684776, (1200 * 9677.825e-6 + 613 * 9849.0065e-6) / 1200, {}),
    "ycsb-two.txt": ("YCSB", 1, None, 95.785441, 9.891935e-3, {}),
    "ycsb.txt": ("YCSB", None, None, 98.91197, (509 * 1054.98e-6 + 491 * 1549.8e-6) / 1000, {}),
    "ycsb-threads.txt": ("YCSB", 8, None, 6163.5, (31160 * 1054.98e-6 + 31153 * 1540.8e-6) / 62313, {}),
}


def test_every_field_file_has_its_right_answer_and_every_tool_that_is_read_a_file() -> None:
    assert RIGHT.keys() == {path.name for path in FIELD.iterdir()}
    named = {right[0] for right in RIGHT.values()} | {"vLLM"} | {path.name for path in SERVERS.iterdir()}
    assert {tool.name for tool in tools() if not tool.instead} <= named


def test_every_tool_that_is_read_has_a_row_in_the_page_on_other_tools(repository: Path) -> None:
    page = (repository / "docs" / "howto-read-other-tools.md").read_text("utf-8")
    first = " ".join(re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE))
    named = {tool.name for tool in tools() if not tool.instead}
    assert {name for name in named if not re.search(rf"\b{name}\b", first, re.IGNORECASE)} == set()


def known(*figures: float | None) -> list[float]:
    return [-1.0 if figure is None else figure for figure in figures]


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        *product(RIGHT, ["as printed", "carriage returns", "colours"]),
        *((name, "a prompt above") for name in RIGHT if name.endswith(".txt")),
    ],
)
def test_a_run_is_what_its_tool_printed_however_it_was_saved(tmp_path: Path, name: str, saved: str) -> None:
    text = (FIELD / name).read_text("utf-8")
    if saved == "carriage returns":
        text = text.replace("\n", "\r\n")
    elif saved == "colours":
        text = re.sub(r"(\d+\.\d+)", "\x1b[1;32m\\1\x1b[0m", text)
    elif saved == "a prompt above":
        text = f"user@host:~$ ./bench.sh\n\n{text}"
    (path := tmp_path / name).write_text(text, "utf-8", newline="")
    tool, clients, rate, throughput, response, percentiles = RIGHT[name]
    run = runs_in(read_text(path), name)[0]
    assert (run.tool, run.clients) == (tool, clients)
    found = known(run.rate_per_s, run.throughput_per_s, run.response_s)
    assert found == pytest.approx(known(rate, throughput, response), rel=1e-4)
    assert {p: run.percentiles[p] for p in percentiles} == pytest.approx(percentiles, rel=1e-3)
    if clients and response:
        assert throughput * response / clients == pytest.approx(1, abs=0.1)  # hey: some of its workers failed


@pytest.mark.parametrize(
    "folder", ["autocannon", "autocannon-json", "bombardier", "bombardier-json", "h2load", "k6-text"]
)
def test_what_was_printed_here_of_four_workers_of_10_ms_gives_them(folder: str) -> None:
    sweep = load(SERVERS / folder)
    assert list(sweep.points["load"]) == [1, 8]
    assert sweep.points["throughput_per_s"].iloc[-1] == pytest.approx(400, rel=0.02)
    assert sweep.points["latency_s"].iloc[-1] == pytest.approx(20e-3, rel=0.03)
    assert not [f for f in audit(sweep) if f.severity == "error"]


@pytest.mark.parametrize("folder", ["vegeta", "vegeta-json"])
def test_a_rate_is_a_rate_of_even_gaps(folder: str) -> None:
    sweep = load(SERVERS / folder)
    assert isinstance(sweep.load_type, ArrivalRate)
    assert sweep.load_type.gaps == "paced"
    assert sweep.points["load"].tolist() == pytest.approx([50, 200, 350], rel=0.01)
    assert sweep.points["latency_s"].tolist() == pytest.approx([11e-3] * 3, rel=0.02)
    assert fit(sweep).knee is not None


@pytest.mark.parametrize("name", ["autocannon.txt", "bombardier.txt", "bombardier.json", "h2load.txt"])
def test_few_busy_clients_of_a_tool_that_can_send_at_a_rate_are_asked_about(name: str) -> None:
    path = SERVERS / "paced" / name  # run here at 100 a second (h2load: 80) over 8 connections
    (finding,) = [f for f in load(path).findings if f.check == "load-kind"]
    assert finding.severity == "error"
    assert re.search(r"was perhaps held at a rate \(-", finding.hypothesis)
    paced = load(path, columns={"gaps": "paced"})
    assert isinstance(paced.load_type, ArrivalRate)
    assert paced.points["load"].tolist() == pytest.approx([80 if name == "h2load.txt" else 100], rel=0.03)
    closed = load(path, columns={"think": "0"})
    assert closed.points["load"].tolist() == [8]
    assert not [f for f in closed.findings if f.severity == "error"]


def test_failures_are_among_the_requests_in_the_json_as_in_the_text() -> None:
    text = (SERVERS / "paced" / "bombardier.json").read_text("utf-8")  # 201 answers
    for field, number in (("req3xx", 9), ("req4xx", 50), ("req5xx", 20), ("others", 30)):
        text = text.replace(f'"{field}":0', f'"{field}":{number}')
    (run,) = runs_in(text, "b.json")
    assert (run.requests, run.failed) == (310, 100)


def test_more_in_flight_than_clients_asks_a_tool_for_its_pipeline_and_for_no_column(tmp_path: Path) -> None:
    text = (FIELD / "h2load.txt").read_text("utf-8")
    (path := tmp_path / "h.txt").write_text(text.replace(" 758us ", " 7.58ms "))
    (finding,) = [f for f in load(path).findings if f.check == "load-kind"]
    assert "R is above N / X at 1 client" in finding.message
    assert finding.remedy.startswith("say how many requests each keeps outstanding, as --columns pipeline=10")


def test_each_command_above_a_summary_of_hey_tells_its_own_clients(tmp_path: Path) -> None:
    text = (FIELD / "hey-command.txt").read_text("utf-8")
    (path := tmp_path / "two.txt").write_text(text + text.replace("-c 120", "-c 60").replace("0.0794", "0.0430"))
    assert sorted(load(path).points["load"]) == [60, 120]


ELBENCHO = """\
ISO date,label,path type,threads,block size,IO depth,operation,IOPS [first],IOPS [last],IO lat us [min],IO lat us [avg]
2026-02-09T11:18:30-0500,,blockdev,16,4096,16,READ,301512,301480,55,848
2026-02-09T11:19:30-0500,,blockdev,16,4096,1,READ,128000,127980,55,124
"""
REDIS = """\
"test","rps","avg_latency_ms","min_latency_ms"
"SET","81433.22","0.334","0.088"
"GET","83333.34","0.320","0.096"
"""
JMETER = """\
Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput,Received KB/sec,Sent KB/sec
HTTP Request,10000,95,90,120,140,210,12,600,0.000%,104.21300,23.41,12.1
"""


@pytest.mark.parametrize(
    ("text", "columns", "points"),
    [
        (ELBENCHO, None, [(256, 301480, 848e-6), (16, 127980, 124e-6)]),
        (REDIS, {"load": "50"}, [(50, 81433.22, 334e-6), (50, 83333.34, 320e-6)]),
        (JMETER, {"load": "10"}, [(10, 104.213, 95e-3)]),
    ],
    ids=["elbencho", "redis-benchmark", "JMeter"],
)
def test_a_tool_s_own_csv_is_read_by_its_columns(
    tmp_path: Path, text: str, columns: dict[str, str] | None, points: list[tuple[float, ...]]
) -> None:
    (path := tmp_path / "t.csv").write_text(text)
    found = load(path, columns=columns).points[["load", "throughput_per_s", "latency_s"]]
    assert [tuple(row) for row in found.to_numpy()] == [pytest.approx(point) for point in points]
    if columns:
        with pytest.raises(DataError, match="a load cannot be found in its columns"):
            load(path)


def test_users_that_jmeter_s_results_do_not_count_are_computed(tmp_path: Path) -> None:
    text = (FIELD / "jmeter.csv").read_text("utf-8")
    (path := tmp_path / "t.csv").write_text(text.replace("allThreads", "idleTimes", 1))
    points = load(path).points
    assert points[["load", ORIGIN["load"]]].to_numpy().tolist() == [[5, "computed: X R"]]  # 4.97, of 2 and then 8


def test_k6_s_text_is_its_summary_also_at_a_rate() -> None:
    (run,) = runs_in((SERVERS / "k6-rate.txt").read_text("utf-8"), "r.txt")
    assert (run.rate_per_s, run.clients, run.gaps, run.requests) == (99.939148, None, "paced", 501)
    assert run.response_s == pytest.approx(12.21e-3)


def test_a_computed_response_says_so_and_few_rounds_are_remarked() -> None:
    sweep = load(FIELD / "vllm.json")
    assert sweep.points["latency_s"].iloc[0] == pytest.approx(30 / 1.21)
    assert sweep.points[ORIGIN["latency_s"]].iloc[0] == "computed: N / X"
    assert any("are 3.3 rounds" in finding.message for finding in sweep.findings)


def test_an_interrupted_run_loses_no_complete_one_beside_it() -> None:
    sweep = load(SERVERS / "sysbench-interrupted-then-whole.txt")
    assert (sweep.points["load"].iloc[0], sweep.points["throughput_per_s"].iloc[0]) == (4, 612.04)
    (found,) = [f for f in sweep.findings if f.check == "interrupted-run"]
    assert "run 1 has no total number of events" in found.message
    whole = (SERVERS / "sysbench" / "sysbench-t1.txt").read_text("utf-8")
    assert len(runs_in(whole + whole[: len(whole) // 2], "s.txt")) == 1
    with pytest.raises(DataError, match="has no "):
        runs_in(whole[: len(whole) // 2], "s.txt")


@pytest.mark.parametrize(
    ("name", "last", "lacks"),
    [
        ("ab/ab-c16.txt", "Requests per second", "Connection Times"),
        ("field/bombardier.txt", "Reqs/sec", "Latency"),
        ("field/h2load.txt", "finished in", "time for request"),
        ("field/rados.txt", "Average IOPS", "Average Latency"),
        ("field/vegeta.txt", "Duration", "Latencies"),
        ("field/ycsb-threads.txt", "[OVERALL], Throughput", "AverageLatency"),
    ],
)
def test_a_text_that_was_cut_off_before_its_latency_is_no_run(name: str, last: str, lacks: str) -> None:
    above, found, below = (SERVERS / name).read_text("utf-8").partition(last)
    with pytest.raises(DataError, match=f"^c.txt has no {lacks}: the run was interrupted"):
        runs_in(above + found + below.partition("\n")[0] + "\n", "c.txt")


def test_the_reason_in_the_text_is_quoted() -> None:
    text = "Running 2s test @ http://x/\n  1 threads and 4 connections\nunable to connect to x:80 Connection refused\n"
    with pytest.raises(DataError, match="it says 'unable to connect to x:80 Connection refused'"):
        runs_in(text, "w.txt")


def test_several_runs_in_one_text_are_points_each(tmp_path: Path) -> None:
    for folder in ("bombardier", "autocannon", "h2load"):
        texts = [path.read_text("utf-8") for path in sorted((SERVERS / folder).iterdir())]
        (path := tmp_path / f"{folder}.txt").write_text("".join(texts), "utf-8")
        assert list(load(path).points["load"]) == [1, 8]
    assert [run.clients for run in runs_in((FIELD / "perf-analyzer.txt").read_text("utf-8"), "p")] == [8, 32]
    assert [run.clients for run in runs_in((FIELD / "jmeter.csv").read_text("utf-8"), "p")] == [2, 8]
    runs = runs_in((FIELD / "perf-analyzer-rate.txt").read_text("utf-8"), "p")
    assert [run.throughput_per_s for run in runs] == [48.4689, 98.8227, 143.977]  # once each, also of the summary below
    for name, rates in (("ycsb-two.txt", [95.785441, 354.139]), ("go-ycsb-two.txt", [19574.6, 19880.4])):
        runs = runs_in((FIELD / name).read_text("utf-8"), name)
        assert [run.clients for run in runs] == [1, 4]  # the command, or the properties, stand above each
        assert [run.throughput_per_s for run in runs] == pytest.approx(rates)
    text = (FIELD / "jmeter-16.txt").read_text("utf-8")
    assert [run.clients for run in runs_in(text.replace("Active: 16", "Active: 8") + text, "j")] == [8, 16]


def test_what_was_in_flight_when_the_time_was_over_is_no_failure_of_ghz() -> None:
    text = (FIELD / "ghz.txt").read_text("utf-8")
    assert "[Unavailable]   4 responses" in text
    assert runs_in(text, "g")[0].failed == 0
    assert runs_in(text.replace("transport is closing", "connection refused"), "g")[0].failed == 4


def test_users_of_jmeter_who_pause_are_asked_about_and_their_number_is_never_x_r() -> None:
    path = SERVERS / "jmeter-think.csv"  # four users who pause for 100 ms
    (asked,) = [f for f in load(path).findings if f.check == "load-kind"]
    assert (asked.severity, asked.message) == ("error", "X R / N is 0.15 at 4 users.")
    assert load(path, columns={"think": "98ms"}).points[["load", "throughput_per_s"]].to_numpy().tolist() == [
        [4, pytest.approx(34.535926)]
    ]
    text = re.sub(r"(?m)^summary \+.*\n", "", (FIELD / "jmeter-16.txt").read_text("utf-8"))
    with pytest.raises(DataError, match=r"JMeter prints no number of clients, and X R = 3\.41 is no whole one"):
        server_runs_sweep({"j.txt": text.replace("Avg:    43", "Avg:    10")})


def test_a_rate_that_a_text_does_not_name_may_be_said() -> None:
    text = (FIELD / "ycsb-insert.txt").read_text("utf-8").replace("-threads 4", "")
    sweep = server_runs_sweep({"y.txt": text.replace("353.2320734722713", "391.5")})
    (found,) = [f for f in sweep.findings if f.check == "clients-by-littles-law"]
    assert found.remedy == "if it was held at a rate (-target), say so: --columns gaps=paced"
    assert of_its_kind(sweep, {"gaps": "paced"}).points["load"].tolist() == [391.5]


def test_clients_that_are_not_printed_may_be_said() -> None:
    with pytest.raises(DataError, match=r"YCSB prints no number of clients, and X R = 0.128 .*--columns load=8"):
        load(FIELD / "ycsb.txt")
    sweep = load(FIELD / "spdk-perf.txt", columns={"load": "128"})
    assert sweep.points["load"].iloc[0] == 128
    assert sweep.points[ORIGIN["load"]].iloc[0] == "told: --columns load=128"


def test_localised_numbers_are_read_or_asked_about() -> None:
    text = (FIELD / "rados.txt").read_text("utf-8")
    (run,) = runs_in(text.replace("0.00253945", "0,00253945").replace("6294", "6294,5"), "r.txt")
    assert (run.throughput_per_s, run.response_s) == (6294.5, 0.00253945)
    with pytest.raises(DataError, match=r"r.txt: '6,294' may be 6.294 or 6294; run rados bench with LC_ALL=C"):
        runs_in(text.replace("6294", "6,294"), "r.txt")
    with pytest.raises(DataError, match=r"r.txt: '6.294,50' has a decimal comma; run rados bench with LC_ALL=C"):
        runs_in(text.replace("6294", "6.294,50"), "r.txt")


@pytest.mark.parametrize(("printed", "seconds"), [("0,229 ms", 229e-6), ("12,5 ms", 12.5e-3), ("0.229 ms", 229e-6)])
def test_a_time_with_its_unit_may_have_a_decimal_comma(printed: str, seconds: float) -> None:
    text = (SERVERS / "pgbench" / "pgbench-c4.txt").read_text("utf-8")
    assert "latency average = 0.229 ms" in text
    (run,) = runs_in(text.replace("0.229 ms", printed), "p.txt")
    assert run.response_s == pytest.approx(seconds)


def test_a_time_whose_comma_may_separate_thousands_is_asked_about() -> None:
    text = (SERVERS / "pgbench" / "pgbench-c4.txt").read_text("utf-8")
    with pytest.raises(DataError, match=r"p.txt: '2,345' may be 2.345 or 2345; run pgbench with LC_ALL=C"):
        runs_in(text.replace("0.229 ms", "2,345 ms"), "p.txt")


def test_times_of_several_parts_add_up() -> None:
    assert parse_seconds("1m2.5s") == 62.5
    assert parse_seconds("1h1m1s") == 3661


def test_no_tool_of_the_table_is_known_in_the_text_of_another() -> None:
    for path in sorted(SERVERS.rglob("*.txt")):
        text = path.read_text("utf-8")
        known = {tool.name for tool in tools() if tool.is_in(text)}
        assert len(known - {"wrk"}) <= 1, path  # wrk2 prints all that wrk does, and more


GOLDEN = Path(__file__).parents[4] / "golden" / "data"
TWO = {
    "ab and wrk": (SERVERS / "wrk/wrk-c16.txt", SERVERS / "ab/ab-c16.txt"),
    "autocannon and wrk": (SERVERS / "wrk/wrk-c16.txt", SERVERS / "autocannon/autocannon-c8.txt"),
    "ghz and hey": (FIELD / "ghz.txt", SERVERS / "hey/hey-c8.txt"),
    "hey and YCSB": (SERVERS / "hey/hey-c8.txt", FIELD / "ycsb-two.txt"),
    "fortio and JMeter": (FIELD / "jmeter-16.txt", FIELD / "fortio.txt"),
    "pgbench and sysbench": (SERVERS / "pgbench/pgbench-c4.txt", SERVERS / "sysbench/sysbench-t4.txt"),
    "k6 and redis-benchmark": (SERVERS / "redis/redis-c8.txt", FIELD / "k6-1.txt"),
    "vegeta and vLLM": (SERVERS / "vegeta-json/vegeta-r200.json", FIELD / "vllm.json"),
    "hey and oha": (SERVERS / "hey/hey-c8.txt", SERVERS / "oha/oha-c8.json"),
    "fio and wrk": (GOLDEN / "fio/clones-grouped.json", SERVERS / "wrk/wrk-c16.txt"),
    "fio and sysbench": (GOLDEN / "fio-text/report-both.txt", SERVERS / "sysbench/sysbench-t4.txt"),
}


@pytest.mark.parametrize(("both", "order"), list(product(TWO, [1, -1])))
def test_two_tools_in_one_text_are_refused_and_both_are_named(tmp_path: Path, both: str, order: int) -> None:
    texts = [path.read_text("utf-8") for path in TWO[both][::order]]
    (path := tmp_path / "two.txt").write_text("\n".join(texts), "utf-8")
    with pytest.raises(DataError) as refusal:
        load(path)
    assert str(refusal.value) == f"two.txt holds outputs of {both}; give each a file of its own"


@pytest.mark.parametrize(
    "path", [FIELD / "ghz.json", FIELD / "vllm.json", FIELD / "jmeter.csv", *(SERVERS / "locust").glob("*-u8_*")]
)
def test_a_command_above_a_document_or_a_log_changes_nothing(tmp_path: Path, path: Path) -> None:
    text = path.read_text("utf-8")
    runs = runs_in(text, "x")
    for above in ("$ ./bench.sh -c 4\n", "\ufeff\n\n", "# run 1\r\n"):
        assert runs_in(above + text, "x") == runs
        (said := tmp_path / path.name).write_text(above + text, "utf-8", newline="")
        assert load(said).points["load"].tolist() == load(path).points["load"].tolist()


def test_each_of_elbenchos_hosts_has_its_threads(tmp_path: Path) -> None:
    """Laid out as 3.1 does, numbers made to fit: with --hosts, --threads is that of each."""
    header = ELBENCHO.splitlines()[0].replace("path type,", "path type,paths,hosts,")
    rows = "2026-02-09T11:18:30,,file,1,4,16,4096,8,READ,1200512,1200000,55,427\n"
    (path := tmp_path / "hosts.csv").write_text(f"{header}\n{rows}{rows.replace('16,4096,8', '16,4096,1')}")
    assert sorted(load(path).points["load"]) == [64, 512]
