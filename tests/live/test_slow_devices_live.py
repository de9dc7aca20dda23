"""Slow devices of a known rate show that rate at every depth, after a ramp too, by ``knee`` and by ``measure fio``."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from qsim_program import QSIM

from measure import load
from measure.machine.process import running

pytestmark = pytest.mark.live

CONTROL_GROUPS, PRESSURE = Path("/sys/fs/cgroup"), Path("/proc/pressure/cpu")
BUSY = 0.05
"""A share of the time in which a program waits for a processor; at rest it is 0.01."""
IOPS = 200


@dataclass
class SlowDevice:
    """A target, the requests a second that it serves, the depth from which it does, and the words before a command.

    ``is_busy``: whether other programs wanted the processors while the last command ran.
    """

    target: str
    rate_per_s: float
    knee: float
    runtime: str
    before: Sequence[str] = ()
    is_busy: bool = False

    def qsim(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The ended command; the test fails where it failed."""
        began, waited = time.monotonic(), _waited_s()
        ended = subprocess.run([*self.before, *QSIM, *words], check=False, capture_output=True, text=True)
        self.is_busy = (_waited_s() - waited) / (time.monotonic() - began) > BUSY
        assert ended.returncode == 0, ended.stderr
        return ended

    def allowed(self, calm: float) -> float:
        """The error allowed: ``calm`` on a machine at rest, four times that on a busy one."""
        return 4 * calm if self.is_busy else calm


def _waited_s() -> float:
    """How long programs have waited for a processor since this machine started; by the load where it is not counted."""
    if not PRESSURE.exists():
        return time.monotonic() * (os.getloadavg()[0] > 0.3 * (os.cpu_count() or 1))
    return float(PRESSURE.read_text("ascii").split("total=")[1].split()[0]) * 1e-6


@pytest.fixture(params=["two servers of 12 ms", "ext4 held to 200 IOPS"])
def device(
    request: pytest.FixtureRequest, tmp_path: Path, require_tool: Callable[..., str], at_once: list[str]
) -> Iterator[SlowDevice]:
    """The device, for the length of a test."""
    require_tool("fio")
    if request.param.startswith("two"):
        require_tool("nbdkit")
        with _two_servers(tmp_path, at_once) as found:
            yield found
    else:
        require_tool("mkfs.ext4")
        with _held_to_200_iops(tmp_path, at_once) as found:
            yield found


@contextmanager
def _two_servers(folder: Path, at_once: Sequence[str]) -> Iterator[SlowDevice]:
    socket = folder / "s"
    serve = [
        *at_once,
        "nbdkit",
        "-f",
        "-U",
        str(socket),
        "-t",
        "2",
        "--filter=delay",
        "memory",
        "64M",
        "delay-read=12ms",
    ]
    with running(serve):
        deadline = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        uri = f"nbd+unix:///?socket={socket}"
        options = "--rw=randread --iodepth=8 --size=64M --time_based=1 --runtime=3 --output-format=json"
        alone = subprocess.run(
            [*at_once, "fio", "--name=a", "--ioengine=nbd", f"--uri={uri}", *options.split()],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        truth = json.loads(alone[alone.index("{") :])["jobs"][0]["read"]["iops"]  # without a ramp fio counts all
        assert 2 / 13.5e-3 < truth < 2 / 12e-3
        yield SlowDevice(uri, truth, 2.0, "1500ms", at_once)


@contextmanager
def _held_to_200_iops(folder: Path, at_once: Sequence[str]) -> Iterator[SlowDevice]:
    if os.geteuid():
        pytest.skip("root alone makes control groups and loop devices: sudo make test-all")
    image, mount = folder / "image", folder / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(512 * 2**20)
    made = subprocess.run(
        ["losetup", "-f", "--show", "--direct-io=on", image], check=False, capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no loop device is free: {made.stderr.strip()}")
    loop = made.stdout.strip()
    group = None
    try:
        subprocess.run(["mkfs.ext4", "-q", loop], check=True)
        subprocess.run(["mount", loop, mount], check=True)
        number = subprocess.run(["lsblk", "-ndo", "MAJ:MIN", loop], check=True, capture_output=True, text=True).stdout
        group = _group_of(number.strip())
        inside = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
        yield SlowDevice(str(mount), IOPS, 1.0, "3s", (*inside, *at_once))
    finally:
        subprocess.run(["umount", mount], check=False, capture_output=True)
        subprocess.run(["losetup", "-d", loop], check=False)
        if group is not None:
            group.rmdir()


def _group_of(device: str) -> Path:
    """A control group whose processes read at most ``IOPS`` a second from ``device``; skips where there is none."""
    first, second = CONTROL_GROUPS / "blkio", CONTROL_GROUPS
    name = f"qsim-test-{os.getpid()}"
    limits = {
        first: ("blkio.throttle.read_iops_device", f"{device} {IOPS}"),
        second: ("io.max", f"{device} riops={IOPS}"),
    }
    for root, (file, limit) in limits.items():
        group = root / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / file).write_text(limit)
        except OSError:
            group.rmdir()
            continue
        return group
    pytest.skip("no control group of this machine limits a device")


def test_measure_fio_shows_the_devices_rate_at_every_depth(device: SlowDevice, tmp_path: Path) -> None:
    size = () if "://" in device.target else ("--size", "64MiB")
    options = ("--depths", "1,4,16,64", "--runtime", device.runtime, "--out", str(tmp_path / "sweep"))
    device.qsim("measure", "fio", device.target, *size, *options)
    points = load(tmp_path / "sweep").points.set_index("load")
    saturated = points.loc[[4, 16, 64]]
    assert saturated["throughput_per_s"].mean() == pytest.approx(device.rate_per_s, rel=device.allowed(0.02))
    assert saturated["throughput_per_s"].to_numpy() == pytest.approx(device.rate_per_s, rel=device.allowed(0.035))
    deepest = points.loc[64]
    assert deepest["throughput_published_per_s"] < 0.99 * deepest["throughput_per_s"]
    assert (saturated["throughput_per_s"] * saturated["latency_s"] / saturated.index).to_numpy() == pytest.approx(
        1, abs=device.allowed(0.03)
    )


def test_knee_finds_the_devices_rate_and_where_queueing_starts(device: SlowDevice, tmp_path: Path) -> None:
    """In the default time: 14 bursts at each depth of the volume that is held to a rate."""
    size = () if "://" in device.target else ("--size", "64MiB")
    answer = device.qsim("knee", device.target, *size, "--out", str(tmp_path / "quick"), "--json")
    found = json.loads(answer.stdout)
    peak = found["parameters"]["Xmax"]
    assert peak["low"] < device.rate_per_s < peak["high"]
    assert peak["estimate"] == pytest.approx(device.rate_per_s, rel=device.allowed(0.02))
    assert found["knee"]["load"] == pytest.approx(device.knee, rel=device.allowed(0.1))
    rates = load(tmp_path / "quick").points.set_index("load")["throughput_per_s"]
    assert rates.loc[64] > (1 - device.allowed(0.035)) * rates.loc[4:].median()
