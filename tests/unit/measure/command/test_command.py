"""A command of the user's, run at several loads: what is run, what is kept, and that nothing outlives it."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import psutil
import pytest

from measure.command import MARK, plan_command, run_command
from measure.errors import StoreError, ToolFailedError, ToolMissingError
from measure.loading import load

JOB = """import json, subprocess, sys, time
kind, n = sys.argv[1], int(sys.argv[2])
if kind == "fails" and n > 2:
    sys.exit("too many clients")
if kind == "hangs":
    time.sleep(60)
if kind == "daemon":
    subprocess.Popen(["sleep", "987"], start_new_session=True)
open("runs", "a").write(f"{n} ")
x = 100 * min(n, 4)
print(json.dumps({"throughput": x, "latency": n / x}))
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text(JOB)
    return f"{shlex.quote(sys.executable)} -I job.py"


def sleepers() -> list[psutil.Process]:
    """The sleeping daemons that still run: one that has ended but that nobody has asked for is a zombie."""
    asked = psutil.process_iter(["cmdline", "status"])
    return [p for p in asked if p.info["cmdline"] == ["sleep", "987"] and p.info["status"] != psutil.STATUS_ZOMBIE]


def test_points_are_kept_as_an_ordinary_sweep_and_rounds_go_over_all_loads(job: str) -> None:
    seen: list[tuple[float, float]] = []
    plan = plan_command(f"{job} works {{N}}", [1, 4], repeats=2)
    sweep = run_command(plan, Path("out"), watch=lambda n, rate: seen.append((n, rate)))
    assert Path("runs").read_text() == "1 4 1 4 "
    assert seen == [(1, 100), (4, 400), (1, 100), (4, 400)]
    assert sweep.points.sort_values(["load", "repeat"])[["load", "repeat"]].to_numpy().tolist() == [
        [1, 0],
        [1, 1],
        [4, 0],
        [4, 1],
    ]
    assert sweep.points["host_busy"].between(0, 1).all()
    again = load("out")
    assert again.points["throughput_per_s"].tolist() == sweep.points["throughput_per_s"].tolist()
    assert f"{job} works 4" in again.provenance.commands


def test_a_plan_that_was_checked_is_not_changed(job: str) -> None:
    plan = plan_command(f"{job} works {{N}}", [1])
    with pytest.raises(FrozenInstanceError):
        plan.text = "another command"  # type: ignore[misc]


def test_a_directory_is_resumed_and_extended_and_keeps_one_command(job: str) -> None:
    text = f"{job} works {{N}}"
    run_command(plan_command(text, [1, 2]), Path("out"))
    sweep = run_command(plan_command(text, [1, 2, 8]), Path("out"))
    assert Path("runs").read_text() == "1 2 8 "
    assert sweep.points["load"].tolist() == [1, 2, 8]
    with pytest.raises(StoreError, match="other settings"):
        run_command(plan_command(f"{job} fails {{N}}", [1]), Path("out"))


def test_a_run_that_fails_loses_no_other_and_says_what_was_on_stderr(job: str) -> None:
    sweep = run_command(plan_command(f"{job} fails {{N}}", [1, 2, 4]), Path("out"))
    assert sweep.points["load"].tolist() == [1, 2]
    (failed,) = (f for f in sweep.findings if f.check == "point-failed")
    assert failed.message.startswith("python")
    assert failed.load == 4
    assert "ended with exit code 1 (too many clients)" in failed.message


def test_a_run_without_end_is_stopped_in_time(job: str) -> None:
    began = time.monotonic()
    with pytest.raises(ToolFailedError, match=r"did not end within 0\.3 s and was stopped; let it end by itself"):
        run_command(plan_command(f"{job} hangs {{N}}", [1], limit_s=0.3), Path("out"))
    assert time.monotonic() - began < 30


def test_no_child_outlives_its_run_not_even_a_daemon(job: str) -> None:
    sweep = run_command(plan_command(f"{job} daemon {{N}}", [1]), Path("out"))
    assert sleepers() == []
    assert any("left sleep running, which was ended" in f.message for f in sweep.findings)


def test_an_interruption_ends_what_was_started(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(done: int, total: int, left: float, text: str) -> None:
        if sleepers():
            raise KeyboardInterrupt

    slow = JOB.replace('open("runs"', 'time.sleep(60)\nopen("runs"')
    Path("job.py").write_text(slow)
    with pytest.raises(KeyboardInterrupt):
        run_command(plan_command(f"{job} daemon {{N}}", [1]), Path("out"), interrupt)
    assert sleepers() == []


def test_no_shell_runs_a_command_unless_it_is_planned() -> None:
    plain = plan_command("echo {N} '$HOME' a;b", [3])
    assert plain.points[0].argv == ("echo", "3", "$HOME", "a;b")
    shell = plan_command("echo {N} | cat", [3], in_shell=True)
    assert shell.points[0].argv == ("/bin/sh", "-c", "echo 3 | cat")


def test_rates_keep_their_digits_and_numbers_are_whole() -> None:
    plan = plan_command("echo {rate}", [0.5, 12000])
    assert [p.argv[1] for p in plan.points] == ["0.5", "12000"]
    with pytest.raises(ValueError, match=r"\{N\} is a whole number of 1 or more, not 1\.5"):
        plan_command("echo {N}", [1.5])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no {N}; put {N} where it takes its number of clients"),
        ("wrk -c{n} URL", "has no {N}"),
        ("wrk -c{N} -R{rate} URL", "holds both {N} and {rate}"),
        ("echo '{N}", "cannot be split (No closing quotation)"),
        ("echo {N} | cat", "'|' is a word of a shell, which runs it only with --shell"),
    ],
)
def test_a_command_that_cannot_be_varied_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the words are compared below
        plan_command(text, [1])
    assert said in str(error.value)


def test_a_program_that_is_missing_or_may_not_be_executed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match="no-such-tool is not installed"):
        plan_command("no-such-tool {N}", [1])
    script = tmp_path / "job.sh"
    script.write_text("echo 1")
    with pytest.raises(ToolFailedError, match=r"job\.sh may not be executed; chmod \+x"):
        plan_command(f"{shlex.quote(str(script))} {{N}}", [1])


def test_a_run_knows_its_mark_and_keeps_the_environment(tmp_path: Path) -> None:
    text = f"""sh -c 'test -n "${MARK}" && test -n "$PATH" && echo "{{\\"throughput\\": {{N}}}}"'"""
    sweep = run_command(plan_command(text, [7]), tmp_path / "out")
    assert sweep.points["throughput_per_s"].tolist() == [7.0]
