"""Names of rates and of mean times in public tables: what was measured is read, or asked about, never computed anew."""

from __future__ import annotations

import pytest

from measure.errors import DataError
from measure.formats.tables.table import csv_sweep

CLIENTS, RATE_PER_S, TIME_S = (1, 4, 16), (100.0, 350.0, 800.0), (0.01, 0.0114, 0.02)

RATES = {
    1.0: (
        "IOPS|Inferences/Second|infer/sec|Req Tput (RPS)|Request throughput (req/s)|req/s|op/s|Ops/sec|ops/s"
        "|hits/s|samples/s|images/sec|img/s|fps|FPS|records/s|rows/s|msg/s|messages/sec|Throughput(ops/sec)"
        "|throughput (ops/sec)|Throughput (tx/s)|tx/s|txn/s|I/O per s|IO/s|I/Os per second|Read IOPS|r_iops"
        "|Requests per second|Requests per second (mean)|RPS (avg)|avg RPS|QPS (mean)|Total QPS|queries per second"
        "|calls/sec|Max throughput|Avg. throughput (req/s)|Achieved RPS|TPS (excluding connections)"
        "|tps (including connections establishing)|Rate|rate (req/s)|Throughput|throughput rps|goodput|lookups/s"
        "|GET/s|commits/s"
    ),
    1e3: "kIOPS|IOPS (k)|IOPS(K)",
    1 / 60: "TPM|NOPM",
}
"""Requests a second in one of a column -> names of 55 columns."""
TIMES = {
    1.0: "Average Latency(s)|latency_seconds|avg_lat_sec",
    1e-3: (
        "AvgLat (ms)|AvgLat|Avg. Latency|Avg. Latency (msec)|lat_avg(ms)|latency_avg_ms|Average (ms)|Average"
        "|Mean (ms)|mean ms|Avg Response Time (ms)|Average Response Time|Response time [ms]|resp_ms|await (ms)"
        "|r_await|E2EL (ms)|Mean E2EL (ms)|E2E Latency (ms)|mean_e2e_latency_ms|Latency avg|Latency (avg)"
        "|latency mean (msec)|Time per request (ms)|Elapsed (ms)|duration_ms|RT avg ms|Avg RT (ms)"
        "|service time (ms)|Avg wait ms"
    ),
    1e-6: (
        "clat avg (us)|clat_mean_us|lat(us)|lat (usec)|lat us|Lat IO us|AverageLatency(us)|[READ] AverageLatency(us)"
    ),
}
"""Seconds in one of a column -> names of 41 columns of means."""
OTHER_RATES = {
    1.0: (
        "Throughput (iter/s)|throughput_rps|avg_throughput_quads_per_sec|sample_throughput_rps|steps_per_second"
        "|avg_rps|Throughput (acq+rel/s)|Overall Speed (request / s)|Ops/s/t|Inference throughput|QPS@p99"
        "|Trans/Sec|Drive B IOPS|Server B req/s|4 KB IOPS|read IOPS (4 KiB)"
    ),
    1e3: "krps|qps(k)",
    1e6: "Mops/s",
    1 / 60: "journeys_per_minute",
    1 / 3600: "Speed (emails/h)",
}
OTHER_TIMES = {
    1e-3: (
        "Latency (ms/iter)|inference_latency_ms|http_latency_ms|sample_mean_ms|Response time average"
        "|mean_response_ms|ms/op|total_time_ms|processing_ms|Latenz (ms)|Config B latency (ms)"
    ),
    1e-6: "svc_time_mean_us",
    1e-9: "ns/op",
}
"""Names that stand in other public tables."""


def _listed(*tables: dict[float, str]) -> list[tuple[str, float]]:
    return [(name, unit) for table in tables for unit, names in table.items() for name in names.split("|")]


def _rows(*columns: tuple[float, ...]) -> str:
    return "".join(",".join(f"{cell:.9g}" for cell in row) + "\n" for row in zip(*columns, strict=True))


