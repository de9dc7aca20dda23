"""fio's report for people, as fio 3.33 wrote them here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from measure.errors import DataError
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.runs_as_sweep import fio_sweep, read_fio
from measure.formats.fio.text_output import parse_normal

DATA = Path(__file__).parent / "data" / "fio-text"
ALL = sorted(p.name for p in DATA.iterdir())


def text(name: str) -> str:
    return (DATA / name).read_text("utf-8")


@pytest.mark.parametrize("name", ALL)
def test_every_record_obeys_littles_law(name: str) -> None:
    records = read_fio(text(name), name)
    assert records
    for record in records:
        outstanding = record.throughput_per_s * record.latency.mean_s
        unknown = 4 if name == "report-two-jobs.txt" else 8
        depth = unknown if record.depth is None else record.depth * record.jobs
        assert outstanding == pytest.approx(depth, rel=0.03)
        assert record.latency.kind == "lat"
        assert record.bandwidth_bytes_per_s == pytest.approx(record.throughput_per_s * record.block_bytes, rel=0.01)


def test_the_report_tells_what_the_json_of_the_same_run_tells() -> None:
    name = "report-around-json.txt"
    whole = (DATA.parent / "fio" / name).read_text("utf-8")
    (by_json,) = parse_fio(whole, name)
    (by_report,) = parse_normal(whole, name)
    assert by_report.throughput_per_s == pytest.approx(by_json.throughput_per_s, rel=1e-3)
    assert by_report.latency.mean_s == pytest.approx(by_json.latency.mean_s, rel=1e-3)
    assert by_report.latency.percentile_s(99.0) == pytest.approx(by_json.latency.percentile_s(99.0), rel=0.02)
    assert (by_report.depth, by_report.block_bytes) == (by_json.depth, by_json.block_bytes)
    assert read_fio(whole, name)[0].all_options  # the JSON goes first


def test_clones_of_a_report_are_one_point() -> None:
    sweep = fio_sweep({"r": text("report-clones.txt")})
    row = sweep.points.iloc[0]
    assert len(sweep) == 1
    assert (row["depth"], row["jobs"], row["load"], row["read_fraction"]) == (8, 2, 16, 1)


def test_unified_reporting_is_not_counted_twice_and_groups_are_known() -> None:
    (record,) = parse_normal(text("report-both.txt"), "r")
    issued = next(line for line in text("report-both.txt").splitlines() if "issued rwts" in line)
    reads, writes = (int(n) for n in issued.split("total=")[1].split(",")[:2])
    assert (record.depth, record.jobs) == (8, 2)
    assert record.requests == pytest.approx(reads + writes, abs=2)
    assert record.read_fraction == pytest.approx(reads / (reads + writes), abs=1e-3)


def test_the_last_snapshot_of_a_report_counts() -> None:
    (record,) = parse_normal(text("report-snapshots.txt"), "r")
    times_ms = [int(ms) for ms in re.findall(r"/(\d+)msec", text("report-snapshots.txt"))]
    assert len(times_ms) >= 3
    assert record.runtime_s == max(times_ms) / 1e3


def test_two_jobs_are_two_curves_with_their_own_blocks() -> None:
    sweep = fio_sweep({"r": text("report-two-jobs.txt")})
    # With --output= fio announces the first job on the terminal, so that its pattern and depth are not in the file.
    assert sweep.series == ("4 KiB write", "64 KiB sequential read")
    assert [f.series for f in sweep.findings if f.check == "depth-not-recorded"] == ["4 KiB write"]
    assert sweep.points["block_bytes"].tolist() == [4096, 65536]
    assert "options" not in sweep.provenance.details  # direct is not told, so it is not held against the run


def test_a_report_of_a_failed_job_is_no_point() -> None:
    failed = text("report-read.txt").replace("err= 0: pid", "err= 5 (file:io_u.c:1, error=Input/output error): pid")
    with pytest.raises(DataError, match=r"old: job '.*' ended with error 5 \(Input/output error\)"):
        fio_sweep({"old": failed})
