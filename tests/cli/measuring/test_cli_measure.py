"""``qsim`` measure, doctor and bench: plans, refusals, and a real point where the machine can."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


@pytest.mark.live
def test_a_real_point_is_measured_kept_and_not_measured_again(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--depths", "1,4", "--runtime", "300ms", "--size", "16MiB")
    run = qsim(*args, "--out", "sweep", "--json")
    assert run.code == 0, run.err
    assert [p["load"] for p in run.json["points"]] == [1, 4]
    assert list(disk.iterdir()) == []  # the test file is gone
    kept = {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()}
    again = qsim(*args, "--out", "sweep")
    assert again.code == 0
    assert "qsim compare sweep" in again.out
    assert {p: p.stat().st_mtime_ns for p in Path("sweep/raw").iterdir()} == kept
    other = qsim(*args, "--out", "sweep", "--size", "32MiB")
    assert other.code == 1
    assert "other settings" in other.error


def test_a_file_of_somebody_else_is_refused_and_unchanged(qsim, fio, disk):
    mine = disk / "thesis.doc"
    mine.write_text("years of work")
    run = qsim("measure", "fio", str(mine), "--out", "sweep")
    assert run.code == 1
    assert "--allow read" in run.error
    assert qsim("measure", "fio", str(mine), "--out", "sweep", "--read", "0", "--allow", "read").code == 1
    assert mine.read_text() == "years of work"
    assert not Path("sweep").exists()


def test_doctor_knows_every_part_and_its_remedy(qsim, monkeypatch):
    here = qsim("doctor", "--json").json
    assert {p["name"] for p in here["parts"]} >= {"fio", "mlc", "nbdkit", "cores", "free disk"}
    monkeypatch.setenv("PATH", "")
    bare = qsim("doctor")
    assert bare.code == 0
    assert "fio is missing\n  without it: " in bare.out
    assert "apt-get install fio" in " ".join(bare.out.split())
    assert max(map(len, bare.out.splitlines())) <= 160
