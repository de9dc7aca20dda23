"""``qsim demo``: the whole road on this machine, and what it does where parts are missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from made_up import points_at

from calibrate.cli.teaching import demo
from measure.sweep import Sweep

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def _two_cpus():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a loaded memory takes two CPUs")


def test_demo_without_fio_takes_the_probe_and_shows_a_knee(qsim, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    run = qsim("demo", "--quick")
    assert run.code == 0, run.err
    assert "with qsim's own probe" in run.err or "device of known truth" in run.err
    assert run.out.startswith(("disk: ", "device: "))
    assert Path("qsim-demo/memory/sweep.json").is_file()
    page = Path("qsim-demo/report.html").read_text()
    assert "this machine" in page
    steps = [line for line in run.err.splitlines() if line.startswith("[")]
    assert [s[:5] for s in steps if "device" not in s] == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]


@pytest.mark.parametrize(("growth", "device"), [(2.0, True), (1.01, False)])
def test_a_disk_without_a_knee_is_said_and_the_known_device_is_shown(qsim, monkeypatch, growth, device):
    depths = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])
    throughput = 1000.0 * depths ** np.log2(growth)
    disk = Sweep(points_at(depths, throughput))
    monkeypatch.setattr(demo, "_disk", lambda *_: disk)
    run = qsim("demo", "--quick", "--json")
    assert run.code == 0, run.err
    assert ("no knee up to depth 1024" in run.err) == device
    assert ("device" in run.json) == device
    if device:
        assert len(run.json["device"]["points"]) == 6
        both = shutil.which("fio") and shutil.which("nbdkit")
        assert ("arrivals" in run.json) == bool(both)
        if both:
            assert run.json["arrivals"]["verdict"].startswith("Predicted from depths 1, 4, 16 of a closed test alone")
            page = Path("qsim-demo/report.html").read_text()
            assert "The same device under Poisson arrivals" in page
            assert "Response time of strangers" in page


def test_an_interrupted_demo_goes_on_and_loses_nothing(program, require_tool, tmp_path):
    require_tool("fio")
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
    assert err.splitlines()[-1].endswith("in kept; run the same command again to resume")
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
    assert document["report"] == "kept/report.html"
    assert (tmp_path / "kept" / "report.html").is_file()


def test_demo_refuses_before_measuring_where_nothing_can_be_written(qsim, tmp_path):
    (tmp_path / "try").mkdir()
    (tmp_path / "try" / "report.html").write_text("mine")
    run = qsim("demo", "--quick", "--out", "try")
    assert run.code == 1
    assert "report.html" in run.error
    assert not (tmp_path / "try" / "disk").exists()
