"""Real fio over more than depths: arrivals at a rate, synchronous engines, odd depths."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from outstanding import as_asked

from measure import audit, load
from measure.fio import plan
from measure.fio.fio_command import FioJob
from measure.fio.fio_sweep import FioPlan, plan_fio, run_fio
from measure.fio.plan import choose_engine
from measure.machine.process import run_tool

pytestmark = pytest.mark.live
MIB = 2**20


@pytest.fixture(autouse=True)
def real_fio(require_tool: Callable[..., str]) -> str:
    return require_tool("fio")


def small(target: Path, depths: tuple[int, ...] = (2,), **more: object) -> FioPlan:
    settings = {"size_bytes": 16 * MIB, "runtime_s": 0.5, "ramp_s": 0.1, **more}
    return plan_fio(target, depths, **settings)  # type: ignore[arg-type]


def test_arrivals_come_at_the_rate_whatever_the_drive_does(disk: Path, tmp_path: Path) -> None:
    plan = small(disk, arrival_rates=(200, 800), read_percent=50, runtime_s=2.0, ramp_s=0.3)
    sweep = run_fio(plan, tmp_path / "s")
    assert (sweep.load_type.kind, plan.engine) == ("arrival_rate", "psync")
    assert sweep.provenance.details["submission"].startswith("open: Poisson arrivals, shared among psync jobs")
    points = sweep.points
    assert list(points["asked_rate_per_s"]) == [200, 800]
    assert list(points["load"]) == list(points["throughput_per_s"])
    # A count of 400 and one of 1600 arrivals, within four standard errors; a little for the windows' ends.
    assert abs(points["load"].iloc[0] / 200 - 1) < 4 / math.sqrt(400) + 0.02
    assert abs(points["load"].iloc[1] / 800 - 1) < 4 / math.sqrt(1600) + 0.02
    assert points["read_fraction"].between(0.4, 0.6).all()
    assert points["write_latency_s"].notna().all()
    assert (points["throughput_per_s"] * points["latency_s"] < 32).all()
    assert not [f for f in audit(load(tmp_path / "s")) if f.check == "littles-law"]


def test_the_jobs_of_an_open_loop_are_a_poisson_process(disk: Path, tmp_path: Path) -> None:
    """32 jobs at 10/s for 4 s without a ramp, so that all logs count from one moment: gaps and counts.

    Of n exponential gaps the squared coefficient of variation scatters by sqrt(8/n), a count's dispersion by
    sqrt(2/bins): five standard errors. A machine that stalls bunches the arrivals, so one run of three must do.
    """
    (point,) = small(disk, arrival_rates=(320,), runtime_s=4.0, ramp_s=0.1).points
    (disk / "qsim-test-file").write_bytes(bytes(16 * MIB))
    argv = [a for a in point.argv if not a.startswith(("--ramp_time", "--startdelay"))]
    first = next(i for i, word in enumerate(argv) if word.startswith("--name=")) + 1  # for all jobs
    argv[first:first] = ["--write_lat_log=gaps", "--disable_clat=1", "--disable_slat=1"]
    seen = []
    for attempt in range(3):
        folder = tmp_path / f"run-{attempt}"
        folder.mkdir()
        assert run_tool(argv, 30.0, folder).returncode == 0
        logs = [np.loadtxt(path, delimiter=",", usecols=(0, 1)) for path in folder.glob("*_lat.*.log")]  # ms, ns
        assert len(logs) == 32
        starts = np.sort(np.concatenate([log[:, 0] / 1e3 - log[:, 1] / 1e9 for log in logs]))
        starts = starts[starts > 0.5]  # all jobs begin with a request at once
        gaps = np.diff(starts)
        counts = np.histogram(starts, np.arange(0.5, 4.0, 0.05))[0]
        seen.append((gaps.var() / gaps.mean() ** 2, counts.var() / counts.mean()))
        errors = 5 * math.sqrt(8 / len(gaps)), 5 * math.sqrt(2 / len(counts))
        if all(abs(value - 1) < error for value, error in zip(seen[-1], errors, strict=True)):
            return
    pytest.fail(f"no Poisson process: (scv of gaps, dispersion of counts) = {seen}")


@pytest.mark.parametrize("engine", ["io_uring", "libaio", "posixaio", "psync"])
def test_every_engine_keeps_what_was_asked_outstanding(
    disk: Path, tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "USUAL", (engine,))
    try:
        choose_engine("auto", [FioJob(1, 1, 4096, 100, "random")])
    except ValueError as error:
        pytest.skip(str(error))
    sweep = run_fio(small(disk, (1, 3, 6), runtime_s=0.7), tmp_path / "s")
    assert list(sweep.points["load"]) == [1, 3, 6]
    assert as_asked(sweep)
