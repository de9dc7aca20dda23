"""Open sweeps of a device whose truth is known: the queue inside is exact, and fio sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measure.known_device.device_sweep import DeviceSweep, measured_way
from measure.known_device.server import truth_of
from measure.sweep import Sweep
from qsim import MM1, Exponential, solve

pytestmark = pytest.mark.live

S = 2e-3


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("open") / "sweep"


@pytest.fixture(scope="module")
def mm1(fio_and_nbdkit: None, directory: Path) -> Sweep:
    """One exponential server under Poisson arrivals at rho .3, .5, .7; about 15 seconds.

    As for the closed device, more repeats are measured where fio saw answers late.
    """
    wanted = DeviceSweep(truth_of(Exponential(S)), arrival_rates=(150.0, 250.0, 350.0), runtime_s=3.0, ramp_s=0.5)
    sweep = wanted.run(directory)
    for repeats in (2, 4):
        if (seen_over_theory(sweep).groupby(asked(sweep)).min() < 2).all():
            break
        sweep = replace(wanted, repeats=repeats).run(directory)
    return sweep


def asked(sweep: Sweep) -> pd.Series:
    return sweep.points["asked_rate_per_s"]


def seen_over_theory(sweep: Sweep) -> pd.Series:
    """The response time of every point, in those of M/M/1 at its rate."""
    return sweep.points["latency_s"] / [solve(MM1(rate, 1 / S)).W for rate in sweep.points["load"]]


def test_the_rates_come_as_asked(mm1: Sweep) -> None:
    points = mm1.points
    assert mm1.load_type.kind == "arrival_rate"
    assert sorted(set(asked(mm1))) == [150.0, 250.0, 350.0]
    counting = 5 / np.sqrt(
        points["asked_rate_per_s"] * 3
    )  # five standard errors of a Poisson count, and a busy machine
    assert (np.abs(points["load"] / points["asked_rate_per_s"] - 1) < counting + 0.05).all()  # and a busy machine


def test_fio_sees_the_response_times_of_the_queue(mm1: Sweep) -> None:
    # Against M/M/1 by the error of a short run, so widely that only a wrong queue is caught. What a busy machine adds
    # to every answer is measured at the same time, and allowed four times: lateness varies.
    best, way = seen_over_theory(mm1).groupby(asked(mm1)).min(), measured_way() / S
    assert best.between(0.4, 3.0 + 4 * way).all()


def test_the_way_is_short(fio_and_nbdkit: None) -> None:
    assert 0 <= measured_way() < 5e-3
