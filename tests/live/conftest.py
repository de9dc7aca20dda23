"""What the live tests share: a folder on a drive, and the sweep of a device whose truth is known, measured once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from disks import folder_on_a_drive

from measure.errors import ToolMissingError
from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import truth_of
from measure.machine.process import find_tool
from measure.sweep import Sweep

KNOWN_DEPTHS = (1, 2, 3, 4, 6, 8, 16, 32)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as one that measures."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a drive that takes direct I/O."""
    with folder_on_a_drive(tmp_path / "disk") as folder:
        yield folder


@pytest.fixture(scope="session")
def at_once() -> list[str]:
    """The command before a command that a busy machine wakes at once, where that is allowed; else it may be late."""
    first = ["chrt", "-r", "20"]
    allowed = shutil.which("chrt") and not subprocess.run([*first, "true"], check=False, capture_output=True).returncode
    return first if allowed else []


@pytest.fixture(scope="session")
def fio_and_nbdkit() -> None:
    """Skips (fails under QSIM_REQUIRE_TOOLS) where fio or nbdkit is missing."""
    for name in ("fio", "nbdkit"):
        try:
            find_tool(name)
        except ToolMissingError as error:
            if os.environ.get("QSIM_REQUIRE_TOOLS"):
                raise
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def known_device_sweep(fio_and_nbdkit: None, tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """4 servers of 2 ms, deterministic, one queue, over KNOWN_DEPTHS, two repeats; about 25 seconds.

    The device loses no service time to other work on the machine, but fio sees answers late, for seconds at a time.
    Where it did, more repeats are measured into the same sweep (the best of them counts), so that a busy machine costs
    time and not a false alarm.
    """
    directory = tmp_path_factory.mktemp("known-device") / "sweep"
    wanted = DeviceSweep(truth_of(2e-3, 4), KNOWN_DEPTHS, runtime_s=0.9, ramp_s=0.2, repeats=2)
    sweep = wanted.run(directory)
    for repeats in (4, 6):
        best = sweep.points.groupby("load")["throughput_per_s"].max()
        if (best / (best.index.to_series().clip(upper=4) / 2e-3) > 0.92).all():
            break
        sweep = replace(wanted, repeats=repeats).run(directory)
    return sweep
