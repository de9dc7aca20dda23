"""What the cells of a table become: every unit, mixes, directions, jobs, and what Little's law completes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from measure.errors import DataError
from measure.formats.tables.column_names import load_noun, unit_in_name, unit_scale
from measure.formats.tables.table import csv_sweep
from measure.sweep import Sweep


def table(header: str, *rows: str, columns: dict[str, str] | None = None) -> Sweep:
    return csv_sweep("\n".join([header, *rows]), columns)


def test_units_that_are_none() -> None:
    with pytest.raises(DataError, match="are bits"):
        unit_scale("bandwidth", "Mbps")
    with pytest.raises(DataError, match="invalid unit 'ms' of depth: expected none"):
        unit_scale("depth", "ms")
    with pytest.raises(DataError, match="invalid unit 'h' of latency: expected one of s, sec"):
        unit_scale("latency", "h")
    assert [unit_in_name("latency", c) for c in ("R_us", "R", "us")] == ["us", None, "us"]
    assert unit_in_name("throughput", "X") == "/s"
    assert [load_noun(c) for c in ("VUs", "conns", "Sessions", "threads", "workers", "procs", "jobs", "qd")] == [
        "users",
        "connections",
        "sessions",
        "threads",
        "workers",
        "processes",
        "jobs",
        "requests",
    ]


def test_reads_and_writes_are_joined_by_their_rates() -> None:
    header = "depth,read_iops,write_iops,read_latency_us,write_latency_us,block_KB"
    row = table(header, "4,3000,1000,1000,1000,4", "8,3000,1000,1500,3500,4").points.iloc[1]
    assert (row["throughput_per_s"], row["read_fraction"]) == (4000, 0.75)
    assert row["latency_s"] == pytest.approx((3 * 1500 + 3500) / 4 * 1e-6)
    assert row["bandwidth_bytes_per_s"] == 4000 * 4096
    apart = table("depth,read_iops,write_iops,latency_us,block_KB", "4,3000,1000,1000,4").points.iloc[0]
    assert (apart["throughput_per_s"], apart["read_fraction"], apart["latency_s"]) == (4000, 0.75, pytest.approx(1e-3))
    assert (apart["bandwidth_bytes_per_s"], apart["depth"]) == (4000 * 4096, 4)
    moved = table(
        "depth,read_MB/s,write_MB/s,read_latency_us,write_latency_us,block_KB", "4,12.288,4.096,1000,1000,4"
    ).points.iloc[0]
    assert (moved["throughput_per_s"], moved["bandwidth_bytes_per_s"]) == pytest.approx((4000, 16.384e6))
    only = table("depth,read_iops,write_iops,read_latency_us,write_latency_us", "4,4000,0,1000,0").points.iloc[0]
    assert (only["throughput_per_s"], only["read_fraction"], only["latency_s"]) == (4000, 1, pytest.approx(1e-3))


def test_throughput_and_bandwidth_follow_from_each_other() -> None:
    rate = table("depth,iops,latency_us,block_KB", "4,4000,1000,4").points.iloc[0]
    assert rate["bandwidth_bytes_per_s"] == 4000 * 4096
    moved = table("depth,bandwidth_MB/s,latency_us,block_KB", "4,16.384,1000,4")
    assert moved.points["throughput_per_s"].tolist() == pytest.approx([4000])
    assert moved.provenance.details["throughput_from"] == "bandwidth / block"
    both = table("depth,iops,bandwidth_MB/s,latency_us,block_KB", "4,4000,20,1000,4")
    assert both.points[["throughput_per_s", "bandwidth_bytes_per_s"]].to_numpy().tolist() == [[4000, 20e6]]
    assert "throughput_from" not in both.provenance.details
    memory = table("delay_cycles,bandwidth_GB/s,latency_ns,buffer_KiB,block_KB", "0,64,100,64,4")
    assert "throughput_from" not in memory.provenance.details
    assert memory.points["depth"].isna().all()
    assert memory.provenance.details["buffer_bytes"] == {"4 KiB buffer 64 KiB": 65536}
    delay = table("delay_cycles,bandwidth_GB/s,latency_ns,block_KB", "0,64,100,4", "100,6.4,80,4").points
    assert delay["throughput_per_s"].tolist() == pytest.approx([1e9, 1e8])  # cache lines, whatever the stride


@pytest.mark.parametrize(
    ("column", "cell", "fraction"),
    [
        ("read_pct", "70", 0.7),
        ("write_pct", "30", 0.7),
        ("mix", "read", 1.0),
        ("mix", "write", 0.0),
        ("mix", "70/30", 0.7),
    ],
)
def test_the_share_of_reads_however_it_is_told(column: str, cell: str, fraction: float) -> None:
    points = table(f"depth,iops,latency_us,{column}", f"4,4000,1000,{cell}").points
    assert points["read_fraction"].tolist() == pytest.approx([fraction])
    assert table("depth,iops,latency_us,mix", "4,4000,1000,odd").series == ("odd",)


@pytest.mark.parametrize(("scale", "unit"), [(1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")])
def test_the_unit_of_a_latency_follows_from_littles_law(scale: float, unit: str) -> None:
    rows = [f"{n},{8000 * n},{1 / 8000 * scale:.12g}" for n in (1, 2, 4)]
    sweep = table("depth,iops,latency", *rows)
    assert sweep.points["latency_s"].tolist() == pytest.approx([1 / 8000] * 3)
    (found,) = [f for f in sweep.findings if f.check == "latency-unit"]
    assert f"it is read as {unit}, because N = X R then holds: X R / N is 1 at the median." in found.message


@pytest.mark.parametrize(("ratio", "fits"), [(0.51, True), (0.49, False), (1.24, True), (1.26, False)])
def test_a_reading_fits_between_a_half_and_five_quarters(ratio: float, fits: bool) -> None:
    rows = [f"{n},{8000 * n},{ratio / 8:.12g}" for n in (1, 2, 4)]
    if fits:
        assert table("depth,iops,latency", *rows).points["latency_s"].iloc[0] == pytest.approx(ratio / 8000)
    else:
        with pytest.raises(DataError, match="holds for none"):
            table("depth,iops,latency", *rows)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1,234", "12,345,678"), (1234, 12345678)),
        (("0,5", "12,345"), (0.5, 12.345)),
        (("1.234,5", "2,25"), (1234.5, 2.25)),
        (("1234,567", "2"), (1234.567, 2)),
        (("1.5", "2"), (1.5, 2)),
        (("1,5", "1.234,5"), (1.5, 1234.5)),
        (("1,23", "100"), (1.23, 100)),
    ],
)
def test_what_a_comma_means(cells: Sequence[str], values: Sequence[float]) -> None:
    rows = [f'{n};"{cell}";1000' for n, cell in zip((1, 2), cells, strict=True)]
    points = table("depth;iops;latency_us", *rows).points
    assert points["throughput_per_s"].tolist() == pytest.approx(values)


@pytest.mark.parametrize(
    ("column", "cells", "said"),
    [
        ("error rate", ("0%", "12.5 %"), "'error rate' is 12.5 % at 16 clients"),
        ("Failed requests", ("0", "7"), "'Failed requests' is 7 at 16 clients"),
        ("errors", ("0", "0"), ""),
        ("latency error", ("1", "2"), ""),  # of a mean
    ],
)
def test_answers_that_failed_are_told_where_a_column_counts_them(
    column: str, cells: tuple[str, str], said: str
) -> None:
    text = f"clients,rps,ms (mean),{column}\n1,1000,1.0,{cells[0]}\n16,8000,2.0,{cells[1]}\n"
    told = [f.message for f in csv_sweep(text, name="t.csv").findings if f.check == "failed-answers"]
    assert bool(told) == bool(said)
    assert said in "".join(told)
