"""``qsim knee``: a short sweep by one fio process, its knee, and what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate import fit
from calibrate.cli.calibration import knee
from calibrate.cli.calibration.knee import DEPTHS, still_grows
from measure.sweep import Sweep


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


@pytest.mark.live
def test_a_knee_is_an_ordinary_sweep_of_one_process(qsim, fio, disk):
    run = qsim(
        "knee", str(disk), "--seconds", "6s", "--size", "32MiB", "--out", "quick", "--report", "k.html", "--json"
    )
    assert run.code == 0, run.err
    document = run.json
    assert document["measured"]["tool"] == "fio"
    assert document["measured"]["depths"][: len(DEPTHS)] == list(DEPTHS)
    assert document["parameters"]["R1"]["estimate"] > 0
    started = {json.loads(p.read_text())["started_at"] for p in Path("quick/points").glob("d*.json")}
    assert len(started) <= len(document["measured"]["depths"]) - len(DEPTHS) + 1
    assert list(disk.iterdir()) == []  # the test file is gone
    assert "Throughput" in Path("k.html").read_text()
    fitted = qsim("fit", "quick", "--json").json
    assert fitted["knee"] == document["knee"]


def test_a_file_of_others_is_refused(qsim, fio, disk):
    mine = disk / "thesis.doc"
    mine.write_text("years of work")
    run = qsim("knee", str(mine))
    assert run.code == 1
    assert "--allow read" in run.error
    assert mine.read_text() == "years of work"


@pytest.mark.parametrize(
    ("rates", "grows"), [([10, 20, 39], True), ([10, 20, 20.5], False), ([10, 20, 12, 14], False), ([10], False)]
)
def test_deeper_points_follow_while_the_last_is_above_all_before(rates, grows):
    points = pd.DataFrame({"series": "a", "load": 2.0 ** np.arange(len(rates)), "throughput_per_s": rates})
    assert still_grows(Sweep(points.assign(latency_s=points["load"] / points["throughput_per_s"]))) == grows


@pytest.mark.live
@pytest.mark.parametrize(("budget_s", "deeper"), [(0.0, False), (600.0, True)])
def test_deeper_points_end_with_the_time_and_what_was_not_measured_is_said(
    fio, disk, tmp_path, monkeypatch, budget_s, deeper
):
    """Throughput that counts as growing for ever: only the time, or depth 1024, ends the doubling."""
    monkeypatch.setattr(knee, "DEPTHS", (1, 2))
    monkeypatch.setattr(knee, "DEEPEST", 8)
    monkeypatch.setattr(knee, "still_grows", lambda sweep: True)
    plan = knee.plan_knee(str(disk), 2.0, knee.DriveOptions(2**24, knee.Consent()))
    sweep = knee.measure_knee(plan, tmp_path / "sweep", time.monotonic() + budget_s)
    assert sorted(set(sweep.points["depth"])) == ([1, 2, 4, 8] if deeper else [1, 2])
    (text,) = (line for line in knee._lines(sweep, fit(sweep)) if line.startswith("DEEPER"))
    assert ("depths 4 to 8 were not measured, the time is over" in text) != deeper
