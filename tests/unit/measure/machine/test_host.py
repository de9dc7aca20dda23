"""The machine's facts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from measure.machine import host
from measure.machine.host import (
    Cache,
    Storage,
    host_facts,
    io_uring_allowed,
    parse_cpu_list,
    storage_behind,
    tool_version,
)


def test_the_facts_are_there_and_json_ready() -> None:
    facts = host_facts()
    assert facts.kernel.startswith("Linux")
    assert facts.cpu_model
    assert 1 <= facts.cores <= facts.cpus_online
    assert facts.memory_bytes is None or facts.memory_bytes > 2**26
    assert json.loads(json.dumps(facts.to_dict()))["hostname"] == facts.hostname


def test_the_caches_of_the_first_cpu_have_their_sizes_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [("1", "Data", "48K", "0,4"), ("2", "Unified", "2M", "0,4"), ("3", "Unified", "1G", "0-7")]
    for index, files in enumerate(told):
        (folder := tmp_path / "cpu0" / "cache" / f"index{index}").mkdir(parents=True)
        for name, text in zip(("level", "type", "size", "shared_cpu_list"), files, strict=True):
            (folder / name).write_text(f"{text}\n", "utf-8")
    monkeypatch.setattr(host, "_SYS_CPU", tmp_path)
    first, second, third = host_facts().caches
    assert first == Cache(1, "Data", 49_152, 2)
    assert second == Cache(2, "Unified", 2_097_152, 2)
    assert third == Cache(3, "Unified", 1_073_741_824, 8)


@pytest.mark.parametrize(("listing", "count"), [("0", 1), ("0-3", 4), ("0-3,8", 5), ("0,2,4-5", 4), ("", 0)])
def test_cpu_lists(listing: str, count: int) -> None:
    assert len(parse_cpu_list(listing)) == count


def test_the_storage_behind_a_path_that_does_not_exist_is_its_parents(tmp_path: Path) -> None:
    parents, own = (replace(storage_behind(p), free_bytes=0) for p in (tmp_path / "a" / "b", tmp_path))
    assert parents == own
    assert storage_behind(tmp_path).free_bytes > 0
    assert storage_behind(Path("/proc/self")).filesystem == "proc"


@pytest.mark.parametrize(
    ("storage", "text"),
    [
        (Storage("ext4", "nvme0n1", "KXG60", 1), "nvme0n1 (KXG60), ext4"),
        (Storage("ext4", "vda", "", 1), "vda, ext4"),
        (Storage("tmpfs", "", "", 1), "no block device, tmpfs"),
        (Storage("", "", "", 1), "the drive of this folder"),
    ],
)
def test_a_storage_is_named_as_far_as_it_is_known(storage: Storage, text: str) -> None:
    assert str(storage) == text


def test_the_longest_and_last_mount_point_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "my disk"
    folder.mkdir()
    mounts = [("/dev/sda1", "/", "ext4"), ("/dev/sdb1", str(folder), "xfs"), ("/dev/sdc1", f"{folder}x", "btrfs")]
    table = [SimpleNamespace(device=d, mountpoint=m, fstype=f) for d, m, f in [*mounts, ("/dev/sdd1", "/", "over")]]
    monkeypatch.setattr("psutil.disk_partitions", lambda **_: table)
    assert host._mount_of(folder) == ("xfs", "/dev/sdb1")
    assert host._mount_of(tmp_path) == ("over", "/dev/sdd1")


def test_a_missing_tool_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tool_version("fio") is None


def test_io_uring_comes_with_a_reason() -> None:
    allowed, why = io_uring_allowed()
    assert isinstance(allowed, bool)
    assert why.startswith("the kernel")
