"""What the cells of a table become: every unit, mixes, directions, jobs, and what Little's law completes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from measure.errors import DataError
from measure.formats.tables.cells import block_bytes
from measure.formats.tables.column_names import load_noun, recognise, unit_in_name, unit_scale
from measure.formats.tables.table import csv_sweep
from measure.sweep import Sweep


def table(header: str, *rows: str, columns: dict[str, str] | None = None) -> Sweep:
    return csv_sweep("\n".join([header, *rows]), columns)


@pytest.mark.parametrize(
    ("unit", "scale"),
    [
        ("s", 1),
        ("sec", 1),
        ("seconds", 1),
        ("ms", 1e-3),
        ("msec", 1e-3),
        ("milliseconds", 1e-3),
        ("us", 1e-6),
        ("usec", 1e-6),
        ("µs", 1e-6),
        ("μs", 1e-6),
        ("microseconds", 1e-6),
        ("ns", 1e-9),
        ("nsec", 1e-9),
        ("nanoseconds", 1e-9),
        ("second", 1),
        ("millisecond", 1e-3),
        ("microsecond", 1e-6),
        ("nanosecond", 1e-9),
    ],
)
def test_every_unit_of_time(unit: str, scale: float) -> None:
    found = recognise(f"latency_{unit}")
    assert found is not None
    assert (found.role, found.scale, found.unit) == ("latency", scale, unit)
    sweep = table(f"depth,iops,latency_{unit}", f"4,{4e3 * 1e-3 / scale:.17g},{1 / 1e-3 * 1e-3:.17g}")
    assert sweep.points["latency_s"].iloc[0] == pytest.approx(scale)


@pytest.mark.parametrize(
    ("role", "unit", "scale"),
    [
        ("bandwidth", "B/s", 1),
        ("bandwidth", "bytes/s", 1),
        ("bandwidth", "kB/s", 1e3),
        ("bandwidth", "KB/s", 1024),
        ("bandwidth", "KiB/s", 1024),
        ("bandwidth", "MB/s", 1e6),
        ("bandwidth", "MiB/s", 2**20),
        ("bandwidth", "GB/s", 1e9),
        ("bandwidth", "GiB/s", 2**30),
        ("bandwidth", "MBps", 1e6),
        ("bandwidth", "GB_per_s", 1e9),
        ("bandwidth", "GB/sec", 1e9),
        ("throughput", "/s", 1),
        ("throughput", "iops", 1),
        ("throughput", "IOPS", 1),
        ("throughput", "k/s", 1e3),
        ("throughput", "kiops", 1e3),
        ("throughput", "kIOPS", 1e3),
        ("throughput", "M/s", 1e6),
        ("throughput", "MIOPS", 1e6),
        ("throughput", "k", 1e3),
        ("throughput", "M", 1e6),
        ("block", "B", 1),
        ("block", "bytes", 1),
        ("block", "kB", 1e3),
        ("block", "k", 1024),
        ("block", "K", 1024),
        ("block", "KB", 1024),
        ("block", "KiB", 1024),
        ("block", "m", 2**20),
        ("block", "M", 2**20),
        ("block", "MB", 2**20),
        ("block", "MiB", 2**20),
        ("read_percent", "%", 0.01),
        ("read_percent", "fraction", 1),
        ("delay", "cycles", 1),
        ("delay", "ns", 1),
        ("delay", "us", 1),
        ("load", "cycles", 1),
        ("load", "k/s", 1e3),
    ],
)
def test_every_other_unit(role: str, unit: str, scale: float) -> None:
    assert unit_scale(role, unit) == scale


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


@pytest.mark.parametrize(
    ("cell", "size"),
    [
        ("4k", 4096),
        ("4KB", 4096),
        ("1.5KiB", 1536),
        ("1m", 2**20),
        ("4kB", 4000),
        ("4096", 4096),
        ("4096 B", 4096),
        ("512", 512),
        ("4", None),
        ("0k", None),
        ("x", None),
        ("4q", None),
    ],
)
def test_blocks_as_tools_spell_them(cell: str, size: float | None) -> None:
    assert block_bytes(cell) == size


def test_reads_and_writes_are_joined_by_their_rates() -> None:
    header = "depth,read_iops,write_iops,read_latency_us,write_latency_us,block_KB"
    row = table(header, "4,3000,1000,1000,1000,4", "8,3000,1000,1500,3500,4").points.iloc[1]
    assert (row["throughput_per_s"], row["read_fraction"]) == (4000, 0.75)
    assert row["latency_s"] == pytest.approx((3 * 1500 + 3500) / 4 * 1e-6)
    assert row["bandwidth_bytes_per_s"] == 4000 * 4096
    apart = table("depth,read_iops,write_iops,latency_us", "4,3000,1000,1000").points.iloc[0]
    assert (apart["throughput_per_s"], apart["read_fraction"], apart["latency_s"]) == (4000, 0.75, pytest.approx(1e-3))
    moved = table(
        "depth,read_MB/s,write_MB/s,read_latency_us,write_latency_us,block_KB", "4,12.288,4.096,1000,1000,4"
    ).points.iloc[0]
    assert (moved["throughput_per_s"], moved["bandwidth_bytes_per_s"]) == pytest.approx((4000, 16.384e6))
    only = table("depth,read_iops,write_iops,read_latency_us,write_latency_us", "4,4000,0,1000,0").points.iloc[0]
    assert (only["throughput_per_s"], only["read_fraction"], only["latency_s"]) == (4000, 1, pytest.approx(1e-3))


def test_throughput_and_bandwidth_follow_from_each_other() -> None:
    rate = table("depth,iops,latency_us,block_KB", "4,4000,1000,4").points.iloc[0]
    assert rate["bandwidth_bytes_per_s"] == 4000 * 4096
    moved = table("depth,bandwidth_MB/s,latency_us,block_KB", "4,16.384,1000,4").points.iloc[0]
    assert moved["throughput_per_s"] == pytest.approx(4000)
    both = table("depth,iops,bandwidth_MB/s,latency_us,block_KB", "4,4000,20,1000,4").points.iloc[0]
    assert (both["throughput_per_s"], both["bandwidth_bytes_per_s"]) == (4000, 20e6)
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


@pytest.mark.parametrize(("missing", "given"), [("latency_us", "iops,8000"), ("iops", "latency_us,500")])
def test_what_is_missing_follows_from_littles_law(missing: str, given: str) -> None:
    name, value = given.split(",")
    sweep = table(f"depth,{name},block_KB", f"4,{value},4", f"8,{value},4")
    row = sweep.points.iloc[0]
    assert (row["throughput_per_s"], row["latency_s"]) == pytest.approx((8000, 5e-4))
    assert row["bandwidth_bytes_per_s"] == pytest.approx(8000 * 4096)
    (found,) = [f for f in sweep.findings if f.check == "by-littles-law"]
    assert f"gives no {'latency' if missing == 'latency_us' else 'throughput'}" in found.message
    assert "at 2 points" in found.message
    for wrong in (f"0,{value},4", "4,0,4"):
        with pytest.raises(DataError):
            table(f"depth,{name},block_KB", wrong)


@pytest.mark.parametrize(("scale", "unit"), [(1, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")])
def test_the_unit_of_a_latency_follows_from_littles_law(scale: float, unit: str) -> None:
    rows = [f"{n},{8000 * n},{1 / 8000 * scale:.12g}" for n in (1, 2, 4)]
    sweep = table("depth,iops,latency", *rows)
    assert sweep.points["latency_s"].tolist() == pytest.approx([1 / 8000] * 3)
    (found,) = [f for f in sweep.findings if f.check == "latency-unit"]
    assert f"it is read as {unit}, because" in found.message


def test_of_arrival_rates_littles_law_tells_no_unit() -> None:
    with pytest.raises(DataError, match="the unit of 'latency' is not in its name, and Little's law tells it for"):
        table("arrival_rate,iops,latency", "1000,1000,1", "2000,2000,1")


@pytest.mark.parametrize(("ratio", "fits"), [(0.51, True), (0.49, False), (1.24, True), (1.26, False)])
def test_a_reading_fits_between_a_half_and_five_quarters(ratio: float, fits: bool) -> None:
    rows = [f"{n},{8000 * n},{ratio / 8:.12g}" for n in (1, 2, 4)]
    if fits:
        assert table("depth,iops,latency", *rows).points["latency_s"].iloc[0] == pytest.approx(ratio / 8000)
    else:
        with pytest.raises(DataError, match="holds for none"):
            table("depth,iops,latency", *rows)


@pytest.mark.parametrize(("in_flight", "load", "depth"), [(8, 8, 4), (4, 4, 2)], ids=["of each job", "of all jobs"])
def test_whether_jobs_multiply_the_depth_follows_from_littles_law(in_flight: float, load: float, depth: float) -> None:
    rows = [f"{4 * k},2,{4000 * k},{in_flight / 4000 * 1e6:.12g}" for k in (1, 2)]
    points = table("depth,numjobs,iops,latency_us", *rows).points
    assert points["load"].tolist() == [load, 2 * load]
    assert points["depth"].tolist() == [depth, 2 * depth]
    near = table("depth,numjobs,iops,latency_us", f"4,2,4000,{1.14 * 2000}", f"8,2,8000,{1.14 * 2000}")
    assert near.points["load"].tolist() == [8, 16]


@pytest.mark.parametrize(("in_flight", "load"), [(8, 8), (4, 4), (2.8, 4), (5.6, 4)])
def test_clients_count_everything_unless_only_the_product_fits(in_flight: float, load: float) -> None:
    """Within 15 % of 4 clients or of 8 = 4 x 2 threads; what fits neither is left as it is named."""
    rows = [f"{4 * k},2,{4000 * k},{in_flight / 4000 * 1e6:.12g}" for k in (1, 2)]
    assert table("clients,threads,iops,latency_us", *rows).points["load"].tolist() == [load, 2 * load]


def test_jobs_that_are_declared_are_counted_as_said() -> None:
    rows = ["4,2,4000,1000", "8,2,8000,1000"]
    declared = table("depth,workers,iops,latency_us", *rows, columns={"jobs": "workers", "depth": "depth"})
    assert declared.points["load"].tolist() == [8, 16]
    with pytest.raises(DataError, match="0 jobs at load 4 send nothing"):
        table("depth,numjobs,iops,latency_us", "4,0,4000,1000")


def test_a_grid_of_depths_and_jobs_is_a_curve_for_each_number_of_jobs() -> None:
    rows = [f"{d},{j},{4000 * j},{d / 4000 * 1e6:.12g}" for j in (1, 2) for d in (4, 8)]
    assert sorted(table("depth,numjobs,iops,latency_us", *rows).series) == ["1 job", "2 jobs"]
    line = [f"4,{j},{4000 * j},1000" for j in (1, 2, 4)]
    assert list(table("depth,numjobs,iops,latency_us", *line).series) == ["all points"]
    same = ["8,1,4000,2000", "4,2,4000,2000"]
    assert sorted(table("depth,numjobs,iops,latency_us", *same).series) == ["1 job", "2 jobs"]


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


@pytest.mark.parametrize("cells", [("12,345",), ("1,234,567", "0,5"), ("0,5", "1.5")])
def test_a_comma_that_may_mean_either_is_refused(cells: Sequence[str]) -> None:
    with pytest.raises(DataError, match="point"):
        table("depth;iops;latency_us", *[f"{i + 1};{cell};1000" for i, cell in enumerate(cells)])


def test_rows_without_a_number_are_left_out_and_counted() -> None:
    sweep = table("depth,iops,latency_us", "4,4000,1000", "8,,1000", "16,4000,", "32,4000,8000")
    assert sweep.points["load"].tolist() == [4, 32]
    assert any("no throughput" in f.message for f in sweep.findings)
    with pytest.raises(DataError, match="throughput of 0"):
        table("depth,iops,latency_us", "4,0,1000")


def test_curves_are_parted_by_a_column_whose_values_recur() -> None:
    rows = [f"{d},{4000 * d},1000,{v}" for v in ("a", "b") for d in (1, 2)]
    assert sorted(table("depth,iops,latency_us,drive", *rows).series) == ["drive a", "drive b"]
    assert list(table("depth,iops,latency_us,run", *rows).series) == ["all points"]
    once = ["1,4000,1000,a", "1,4100,1000,b", "2,8000,1000,c"]
    assert list(table("depth,iops,latency_us,drive", *once).series) == ["all points"]
    with pytest.raises(DataError, match="open and of closed loops"):
        table("depth,iops,latency_us,kind", "1,4000,250,open loop", "2,8000,250,closed")