def _read_or_asked(text: str, column: str) -> list[float] | str:
    """The column of the sweep, or the question that its reader asks."""
    try:
        return csv_sweep(text, name="t.csv").points[column].tolist()
    except DataError as question:
        return str(question)


@pytest.mark.parametrize(("name", "per_s"), _listed(RATES, OTHER_RATES))
def test_a_measured_rate_is_read_where_n_is_x_r(name: str, per_s: float) -> None:
    cells = tuple(x / per_s for x in RATE_PER_S)
    points = csv_sweep(f"clients,{name},avg latency (ms)\n{_rows(CLIENTS, cells, (10, 11.4, 20))}", name="t.csv").points
    assert points["throughput_per_s"].tolist() == pytest.approx(RATE_PER_S)
    assert points["latency_s"].tolist() == pytest.approx(TIME_S)
    assert set(points["throughput_origin"]) == {"measured"}


@pytest.mark.parametrize(("name", "unit_s"), _listed(TIMES, OTHER_TIMES))
def test_a_measured_mean_time_is_read_where_n_is_x_r(name: str, unit_s: float) -> None:
    cells = tuple(r / unit_s for r in TIME_S)
    points = csv_sweep(f"clients,req/s,{name}\n{_rows(CLIENTS, RATE_PER_S, cells)}", name="t.csv").points
    assert points["latency_s"].tolist() == pytest.approx(TIME_S)
    assert points["throughput_per_s"].tolist() == pytest.approx(RATE_PER_S)
    assert set(points["latency_origin"]) == {"measured"}


@pytest.mark.parametrize(("name", "per_s"), _listed(RATES, OTHER_RATES))
def test_a_rate_of_clients_who_think_is_read_or_asked_about(name: str, per_s: float) -> None:
    thinking = tuple(0.3 * x for x in RATE_PER_S)
    text = f"clients,{name},avg latency (ms)\n{_rows(CLIENTS, tuple(x / per_s for x in thinking), (10, 11.4, 20))}"
    found = _read_or_asked(text, "throughput_per_s")
    assert (name in found and "--columns" in found) if isinstance(found, str) else found == pytest.approx(thinking)


@pytest.mark.parametrize(("name", "unit_s"), _listed(TIMES, OTHER_TIMES))
def test_a_mean_time_of_clients_who_think_is_read_or_asked_about(name: str, unit_s: float) -> None:
    thinking = tuple(0.3 * r for r in TIME_S)
    text = f"clients,req/s,{name}\n{_rows(CLIENTS, RATE_PER_S, tuple(r / unit_s for r in thinking))}"
    found = _read_or_asked(text, "latency_s")
    assert (name in found and "--columns" in found) if isinstance(found, str) else found == pytest.approx(thinking)


@pytest.mark.parametrize("name", ["p50 (ms)", "median latency (ms)"])
def test_a_median_is_kept_as_a_percentile_and_is_no_mean(name: str) -> None:
    sweep = csv_sweep(f"clients,req/s,{name}\n{_rows(CLIENTS, RATE_PER_S, (9, 10, 18))}", name="t.csv")
    assert sweep.points["latency_p50_s"].tolist() == pytest.approx([0.009, 0.01, 0.018])
    assert sweep.points["latency_s"].tolist() == pytest.approx(TIME_S, rel=0.01)
    assert set(sweep.points["latency_origin"]) == {"computed: N / X"}


@pytest.mark.parametrize(
    "name", ["p90 (ms)", "max latency (ms)", "stddev ms", "slat (us)", "cpu_ms", "errors/s", "MB/s"]
)
def test_what_is_no_mean_and_no_rate_of_all_is_named_and_not_taken(name: str) -> None:
    sweep = csv_sweep(f"clients,req/s,{name}\n{_rows(CLIENTS, RATE_PER_S, (10, 11.4, 20))}", name="t.csv")
    assert set(sweep.points["latency_origin"]) == {"computed: N / X"}
    assert name == "MB/s" or any(f.check == "columns" and name in f.message for f in sweep.findings)


