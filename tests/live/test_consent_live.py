"""Block devices and exports that hold something are never written to; blank ones are measured.

Each device is a loop device over a sparse image: what a tool made (``mkfs.*``, ``mkswap``, ``pvcreate``,
``cryptsetup``) or a label written by hand. The image is compared byte by byte before and after.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from device_labels import LABELS, MAKERS
from qsim_program import QSIM

from measure.errors import UnsafeTargetError
from measure.fio.fio_sweep import FioPlan, plan_fio, run_fio
from measure.machine.own_file import held
from measure.sweep import Sweep

pytestmark = pytest.mark.live
MIB = 2**20
SIZE = 320 * MIB


@pytest.fixture(autouse=True)
def loop_devices(require_tool: Callable[..., str]) -> None:
    for tool in ("fio", "losetup", "blkid", "wipefs"):
        require_tool(tool)
    if os.geteuid() != 0:
        pytest.skip("root alone makes loop devices: sudo make test-all")
    if subprocess.run(["losetup", "-f"], capture_output=True, check=False).returncode:
        assert not os.environ.get("QSIM_REQUIRE_TOOLS"), "no loop device is free"
        pytest.skip("no loop device is free: load the kernel module loop")


@contextmanager
def loop(image: Path) -> Iterator[Path]:
    """The image as a block device."""
    found = subprocess.run(
        ["losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        yield Path(found)
    finally:
        subprocess.run(["losetup", "--detach", found], check=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
    return path


def digest(image: Path) -> str:
    with image.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def planned(device: Path, **settings: Any) -> FioPlan:
    """A plan that writes to the device, with the consent that its user gave."""
    return plan_fio(
        device,
        (1,),
        read_percent=0,
        size_bytes=4 * MIB,
        runtime_s=0.5,
        ramp_s=0.0,
        write_device=str(device),
        **settings,
    )


def written(device: Path, out: Path, **settings: Any) -> Sweep:
    """A sweep that writes to the device."""
    return run_fio(planned(device, **settings), out)


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_tool_made_is_refused_whatever_is_consented_to(
    image: Path, tmp_path: Path, name: str, require_tool: Callable[..., str]
) -> None:
    command = MAKERS[name]
    require_tool(command[0])
    with loop(image) as device:
        subprocess.run([*command, str(device)], check=True, capture_output=True, input=b"a passphrase")
        subprocess.run(["blockdev", "--flushbufs", str(device)], check=True)
        before = digest(image)
        for consent in ({}, {"erase": str(device)}):
            with pytest.raises(UnsafeTargetError, match="is not written to: it"):
                written(device, tmp_path / "s", **consent)
    assert digest(image) == before
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", LABELS)
def test_a_label_written_by_hand_is_refused(image: Path, tmp_path: Path, name: str) -> None:
    LABELS[name](image)
    before = digest(image)
    with loop(image) as device, pytest.raises(UnsafeTargetError, match="is not written to: it"):
        written(device, tmp_path / "s")
    assert digest(image) == before


def test_a_blank_device_is_measured_where_it_is_named_and_held_meanwhile(image: Path, tmp_path: Path) -> None:
    with loop(image) as device:
        with pytest.raises(UnsafeTargetError, match="is a block device, and writing destroys what it holds"):
            plan_fio(device, (1,), read_percent=0, size_bytes=4 * MIB)
        assert len(written(device, tmp_path / "s").points) == 1
        with pytest.raises(UnsafeTargetError, match=r"its byte [\d,]+ is not zero"):  # what the sweep wrote
            written(device, tmp_path / "t")
        assert len(written(device, tmp_path / "t", erase=str(device)).points) == 1


def test_a_device_in_use_is_refused(image: Path, tmp_path: Path, require_tool: Callable[..., str]) -> None:
    require_tool("mkfs.ext4")
    with loop(image) as device:
        subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
        (tmp_path / "at").mkdir()
        mounted = subprocess.run(["mount", str(device), str(tmp_path / "at")], capture_output=True, check=False)
        if mounted.returncode:
            pytest.skip("this container mounts nothing: run the tests outside of it")
        try:
            with pytest.raises(UnsafeTargetError, match="is mounted on"):
                written(device, tmp_path / "s", erase=str(device))
        finally:
            subprocess.run(["umount", str(tmp_path / "at")], check=True)
        with device.open("rb") as file:
            held = os.open(device, os.O_RDONLY | os.O_EXCL)
            try:
                with pytest.raises(UnsafeTargetError, match="cannot be opened exclusively"):
                    written(device, tmp_path / "s", erase=str(device))
            finally:
                os.close(held)
            assert file.read(1)


def zeroed(device: Path, start: int) -> None:
    """Overwrite a MiB of the device with zeros."""
    with device.open("r+b") as file:
        file.seek(start)
        file.write(bytes(MIB))
        file.flush()
        os.fsync(file.fileno())


FILE_SYSTEMS = ("ext4", "xfs", "btrfs")


@pytest.mark.parametrize("engine", ["auto", "probe"])
@pytest.mark.parametrize("name", FILE_SYSTEMS)
def test_a_file_system_made_between_plan_and_run_stays_as_it_is(
    image: Path, tmp_path: Path, name: str, engine: str, require_tool: Callable[..., str]
) -> None:
    require_tool(MAKERS[name][0])
    with loop(image) as device:
        plan = planned(device, engine=engine)
        subprocess.run([*MAKERS[name], str(device)], check=True, capture_output=True)
        subprocess.run(["blockdev", "--flushbufs", str(device)], check=True)
        before = digest(image)
        with pytest.raises(UnsafeTargetError, match=f"{name} was written to it since the plan was made"):
            run_fio(plan, tmp_path / "s")
    assert digest(image) == before
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", FILE_SYSTEMS)
def test_a_file_system_whose_ends_were_zeroed_is_not_taken_for_blank(
    image: Path, tmp_path: Path, name: str, require_tool: Callable[..., str]
) -> None:
    require_tool(MAKERS[name][0])
    with loop(image) as device:
        subprocess.run([*MAKERS[name], str(device)], check=True, capture_output=True)
        for start in (0, SIZE - MIB):
            zeroed(device, start)
        with pytest.raises(UnsafeTargetError, match=r"its byte [\d,]+ is not zero, so it may hold something"):
            written(device, tmp_path / "s")


@pytest.mark.parametrize("start_mib", [2, 4, 160, 300])
def test_raw_data_inside_a_device_need_the_second_consent(image: Path, tmp_path: Path, start_mib: int) -> None:
    with image.open("r+b") as file:
        file.seek(start_mib * MIB)
        file.write(os.urandom(2 * MIB))
    before = digest(image)
    with loop(image) as device:
        with pytest.raises(UnsafeTargetError, match=r"its byte [\d,]+ is not zero, so it may hold something"):
            written(device, tmp_path / "s")
        assert digest(image) == before
        assert len(written(device, tmp_path / "s", erase=str(device)).points) == 1


def test_another_device_under_the_planned_name_is_refused(image: Path, tmp_path: Path) -> None:
    with loop(image) as device:
        plan = planned(device)
    subprocess.run(["losetup", str(device), str(image)], check=True)
    try:
        with pytest.raises(UnsafeTargetError, match="another device has taken its name since the plan was made"):
            run_fio(plan, tmp_path / "s")
    finally:
        subprocess.run(["losetup", "--detach", str(device)], check=True)


TAKERS = {
    **{name: MAKERS[name] for name in (*FILE_SYSTEMS, "vfat", "swap", "LVM2_member")},
    "wipefs": ["wipefs", "--all"],
    "mount": ["mount", "--target", "/mnt", "--source"],
}


@pytest.mark.parametrize("name", TAKERS)
def test_nothing_that_asks_takes_a_device_while_it_is_held(
    image: Path, name: str, require_tool: Callable[..., str]
) -> None:
    require_tool(TAKERS[name][0])
    with loop(image) as device, held(planned(device).file, keep=False):  # type: ignore[arg-type]
        taken = subprocess.run([*TAKERS[name], str(device)], capture_output=True, check=False)
        assert taken.returncode != 0
    content = image.read_bytes()
    assert content.count(0) == len(content)


EXCHANGE = """
import sys, os, subprocess
from pathlib import Path
from measure.fio import fio_sweep as sweep
from measure.machine import process
disk, out = Path(sys.argv[1]), Path(sys.argv[2])
start = subprocess.Popen.__init__
def exchanged(self, argv, *rest, **more):  # between the last look at the file and fio's opening of it
    if any(w.startswith("--rw=rand") for w in argv) and (disk / "mine").exists():
        (disk / "mine").rename(disk / "qsim-test-file")
    start(self, argv, *rest, **more)
