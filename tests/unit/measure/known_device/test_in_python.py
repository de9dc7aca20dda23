"""The device of known truth that threads of Python play: it never serves faster than it can, and its sweep is kept."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pytest

from measure import load
from measure.known_device.in_python import PythonDevice, closed_loop, lateness_s
from measure.known_device.plugin import Server
from measure.known_device.server import truth_of
from measure.known_device.truth import Truth
from qsim import Exponential

SERVICE_S, SERVERS, SECONDS = 5e-3, 2, 0.5


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_servers_limit_the_rate_and_no_request_is_answered_before_it_was_served(threads: int) -> None:
    rows = closed_loop(Server(array("d", [SERVICE_S]), SERVERS), threads, SECONDS)
    busy = min(threads, SERVERS)
    assert 1 <= len(rows) <= busy * SECONDS / SERVICE_S + threads
    assert rows[:, 1].min() >= SERVICE_S
    assert np.all(rows[:, 0] >= SERVICE_S)


def test_a_sweep_is_kept_with_its_truth_and_goes_on_where_it_was(tmp_path: Path) -> None:
    truth = truth_of(Exponential(SERVICE_S), SERVERS, seed=3)
    device = PythonDevice(truth, runtime_s=1.0, ramp_s=0.1)
    first = device.run([1, 4], tmp_path / "sweep")
    told: list[str] = []
    device.run([1, 4, 8], tmp_path / "sweep", lambda *what: told.append(what[3]))
    assert told == ["depth 8", "done"]
    sweep = load(tmp_path / "sweep")
    assert sweep.points["load"].tolist() == [1, 4, 8]
    assert sweep.points["throughput_per_s"].tolist()[:2] == first.points["throughput_per_s"].tolist()
    kept = Truth.from_dict(sweep.provenance.details["truth"])
    assert (kept.service, kept.servers, kept.seed, kept.player) == (truth.service, SERVERS, 3, "threads of Python")
    assert (sweep.points["latency_s"] > 0).all()


def test_lateness_is_not_negative() -> None:
    assert 0 <= lateness_s() < 1
