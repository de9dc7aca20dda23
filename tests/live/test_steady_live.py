"""Runs that drift and runs that are steady, with real fio: on a device of nbdkit whose speed is set meanwhile.

nbdkit's rate filter gives out bandwidth from a bucket, and looks at the file with the rate while it serves. So the
throughput is the filter's, whatever else this machine does, and a drift comes when the test says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from measure.auditing.all_checks import audit
from measure.fio.fio_sweep import plan_fio, run_fio
from measure.formats.fio.steady_state import Intervals
from measure.machine.process import running
from measure.machine.safety import check_target
from measure.store.directory import SweepStore

BLOCK = 4096
FAST, SLOW = 2000, 500  # requests a second


class Paced:
    """A device that serves as many requests a second as ``pace`` was last told."""

    def __init__(self, folder: Path) -> None:
        self._rate = folder / "rate"
        self.uri = f"nbd+unix:///?socket={folder / 'socket'}"
        self.pace(FAST)

    @property
    def rate_file(self) -> Path:
        return self._rate

    def pace(self, per_s: int) -> None:
        temporary = self._rate.with_suffix(".new")
        temporary.write_text(f"{per_s * BLOCK * 8}\n")
        temporary.rename(self._rate)


@pytest.fixture
def paced(fio_and_nbdkit: None) -> Iterator[Paced]:
    with TemporaryDirectory(prefix="qsim-nbd-") as name:
        folder = Path(name)
        device = Paced(folder)
        argv = ["nbdkit", "--foreground", "--exit-with-parent", "--unix", str(folder / "socket")]
        argv += ["--filter=rate", "memory", "64M", f"rate-file={device.rate_file}", "burstiness=0.05"]
        with running(argv):
            deadline = time.monotonic() + 30
            while not (folder / "socket").exists():
                assert time.monotonic() < deadline, "nbdkit did not come up"
                time.sleep(0.02)
            yield device


def test_a_steady_run_is_called_steady_and_one_that_drifts_is_found(paced: Paced, tmp_path: Path) -> None:
    """Depth 1 at 2,000 requests/s; while depth 4 is measured it falls to 500, in the middle even if fio starts late."""
    out = tmp_path / "sweep"
    sweep = run_fio(plan_fio(paced.uri, (1, 4), runtime_s=3.0, ramp_s=0.3), out, slowing_down(paced))
    points = sweep.points.set_index("load")
    assert 0.6 * FAST < points.loc[1.0, "throughput_per_s"] < 1.1 * FAST
    assert points.loc[4.0, "steady"] == 0
    assert points.loc[4.0, "throughput_change"] < -0.3
    assert 4.0 in [f.load for f in audit(sweep) if f.check == "drift-within-run"]
    for record in SweepStore.read(out).contents().points:
        logged = Intervals.from_dict(record.record["intervals"])
        assert 60 <= len(logged) <= 200  # of 15 ms each; fewer where its thread is late
        mean = sum(logged.throughput_per_s) / len(logged)
        reported = points.loc[record.asked("load"), "throughput_per_s"]
        assert mean == pytest.approx(reported, rel=0.15)  # the log leaves out the last, unfinished interval


def slowing_down(paced: Paced) -> Callable[[int, int, float, str], None]:
    """A progress callback that slows the device down when depth 4 has been measured for two seconds."""
    began: dict[str, float] = {}

    def watch(_done: int, _total: int, _left: float, text: str) -> None:
        since = time.monotonic() - began.setdefault(text, time.monotonic())
        if text == "depth 4" and since > 2.2:
            paced.pace(SLOW)

    return watch


def test_a_file_is_prepared_for_random_writes_once(disk: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    target, size = disk / "file", 2**24
    plan = plan_fio(target, (1,), size_bytes=size, read_percent=0, runtime_s=0.3, ramp_s=0.0, keep=True)
    run_fio(plan, disk / "sweep")
    assert [p.text for p in plan.passes] == ["writing the test file", "writing it at random"]
    kept = check_target(target, size, writes=True)
    assert kept.filled
    assert kept.scattered
    again = plan_fio(target, (2,), size_bytes=size, read_percent=0, runtime_s=0.3, ramp_s=0.0)
    assert again.passes == ()
    assert len(run_fio(again, disk / "sweep")) == 2
    assert not target.exists()
