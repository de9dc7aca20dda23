"""kill -9 at random moments of every measurement but fio's own sweeps, which test_faults_live kills fifty times.

Whatever the moment: what is finished stays as it is, the same measurement goes on, and nothing that it started lives.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_runs import ended, finished_files, forked

from measure.known_device.device_sweep import DeviceSweep
from measure.known_device.server import truth_of
from measure.memory.placement import Placement
from measure.memory.probe import MemoryPlan, run_memory
from measure.memory.threads import compile_kernels
from measure.memory.traffic import parse_traffics
from measure.mlc import plan_mlc, run_mlc
from measure.store.directory import SweepStore

pytestmark = pytest.mark.live
KILLS = 3


def test_a_memory_sweep(tmp_path: Path) -> None:
    compile_kernels()  # once, before the forks
    plan = MemoryPlan(
        delays=(0, 100, 1000),
        traffics=parse_traffics("read"),
        sizes=(2**20,),
        placement=Placement(None, (None,)),
        loader_counts=(1,),
        repeats=1,
        seconds_per_repeat=0.02,
        seed=1,
    )
    survive_kills(lambda out: run_memory(plan, out), tmp_path, points=len(plan.points()))


def test_a_known_device(tmp_path: Path, fio_and_nbdkit: None) -> None:
    sweep = DeviceSweep(truth_of(1e-3), (1, 2, 4), runtime_s=0.2, ramp_s=0.0)
    survive_kills(sweep.run, tmp_path, points=3)


@pytest.mark.usefixtures("fake_mlc")
def test_mlc(tmp_path: Path) -> None:
    plan = plan_mlc(delays=(0, 100), mixes=("R", "W5"))
    survive_kills(lambda out: run_mlc(plan, out), tmp_path, points=len(plan.runs))


def survive_kills(run: Callable[[Path], object], folder: Path, points: int) -> Path:
    """Kill ``run`` KILLS times, going on with it each time, then let it end; the directory of the last sweep."""
    seed = time.time_ns() % 2**32
    print(f"seed {seed}")  # noqa: T201  (pytest shows it where the test fails)
    rng = random.Random(seed)
    started = time.monotonic()
    assert ended(forked(lambda: run(folder / "whole"))) == 0
    life_s = time.monotonic() - started
    killed = sweeps = 0
    out, kept = folder / "s0", dict[Path, bytes]()
    while killed < KILLS:
        pid = forked(lambda: run(out), quiet=True)  # noqa: B023  (run at once)
        time.sleep(rng.uniform(0, life_s))
        below = killed_with_a_look(pid)
        code = ended(pid)
        assert code in (0, -signal.SIGKILL), code
        killed += code != 0
        assert all_gone(below)
        now = finished_files(out)
        assert {path: now.get(path) for path in kept} == kept
        kept = now
        if code == 0:  # kills of a finished sweep teach little
            sweeps += 1
            out, kept = folder / f"s{sweeps}", {}
    assert ended(forked(lambda: run(out))) == 0
    now = finished_files(out)
    assert {path: now.get(path) for path in kept} == kept
    assert len(SweepStore.read(out).contents().finished) == points
    assert not list(out.rglob("*.tmp"))
    return out


def killed_with_a_look(pid: int) -> set[int]:
    """Kill the process; which ones it had started."""
    os.kill(pid, signal.SIGSTOP)  # so that it starts no more; not reaped yet, so the number is still its own
    below = descendants(pid)
    os.kill(pid, signal.SIGKILL)
    return below


def descendants(pid: int) -> set[int]:
    """The processes that ``pid`` has started, and those that they have."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found: set[int] = set()
    while new := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= new
    return found


def all_gone(pids: set[int], within_s: float = 20.0) -> bool:
    """Whether none of the processes lives, after some time at most."""
    deadline = time.monotonic() + within_s
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
