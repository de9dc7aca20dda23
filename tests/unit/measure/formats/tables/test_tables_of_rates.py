"""Tables over a rate: without a throughput, with the offered and the achieved rate, and iostat's columns."""

from __future__ import annotations

import re
import shlex

import pytest

from measure.errors import DataError
from measure.formats.tables.column_names import parse_columns
from measure.formats.tables.table import csv_sweep
from measure.loads import ArrivalRate, Clients, Outstanding
from measure.sweep import Sweep

RAW_REPORT = (
    "job,read_bw_KBps,read_lat_us,write_bw_KBps,write_lat_ns,read_pct,io_depth,data_size_KB,avg_bw,avg_lat,util\n"
    "1,1024,3965.84,0,0,100,1,16,1024,3965840,4061020160\n"
    "2,546,6976.39,546,12262,75,1,16,546,5235358,2858505468\n"
)


def _points(sweep: Sweep) -> list[tuple[float, float, float]]:
    return list(sweep.points[["load", "throughput_per_s", "latency_s"]].itertuples(index=False, name=None))


def _as_suggested(text: str) -> Sweep:
    """The table, read with the last line of --columns in its refusal."""
    with pytest.raises(DataError) as refusal:
        csv_sweep(text, name="t.csv")
    line = re.findall(r"--columns (?:'[^']*'|\S+)", str(refusal.value))[-1]
    assert "COLUMN" not in line.removeprefix("--columns")
    return csv_sweep(text, *parse_columns(shlex.split(line)[1]), name="t.csv")


@pytest.mark.parametrize(
    "header",
    ["arrival rate (/s)", "arrival rate [1/s]", "arrivals/s", "offered load (k/s)", "target_rps", "arrival_rate_req/s"],
)
def test_an_arrival_rate_may_have_its_unit_behind_it(header: str) -> None:
    per_s = 1000 if "k/s" in header else 1
    sweep = csv_sweep(f"{header},lat_us\n{1000 / per_s},111\n{9000 / per_s},1000\n", name="t.csv")
    assert sweep.load_type == ArrivalRate()
    assert sweep.points["load"].tolist() == [1000, 9000]


@pytest.mark.parametrize(
    ("header", "per_s"),
    [
        ("arrival_rate,throughput", 1),
        ("arrival_rate,throughput", 1000),
        ("offered_load,achieved", 1),
        ("arrivals/s,achieved_rps", 1),
    ],
)
def test_what_was_served_of_an_arrival_rate_is_its_throughput_in_the_unit_in_which_it_arrived(header, per_s) -> None:
    rows = [(80, 80), (200, 200), (320, 320), (450, 399)]
    text = "\n".join(f"{asked},{came / per_s},10" for asked, came in rows)
    sweep = csv_sweep(f"{header},mean_ms\n{text}\n", name="t.csv")
    assert [(load, rate) for load, rate, _ in _points(sweep)] == [(a, pytest.approx(c)) for a, c in rows]


def test_a_throughput_without_a_unit_that_is_no_arrival_rate_is_asked_about() -> None:
    with pytest.raises(DataError, match="the unit of 'throughput' is not in its name"):
        csv_sweep("arrival_rate,throughput,mean_ms\n80,12,10\n200,19,11\n320,23,18\n", name="t.csv")


