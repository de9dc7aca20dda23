"""Open sweeps of a device whose truth is known: the queue inside is exact, and fio sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
    assert mm1.load_type.kind == "arrival_rate"
    assert points["asked_rate_per_s"].tolist() == [150.0, 250.0, 350.0]
    counting = 5 / np.sqrt(
        points["asked_rate_per_s"] * 3
    )  # five standard errors of a Poisson count, and a busy machine
    assert (np.abs(points["load"] / points["asked_rate_per_s"] - 1) < counting + 0.05).all()  # and a busy machine


def test_fio_sees_the_response_times_of_the_queue(mm1: Sweep) -> None:
    # Against M/M/1 by the error of a short run on a busy machine, so widely that only a wrong queue is caught.
    theory = np.array([solve(MM1(rate, 1 / S)).W for rate in mm1.points["load"]])
    assert (mm1.points["latency_s"] / theory).between(0.4, 3.0).all()


def test_the_way_is_short(fio_and_nbdkit: None) -> None:
    assert 0 <= measured_way() < 5e-3
