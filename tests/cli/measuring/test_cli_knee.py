"""``qsim knee``: a short sweep by one fio process, its knee, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate import fit
from calibrate.cli.calibration import knee, knee_answer
from calibrate.cli.calibration.knee import DEPTHS, still_grows
from calibrate.fitting.calibrating import with_unsteady_named
from measure.auditing.all_checks import check_working_set
from measure.errors import DataError
from measure.loads import Clients, Depth
from measure.origin import Provenance
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
    assert [point["load"] for point in document["points"]] == document["measured"]["depths"]
    assert isinstance(document["doubts"], list)
    started = {json.loads(p.read_text())["started_at"] for p in Path("quick/points").glob("d*.json")}
    assert len(started) <= len(document["measured"]["depths"]) - len(DEPTHS) + 1
    assert list(disk.iterdir()) == []  # the test file is gone
    assert "Throughput" in Path("k.html").read_text()
    used = ",".join(f"{n:g}" for n in document["model"]["used"])
    fitted = qsim("fit", "quick", "--use", used, "--json").json
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
def test_deeper_points_end_with_the_time(fio, disk, tmp_path, monkeypatch, budget_s, deeper):
    """Throughput that counts as growing for ever: only the time, or depth 1024, ends the doubling."""
    monkeypatch.setattr(knee, "DEPTHS", (1, 2))
    monkeypatch.setattr(knee, "DEEPEST", 8)
    monkeypatch.setattr(knee, "still_grows", lambda sweep: True)
    plan = knee.plan_knee(str(disk), 2.0, knee.DriveOptions(2**24, knee.Consent()))
    sweep = knee.measure_knee(plan, tmp_path / "sweep", time.monotonic() + budget_s)
    assert sorted(set(sweep.points["depth"])) == ([1, 2, 4, 8] if deeper else [1, 2])


@pytest.mark.live
def test_another_block_is_a_second_curve_of_the_directory_and_is_the_one_answered(qsim, fio, disk):
    for block, name in (("4KiB", "4 KiB random read"), ("64KiB", "64 KiB random read")):
        run = qsim("knee", str(disk), "--seconds", "6s", "--size", "32MiB", "--block", block, "--out", "d", "--json")
        assert run.code == 0, run.err
        assert run.json["name"] == name
        used = ",".join(f"{n:g}" for n in run.json["model"]["used"])
        assert run.json["knee"] == qsim("fit", "d", "--series", name, "--use", used, "--json").json["knee"]


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


def curve(rates: list[float], **more: object) -> Sweep:
    load = 2.0 ** np.arange(len(rates))
    points = pd.DataFrame({"series": "a", "load": load, "depth": load, "throughput_per_s": rates, "block_bytes": 4096})
    points["bandwidth_bytes_per_s"] = 4096 * points["throughput_per_s"]
    return Sweep(points.assign(latency_s=load / points["throughput_per_s"], **more))


SOFT = [1e4, 1.78e4, 2.91e4, 4.27e4, 5.57e4, 6.56e4, 7.21e4]


def test_one_outlying_point_moves_no_headline_and_is_named():
    off = curve([*SOFT[:3], 1.2e4, *SOFT[4:]])
    read, clean = knee_answer.robust_fit(off), knee_answer.robust_fit(curve(SOFT))
    assert read.used == (1.0, 2.0, 4.0, 16.0, 32.0, 64.0)
    for found, expected in ((read.knee.load, clean.knee.load), (read.ninety.load, clean.ninety.load)):
        assert found == pytest.approx(expected, rel=0.1)
    said = "\n".join(knee_answer.doubts_about(off, read))
    assert "depth 8 is left out of the curve: 12.0 k/s was measured, where the other points say 4" in said
    assert "leaves its course" not in said
    assert [p["load"] for p in knee_answer.points_of(off, read) if p["left_out"]] == [8.0]
    (double,) = (x for x in knee_answer.further_lines(off, read, "") if x.startswith("DOUBLE"))
    assert "+3" in double


def test_the_lightest_load_stays_however_unsteady_as_it_alone_tells_the_idle_latency():
    rates = [78.0, 157, 164, 164, 163, 164, 164]  # two servers of 12 ms
    steady = {"steady": [False] + [True] * 6, "throughput_range": [0.9] + [0.02] * 6}
    read = knee_answer.robust_fit(curve(rates, **steady, throughput_change=0.0, throughput_trend=0.0))
    assert read.used == tuple(2.0 ** np.arange(7))
    assert read.knee.load == pytest.approx(2.1, rel=0.05)


def test_an_unsteady_last_point_does_not_pull_the_peak_of_four_that_agree():
    rates = [100.0, 200, 400, 401, 399, 400, 280]
    steady = {"steady": [True] * 6 + [False], "throughput_range": [0.02] * 6 + [0.9]}
    unsteady = curve(rates, **steady, throughput_change=0.0, throughput_trend=0.0)
    read = knee_answer.robust_fit(unsteady)
    assert read.used == (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    assert read.curve_parameters["Xmax"].estimate == pytest.approx(400, rel=0.02)
    assert knee_answer.robust_fit(curve(rates)).used == tuple(2.0 ** np.arange(7))  # a run that fell steadily stays


def test_other_commands_say_that_they_take_in_the_point_that_knee_leaves_out():
    rates = [100.0, 200, 400, 401, 399, 400, 280]
    steady = {"steady": [True] * 6 + [False], "throughput_range": [0.02] * 6 + [0.9]}
    unsteady = curve(rates, **steady, throughput_change=0.0, throughput_trend=0.0)
    doubts = "\n".join(knee_answer.doubts_about(unsteady, knee_answer.robust_fit(unsteady)))
    assert "unless you give qsim fit, compare or predict --use 1,2,4,8,16,32" in doubts
    every = with_unsteady_named(fit(unsteady), unsteady)
    assert every.doubted == "depth 64 is off the course of the other points"
    assert knee_answer.robust_fit(unsteady).doubted == "depth 64 is left out"
    assert every.notes[-1].startswith("depth 64 is off the course of the other points")
    assert every.notes[-1].endswith("qsim knee leaves it out, and so does --use 1,2,4,8,16,32")
    without = with_unsteady_named(fit(unsteady, [1, 2, 4, 8, 16, 32]), unsteady)
    assert not without.doubted
    assert not without.notes


def test_clients_that_are_left_out_are_several_and_nothing_is_gained_below_zero():
    off = replace(curve([*SOFT[:3], 1.2e4, *SOFT[4:]]), load_type=Clients())
    read = knee_answer.robust_fit(off)
    assert "\n".join(knee_answer.doubts_about(off, read)).startswith("8 clients are left out of the curve: 12.0 k/s")
    flat = [100.0, 200, 400, 400, 400, 400, 400]
    (double,) = (x for x in knee_answer.further_lines(curve(flat), fit(curve(flat)), "") if x.startswith("DOUBLE"))
    assert "-0" not in double
    assert (Clients().are(1), Clients().are(8), Depth().are(8), Depth().are(2, 8)) == ("is", "are", "is", "are")


def test_a_plateau_at_a_round_rate_is_said_to_be_a_limit():
    capped = curve([1000.0, 1900, 2995, 3001, 3000, 2999, 3002])
    (text,) = (x for x in knee_answer.further_lines(capped, fit(capped), "") if x.startswith("LIMIT"))
    assert text.endswith("flat at 3.00 k/s from depth 4 on, 3.00 k/s: likely a limit of the volume")
    for rates in (SOFT, [1000.0, 1900, 2780, 2790, 2785, 2780, 2783]):
        made = curve(rates)
        assert not any(x.startswith("LIMIT") for x in knee_answer.further_lines(made, fit(made), ""))


def test_a_burst_before_a_plateau_hides_no_limit_and_flat_points_do_not_rise():
    burst = curve([9830.0, 5120, 5121, 5122, 5113, 5101, 5152])
    lines = list(knee_answer.further_lines(burst, fit(burst), "qsim"))
    (limit,) = (x for x in lines if x.startswith("LIMIT"))  # 5120 of 4 KiB a second are 20 MiB
    assert limit.endswith("from depth 2 on, 20 MiB/s: likely a limit of the volume, which depth 1 exceeded for a while")
    assert not any(x.startswith("DEEPER") for x in lines)


def test_the_figures_behind_a_doubled_load_are_those_of_its_percentages():
    served = curve([83.0, 83.0, 83.0, 83.0])
    (double,) = (x for x in knee_answer.further_lines(served, fit(served), "") if x.startswith("DOUBLE"))
    before, after = (float(x) for x in re.findall(r"([\d.]+) ms", double))
    cost = float(re.findall(r"([+-]\d+) % latency", double)[0])
    assert 100 * (after / before - 1) == pytest.approx(cost, abs=1.5)
    assert 12.05 * 0.95 < before < 12.05 * 1.05  # 1 / 83 s


def test_the_deeper_command_names_every_setting(fio, disk):
    drive = knee.DriveOptions(2**25, knee.Consent(write="sdb"))  # it holds what this run wrote
    plan = knee.plan_knee(str(disk), 12.0, knee.DriveOptions(2**25, knee.Consent()), block_bytes=131072, jobs=2)
    command = knee_answer.deeper_command("/mnt/my disk", plan, 64, drive, Path("quick"))
    assert command == (
        "qsim measure fio '/mnt/my disk' --depths 128..256 --block 128KiB --read 100 --jobs 2 --runtime 1.371s "
        "--size 32768KiB --allow write=sdb,erase=sdb --out quick"
    )
    assert knee_answer.deeper_command(".", plan, 64, drive, None).endswith("--out deeper")


@pytest.mark.live
def test_the_deeper_command_goes_on_in_the_same_directory(qsim, fio, disk):
    run = qsim("knee", str(disk), "--seconds", "6s", "--size", "32MiB", "--read", "0", "--out", "quick", "--json")
    assert run.code == 0, run.err
    drive = knee.DriveOptions(2**25, knee.Consent())
    plan = knee.plan_knee(str(disk), 6.0, drive, read_percent=0)
    deepest = max(run.json["measured"]["depths"])
    command = knee_answer.deeper_command(str(disk), plan, deepest, drive, Path("quick"))
    again = qsim(*shlex.split(command)[1:], "--json")
    assert again.code == 0, again.err
    assert max(p["load"] for p in again.json["points"]) == 4 * deepest


@pytest.mark.parametrize(
    ("steady", "said"),
    [
        ({}, "whether the runs were steady was not seen"),
        ({"steady": [True] * 5}, "the points are steady"),
        ({"steady": [True, False, False, True, True]}, "2 of 5 runs varied more than SNIA's steady state allows"),
    ],
)
def test_no_doubt_says_what_was_seen_of_the_runs(steady: dict[str, list[bool]], said: str):
    assert said in knee_answer.no_doubt(curve([100.0, 200, 380, 400, 400], **steady))
