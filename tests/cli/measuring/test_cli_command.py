"""``qsim knee --run`` and ``qsim measure command``: the answer for anything that a command measures."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from qsim_program import QSIM

from calibrate.cli.calibration.knee import _next_load, _too_few
from measure.command import plan_command
from measure.loads import ArrivalRate
from measure.sweep import Sweep

JOB = """import json, sys, time
kind, n = sys.argv[1], float(sys.argv[2])
x = 100 * min(n, 4)
if kind == "fails" or kind == "fails at 8" and n == 8:
    sys.exit("cannot connect to 10.0.0.1")
if kind == "hangs":
    time.sleep(60)
if kind == "slow":
    time.sleep(1)
if kind == "nothing":
    sys.exit()
print(json.dumps({"throughput": 100, "latency": 0.01} if kind == "ignores" else {"throughput": x, "latency": n / x}))
"""


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / "job.py").write_text(JOB)
    return shlex.join([sys.executable, "-I", str(tmp_path / "job.py")])


def test_the_knee_of_a_command_is_that_of_its_points_and_they_are_an_ordinary_sweep(qsim, job):
    run = qsim("knee", "--run", f"{job} works {{N}}", "--out", "quick", "--report", "k.html", "--json")
    assert run.code == 0, run.err
    document = run.json
    assert document["measured"]["depths"] == [1, 2, 4, 8, 16]  # two doublings without a gain end it
    assert document["knee"]["load"] == pytest.approx(4, rel=0.01)
    assert document["parameters"]["Xmax"]["estimate"] == pytest.approx(400, rel=0.01)
    assert "Throughput" in Path("k.html").read_text()
    fitted = qsim("fit", "quick", "--json").json
    assert fitted["knee"] == document["knee"]


def test_the_text_begins_with_the_answer_and_speaks_of_no_drive(qsim, job):
    run = qsim("knee", "--run", f"{job} works {{N}}", "--slo", "15ms")
    assert run.code == 0, run.err
    first, second, third = run.out.splitlines()[:3]
    assert re.match(r"Under 15\.0 ms: 40\d /s at 6\.\d \(", first)
    assert second.endswith("a smooth curve through all 5 points")
    assert third.startswith("QUEUEING STARTS 4.0")
    assert "†  told, not in the data: load ({N} of the command)" in run.out
    assert "volume" not in run.out
    assert "depth" not in run.out


def test_it_resumes_and_named_loads_join_the_same_directory(qsim, job):
    command = f"{job} works {{N}}"
    assert qsim("measure", "command", command, "--loads", "1,2", "--out", "quick").code == 0
    before = {p.name: p.stat().st_mtime_ns for p in Path("quick/points").iterdir()}
    assert qsim("knee", "--run", command, "--out", "quick").code == 0
    assert qsim("measure", "command", command, "--loads", "3", "--repeats", "2", "--out", "quick").code == 0
    after = {p.name: p.stat().st_mtime_ns for p in Path("quick/points").iterdir()}
    assert before.items() <= after.items()
    assert sorted(after.keys()) == sorted(f"N={n}.json" for n in ("1.0", "2.0", "4.0", "8.0", "16.0", "3.0", "3.1"))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("fails", "N = 1: python"),
        ("fails", "ended with exit code 1 (cannot connect to 10.0.0.1)"),
        ("nothing", "printed nothing on stdout"),
        ("ignores", "the command ignores {N}: as many requests were in flight"),
    ],
)
def test_a_command_that_measures_nothing_has_one_line_and_exit_1(qsim, job, kind, said):
    run = qsim("knee", "--run", f"{job} {kind} {{N}}")
    assert run.code == 1
    *_, last = run.err.splitlines()
    assert last.startswith("error: ")
    assert said in last


def test_what_was_measured_before_a_failure_is_answered(qsim, job):
    run = qsim("knee", "--run", f"{job} 'fails at 8' {{N}}", "--out", "quick", "--json")
    assert run.code == 0
    assert run.json["measured"]["depths"] == [1, 2, 4]
    assert "point-failed (8 clients): python" in run.err  # the load once


def test_a_run_without_end_ends_with_the_time(qsim, job):
    began = time.monotonic()
    run = qsim("knee", "--run", f"{job} hangs {{N}}", "--seconds", "1s")
    assert run.code == 1
    assert "did not end within 1.25 s and was stopped; let it end by itself, or allow it more time" in run.err
    assert time.monotonic() - began < 30


def test_too_few_loads_say_what_was_measured_and_how_long_it_takes(qsim, job):
    run = qsim("knee", "--run", f"{job} slow {{N}}", "--seconds", "1s", "--out", "quick")
    assert run.code == 1
    last = run.err.splitlines()[-1]
    assert "a knee needs 3 loads, and only this could be measured: 100 /s at 1 client" in last
    assert "shorten the run in the command, or give --seconds" in last
    assert "and only these could be measured: 100 /s at depth 1, 200 /s" in str(_too_few(curve([100, 200]), 1.0, 1.0))
    assert Path("quick/points/N=1.0.json").exists()


def test_an_interruption_keeps_what_was_measured_and_the_same_command_goes_on(job, tmp_path):
    words = [*QSIM, "knee", "--run", f"{job} slow {{N}}", "--out", "quick", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        while not (tmp_path / "quick" / "points" / "N=1.0.json").exists():
            assert run.poll() is None
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "interrupted; 1 finished point in quick; run the same command again to resume" in err
    kept = (tmp_path / "quick" / "points" / "N=1.0.json").stat().st_mtime_ns
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["measured"]["depths"][:3] == [1, 2, 4]
    assert (tmp_path / "quick" / "points" / "N=1.0.json").stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["knee", "--run", "echo 1"], "has no {N}; put {N} where it takes"),
        (["knee", "--run", "echo {N} {rate}"], "holds both {N} and {rate}"),
        (["knee", "--run", "echo {N} | cat"], "'|' is a word of a shell, which runs it only with --shell"),
        (["knee", ".", "--run", "echo {N}"], "--run and TARGET exclude each other"),
        (["knee", "--run", "echo {N}", "--block", "8KiB"], "--run and --block exclude each other"),
        (["knee", ".", "--shell"], "--shell needs --run"),
        (["knee"], "TARGET is missing: name a directory on the drive, or a command: --run 'COMMAND {N}'"),
        (["measure", "command", "echo {N}", "--loads", "1.5", "--dry-run"], "{N} is a whole number of 1 or more"),
        (["measure", "command", "echo {N}"], "--out is missing"),
    ],
)
def test_wrong_usage_has_one_line_and_exit_2(qsim, words, said):
    run = qsim(*words)
    assert run.code == 2
    assert said in run.error


def test_a_failed_point_of_named_loads_is_exit_1_and_the_others_are_kept(qsim, job):
    run = qsim("measure", "command", f"{job} 'fails at 8' {{N}}", "--loads", "1,8,16", "--out", "d", "--json")
    assert run.code == 1
    assert [row["load"] for row in run.json["points"]] == [1, 16]
    assert run.json["error"]["message"] == "1 point failed; the same command tries again"


def test_a_plan_shows_every_command_and_runs_none(qsim, job):
    run = qsim("measure", "command", f"{job} works {{N}}", "--loads", "1..4", "--dry-run", "--json")
    assert run.json["commands"] == [f"{job} works {n}" for n in (1, 2, 4)]
    assert not Path("d").exists()


def curve(rates: list[float], rate: bool = False) -> Sweep:
    load = 2.0 ** np.arange(len(rates))
    points = pd.DataFrame({"series": "a", "load": load, "throughput_per_s": rates})
    made = points.assign(latency_s=0.01 if rate else load / points["throughput_per_s"])
    return Sweep(made, ArrivalRate()) if rate else Sweep(made)


@pytest.mark.parametrize(
    ("rates", "goes_on"),
    [
        ([100], True),
        ([100, 100], True),
        ([100, 100, 100], False),
        ([100, 200, 400, 400], True),
        ([100, 200, 400, 400, 401], False),
        ([100, 200, 150, 400], True),
    ],
)
def test_loads_double_until_two_doublings_add_nothing(rates, goes_on):
    last = 2.0 ** (len(rates) - 1)
    found = _next_load(plan_command("echo {N}", [1]), last, curve(rates))
    assert found == (2 * last if goes_on else None)


def test_the_second_rate_keeps_a_quarter_of_one_server_busy_and_others_double():
    plan = plan_command("echo {rate}", [10])
    assert _next_load(plan, 10.0, curve([10], rate=True)) == 25
    assert _next_load(plan, 25.0, curve([10, 25], rate=True)) == 50


def test_the_command_for_larger_loads_is_one_that_can_be_typed(qsim, job, monkeypatch):
    monkeypatch.setattr("calibrate.cli.calibration.knee.MOST_CLIENTS", 4)
    run = qsim("knee", "--run", f"{job} works {{N}}", "--out", "quick")
    line = next((x for x in run.out.splitlines() if x.startswith("DEEPER")), "")
    assert line
    words = shlex.split(line[line.index("qsim ") :])[1:]
    assert qsim(*words).code == 0
    assert {p.stem for p in Path("quick/points").iterdir()} >= {"N=8.0", "N=16.0"}
