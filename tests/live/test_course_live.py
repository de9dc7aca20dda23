"""A short course on a real drive: measured, gone on with, modelled, written down."""

from __future__ import annotations

from pathlib import Path

from calibrate.course import CoursePlan, course_sections, run_course
from calibrate.report.page import render
from measure.suites.runs import plan_suites


def test_a_course_of_one_suite_is_measured_once_and_shown(fio_and_nbdkit: None, disk: Path, tmp_path: Path) -> None:
    storage = plan_suites("block-size", disk, quick=True, runtime_s=0.3)
    plan = CoursePlan((), storage)
    told: list[int] = []
    results = run_course(plan, tmp_path / "out", lambda done, *_: told.append(done))
    assert list(results.sweeps) == ["block-size"]
    assert told[-1] == plan.points == 8
    records = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").glob("*/points/*.json")}
    assert len(records) == 8
    again = run_course(plan, tmp_path / "out")
    assert {p: p.stat().st_mtime_ns for p in records} == records
    assert again.sweeps["block-size"].points["latency_s"].tolist() == (
        results.sweeps["block-size"].points["latency_s"].tolist()
    )
    page = render(course_sections(plan, again), title="course")
    assert "Throughput against block size" in page
    assert all(
        command in page.replace("&#34;", '"').replace("&#39;", "'").replace("&amp;", "&")
        for command in again.sweeps["block-size"].provenance.commands
    )
    assert list(disk.iterdir()) == []
