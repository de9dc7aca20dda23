"""What the cells of a table tell: blocks with their units, mixes, and columns that part curves. Tables of our own."""

from __future__ import annotations

import pytest

from measure.errors import DataError
from measure.formats.tables.cells import block_bytes
from measure.formats.tables.table import csv_sweep


@pytest.mark.parametrize(
    ("cell", "size"),
    [
        *[("4k", 4096), ("4KB", 4096), ("16.0KiB", 16384), ("4096B", 4096), ("1m", 2**20), ("4 kB", 4000)],
        *[("512", 512), ("511", None), ("0k", None)],
    ],
)
def test_a_block_is_read_as_tools_spell_it(cell: str, size: int | None) -> None:
    assert block_bytes(cell) == size


def test_blocks_and_patterns_in_cells_name_the_curves() -> None:
    """Such a table was read as one curve, its blocks and patterns as repeats of one point."""
    text = (
        "job,mode,bs,iodepth,iops,lat_avg_us\n"
        "a,randread,4096B,1,10000,95\nb,randread,4096B,4,38000,100\nc,read,128KiB,1,3000,320\nd,randwrite,16.0k,1,9000,99\n"
    )
    points = csv_sweep(text).points
    assert points["series"].tolist() == ["4 KiB random read"] * 2 + ["128 KiB read", "16 KiB random write"]
    assert points["block_bytes"].tolist() == [4096, 4096, 131072, 16384]
    assert points["repeat"].tolist() == [0, 0, 0, 0]


def test_a_block_without_a_unit_is_not_guessed() -> None:
    sweep = csv_sweep("bs,iodepth,iops,lat_us\n4,1,10000,95\n8,1,9000,105\n")
    assert sweep.points["block_bytes"].isna().all()
    assert any(f.check == "columns" and "bs" in f.message for f in sweep.findings)


def test_rows_at_one_load_that_differ_in_a_column_are_curves_and_no_repeats() -> None:
    header = "threads,Inject_Delay,Latency_ns,Bandwidth_MB/s"
    text = f"{header}\n1,0,190,33000\n1,100,100,32000\n4,0,180,35000\n4,100,105,31000\n"
    sweep = csv_sweep(text)
    assert sweep.points["series"].tolist() == ["threads 1"] * 2 + ["threads 4"] * 2
    (finding,) = [f for f in sweep.findings if f.check == "curves-by-column"]
    assert "differ in threads (1, 4)" in finding.message
    fleet = "".join(f"d{device},{n},{1000 * n + device},90\n" for device in range(60) for n in (1, 2))
    assert len(csv_sweep(f"device,qd,iops,lat_us\n{fleet}").series) == 60


@pytest.mark.parametrize("column", ["run", "Repeat", "iteration", "timestamp"])
def test_columns_that_number_repeats_part_no_curves(column: str) -> None:
    sweep = csv_sweep(f"{column},qd,iops,lat_us\n1,1,100,9900\n1,2,180,11000\n2,1,102,9800\n2,2,182,10900\n")
    assert sweep.points["repeat"].tolist() == [0, 0, 1, 1]


def test_a_measured_value_parts_no_curves() -> None:
    sweep = csv_sweep("cpu,qd,iops,lat_us\n11.2,1,100,9900\n14.1,2,180,11000\n11.3,1,102,9800\n14.1,2,182,10900\n")
    assert sweep.points["repeat"].tolist() == [0, 0, 1, 1]


def test_a_declared_curve_is_left_as_declared() -> None:
    text = "host,disk,qd,iops,lat_us\n1,a,1,100,9900\n1,a,2,180,11000\n2,a,1,102,9800\n2,a,2,182,10900\n"
    assert csv_sweep(text, {"series": "disk"}).series == ("a",)


def test_a_refusal_names_no_more_columns_than_one_can_read() -> None:
    header = ",".join(f"job options.{i}" for i in range(300))
    with pytest.raises(DataError, match=r"job options\.19 and 280 more; three columns do"):
        csv_sweep(f"{header}\n{','.join('1' * 300)}\n")