def test_what_the_law_decided_is_said_by_name() -> None:
    text = f"clients,Max throughput,avg latency (ms)\n{_rows(CLIENTS, RATE_PER_S, (10, 11.4, 20))}"
    (finding,) = csv_sweep(text, name="t.csv").findings
    assert finding.message == "t.csv: 'Max throughput' is read as throughput in 1/s: N = X R holds."
    nameless = csv_sweep(f"clients,Zeit,req/s\n{_rows(CLIENTS, (10, 11.4, 20), RATE_PER_S)}", name="t.csv")
    assert [f.message for f in nameless.findings] == ["t.csv: 'Zeit' is read as latency in ms: N = X R holds."]


def test_users_who_think_keep_their_measured_rate_and_their_measured_response() -> None:
    rows = "10,9.88,12\n50,48.9,22\n100,90.1,110\n150,99.2,512\n200,99.8,1004\n"
    for header in ("users,Achieved RPS,avg latency (ms)", "users,rps,resp_ms"):
        points = csv_sweep(f"{header}\n{rows}").points
        assert points["throughput_per_s"].tolist() == [9.88, 48.9, 90.1, 99.2, 99.8]
        assert points["latency_s"].tolist() == pytest.approx([0.012, 0.022, 0.11, 0.512, 1.004])
        assert set(points["throughput_origin"]) | set(points["latency_origin"]) == {"measured"}


def test_the_requests_of_a_language_model_are_read_beside_its_tokens() -> None:
    header = "ISL,OSL,Concurrency,N Req,TTFT (ms),TPOT (ms),Tput User (TPS),Tput Decode (TPS),E2EL (ms),Req Tput (RPS)"
    rows = (
        ""
        "127,128,1,8,29.6,7.8,128.2,125.6,1019.0,0.981\n127,128,32,256,699.0,9.2,108.7,2189.4,1869.9,17.105\n1023,128,1,4,89.1,8.0,125.0,116.1,1102.3,0.907\n1023,128,32,128,2251.6,11.3,88.5,1108.8,3692.8,8.662\n"
    )
    sweep = csv_sweep(f"{header}\n{rows}")
    assert sweep.series == ("ISL 127", "ISL 1023")
    assert sweep.points["throughput_per_s"].tolist() == [0.981, 17.105, 0.907, 8.662]


def test_of_two_rates_the_one_that_the_law_speaks_for_is_read() -> None:
    sweep = csv_sweep("threads,tps,qps,avg (ms)\n1,100,2000,10\n8,400,8000,20\n", name="t.csv")
    assert sweep.points["throughput_per_s"].tolist() == [100, 400]
    (finding,) = [f for f in sweep.findings if f.check == "decided-column"]
    assert finding.message == "t.csv: of 'tps', 'qps', 'tps' is read as throughput in 1/s: N = X R holds."


def test_two_rates_that_agree_are_one_and_two_that_disagree_are_asked_about() -> None:
    header = "clients,TPS (excluding connections),tps (including connections establishing),p99 (ms)"
    alike = csv_sweep(f"{header}\n1,100,99.8,20\n8,400,399,40\n", name="t.csv")
    assert alike.points["throughput_per_s"].tolist() == [100, 400]
    assert "agree within 1 %" in alike.findings[0].message
    with pytest.raises(DataError, match=r"both .* can be the throughput; say which"):
        csv_sweep(f"{header}\n1,100,50,20\n8,400,200,40\n", name="t.csv")


def test_a_rate_in_the_unit_of_a_time_is_asked_about() -> None:
    with pytest.raises(DataError, match=r"'throughput \(ms\)' has the name of a rate and the unit of a time"):
        csv_sweep("clients,throughput (ms),lat_us\n1,5,100\n8,6,200\n", name="t.csv")
    with pytest.raises(DataError, match="invalid unit 'ms' of throughput"):
        csv_sweep("n,x,lat_us\n1,5,100\n", {"load": "n", "throughput": "x"}, {"throughput": "ms"})