subprocess.Popen.__init__ = exchanged
sweep.run_fio(sweep.plan_fio(disk, (1, 2), read_percent=0, size_bytes=4 * 2**20, runtime_s=0.2, ramp_s=0.0), out)
"""


def test_a_file_that_takes_the_test_files_place_midway_is_not_written(
    disk: Path, tmp_path: Path, repository: Path
) -> None:
    mine = os.urandom(4 * MIB + 4096)
    (disk / "mine").write_bytes(mine)
    done = subprocess.run(
        [sys.executable, "-c", EXCHANGE, str(disk), str(tmp_path / "s")],
        cwd=repository, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "was changed by somebody else while it was measured" in done.stderr
    assert done.returncode != 0
    assert (disk / "qsim-test-file").read_bytes() == mine


def test_a_drive_that_goes_away_midway_ends_with_a_failure(image: Path, tmp_path: Path) -> None:
    """The image behind the loop device is cut off while it is measured: reads behind its end fail."""
    with loop(image) as device:
        program = subprocess.Popen(
            [*QSIM, "measure", "fio", str(device), "--allow", "read", "--size", "64MiB", "--depths", "1,2,4,8",
             "--runtime", "1s", "--out", str(tmp_path / "s")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not list(tmp_path.glob("s/points/*.json")) and program.poll() is None:
            pass
        os.truncate(image, 0)
        _, complaints = program.communicate()
    assert program.returncode == 1
    assert "failed" in complaints
