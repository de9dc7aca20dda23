"""``qsim knee``: a short sweep by one fio process, its knee, and what is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate import fit
from calibrate.cli.calibration import knee
from calibrate.cli.calibration.knee import DEPTHS, still_grows
from measure.auditing.all_checks import check_working_set
from measure.errors import DataError
from measure.sweep import Provenance, Sweep


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


@pytest.mark.live
def test_another_block_is_a_second_curve_of_the_directory_and_is_the_one_answered(qsim, fio, disk):
    for block, name in (("4KiB", "4 KiB random read"), ("64KiB", "64 KiB random read")):
        run = qsim("knee", str(disk), "--seconds", "6s", "--size", "32MiB", "--block", block, "--out", "d", "--json")
        assert run.code == 0, run.err
        assert run.json["name"] == name
        assert run.json["knee"] == qsim("fit", "d", "--series", name, "--json").json["knee"]


def test_the_answered_curve_is_that_of_the_points_just_asked_for(fio, disk):
    settings = knee.DriveOptions(2**24, knee.Consent())
    small, large = (knee.plan_knee(str(disk), 6.0, settings, block_bytes=block) for block in (4096, 65536))
    rows = [
        {"series": name, "load": n, "throughput_per_s": 1e3, "latency_s": n / 1e3, "source": f"{point.key}.json"}
        for name, plan in (("4 KiB", small), ("64 KiB", large))
        for point in plan.points
        for n in [float(point.job.depth)]
    ]
    both = Sweep(pd.DataFrame(rows), name="d")
    assert [knee.curve_of(plan, both).series for plan in (small, large)] == [("4 KiB",), ("64 KiB",)]
    with pytest.raises(DataError, match=r"no point of .* could be measured"):
        knee.curve_of(large, both.select("4 KiB"))


def test_help_default_and_audit_agree_on_the_size_of_the_file(qsim, fio, disk):
    help_line = next(line for line in qsim("knee", "--help").out.splitlines() if "--size" in line)
    plan = knee.plan_knee(str(disk), 12.0)
    assert plan.file is not None
    assert plan.file.size_bytes == 2**30
    assert "1GiB" in help_line
    sweep = Sweep(pd.DataFrame({"series": ["a"], "load": [1.0], "throughput_per_s": [1.0], "latency_s": [1.0]}))
    noted = {
        size: list(check_working_set(replace(sweep, provenance=Provenance(details={"options": {"size": str(size)}}))))
        for size in (plan.file.size_bytes, 2**28)
    }
    assert [len(found) for found in noted.values()] == [0, 1]
