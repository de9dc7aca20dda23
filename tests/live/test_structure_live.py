"""The servers of known devices, found from short sweeps by fio: right, or within the interval."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from calibrate import fit
from measure import load

pytestmark = [pytest.mark.live, pytest.mark.slow]


@pytest.mark.parametrize(("law", "servers"), [("exponential", 4), ("deterministic", 8)])
def test_the_servers_of_a_known_device_are_found(
    law: str, servers: int, at_once: list[str], fio_and_nbdkit: None, tmp_path: Path
) -> None:
    sweep = tmp_path / "sweep"
    command = [
        sys.executable,
        "-c",
        "from calibrate.cli.entry import main; main()",
        "measure",
        "device",
        "--servers",
        f"{servers}",
    ]
    settings = ["--service", f"{law}:3ms", "--depths", "1,2,3,4,6,8,16,32", "--runtime", "1s", "--out", f"{sweep}"]
    subprocess.run([*at_once, *command, *settings], check=True, capture_output=True)
    drive = fit(load(sweep))
    found = drive.parameters["c"]
    assert found.low <= servers <= found.high, found
    assert found.estimate in (None, servers), found  # None on a busy machine: undecided between 3 and 4, say
    if law == "exponential" and found.identified:
        device = drive.queue(8, structure=True).stations["device"]
        assert device.servers == servers
        assert device.time.mean == pytest.approx(3e-3, rel=0.05)
