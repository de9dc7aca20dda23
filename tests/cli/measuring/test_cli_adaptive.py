"""``qsim measure fio --depths auto``: the plan, the refusals, and a real search that goes on where it was."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


def test_a_dry_run_shows_the_beginning_and_what_may_follow(qsim, fio, disk):
    run = qsim("measure", "fio", str(disk), "--depths", "auto:6", "--dry-run")
    assert run.code == 0, run.err
    commands = [line for line in run.out.splitlines() if line.startswith("fio ")]
    assert len(commands) == 3  # the file is filled once, then both ends
    assert "--iodepth=32" in commands[2]
    assert "at most 4 of 2, 3, 4, 5," in run.out
    document = qsim("measure", "fio", str(disk), "--depths", "auto:6", "--dry-run", "--json").json
    assert [p["depth"] for p in document["points"]] == [1, 32]
    assert document["adaptive"]["loads"][:4] == [1, 2, 3, 4]
    assert document["adaptive"]["seconds_at_most"] > document["seconds"]
    assert list(disk.iterdir()) == []


@pytest.mark.live
def test_a_real_search_says_why_keeps_its_history_and_goes_on(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--runtime", "300ms", "--size", "16MiB", "--out", "sweep")
    run = qsim(*args, "--depths", "auto:3", "--json")
    assert run.code == 0, run.err
    steps = run.json["adaptive"]["steps"]
    assert [s["load"] for s in steps][:2] == [1, 32]
    assert len(steps) == len(run.json["points"]) == 3
    for step in steps:
        assert f"depth {step['load']:g}: {step['reason']}" in run.err
    assert list(disk.iterdir()) == []  # the test file is gone
    kept = {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()}

    more = qsim(*args, "--depths", "auto:5")
    assert more.code == 0, more.err
    assert "3 points are there already; at most 2 of 28 more" in more.err
    assert {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()}.items() >= kept.items()
    history = json.loads(Path("sweep/adaptive.json").read_text())
    assert history["steps"][:3] == steps
    assert history["knee"]["load"] == history["steps"][-1]["knee"]
    told = shlex.split(more.out.split("next: qsim ")[-1])
    assert qsim(*told, "--json").json["knee"]["load"] == history["knee"]["load"]
