"""Which rows of a table are curves, repeats or copies; its bandwidths, and how many requests its clients keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from calibrate.cli.measuring.run import points_table
from calibrate.report.measured.measured_data import measured
from calibrate.surface.places import surface_points
from measure import audit, load, load_dataset
from measure.errors import DataError
from measure.formats.tables.table import csv_sweep
from measure.sweep import Sweep

ROWS = ("1,9800,102", "4,38000,105.2", "16,75000,213", "64,81000,790")
HEADER = "iodepth,iops,latency_us"


def _checks(sweep: Sweep) -> dict[str, str]:
    return {f.check: f.message for f in sweep.findings}


def _table(header: str, rows: Sequence[str]) -> Sweep:
    return csv_sweep("\n".join([header, *rows]) + "\n", name="t.csv")


@pytest.mark.parametrize(("times", "words"), [(2, "twice"), (3, "three times"), (4, "4 times")])
def test_rows_that_are_all_there_several_times_are_read_once(times: int, words: str) -> None:
    sweep = _table(HEADER, ROWS * times)
    assert sweep.points.equals(_table(HEADER, ROWS).points)
    assert _checks(sweep)["copied-rows"] == f"t.csv: every row is there {words}; the copies are left out."
    numbered = [f"{row},{repeat}" for repeat in range(times) for row in ROWS]
    assert len(_table(f"{HEADER},repeat", numbered)) == 4


def test_repeats_that_differ_in_a_digit_are_repeats() -> None:
    sweep = _table(HEADER, (*ROWS, "1,9801,102", *ROWS[1:]))
    assert (len(sweep), "copied-rows" in _checks(sweep)) == (8, False)


@pytest.mark.parametrize("column", ["device", "series", "host"])
def test_rows_under_another_name_of_the_device_are_copies(column: str) -> None:
    both = [f"{name},{row}" for name in ("nvme0", "nvme1") for row in ROWS]
    sweep = _table(f"{column},{HEADER}", both)
    assert sweep.points["throughput_per_s"].tolist() == [9800, 38000, 75000, 81000]
    assert sweep.points["repeat"].tolist() == [0] * 4
    assert _checks(sweep)["copied-rows"] == "t.csv: the 4 rows of 'nvme1' are copies of those of 'nvme0'; left out."
    assert next(f.severity for f in sweep.findings if f.check == "copied-rows") == "warning"
    differs = [*both[:-1], "nvme1,64,81500,790"]
    assert len(_table(f"{column},{HEADER}", differs)) == 8


def test_reads_and_writes_of_equal_numbers_are_no_copies() -> None:
    assert len(_table(f"mix,{HEADER}", [f"{mix},{row}" for mix in ("read", "write") for row in ROWS])) == 8


BLOCKS = ((4096, 10000, 60000), (131072, 3000, 14000))


@pytest.mark.parametrize(
    ("header", "cells", "names"),
    [
        ("block_size_bytes", ("4096", "131072"), ["randread 4 KiB", "randread 128 KiB"]),
        ("read_pct", ("100", "70"), ["randread read", "randread 70/30 mix"]),
        ("pattern", ("random", "sequential"), ["randread random", "randread sequential"]),
        ("buffer_KiB", ("4", "64"), ["randread buffer 4 KiB", "randread buffer 64 KiB"]),
        ("file_size", ("1G", "8G"), ["randread file_size 1G", "randread file_size 8G"]),
    ],
)
def test_a_setting_that_varies_makes_curves_also_beside_a_series(
    header: str, cells: tuple[str, str], names: list[str]
) -> None:
    rows = [
        f"randread,{c},{n},{x}"
        for c, (_, *rates) in zip(cells, BLOCKS, strict=True)
        for n, x in zip((1, 8), rates, strict=True)
    ]
    sweep = _table(f"series,{header},iodepth,iops", rows)
    assert list(sweep.series) == names
    assert sweep.points["repeat"].tolist() == [0] * 4
    assert "repeats-disagree" not in {f.check for f in audit(sweep)}


PUBLISHED = sorted(Path(__file__).parents[5].joinpath("docs", "data", "blocks").glob("*/*.csv"))


@pytest.mark.parametrize("folder", sorted({path.parent.name for path in PUBLISHED}))
def test_published_sweeps_of_blocks_have_no_repeats_that_disagree(folder: str) -> None:
    for path in (path for path in PUBLISHED if path.parent.name == folder):
        assert "error" not in {f.severity for f in audit(load(path))}


def test_a_setting_that_does_not_vary_leaves_the_name_of_a_series() -> None:
    assert _table("series,block_KiB,iodepth,iops", ["a,4,1,100", "a,4,8,200", "b,64,1,50"]).series == ("a", "b")


def test_files_of_several_sizes_are_surfaces_of_their_own() -> None:
    sweep = load_dataset("000-ssd")
    with pytest.raises(DataError, match=r"holds 3 files, each a surface of its own.*file of 16 KiB"):
        surface_points(sweep)
    points = surface_points(sweep, "file of 16 KiB")
    assert (len(points), set(points.repeats)) == (12, {1})


def _bandwidths(unit: str, factor: float, odd: float = 1.0) -> Sweep:
    rates = ((1, 10000, 100), (8, 66000, 121.2), (64, 80500, 795))
    rows = [f"{n},4096,{x},{x * 4096 / factor * (odd if n == 64 else 1):.6g},{r}" for n, x, r in rates]
    return _table(f"iodepth,bs,iops,bw_{unit},latency_us", rows)


@pytest.mark.parametrize(
    ("unit", "true", "factor"),
    [
        ("MBps", "MiB/s", 2**20),
        ("MiB/s", "MB/s", 1e6),
        ("kB/s", "KiB/s", 1024),
        ("GB/s", "GiB/s", 2**30),
        ("KiB/s", "kB/s", 1e3),
    ],
)
def test_a_unit_of_1024_that_was_taken_for_1000_is_found_beside_a_rate(unit: str, true: str, factor: float) -> None:
    sweep = _bandwidths(unit, factor)
    assert sweep.points["bandwidth_bytes_per_s"].tolist() == pytest.approx(
        [4096e4, 4096 * 66000, 4096 * 80500], rel=1e-3
    )
    assert f"is in {true}, not {unit.replace('ps', '/s')}, and was corrected." in _checks(sweep)["bandwidth-unit"]
    assert "bandwidth-block" not in {f.check for f in audit(sweep)}


def test_a_corrected_bandwidth_keeps_what_was_published_and_is_marked() -> None:
    points = _bandwidths("MBps", 2**20).points
    assert points["bandwidth_published_bytes_per_s"].tolist() == pytest.approx([39.0625e6, 257.812e6, 314.453e6])
    shown = measured(_bandwidths("MBps", 2**20))
    assert set(shown.table["bandwidth_origin"]) == {"corrected: a unit of 1024 or 1000, by X × block"}
    assert "270 MB/s ← 258 MB/s" in points_table(_bandwidths("MBps", 2**20))


def test_a_bandwidth_that_the_table_has_is_measured_also_where_it_is_rate_times_block() -> None:
    rows = ["1,4096,10000,40.96,100", "8,4096,66000,,121.2", "64,4096,80500,330,795"]
    table = measured(_table("iodepth,bs,iops,bw_MB/s,latency_us", rows)).table
    assert table["bandwidth_origin"].tolist() == ["measured", "computed: X × block", "measured"]
    without = measured(_table("iodepth,bs,iops,latency_us", ["1,4096,10000,100", "8,4096,66000,121.2"])).table
    assert set(without["bandwidth_origin"]) == {"computed: X × block"}


def test_a_bandwidth_in_its_own_unit_says_nothing() -> None:
    assert _checks(_bandwidths("MB/s", 1e6)) == {}


def test_a_block_that_contradicts_some_rows_is_named_with_the_first() -> None:
    sweep = _bandwidths("MB/s", 1e6, odd=0.5)
    assert (
        "at 1 row of 3 bandwidth / throughput is not the block: the first, at depth 64, has 2 KiB"
        in (_checks(sweep)["block-of-some-rows"])
    )
    assert sweep.points["throughput_per_s"].tolist() == [10000, 66000, 80500]


def test_a_block_of_some_rows_is_told_in_the_words_of_the_load() -> None:
    rows = ["1,4096,10000,40.96,100", "8,4096,66000,135.168,121.2", "64,4096,80500,329.728,795"]
    assert "the first, at 8 users, has" in _checks(_table("users,bs,req/s,MB/s,latency_us", rows))["block-of-some-rows"]


def test_a_load_that_is_the_same_in_every_row_is_said_with_what_may_be_the_load() -> None:
    sweep = _table("iodepth,iops,lat_us,size", ["8,10000,800,a", "8,40000,200,b", "8,80000,100,c"])
    assert (
        "the load 'iodepth' is 8 in every row, and the throughput varies by a factor of 8."
        in _checks(sweep)["one-load"]
    )
    assert "one-load" not in _checks(_table("iodepth,iops,lat_us", ["8,10000,800", "8,10100,790"]))


def test_a_depth_that_counts_all_jobs_is_not_multiplied() -> None:
    rows = ("1,10000,100,1", "4,39000,102.6,4", "16,90000,177.8,16", "64,100000,640,64")
    sweep = _table("iodepth,iops,lat_us,numjobs", rows)
    assert sweep.points["load"].tolist() == [1, 4, 16, 64]
    assert sweep.series == ("all points",)
    assert "the load is iodepth alone, which counts all numjobs: N = X R holds so." in _checks(sweep)["outstanding"]
    declared = csv_sweep("\n".join(["iodepth,iops,lat_us,numjobs", *rows]), {"depth": "iodepth", "jobs": "numjobs"})
    assert declared.points["load"].tolist() == [1, 16, 256, 4096]


def test_a_depth_and_jobs_that_fit_neither_way_are_asked_about() -> None:
    rows = ["1,4,100000,100", "8,4,200000,300"]
    with pytest.raises(DataError, match=r"neither for iodepth x numjobs .*--columns jobs=1 where iodepth counts all"):
        _table("iodepth,numjobs,iops,lat_us", rows)
    told = csv_sweep("\n".join(["iodepth,numjobs,iops,lat_us", *rows]), {"jobs": "1"})
    assert told.points["load"].tolist() == [1, 8]
    thousandfold = _table("iodepth,numjobs,iops,lat_ms", ["1,4,40000,100", "8,4,160000,200"])
    assert thousandfold.points["load"].tolist() == [4, 32]  # the audit finds the unit


@pytest.mark.parametrize("number_of", [2, 8, 16, 20])
def test_clients_that_keep_several_requests_outstanding_have_their_load_in_requests(number_of: int) -> None:
    rows = [f"{n},{n * number_of * 1000 / t:.6g},{t}" for n, t in ((1, 1.0), (4, 1.1), (16, 2.0))]
    points = (sweep := _table("clients,rps,avg latency (ms)", rows)).points
    assert points["load"].tolist() == [number_of, 4 * number_of, 16 * number_of]
    assert points["load_published"].tolist() == [1, 4, 16]
    assert set(points["load_origin"]) == {f"corrected: clients x {number_of} requests each, by N = X R"}
    assert sweep.load_type.unit == "concurrent requests"
    assert f"each of the clients keeps {number_of} requests outstanding (pipelining or" in _checks(sweep)["pipelining"]
    (message,) = (f.message for f in audit(sweep) if f.check == "littles-law")
    assert "N = X R cannot be checked at " in message
    kept = csv_sweep("\n".join(["clients,rps,avg latency (ms)", *rows]), {"pipeline": "1"})
    assert (kept.points["load"].tolist(), kept.load_type.unit) == ([1, 4, 16], "concurrent requests")


@pytest.mark.parametrize(("clients", "loads"), [([1, 4], [8, 32]), ([4, 4], [4, 4]), ([4], [4])])
def test_two_numbers_of_clients_tell_a_pipeline_and_one_does_not(clients: list[int], loads: list[int]) -> None:
    sweep = _table("clients,rps,avg latency (ms)", [f"{n},{8000 * n},1" for n in clients])
    assert sweep.points["load"].tolist() == loads
    assert ("pipelining" in _checks(sweep)) is (len(set(clients)) == 2)


def test_a_column_of_pipelines_multiplies_the_clients() -> None:
    sweep = _table("clients,pipeline,rps,lat_ms", ["1,16,16000,1", "4,16,50000,1.28"])
    assert sweep.points["load"].tolist() == [16, 64]
    with pytest.raises(DataError, match="a pipeline of 0 sends nothing"):
        _table("clients,pipeline,rps,lat_ms", ["1,0,16000,1"])


def test_a_column_is_declared_once() -> None:
    with pytest.raises(DataError, match=r"the column 'n' is declared as load and as jobs; keep one"):
        csv_sweep("n,iops,lat_us\n1,10000,100\n", {"load": "n", "jobs": "n"}, name="t.csv")


@pytest.mark.parametrize(
    ("text", "columns", "column", "origin"),
    [
        ("iodepth,iops,lat_us\n1,10000,100\n", {}, "load_origin", "measured"),
        ("iops,lat_us\n10000,100\n", {"load": "1"}, "load_origin", "told: --columns load=1"),
        ("qd,iops,lat_us\n1,40000,100\n", {"jobs": "4"}, "load_origin", "told: --columns jobs=4"),
        ("iodepth,iops\n1,10000\n", {}, "latency_origin", "computed: N / X"),
        ("iodepth,lat_us\n1,100\n", {}, "throughput_origin", "computed: N / R"),
        ("iodepth,lat_us,bw_MB/s,block_KiB\n1,100,40,4\n", {}, "throughput_origin", "computed: bandwidth / block"),
        ("iodepth,iops,lat_us,bw_MB/s,block_KiB\n1,10000,100,40.96,4\n", {}, "throughput_origin", "measured"),
        ("timestamp,iops,latency_ms\n1,12000,.83\n2,12300,.82\n", {}, "load_origin", "computed: X R"),
    ],
)
def test_every_figure_has_its_origin(text: str, columns: dict[str, str], column: str, origin: str) -> None:
    assert set(csv_sweep(text, columns or None).points[column]) == {origin}


@pytest.mark.parametrize(
    "names",
    [
        "Samsung 980 IOPS,Samsung 980 lat (us),Samsung 980 p99 (us),WD SN770 IOPS,WD SN770 lat (us),WD SN770 p99 (us)",
        "IOPS (Samsung 980),latency (Samsung 980) us,p99 us Samsung 980,"
        "IOPS (WD SN770),latency (WD SN770) us,p99 us WD SN770",
        "Samsung 980 IOPS,Samsung 980 us,Samsung 980 p99 us,WD SN770 IOPS,WD SN770 us,WD SN770 p99 us",
    ],
)
def test_devices_side_by_side_are_a_curve_each(names: str) -> None:
    """N = X R holds for both, and one of them was left out."""
    sweep = _table(
        f"iodepth,{names}", ("1,9800,102,200,5000,199,400", "4,38000,105,210,19000,209,420", "16,75000,213,500,,,")
    )
    assert sweep.points[["series", "load", "throughput_per_s"]].to_numpy().tolist() == [
        ["Samsung 980", 1, 9800],
        ["Samsung 980", 4, 38000],
        ["Samsung 980", 16, 75000],
        ["WD SN770", 1, 5000],
        ["WD SN770", 4, 19000],
    ]
    assert sweep.points["latency_p99_s"].tolist() == pytest.approx([200e-6, 210e-6, 500e-6, 400e-6, 420e-6])
    assert "curves-side-by-side" in _checks(sweep)
    assert "columns" not in _checks(sweep)


def test_one_of_the_devices_side_by_side_may_be_named() -> None:
    text = f"qd,tps before,lat before (us),tps after,lat after (us)\n{ROWS[0]},1,1\n{ROWS[1]},1,1\n"
    named = csv_sweep(text, {"throughput": "tps before", "latency": "lat before (us)"}, name="t.csv")
    assert named.points["throughput_per_s"].tolist() == [9800, 38000]


def test_merged_cells_hold_for_all_their_rows() -> None:
    """The export fills the first row of a device; two devices were averaged as repeats."""
    other = ("nvme1,1,5000,199", ",4,19000,209", ",16,30000,530")
    sweep = _table(f"device,{HEADER}", (f"nvme0,{ROWS[0]}", *(f",{row}" for row in ROWS[1:]), *other))
    assert sweep.points["series"].tolist() == ["device nvme0"] * 4 + ["device nvme1"] * 3
    assert "merged-cells" in _checks(sweep)
    depths = _table(
        "iodepth,rw,iops,latency_us", ("1,read,9800,102", ",write,5000,199", "8,read,40000,200", ",write,9000,888")
    )
    assert depths.points[["series", "load"]].to_numpy().tolist() == [
        ["read", 1],
        ["write", 1],
        ["read", 8],
        ["write", 8],
    ]


def test_an_empty_load_or_rate_is_no_merged_cell() -> None:
    lost = _table(HEADER, (ROWS[0], ",38000,105.2", *ROWS[2:]))
    assert lost.points["load"].tolist() == [1, 16, 64]
    rates = _table("latency_us,iops,iodepth", ("102,9800,1", ",38000,4", "213,75000,16", ",81000,64"))
    assert rates.points["latency_s"].iloc[1] == pytest.approx(4 / 38000)  # computed, and no copy of 102


def test_rows_that_sum_up_others_are_named_and_no_points() -> None:
    sweep = _table(f"device,{HEADER}", (*(f"a,{row}" for row in ROWS), "Average,,50950,302", "Total,,203800,"))
    assert sweep.points["load"].tolist() == [1, 4, 16, 64]
    assert _checks(sweep)["rows-left-out"] == "t.csv: line 6 (Average), line 7 (Total) sum up other rows: left out."
    kinds = _table(
        f"operation,{HEADER}", [*(f"read,{row}" for row in ROWS[:2]), "total,1,9900,101", "total,4,39000,102"]
    )
    assert len(kinds) == 4