def test_a_rate_of_arrivals_without_a_throughput_is_assumed_to_be_served() -> None:
    sweep = csv_sweep("arrival_rate,lat_us\n1000,111\n9000,1000\n", name="t.csv")
    assert sweep.load_type == ArrivalRate()
    assert _points(sweep) == [(1000, 1000, pytest.approx(111e-6)), (9000, 9000, pytest.approx(1e-3))]
    assert set(sweep.points["throughput_origin"]) == {"assumed: the offered rate, with which the device keeps up"}
    assert [(f.check, f.severity) for f in sweep.findings] == [("assumed-throughput", "warning")]


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("rate,avg_ms\n1000,0.111\n9000,1\n", [1000, 9000]),
        ("krps,p50_us,mean_us\n1,80,111\n9,700,1000\n", [1000, 9000]),
        ("requests per minute,Latency (ms)\n600,0.111\n900,1\n", [10, 15]),
    ],
)
def test_rates_and_times_alone_are_read_by_the_line_of_their_refusal(text: str, rates: list[float]) -> None:
    sweep = _as_suggested(text)
    assert sweep.load_type == ArrivalRate()
    assert [load for load, _, _ in _points(sweep)] == pytest.approx(rates)
    assert [rate for _, rate, _ in _points(sweep)] == pytest.approx(rates)
    assert [time for _, _, time in _points(sweep)] == pytest.approx([111e-6, 1e-3])


@pytest.mark.parametrize("header", ["rate,achieved", "target_rps,actual_rps", "rps,achieved_rps", "rate,Achieved RPS"])
def test_an_offered_rate_beside_the_achieved_one_is_the_load(header: str) -> None:
    sweep = csv_sweep(f"{header},avg_ms\n1000,1000,0.1\n3000,2999,0.14\n", name="t.csv")
    assert sweep.load_type == ArrivalRate()
    assert _points(sweep) == [(1000, 1000, pytest.approx(1e-4)), (3000, 2999, pytest.approx(1.4e-4))]
    assert "throughput_origin" not in sweep.points or set(sweep.points["throughput_origin"]) == {"measured"}


def test_an_offered_rate_is_the_load_where_the_connections_never_change() -> None:
    text = "connections,target RPS,achieved RPS,avg_ms\n100,1000,1000,0.1\n{},3000,2999,0.14\n"
    assert csv_sweep(text.format(100), name="t.csv").load_type == ArrivalRate()
    assert csv_sweep(text.format(400), name="t.csv").points["load"].tolist() == [100, 400]


def test_a_load_that_is_said_and_has_the_name_of_a_rate_is_one() -> None:
    text = "connections,target RPS,RPS,avg_ms\n100,1000,1000,0.1\n100,3000,2999,0.14\n"
    sweep = csv_sweep(text, {"load": "target RPS", "throughput": "RPS"}, name="t.csv")
    assert (sweep.load_type, sweep.points["load"].tolist()) == (ArrivalRate(), [1000, 3000])


def test_more_achieved_than_offered_is_asked_about() -> None:
    with pytest.raises(DataError, match="a load cannot be found"):
        csv_sweep("rate,achieved,avg_ms\n1,1000,0.1\n3,2999,0.14\n", name="t.csv")


@pytest.mark.parametrize("queue", ["aqu-sz", "avgqu-sz"])
def test_columns_of_iostat_are_a_mean_number_in_flight(queue: str) -> None:
    sweep = csv_sweep(f"r/s,r_await,{queue}\n1000,0.1,0.1\n5000,0.2,1.0\n", name="t.csv")
    assert sweep.load_type == Outstanding(arrivals=True)
    assert _points(sweep) == [(0.1, 1000, pytest.approx(1e-4)), (1.0, 5000, pytest.approx(2e-4))]


@pytest.mark.parametrize("load", ["Gleichzeitig", "gleichzeitig", "Gleichzeitige Anfragen", "gleichzeitige Nutzer"])
def test_german_names_of_concurrency_are_a_load(load: str) -> None:
    sweep = csv_sweep(f"{load},Anfragen/s,Latenz (ms)\n1,1000,1\n2,1800,1.11\n", name="t.csv")
    assert isinstance(sweep.load_type, Clients)
    assert [n for n, _, _ in _points(sweep)] == [1, 2]


def test_the_refusal_of_the_raw_report_suggests_the_column_of_sizes_as_the_block() -> None:
    sweep = _as_suggested(RAW_REPORT)
    assert set(sweep.points["block_bytes"]) == {16384}
    assert sweep.points["throughput_per_s"].tolist() == pytest.approx([64, 2 * 546 / 16])
