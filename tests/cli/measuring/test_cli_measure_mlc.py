"""``qsim measure mlc`` with a program in MLC's place: plans, tables, JSON, faults, and the next command."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_dry_run_prints_every_command_and_runs_none(qsim, fake_mlc):
    args = ("measure", "mlc", "--mixes", "R,W5", "--buffers", "128MiB", "--delays", "0,50,500")
    run = qsim(*args, "--dry-run")
    assert run.code == 0, run.err
    commands = [line.split("  ")[-1] for line in run.out.splitlines() if "mlc --" in line]
    assert commands[1] == "mlc --loaded_latency -b131072 -t2 -W5 -gdelays.txt"
    assert len(commands) == 2
    document = qsim(*args, "--dry-run", "--json").json
    assert [p["mix"] for p in document["points"]] == ["R", "W5"]
    assert document["seconds"] == pytest.approx(sum(p["seconds"] for p in document["points"]))
    assert fake_mlc.commands() == []
    assert list(Path().iterdir()) == []


def test_curves_are_printed_and_the_directory_is_data(qsim, fake_mlc):
    args = ("measure", "mlc", "--out", "m")
    run = qsim(*args)
    assert run.code == 0, run.err
    for part in ("read\ndelay", "20000", "qsim compare m"):
        assert part in run.out, run.out
    again = qsim(*args, "--json").json
    assert len(again["points"]) == 19
    assert len(fake_mlc.commands()) == 1
    comparison = qsim("compare", "m", "--json")
    assert comparison.code == 0, comparison.err
    assert comparison.json["knee"]
    assert qsim("audit", "m").code == 0


def test_without_mlc_one_line_says_how_to_get_it_and_what_else_there_is(qsim, monkeypatch):
    monkeypatch.setenv("PATH", "")
    run = qsim("measure", "mlc", "--out", "m")
    assert run.code == 1
    for part in ("not installed", "Intel's web site", "qsim measure memory", "cannot give delays in core cycles"):
        assert part in run.error
    doctor = qsim("doctor")
    assert "cannot give delays in core cycles" in doctor.out
    assert list(Path().iterdir()) == []


def test_the_commands_of_the_manual_are_taken(qsim, fake_mlc, repository):
    page = (repository / "docs" / "howto-measure-memory.md").read_text()
    commands = [line.split()[1:] for line in page.splitlines() if line.startswith("qsim measure mlc")]
    assert len(commands) == 2
    for command in commands:
        run = qsim(*command)
        assert run.code == 0, run.err
    assert {p.name for p in Path().iterdir()} == {"mlc", "mixes"}