def test_the_length_of_the_runs_is_no_response_time() -> None:
    sweep = csv_sweep("iodepth,iops,duration_s\n1,10000,30\n8,60000,30\n", name="t.csv")
    assert sweep.points["latency_s"].tolist() == pytest.approx([1e-4, 8 / 60000])


def test_reads_and_writes_as_iostat_has_them() -> None:
    sweep = csv_sweep("queue depth,r/s,w/s,r_await,w_await\n4,3000,1000,1.0,1.0\n8,3000,1000,1.5,3.5\n")
    assert sweep.points["throughput_per_s"].tolist() == [4000, 4000]
    assert sweep.points["latency_s"].tolist() == pytest.approx([1e-3, 2e-3])
    with pytest.raises(DataError, match=r"reads and writes have a latency each \('r_await', 'w_await'\)"):
        csv_sweep("queue depth,iops,r_await,w_await\n4,4000,1.0,1.0\n", name="t.csv")


@pytest.mark.parametrize(("x", "right"), [("100,110\n350,500\n400,700", "req/s"), ("50,100\n170,350\n200,400", "tput")])
def test_of_two_rates_that_disagree_the_one_that_obeys_the_law_is_read_and_said(x: str, right: str) -> None:
    rows = zip((1, 8, 16), x.split("\n"), (10, 22.857, 40), strict=True)
    text = "users,req/s,tput (req/s),latency_ms\n" + "".join(f"{n},{rates},{r}\n" for n, rates, r in rows)
    sweep = csv_sweep(text, name="t.csv")
    assert sweep.points["throughput_per_s"].tolist() == [100, 350, 400]
    (said,) = [f.message for f in sweep.findings if f.check == "decided-column"]
    assert said.startswith(f"t.csv: of 'req/s', 'tput (req/s)', '{right}")


@pytest.mark.parametrize(
    ("header", "column"),
    [("users,req/s (ms),latency_ms", "req/s (ms)"), ("users,req/s,latency (req/s)", "latency (req/s)")],
)
def test_a_rate_with_a_unit_of_time_and_a_time_with_that_of_a_rate_are_never_read_in_silence(
    header: str, column: str
) -> None:
    rows = "1,100,10\n8,350,22.857\n16,400,40\n"
    sweep = csv_sweep(f"{header}\n{rows}", name="t.csv")
    assert sweep.points["latency_s"].tolist() == pytest.approx([10e-3, 22.857e-3, 40e-3])
    assert any(repr(column) in f.message for f in sweep.findings if f.check == "decided-column")
    with pytest.raises(DataError, match="has the name of a"):
        csv_sweep(f"{header}\n{rows.replace('350', '35')}", name="t.csv")


def test_of_doubtful_times_the_one_that_n_x_r_gives_best_is_read() -> None:
    """Answers take 10 % less to process than in all."""
    rows = "1,100,9.2,10\n4,350,10.6,11.43\n16,800,18.4,20\n"
    sweep = csv_sweep(f"clients,req/s,processing ms,total ms\n{rows}", name="t.csv")
    assert sweep.points["latency_s"].tolist() == pytest.approx([10e-3, 11.43e-3, 20e-3])


def test_a_rate_of_successes_is_measured_or_asked_about() -> None:
    sweep = csv_sweep("clients,success rps,avg ms\n1,100,10\n4,350,11.43\n16,760,20\n", name="t.csv")
    assert sweep.points["throughput_per_s"].tolist() == [100, 350, 760]
    with pytest.raises(DataError, match="'success rps' may be the throughput"):
        csv_sweep("clients,success rps,avg ms\n1,60,10\n4,190,11.43\n16,300,20\n", name="t.csv")
