"""Tables with a depth and a number of jobs: how many requests are outstanding, and which rows are one curve."""

from __future__ import annotations

import pytest

from calibrate.surface.places import surface_points
from measure import audit
from measure.errors import DataError
from measure.formats.tables.table import csv_sweep


def _table(depth: str, jobs: str, rows: list[tuple[int, int]], *, total: bool = False, more: str = "") -> str:
    """Rows (depth, jobs) that obey Little's law with 100 µs for each outstanding request."""
    lines = [f"{depth},{jobs},iops,lat_us{more and ',bs'}"]
    for d, j in rows:
        outstanding = d if total else d * j
        lines.append(f"{d},{j},{1e4 * outstanding**0.5:.6g},{100 * outstanding**0.5:.6g}{more}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("depth", ["iodepth", "queue depth", "QD", "io_depth", "depth"])
@pytest.mark.parametrize("jobs", ["numjobs", "jobs", "threads"])
def test_a_sweep_of_depths_at_one_number_of_jobs_is_one_curve_over_the_product(depth: str, jobs: str) -> None:
    sweep = csv_sweep(_table(depth, jobs, [(1, 4), (8, 4), (32, 4)]), name="t.csv")
    points = sweep.points
    assert sweep.series == ("all points",)
    assert points["load"].tolist() == [4, 32, 128]
    assert points["depth"].tolist() == [1, 8, 32]
    assert points["jobs"].tolist() == [4, 4, 4]
    (finding,) = sweep.findings
    assert f"the load is {depth} x {jobs}" in finding.message
    assert "N = X R holds at 3" in next(f.message for f in audit(sweep) if f.check == "littles-law")


def test_each_number_of_jobs_of_a_grid_is_a_series_and_equal_products_are_no_repeats() -> None:
    sweep = csv_sweep(_table("iodepth", "numjobs", [(d, j) for j in (1, 4) for d in (1, 4, 16)]))
    assert sweep.series == ("1 job", "4 jobs")
    assert sweep.select("4 jobs").points["load"].tolist() == [4, 16, 64]
    assert sweep.points["repeat"].tolist() == [0] * 6


def test_equal_products_of_other_depths_and_jobs_are_no_repeats() -> None:
    sweep = csv_sweep(_table("iodepth", "numjobs", [(32, 1), (8, 4), (1, 32), (8, 4)]))
    assert sweep.series == ("1 job", "4 jobs", "32 jobs")
    assert sweep.points["repeat"].tolist() == [0, 0, 0, 1]


def test_a_sweep_of_jobs_at_one_depth_is_one_curve() -> None:
    sweep = csv_sweep(_table("iodepth", "numjobs", [(2, 1), (2, 4), (2, 16)]))
    assert (sweep.series, sweep.points["load"].tolist()) == (("all points",), [2, 8, 32])


def test_clients_are_all_there_are() -> None:
    points = csv_sweep("clients,threads,rps\n4,2,100\n").points
    assert points[["load", "depth", "jobs"]].to_numpy().tolist() == [[4, 2, 2]]
    parted = csv_sweep("clients,threads,rps\n4,2,100\n8,2,150\n4,4,120\n8,4,160\n")
    assert parted.series == ("2 threads", "4 threads")
    both = csv_sweep("iodepth,threads,numjobs,iops,lat_us\n2,8,4,80000,100\n").points
    assert both[["load", "jobs"]].to_numpy().tolist() == [[8, 4]]


def test_a_declared_number_of_jobs_is_believed() -> None:
    text = _table("iodepth", "numjobs", [(1, 4), (8, 4)])
    assert csv_sweep(text, {"jobs": "1"}).points["load"].tolist() == [1, 8]
    assert "outstanding" not in {f.check for f in csv_sweep(text, {"jobs": "1"}).findings}
    assert csv_sweep(_table("n", "m", [(1, 4), (8, 4)]), {"load": "n", "jobs": "m"}).points["load"].tolist() == [4, 32]
    assert csv_sweep("qd,iops,lat_us\n1,40000,100\n", {"jobs": "4"}).points["load"].tolist() == [4]


def test_without_a_latency_the_names_decide() -> None:
    points = csv_sweep("iodepth,numjobs,iops\n1,4,40000\n").points
    assert points[["load", "latency_s"]].to_numpy().tolist() == [[4, 1e-4]]


def test_without_a_latency_a_depth_that_is_not_fios_is_asked_about() -> None:
    text = "depth,numjobs,iops\n1,1,10000\n4,4,39000\n16,4,90000\n64,16,100000\n"
    with pytest.raises(
        DataError, match="may count all numjobs or one of them; say which is the load: --columns jobs=1"
    ):
        csv_sweep(text)
    assert csv_sweep(text, {"jobs": "1"}).points["load"].tolist() == [1, 4, 16, 64]
    assert csv_sweep(text, {"depth": "depth", "jobs": "numjobs"}).points["load"].tolist() == [1, 16, 64, 1024]


def test_jobs_and_blocks_reach_the_surface_as_places() -> None:
    rows = [(d, j) for j in (1, 4) for d in (1, 16)]
    text = (
        _table("iodepth", "numjobs", rows, more=",4k")
        + _table("iodepth", "numjobs", rows, more=",64k").split("\n", 1)[1]
    )
    sweep = csv_sweep(text)
    assert sweep.series == ("4 KiB 1 job", "4 KiB 4 jobs", "64 KiB 1 job", "64 KiB 4 jobs")
    places = surface_points(sweep).places
    assert sorted(zip(places.jobs, places.outstanding, strict=True)) == sorted(2 * [(1, 1), (1, 16), (4, 4), (4, 64)])


@pytest.mark.parametrize(("cell", "says"), [("0", "0 jobs at load 8"), ("-2", "-2 jobs at load 8")])
def test_less_than_one_job_is_refused(cell: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        csv_sweep(f"iodepth,numjobs,iops,lat_us\n8,{cell},100,100\n")


def test_a_row_without_its_jobs_is_left_out() -> None:
    sweep = csv_sweep("iodepth,numjobs,iops,lat_us\n8,,100,100\n8,2,160000,100\n", name="t.csv")
    assert sweep.points["load"].tolist() == [16]
    assert "t.csv: 1 row left out, because no number of jobs is given (line 2)." in [f.message for f in sweep.findings]
