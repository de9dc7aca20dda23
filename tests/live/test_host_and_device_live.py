"""Host and device told apart on a device whose truth is known, behind the kernel's own block layer, by real fio.

The device is FUSE and a loop device (``known_block_device.py``), which take root; the host is made slow by a library
that lets fio's thread work for a known time before each request (``slow_host.c``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calibrate.models.host_and_device import HostAndDevice, host_and_device
from measure import load

pytestmark = pytest.mark.live
HERE = Path(__file__).parent
SLOW_HOST_S = 1e-3


@contextmanager
def known_device(workers: int, service_s: float) -> Iterator[str]:
    """Its block device; skips where this process may not make one."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("a block device of known service times takes root, FUSE and a loop device: sudo make test-all")
    served = subprocess.Popen(
        [sys.executable, HERE / "known_block_device.py", str(workers), str(service_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert served.stdout is not None
    assert served.stdin is not None
    assert served.stderr is not None
    try:
        device = served.stdout.readline().strip()
        if not device:
            pytest.skip(f"this kernel makes no such block device: {served.stderr.read().splitlines()[-1]}")
        yield device
    finally:
        served.stdin.close()
        served.wait(20)


MEASURE = """
import sys
from pathlib import Path
from measure.fio.sweep import plan_fio, run_fio
device, depths, jobs, out = sys.argv[1:]
settings = {"runtime_s": 2.0, "ramp_s": 0.5, "engine": "libaio", "consent": "read"}
plan = plan_fio(device, [int(n) for n in depths.split(",")], jobs=int(jobs), **settings)
run_fio(plan, Path(out))
"""


def measured(device: str, depths: str, out: Path, jobs: int = 1, **environment: str) -> HostAndDevice:
    subprocess.run(
        [sys.executable, "-c", MEASURE, device, depths, str(jobs), str(out)],
        check=True,
        capture_output=True,
        env={**os.environ, **environment},
    )
    sweep = load(out)
    return host_and_device(sweep, sweep.series[0])


def test_the_device_s_own_workers_and_time_are_found(require_tool: Callable[..., str], tmp_path: Path) -> None:
    require_tool("fio")
    with known_device(4, 2e-3) as device:
        found = measured(device, "1,2,4,8,32", tmp_path / "sweep")
    assert found.bottleneck == "device"
    assert found.likely_servers[0] <= 4 <= found.likely_servers[1]
    assert 0.98 * 2e-3 < found.service_s < 1.4 * 2e-3  # with what FUSE, the loop device and others' work take
    assert (found.host_s < 0.1 * found.device_s).all()


def test_a_slow_host_is_told_and_what_a_second_thread_gives(require_tool: Callable[..., str], tmp_path: Path) -> None:
    """8 workers of 6.2 ms serve 1,290 a second, one thread of 1 ms hands over 1,000: the knee is the host's."""
    require_tool("fio")
    library = tmp_path / "slow_host.so"
    compiler = require_tool("gcc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, HERE / "slow_host.c", "-ldl"], check=True)
    slow = {"LD_PRELOAD": str(library), "HOST_NS": f"{SLOW_HOST_S * 1e9:.0f}"}
    with known_device(8, 6.2e-3) as device:
        one = measured(device, "1,4,8,32", tmp_path / "one", **slow)
        two = measured(device, "2,8,16", tmp_path / "two", jobs=2, **slow)
    assert (one.bottleneck, one.filled) == ("host", False)
    assert one.host_peak_per_s == pytest.approx(1 / SLOW_HOST_S, rel=0.1)
    assert "A second thread would give at most" in one.sentence()
    assert 1.1 * one.throughput_per_s[-1] < two.throughput_per_s[-1] < 2 * one.host_peak_per_s
    assert two.bottleneck == "device"
    assert two.likely_servers[0] - 1 <= 8 <= two.likely_servers[1] + 1
