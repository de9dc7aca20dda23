"""Tables as people write them: their load, throughput and latency in SI, and what is refused with a ready line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from measure.errors import DataError
from measure.formats.tables.cells import looks_like_table
from measure.formats.tables.table import csv_sweep

Rows = Sequence[tuple[float, float, float]]


@pytest.mark.parametrize(
    ("text", "points", "unit"),
    [
        ("clients,tps,latency average (ms)\n1,500,2.0\n8,3200,2.5\n", [(1, 500, 2e-3), (8, 3200, 2.5e-3)], "clients"),
        ("connections;rps;avg ms\n10;1000;10,0\n50;4000;12,5\n", [(10, 1e3, 1e-2), (50, 4e3, 0.0125)], "connections"),
        (
            "concurrency\tqps\tresponse time [ms]\n4\t400\t10\n32\t1600\t20\n",
            [(4, 400, 0.01), (32, 1600, 0.02)],
            "concurrent requests",
        ),
        (
            "| clients | rps | avg (ms) |\n|-|-|-|\n| 1 | 95[1] | 10.5 |\n| 4 | 310* | 12.9 † |\n",
            [(1, 95, 10.5e-3), (4, 310, 12.9e-3)],
            "clients",
        ),
        (
            "clients;throughput;latency\n1;95 ± 2 req/s;10.5 ± 0.3 ms\n4;310 ± 5 req/s;12.9 ± 0.4 ms\n",
            [(1, 95, 10.5e-3), (4, 310, 12.9e-3)],
            "clients",
        ),
        ("vus,requests per second,avg latency (s)\n1,10,0.1\n10,50,0.2\n", [(1, 10, 0.1), (10, 50, 0.2)], "users"),
        ("qd,kIOPS,lat (µs)\n1,10,100\n32,160,200\n", [(1, 1e4, 1e-4), (32, 1.6e5, 2e-4)], "requests"),
        ("users,throughput,latency_ms\n1,20,50\n10,100,100\n", [(1, 20, 0.05), (10, 100, 0.1)], "users"),
        ("users,transactions/s,latency\n1,20,50\n10,100,100\n", [(1, 20, 0.05), (10, 100, 0.1)], "users"),
        (
            "iodepth,numjobs,iops,lat_us\n1,4,40000,100\n8,4,160000,200\n",
            [(4, 4e4, 1e-4), (32, 1.6e5, 2e-4)],
            "requests",
        ),
        (
            "max_concurrency,request_throughput (req/s),output_throughput (tok/s),mean_ttft_ms,mean_e2el_ms\n"
            "1,2,400,30,500\n16,20,4000,60,800\n",
            [(1, 2, 0.5), (16, 20, 0.8)],
            "concurrent requests",
        ),
        ("concurrency,rps\n2,100\n8,200\n", [(2, 100, 0.02), (8, 200, 0.04)], "concurrent requests"),
        ("clients,mean_ms\n2,20\n8,40\n", [(2, 100, 0.02), (8, 200, 0.04)], "clients"),
        (
            "Threads,Throughput(ops/sec),AverageLatency(us)\n2,20000,100\n8,40000,200\n",
            [(2, 2e4, 1e-4), (8, 4e4, 2e-4)],
            "threads",
        ),
    ],
)
def test_a_natural_table_is_read_in_si(text: str, points: Rows, unit: str) -> None:
    sweep = csv_sweep(text, name="t.csv")
    columns = ("load", "throughput_per_s", "latency_s")
    read = list(zip(*(sweep.points[c] for c in columns), strict=True))
    assert [pytest.approx(row) for row in points] == read
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("queue_depth", unit)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("concurrency,tokens/s,ttft_ms\n1,50,30\n8,300,60\n", "tokens are not requests"),
        ("concurrency,tps,ttft (ms)\n1,50,30\n8,300,60\n", "tokens are not requests"),
        ("users,rps,latency\n1,20,7\n10,100,9\n", "N = X R holds for none.*--columns latency=latency:ms"),
        ("threads,tps,qps,avg (ms)\n1,100,2000,10\n", "both 'tps' and 'qps' can be the throughput"),
        ("arrival_rate,iops,latency\n100,100,7\n", "for numbers of outstanding requests only"),
        ("users,clients,rps,mean_ms\n1,1,20,50\n", "both 'users' and 'clients' can be the load"),
    ],
)
def test_what_is_ambiguous_is_refused_with_what_to_declare(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as refusal:
        csv_sweep(text, name="t.csv")
    assert "--columns " in str(refusal.value)


def test_a_declared_latency_without_a_unit_is_settled_or_refused() -> None:
    declared = {"load": "n", "latency": "t", "throughput": "x"}
    jobs = csv_sweep("iodepth,numjobs,iops,latency\n1,4,40000,100\n2,4,80000,100\n")
    assert jobs.points["latency_s"].tolist() == [1e-4, 1e-4]
    assert csv_sweep("n,t,x\n1,5,200\n", declared).points["latency_s"].tolist() == [5e-3]
    with pytest.raises(DataError, match=r"say it, for example --columns latency=t:ms"):
        csv_sweep("n,t,x\n1,5,20\n", declared)


@pytest.mark.parametrize(
    "text",
    [
        "qd;iops;lat (us)\n1;12.345;81,2\n2;24.100;83,0\n",
        'qd,iops,lat (us)\n1,"12,345",81.2\n2,"24,100",83.0\n',
        "qd;iops;lat (us)\n1;12'345;81.2\n2;24'100;83.0\n",
        "qd;iops;lat (us)\n1;12 345,0;81,2\n2;24\u202f100,0;83,0\n",
        "%EF%BB%BFqd,iops,lat (us)\n\n# second try\n1,12345,81.2\n2,24100,83.0\n",
        "\u00ef\u00bb\u00bfqd,iops,lat (us)\n1,12345,81.2\n2,24100,83.0\n",
    ],
)
def test_marks_between_thousands_and_byte_order_marks_are_read(text: str) -> None:
    points = csv_sweep(text, name="t.csv").points
    assert points["throughput_per_s"].tolist() == [12345, 24100]
    assert points["latency_s"].tolist() == pytest.approx([81.2e-6, 83e-6])


@pytest.mark.parametrize(("count", "told"), [(3, "3 columns not used: c0, c1, c2."), (12, ", c9 and 2 more.")])
def test_columns_that_are_not_used_are_listed_up_to_ten(count: int, told: str) -> None:
    names = "".join(f",c{i}" for i in range(count))
    sweep = csv_sweep(f"depth,iops,lat_us{names}\n1,100,10000{',1' * count}\n", name="t.csv")
    (message,) = [f.message for f in sweep.findings if f.check == "columns"]
    assert message.endswith(told)


def test_a_point_between_three_digits_is_as_doubtful_as_a_comma() -> None:
    with pytest.raises(DataError, match=r"'14\.000' in line 2 may be 14\.000 or 14000"):
        csv_sweep("QD;IOPS\n1;14.000\n8;53.000\n", name="t")
    told = csv_sweep("QD;IOPS;Latenz ms\n1;14.000;0,071\n8;53.000;0,151\n").points
    assert told["throughput_per_s"].tolist() == [14000, 53000]
    assert told["latency_s"].tolist() == pytest.approx([71e-6, 151e-6])


def test_suffixes_of_cells_blanks_between_columns_and_names_of_rates() -> None:
    blanks = csv_sweep(
        "depth  iops   latency_us\n1      14.0k  71\n8      0.053M 151\n16 60K 267\n32 0.00007G 457\n"
    ).points
    assert list(blanks["throughput_per_s"]) == pytest.approx([14e3, 53e3, 60e3, 70e3])
    rates = csv_sweep("clients,kTPS,latency_ms\n1,1.2,0.83\n8,8,1\n").points
    assert list(rates["throughput_per_s"]) == [1200, 8000]
    served = csv_sweep("max_concurrency,request_throughput,mean_e2el_ms,std_e2el_ms\n1,1.2,830,5\n").points.iloc[0]
    assert (served["throughput_per_s"], served["latency_sd_s"]) == (1.2, 5e-3)


def test_prose_is_no_table_of_blanks() -> None:
    assert not looks_like_table("we measured the drive\nit was quite fast\n")
    assert not looks_like_table("depth iops latency us\n1 14000 71\n")
    assert not looks_like_table("see chapter 3\nand chapter 4\n")
    assert not looks_like_table("the drive was fast\nwith 3 of 4\n")  # half of the words are numbers
    assert looks_like_table("depth iops latency_us\n1 14.0k 71\n")


def test_a_series_over_time_has_the_load_of_littles_law() -> None:
    steady = csv_sweep("timestamp,iops,latency_ms\n1,12000,.83\n2,12300,.82\n3,12100,.83\n")
    assert list(steady.points["load"]) == [10.0] * 3
    assert list(steady.points["repeat"]) == [0, 1, 2]
    rising = csv_sweep("timestamp,iops,latency_ms\n1,12000,.083\n2,80000,.1\n")
    assert list(rising.points["load"]) == [1.0, 8.0]
    told = "series over timestamp: its load is N = X R, "
    assert f"{told}about 10." in steady.findings[0].message
    assert f"{told}1 to 8 requests outstanding." in rising.findings[0].message
