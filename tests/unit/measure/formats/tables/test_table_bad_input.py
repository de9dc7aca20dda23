"""Bad input as it reaches ``load``: an answer that says what it did, or one clear line; no silent drop."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure import audit, load
from measure.errors import DataError
from measure.origin import MEASURED

HEADER = "iodepth,iops,lat_us\n"


def _table(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{HEADER}0,100,10\n", "depth 0 in row 1"),
        ("iodepth,iops\n0,100\n", "a throughput of 100 at depth 0"),
        ("iodepth,iops\n4,-3\n", "a throughput of -3 at depth 4"),
        ("iodepth,lat_us\n4,0\n", "a latency of 0 at depth 4"),
        (f"{HEADER}1,1e400,100\n", "'1e400' in line 2, column 'iops' is not a number"),
        (f"{HEADER}1,1e300,100\n", "throughput_per_s 1e+300 in row 1 (series 'all points') is beyond any device"),
        (f"{HEADER}1e300,1e4,1e300\n", "is beyond any device"),
        ("iodepth,kiops,lat_us\n1,1e307,100\n", "throughput inf in row 1"),
        (f"{HEADER}nan,nan,nan\n", "none of its 1 row is a whole point"),
        (f"{HEADER}1,100,\n8,,90\n64,,99\n", "no latency is given (line 2), no throughput is given (lines 3, 4)"),
        (
            "iodepth,arrival_rate,iops,lat_us\n1,,10000,100\n2,5000,5000,110\n",
            "both 'iodepth' and 'arrival_rate' can be",
        ),
        ("arrival_rate,iops\n100,100\n", "a latency with its unit cannot be found"),
        ("Time,iops\n10:00:01,100\n10:00:02,120\n", "a load and a latency with its unit cannot be found"),
        ("users,median latency (ms)\n1,100\n", "say so; three columns do, a load, a throughput and a mean latency"),
        ("delay,latency_ns\n0,200\n", "a throughput (or a bandwidth and the block size) cannot be found"),
        (
            "iops,lat_us\n10000,100\n",
            "--columns load=COLUMN,throughput=iops:/s,latency=lat_us:us (a value works too: load=1",
        ),
    ],
)
def test_what_no_device_can_have_done_is_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError) as refusal:
        load(_table(tmp_path, text))
    assert says in str(refusal.value)
    assert "t.csv" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "text",
    [
        "iodepth,lat_us\n1,100\n8,200\n",
        "iodepth,iops\n1,10000\n8,40000\n",
        "iodepth,iops,lat_us\n1,10000,\n8,40000,nan\n",
    ],
)
def test_littles_law_gives_a_missing_latency_or_throughput_and_is_no_check_then(tmp_path: Path, text: str) -> None:
    sweep = load(_table(tmp_path, text))
    assert sweep.points["throughput_per_s"].tolist() == pytest.approx([10_000, 40_000])
    assert sweep.points["latency_s"].tolist() == pytest.approx([1e-4, 2e-4])
    (finding,) = sweep.findings
    assert "by Little's law at 2 points" in finding.message
    (law,) = [f for f in audit(sweep) if f.check == "littles-law"]
    assert "N = X R" in law.message
    assert "cannot be checked at depths 1, 8" in law.message


def test_a_block_gives_the_bandwidth_of_a_computed_throughput(tmp_path: Path) -> None:
    points = load(_table(tmp_path, "iodepth,lat_us,block_KiB\n8,200,4\n")).points
    assert points["bandwidth_bytes_per_s"].tolist() == [40_000 * 4096]


def test_a_shape_without_latencies_is_still_looked_at(tmp_path: Path) -> None:
    falls = "iodepth,iops\n1,10000\n2,8000\n4,6000\n"
    assert "drift" in {f.check for f in audit(load(_table(tmp_path, falls)))}


def test_equal_loads_are_repeats_one_point_is_a_point_and_a_thousand_are_a_thousand(tmp_path: Path) -> None:
    repeats = load(_table(tmp_path, f"{HEADER}8,40000,200\n8,70000,114\n"))
    assert repeats.points["repeat"].tolist() == [0, 1]
    assert "repeats-disagree" in {f.check for f in audit(repeats)}
    assert len(load(_table(tmp_path, f"{HEADER}64,300000,213\n"))) == 1
    thousand = HEADER + "".join(f"{n},{1e4 * n**0.5:.6g},{100 * n**0.5:.6g}\n" for n in range(1, 1001))
    assert len(load(_table(tmp_path, thousand))) == 1000


def test_empty_cells_among_full_ones_are_completed_where_the_law_holds_and_said(tmp_path: Path) -> None:
    sweep = load(_table(tmp_path, f"{HEADER}1,,100\n8,40000,200\n,60000,533\n32,60000,nan\n"))
    points = sweep.points
    assert points["load"].tolist() == [1, 8, 32]
    assert points["throughput_per_s"].tolist() == pytest.approx([10_000, 40_000, 60_000])
    assert points["latency_s"].tolist() == pytest.approx([1e-4, 2e-4, 32 / 60_000])
    assert points["throughput_origin"].tolist() == ["computed: N / R", MEASURED, MEASURED]
    assert points["latency_origin"].tolist() == [MEASURED, MEASURED, "computed: N / X"]
    assert [f.message.removeprefix("t.csv") for f in sweep.findings] == [
        ": 1 row left out, because no load is given (line 4).",
        " gives no latency at depth 32: it is N / X by Little's law.",
        " gives no throughput at depth 1: it is N / R by Little's law.",
    ]


@pytest.mark.parametrize("whole", ["8,40000,400", "8,40000,100"])
def test_empty_cells_are_not_completed_where_the_law_does_not_hold(tmp_path: Path, whole: str) -> None:
    """As where users think: N / X is no response time."""
    sweep = load(_table(tmp_path, f"{HEADER}1,,100\n{whole}\n32,60000,\n"))
    assert sweep.points["load"].tolist() == [8]
    left_out = [f.message for f in sweep.findings if f.check == "rows-left-out"]
    assert left_out == [
        "t.csv: 1 row left out, because no throughput is given (line 2).",
        "t.csv: 1 row left out, because no latency is given (line 4).",
    ]


@pytest.mark.parametrize("power", ["10¹", "10²"])
def test_a_small_digit_may_be_a_power_and_is_no_footnote(tmp_path: Path, power: str) -> None:
    with pytest.raises(DataError, match=f"'{power}' in line 3, column '.*' is not a number"):
        load(_table(tmp_path, f"{HEADER}1,10000,100\n{power},40000,200\n"))


@pytest.mark.parametrize("failed", ["timeout", "FAILED", "n/a", "OOM"])
def test_a_run_that_failed_is_left_out_and_named(tmp_path: Path, failed: str) -> None:
    sweep = load(_table(tmp_path, f"{HEADER}1,10000,100\n8,40000,200\n64,{failed},{failed}\n"))
    assert sweep.points["load"].tolist() == [1, 8]
    because = "because no latency and no throughput is given (line 4)."
    assert [f.message for f in sweep.findings] == [f"t.csv: 1 row left out, {because}"]


@pytest.mark.parametrize(("empty", "more"), [(10, ""), (11, ", ...")])
def test_at_most_ten_lines_are_named(tmp_path: Path, empty: int, more: str) -> None:
    (finding,) = load(_table(tmp_path, HEADER + ",1000,100\n" * empty + "8,40000,200\n")).findings
    assert f"{empty} rows left out" in finding.message
    assert finding.message.endswith(f"(lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11{more}).")


def test_of_a_mixed_table_the_declared_loop_is_read_and_the_other_rows_are_named(tmp_path: Path) -> None:
    path = _table(tmp_path, "iodepth,arrival_rate,iops,lat_us\n1,,10000,100\n8,,40000,200\n,5000,5000,110\n")
    closed, open_loop = (load(path, {"load": column}) for column in ("iodepth", "arrival_rate"))
    assert (closed.load_type.kind, closed.points["load"].tolist()) == ("queue_depth", [1, 8])
    assert (open_loop.load_type.kind, open_loop.points["load"].tolist()) == ("arrival_rate", [5000])
    assert "1 row left out, because no load is given (line 4)" in closed.findings[0].message


def test_a_last_row_that_was_cut_off_is_no_point(tmp_path):
    torn = "iodepth,iops,lat_us,bs\n1,10000,100,4\n2,19000,105"
    with pytest.raises(DataError, match=r"line 3, the last, is cut off; take it out, or end it with a new line"):
        load(_table(tmp_path, torn))
    assert len(load(_table(tmp_path, f"{torn}\n")).points) == 2  # its writer left a cell out
