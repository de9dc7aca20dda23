"""The device of known truth that threads of Python play: it never serves faster than it can, and its sweep is kept."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measure import load
from measure.errors import ToolMissingError
from measure.known_device import device_sweep as sweep
from measure.known_device.device_sweep import STRATA, DeviceSweep, closed_loop, lateness_s, stratified
from measure.known_device.plugin import Server
from measure.known_device.server import Truth, truth_of
from qsim import Exponential

SERVICE_S, SERVERS, SECONDS = 5e-3, 2, 0.5


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_servers_limit_the_rate_and_no_request_is_answered_before_it_was_served(threads: int) -> None:
    rows = closed_loop(Server(array("d", [SERVICE_S]), SERVERS), threads, SECONDS)
    busy = min(threads, SERVERS)
    assert 1 <= len(rows) <= busy * SECONDS / SERVICE_S + threads
    assert rows[:, 1].min() >= SERVICE_S
    assert np.all(rows[:, 0] >= SERVICE_S)


class LateMachine:
    """A clock of its own, whose sleeps end late by exponential times: 0.4 ms on average, seldom much more."""

    def __init__(self) -> None:
        self.now_s, self.rng = 0.0, np.random.default_rng(5)

    def perf_counter(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds + self.rng.exponential(0.4e-3)


@pytest.mark.parametrize(("share", "expected", "room"), [(0.1, SERVICE_S, 0.01), (0.0, SERVICE_S + 0.4e-3, 0.02)])
def test_late_wakings_do_not_lengthen_the_mean_since_later_answers_come_early(
    share: float, expected: float, room: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "time", LateMachine())
    rows = closed_loop(Server(array("d", [SERVICE_S]), SERVERS), 1, 10.0, share=share)
    assert rows[:, 1].mean() == pytest.approx(expected, rel=room)
    assert len(rows) == pytest.approx(10.0 / expected, rel=room)


def test_stratified_times_are_the_same_times_and_each_block_has_the_mean_of_the_law() -> None:
    times = Exponential(SERVICE_S).sample(np.random.default_rng(1), 2**14)
    shuffled = stratified(times, np.random.default_rng(2))
    assert np.array_equal(np.sort(shuffled), np.sort(times))
    blocks, independent = (t.reshape(-1, STRATA).mean(axis=1).std() for t in (shuffled, times))
    assert blocks < independent / 3
    follows = np.corrcoef(shuffled[:-1], shuffled[1:])[0, 1]
    assert abs(follows) < 0.1  # no pattern inside a block
    assert np.array_equal(stratified(times[:1], np.random.default_rng(3)), times[:1])


def test_a_sweep_is_kept_with_its_truth_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = truth_of(Exponential(SERVICE_S), SERVERS, seed=3)
    monkeypatch.setenv("PATH", str(tmp_path))  # no fio and no nbdkit
    device = DeviceSweep(truth, (1, 4), runtime_s=1.0, ramp_s=0.1)
    first = device.run(tmp_path / "sweep")
    told: list[str] = []
    replace(device, depths=(1, 4, 8)).run(tmp_path / "sweep", lambda *what: told.append(what[3]))
    assert told == ["depth 8", "done"]
    sweep = load(tmp_path / "sweep")
    assert sweep.points["load"].tolist() == [1, 4, 8]
    assert (sweep.points["depth"] * sweep.points["jobs"]).tolist() == [1, 4, 8]  # each by one job
    assert sweep.points["throughput_per_s"].tolist()[:2] == first.points["throughput_per_s"].tolist()
    kept = Truth.from_dict(sweep.provenance.details["truth"])
    assert (kept.service, kept.servers, kept.seed, kept.player) == (truth.service, SERVERS, 3, "threads of Python")
    assert (sweep.points["latency_s"] > 0).all()


def test_lateness_is_not_negative() -> None:
    assert 0 <= lateness_s() < 1


def test_arrivals_take_fio_and_nbdkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissingError, match="nbdkit is not installed"):
        DeviceSweep(truth_of(Exponential(2e-3)), arrival_rates=(50.0,)).run(tmp_path / "open")
    assert not (tmp_path / "open").exists()
