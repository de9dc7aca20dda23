"""``qsim measure drive`` and ``qsim knee`` on a machine without fio."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def no_fio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


SHORT = ("--runtime", "300ms", "--size", "16MiB", "--out", "o")


@pytest.mark.live
def test_points_are_kept_read_and_resumed(qsim, disk, no_fio):
    run = qsim("measure", "drive", str(disk), "--depths", "1,4", "--read", "70", *SHORT, "--json")
    assert run.code == 0, run.err
    assert [p["load"] for p in run.json["points"]] == [1, 4]
    for point in run.json["points"]:
        assert point["throughput_per_s"] * point["latency_s"] == pytest.approx(point["load"], rel=0.05)
        assert point["ceiling_per_s"] > 0
        assert point["read_fraction"] == pytest.approx(0.7, abs=0.1)
    assert run.json["provenance"]["tool"] == "qsim drive probe"
    assert list(disk.iterdir()) == []  # the test file is gone
    again = qsim("measure", "drive", str(disk), "--depths", "1,4,8", "--read", "70", *SHORT)
    assert again.code == 0, again.err
    assert "1 point (2 of 3 are there already)" in again.err
    assert qsim("audit", "o").code == 0


@pytest.mark.live
def test_a_knee_takes_the_probe_where_fio_is_missing(qsim, disk, no_fio):
    run = qsim("knee", str(disk), "--seconds", "6s", "--size", "16MiB", "--json")
    assert run.code == 0, run.err
    assert run.json["measured"]["tool"] == "drive"
    assert "with qsim's own probe" in run.err


def test_a_file_of_others_is_neither_read_nor_written_without_consent(qsim, disk, no_fio):
    mine = disk / "thesis.doc"
    mine.write_text("years of work")
    for args in ([], ["--read", "0"], ["--read", "0", "--allow", "read"]):
        run = qsim("measure", "drive", str(mine), *args, *SHORT)
        assert run.code == 1
        assert run.error
    assert mine.read_text() == "years of work"
    assert not Path("o").exists()


def test_a_network_block_device_needs_fio(qsim, no_fio):
    run = qsim("measure", "drive", "nbd+unix:///?socket=/nonexistent", *SHORT)
    assert run.code == 1
    assert "use fio" in run.error


def test_a_plan_writes_nothing(qsim, disk, no_fio):
    run = qsim("measure", "drive", str(disk), "--depths", "1..4", "--dry-run", "--json")
    assert run.code == 0, run.err
    assert [p["depth"] for p in run.json["points"]] == [1, 2, 4]
    assert all("measure.drive" in p["command"] for p in run.json["points"])
    assert list(disk.iterdir()) == []
    assert json.loads(run.out)["engine"] == "probe"
