"""``qsim demo``: the whole road on this machine, and what it does where parts are missing."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from calibrate.cli.teaching.demo import _free_directory

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
    assert "\nKNEE    " in run.out
    assert "this machine" in Path("report.html").read_text()
    assert Path("qsim-demo/memory/sweep.json").is_file()
    steps = [line for line in run.err.splitlines() if line.startswith("[")]
    assert [s[:5] for s in steps] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


def test_an_interrupted_demo_goes_on_and_loses_nothing(program, require_tool, tmp_path):
    require_tool("fio")
    (tmp_path / "report.html").write_text("not ours")
    args = ["demo", "--quick", "--out", "kept", "--json"]
    started = program(args)
    points = tmp_path / "kept" / "disk" / "points"
    deadline = time.monotonic() + 300
    while started.poll() is None and not (points.is_dir() and list(points.glob("*.json"))):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    if started.poll() is not None:
        pytest.skip("there is no real disk here, so the demo was over at once")
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, err
    assert err.splitlines()[-1].endswith("resume with: qsim demo --out kept")
    assert json.loads(out)["error"]["exit_code"] == 130
    kept = {p.name: p.read_bytes() for p in points.glob("*.json")}

    again = program(args)
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert {name: (points / name).read_bytes() for name in kept} == kept
    document = json.loads(out)
    assert document["skipped"] == {}
    assert document["memory"]["summary"]["held_out_points"] == 2
    assert len(document["disk"]["series"]) == 1  # both runs measured the same file
    assert document["report"] == "report-2.html"
    assert (tmp_path / "report-2.html").is_file()
    assert (tmp_path / "report.html").read_text() == "not ours"


def test_a_demo_takes_the_next_free_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _free_directory(Path("qsim-demo")) == Path("qsim-demo")
    Path("qsim-demo").mkdir()
    Path("qsim-demo-2").mkdir()
    assert _free_directory(Path("qsim-demo")) == Path("qsim-demo-3")


def test_demo_refuses_before_measuring_where_nothing_can_be_written(qsim, tmp_path):
    (tmp_path / "notes.html").write_text("mine")
    run = qsim("demo", "--quick", "--report", "notes.html")
    assert run.code == 1
    assert "notes.html" in run.error
    assert not (tmp_path / "qsim-demo").exists()
