"""The machine's facts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from measure.machine import host
from measure.machine.host import (
    host_facts,
    io_uring_allowed,
    parse_cpu_list,
    storage_behind,
    timer_resolution_s,
    tool_version,
)


def test_the_facts_are_there_and_json_ready() -> None:
    facts = host_facts()
    assert facts.kernel.startswith("Linux")
    assert facts.cpu_model
    assert 1 <= facts.cores <= facts.cpus_online
    assert facts.memory_bytes is None or facts.memory_bytes > 2**26
    assert json.loads(json.dumps(facts.to_dict()))["hostname"] == facts.hostname


@pytest.mark.parametrize(("listing", "count"), [("0", 1), ("0-3", 4), ("0-3,8", 5), ("0,2,4-5", 4), ("", 0)])
def test_cpu_lists(listing: str, count: int) -> None:
    assert len(parse_cpu_list(listing)) == count


def test_the_storage_behind_a_path_that_does_not_exist_is_its_parents(tmp_path: Path) -> None:
    parents, own = (replace(storage_behind(p), free_bytes=0) for p in (tmp_path / "a" / "b", tmp_path))
    assert parents == own
    assert storage_behind(tmp_path).free_bytes > 0
    assert storage_behind(Path("/proc/self")).filesystem == "proc"


def test_the_longest_mount_point_wins_and_escapes_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "my disk"
    folder.mkdir()
    escaped = str(folder).replace(" ", "\\040")
    table = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"2 1 8:2 / {escaped} rw shared:1 - xfs /dev/sdb1 rw\n"
        f"3 1 8:3 / {escaped}x rw - btrfs /dev/sdc1 rw\n"
    )
    monkeypatch.setattr(host, "_text", lambda _path: table)
    assert host._mount_of(folder) == ("xfs", str(folder), "/dev/sdb1")


def test_the_timer_steps_forward() -> None:
    assert 0 < timer_resolution_s() < 1e-2


def test_a_missing_tool_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool_version("fio") is None


def test_io_uring_comes_with_a_reason() -> None:
    allowed, why = io_uring_allowed()
    assert isinstance(allowed, bool)
    assert why.startswith("the kernel")
