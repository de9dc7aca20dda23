"""Open sweeps of a device whose truth is known: the queue inside is exact, and fio sees it."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from qsim_program import QSIM

from calibrate import compare
from measure.known_device.server import truth_of
from measure.known_device.sweep import DeviceSweep, measured_way
from measure.sweep import Sweep
from qsim import MM1, Exponential, solve

pytestmark = pytest.mark.live

S = 2e-3


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("open") / "sweep"


@pytest.fixture(scope="module")
def mm1(fio_and_nbdkit: None, directory: Path) -> Sweep:
    """One exponential server under Poisson arrivals at rho .3, .5, .7; about 15 seconds."""
    sweep = DeviceSweep(truth_of(Exponential(S)), arrival_rates=(150.0, 250.0, 350.0), runtime_s=3.0, ramp_s=0.5)
    return sweep.run(directory)


def test_the_rates_come_as_asked(mm1: Sweep) -> None:
    points = mm1.points
    assert mm1.load_kind == "arrival_rate"
    assert points["asked_rate_per_s"].tolist() == [150.0, 250.0, 350.0]
    counting = 5 / np.sqrt(
        points["asked_rate_per_s"] * 3
    )  # five standard errors of a Poisson count, and a busy machine
    assert (np.abs(points["load"] / points["asked_rate_per_s"] - 1) < counting + 0.05).all()  # and a busy machine


def test_fio_sees_the_response_times_of_the_queue(mm1: Sweep) -> None:
    # Against M/M/1 by the error of a short run on a busy machine, so widely that only a wrong queue is caught.
    theory = np.array([solve(MM1(rate, 1 / S)).W for rate in mm1.points["load"]])
    assert (mm1.points["latency_s"] / theory).between(0.4, 3.0).all()


def test_the_comparison_shows_estimate_against_truth(mm1: Sweep) -> None:
    comparison = compare(mm1, [150, 350])
    check = comparison.truth
    assert check is not None
    known = {a.name: a.truth for a in check.parameters}
    assert known["S"] == S
    assert known["Xmax"] == pytest.approx(1 / S)
    assert check.knee.truth == pytest.approx(0.5 / S)
    assert check.response_time_s == pytest.approx(1 / (1 / S - mm1.points["load"].to_numpy()))
    assert len(comparison.to_dict()["truth"]["points"]) == 3


def test_the_way_is_short(fio_and_nbdkit: None) -> None:
    assert 0 <= measured_way() < 5e-3


def test_an_interrupt_leaves_no_server_behind(fio_and_nbdkit: None, tmp_path: Path, repository: Path) -> None:
    out = tmp_path / "sweep"
    argv = [*QSIM, "measure", "device", "--service", "deterministic:2ms", "--depths", "1,2", "--runtime", "30s"]
    argv += ["--out", str(out)]
    with subprocess.Popen(argv, cwd=repository, stderr=subprocess.PIPE, text=True) as program:
        for _ in range(300):
            if (out / "sweep.json").exists():  # the way is measured, the device runs, fio is about to
                break
            time.sleep(0.1)
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=30)
        pid = program.pid
    assert program.returncode == 130
    assert "interrupted" in said
    assert not [p for p in Path("/proc").glob("[0-9]*/stat") if _parent(p) == pid]
    assert not [c for c in Path("/proc").glob("[0-9]*/cmdline") if str(out).encode() in _read(c)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parent(path: Path) -> int:
    fields = _read(path).rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0
