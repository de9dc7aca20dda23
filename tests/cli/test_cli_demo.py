"""``qsim demo``: the whole road on this machine, and what it does where parts are missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def _two_cpus():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a loaded memory takes two CPUs")


def test_demo_without_fio_goes_on_and_writes_the_report(qsim, monkeypatch):
    monkeypatch.setenv("PATH", "")
    run = qsim("demo", "--quick")
    assert run.code == 0, run.err
    assert "disk: not measured" in run.out
    assert "install fio" in run.out
    assert "The knee" in run.out
    assert Path("report.html").read_text().count("<svg") >= 0
    assert Path("qsim-demo/memory/sweep.json").is_file()
    steps = [line for line in run.err.splitlines() if line.startswith("[")]
    assert [s[:5] for s in steps] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


def test_demo_measures_both_and_loses_nothing_that_is_there(qsim, require_tool):
    require_tool("fio")
    Path("report.html").write_text("not ours")
    Path("qsim-demo").mkdir()
    run = qsim("demo", "--quick", "--json")
    assert run.code == 0, run.err
    document = run.json
    assert Path("report.html").read_text() == "not ours"
    assert document["report"] == "report-2.html"
    assert document["directory"] == "qsim-demo-2"
    assert document["memory"]["summary"]["held_out_points"] == 2
    if "disk" not in document["skipped"]:
        assert document["disk"]["knee"]["throughput_per_s"] > 0


def test_demo_refuses_before_measuring_where_nothing_can_be_written(qsim, tmp_path):
    (tmp_path / "notes.html").write_text("mine")
    run = qsim("demo", "--quick", "--report", "notes.html")
    assert run.code == 1
    assert "notes.html" in run.error
    assert not (tmp_path / "qsim-demo").exists()
