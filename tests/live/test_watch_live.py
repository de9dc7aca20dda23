"""``qsim watch`` beside a real fio: every request that fio counts is counted, and a killed watch keeps its seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from qsim_program import QSIM

pytestmark = pytest.mark.live
RUNTIME_S = 6


@pytest.fixture
def device(disk: Path) -> str:
    """The block device that holds the folder."""
    number = disk.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not folder.exists():
        pytest.skip(f"{disk} is on no block device of its own (an overlay or a volume of btrfs)")
    return folder.resolve().name


def fio(disk: Path, depth: int) -> dict:
    options = "--name=a --size=64M --rw=randread --bs=4k --direct=1 --ioengine=libaio --time_based --output-format=json"
    own = [f"--filename={disk / 'file'}", f"--iodepth={depth}", f"--runtime={RUNTIME_S}"]
    done = subprocess.run(["fio", *options.split(), *own], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    seen = max((disk["read_ios"] for disk in report.get("disk_util", [])), default=0)
    return {**report["jobs"][0]["read"], "read_by_all": seen}


@pytest.mark.parametrize("depth", [1, 8])
def test_throughput_and_littles_law_beside_fio(
    require_tool: Callable[..., str], disk: Path, device: str, tmp_path: Path, depth: int
) -> None:
    require_tool("fio")
    fio(disk, 1)  # writes the file
    watched = subprocess.Popen(
        [*QSIM, "watch", device, "--json", "--record", "w.csv"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert watched.stdout is not None
    watched.stdout.readline()
    said = fio(disk, depth)
    time.sleep(1.5)
    watched.send_signal(signal.SIGINT)
    rows = [json.loads(line) for line in watched.stdout]
    assert watched.wait() == 0
    completed = sum(row["reads_per_s"] * row["seconds"] for row in rows)
    in_device = sum(
        row["reads_per_s"] * row["seconds"] * row["read_response_time_s"] for row in rows if row["reads_per_s"]
    )
    assert completed >= 0.98 * said["total_ios"]
    if said["read_by_all"] <= 1.01 * said["total_ios"]:  # nobody else read this disk meanwhile, by fio's own look at it
        assert completed <= 1.02 * said["total_ios"]
        # What fio has outstanding and the block layer has not is the time in the host: never the other way round.
        assert 0 < in_device / (said["runtime"] / 1e3) <= depth * 1.05
    assert (tmp_path / "w.csv").read_text().count("\n") >= len(rows)
