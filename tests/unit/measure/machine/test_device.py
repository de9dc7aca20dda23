"""A device or export that has changed between plan and run is not written; an unchanged one is held meanwhile.

Here files stand for devices: they have no use and no number in the kernel. tests/live has true block devices.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from measure.errors import UnsafeTargetError
from measure.fio.fio_sweep import FioPlan, plan_fio, run_fio
from measure.machine import device
from measure.machine.contents import Contents
from measure.machine.device import held_device, look
from measure.machine.process import run_tool

MIB = 2**20
SIZE = 64 * MIB
CHANGES = {
    "a file system": (0x438, b"\x53\xef", "was written to it since the plan was made"),
    "data at 4 MiB": (4 * MIB, b"precious", "its contents changed since the plan was made"),
    "data at the end": (SIZE - 8, b"precious", "its contents changed since the plan was made"),
}


def write(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def seen(path: Path, *, writes: bool = True) -> Contents:
    with path.open("rb") as file:
        return look(path, file.fileno(), writes=writes)


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    path = tmp_path / "sdz"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_a_device_that_was_written_since_the_plan_is_refused(
    drive: Path, change: str, require_tool: Callable[..., str]
) -> None:
    require_tool("blkid")
    offset, content, reason = CHANGES[change]
    plan = seen(drive)
    if change == "a file system":
        require_tool("mkfs.ext4")
        subprocess.run(["mkfs.ext4", "-q", "-F", str(drive)], check=True)
    write(drive, offset, content)
    with pytest.raises(UnsafeTargetError, match=reason), held_device(drive, plan, writes=True):
        pass


def test_a_device_of_another_size_or_number_is_refused_even_to_be_read(drive: Path) -> None:
    plan = seen(drive, writes=False)
    os.truncate(drive, 2 * SIZE)
    said = r"is not measured: its size changed from 64 MiB to 128 MiB since the plan was made; look at it, and plan"
    with pytest.raises(UnsafeTargetError, match=said), held_device(drive, plan, writes=False):
        pass
    other = Contents("8:16; sdb/diskseq 7", 2 * SIZE)
    with (
        pytest.raises(UnsafeTargetError, match="another device has taken its name"),
        held_device(drive, other, writes=False),
    ):
        pass


def test_what_the_kernel_says_of_a_device_tells_it_from_another(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "block" / "sdz"
    (folder / "device").mkdir(parents=True)
    (folder / "size").write_text("131072\n")
    monkeypatch.setattr(device, "block_folder", lambda _: folder)
    found = set()
    for name, fact in (("diskseq", "11"), ("diskseq", "12"), ("device/serial", "S1"), ("device/serial", "S2")):
        (folder / name).write_text(f"{fact}\n")
        found.add(seen(drive, writes=False).device)
        found.add(seen(drive, writes=False).device)
    assert len(found) == 4


def test_a_device_that_is_mounted_since_the_plan_is_refused_with_the_place(
    drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = seen(drive)
    monkeypatch.setattr(device, "_known_use", lambda _: "is mounted on /data")
    said = "is not written to: it is mounted on /data; see to that, and plan again"
    with pytest.raises(UnsafeTargetError, match=said), held_device(drive, plan, writes=True):
        pass


def test_a_read_only_device_is_refused_before_anything_runs(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "block_folder", lambda _: tmp_path)
    for flag, use in (("1", "is read-only"), ("0", None)):
        (tmp_path / "ro").write_text(f"{flag}\n")
        assert device.device_in_use(drive) == use


def test_a_tool_opens_the_device_that_is_held_and_not_what_takes_its_name(drive: Path, tmp_path: Path) -> None:
    write(drive, 0, b"held")
    with held_device(drive, seen(drive), writes=True):
        drive.rename(tmp_path / "elsewhere")
        drive.write_bytes(b"other")
        assert run_tool(["dd", f"if={drive}", "bs=4", "count=1"], 10.0).stdout == b"held"


@pytest.fixture
def export(drive: Path, tmp_path: Path, require_tool: Callable[..., str]) -> Iterator[str]:
    """The drive as an NBD export."""
    for tool in ("nbdkit", "fio", "blkid"):
        require_tool(tool)
    socket = tmp_path / "socket"
    with subprocess.Popen(["nbdkit", "-f", "-U", str(socket), "file", str(drive)]) as server:
        while not socket.exists() and server.poll() is None:
            time.sleep(0.01)
        yield f"nbd+unix:///?socket={socket}"
        server.terminate()


def planned(uri: str, **consent: str) -> FioPlan:
    return plan_fio(uri, (1,), read_percent=0, runtime_s=0.2, ramp_s=0.0, write_device=uri, **consent)


@pytest.mark.parametrize("change", CHANGES)
def test_an_export_that_was_written_since_the_plan_is_refused_and_stays(
    export: str, drive: Path, tmp_path: Path, change: str
) -> None:
    plan = planned(export)
    offset, content, reason = CHANGES[change]
    if change == "a file system":
        subprocess.run(["mkfs.ext4", "-q", "-F", str(drive)], check=True)
    write(drive, offset, content)
    before = drive.read_bytes()
    with pytest.raises(UnsafeTargetError, match=reason):
        run_fio(plan, tmp_path / "s")
    assert drive.read_bytes() == before
    assert not (tmp_path / "s").exists()


def test_an_export_with_data_inside_is_written_only_where_its_name_is_given_a_third_time(
    export: str, drive: Path, tmp_path: Path
) -> None:
    write(drive, 40 * MIB, os.urandom(MIB))
    with pytest.raises(UnsafeTargetError, match=r"its byte 4[12],[\d,]+ is not zero, so it may hold something"):
        planned(export)
    assert len(run_fio(planned(export, erase=export), tmp_path / "s").points) == 1
