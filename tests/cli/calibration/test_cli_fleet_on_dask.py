"""``qsim fleet --scheduler``: the table of one process to the last digit, by two processes of a real Dask cluster."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calibrate.fleet.drives import Fleet, fit_fleet
from calibrate.fleet.workers import dask_workers
from measure.errors import ToolFailedError

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'qsim-queue[dask]'")
RACK = Path(__file__).resolve().parents[2] / "data" / "fleet10"


def cluster_of(**options: Any) -> Any:
    """A cluster of this machine; begun again where Dask's own ten seconds were too few for its thread to start.

    Clients that earlier tests left are ended first: while a cluster starts, Dask would wait for itself for ever.
    """
    gc.collect()
    try:
        return distributed.LocalCluster(**options)
    except AssertionError:
        return distributed.LocalCluster(**options)


@pytest.fixture(scope="module")
def alone() -> Fleet:
    """The rack, fitted by this process."""
    return fit_fleet([RACK])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes of Dask, each watched by a nanny that starts it anew."""
    with cluster_of(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=":0"
    ) as cluster:
        yield cluster


def assert_same(found: Fleet, wanted: Fleet) -> None:
    pd.testing.assert_frame_equal(found.drives, wanted.drives, check_exact=True)
    pd.testing.assert_frame_equal(found.curves, wanted.curves, check_exact=True)
    assert (found.powers, found.broken, found.left_out) == (wanted.powers, wanted.broken, wanted.left_out)


@pytest.mark.slow
def test_dask_gives_the_same_table(cluster: Any, alone: Fleet) -> None:
    shares: list[float] = []
    with dask_workers(cluster.scheduler_address) as executor:
        assert_same(fit_fleet([RACK], executor, progress=shares.append), alone)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len(shares) > 2


class Killing(Executor):
    """The workers of ``executor``, of which the first one to get work is killed with that work in its hands."""

    def __init__(self, executor: Executor, killed: Path) -> None:
        self.executor, self.killed = executor, killed

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.executor.submit(_die_once, self.killed, fn, *args, **kwargs)


def _die_once(killed: Path, fn: Callable[..., Any], *args: Any) -> Any:
    with suppress(FileExistsError):
        killed.open("x").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return fn(*args)


@pytest.mark.slow
def test_drives_of_a_dask_worker_that_dies_are_fitted_by_others(cluster: Any, alone: Fleet, tmp_path: Path) -> None:
    with dask_workers(cluster.scheduler_address) as executor:
        found = fit_fleet([RACK], Killing(executor, tmp_path / "killed"))
    assert (tmp_path / "killed").exists()
    assert_same(found, alone)
    assert found.redone == []  # Dask itself gives them to others


@pytest.mark.slow
def test_the_command_fits_on_a_scheduler(
    cluster: Any, qsim: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(RACK, tmp_path / "rack")
    monkeypatch.chdir(tmp_path)  # where the workers are not
    here = qsim("fleet", "rack", "--json")
    there = qsim("fleet", "rack", "--json", "--scheduler", cluster.scheduler_address)
    assert (here.code, there.code) == (0, 0)
    assert there.out == here.out


def test_a_scheduler_that_does_not_answer_is_one_line(
    qsim: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrate.fleet.workers.CONNECT_S", 0.5)
    for address, words in (("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1"), ("x y", "answers")):
        run = qsim("fleet", str(tmp_path), "--scheduler", address)
        assert run.code == 1
        assert words in run.error
        assert "\n" not in run.error


def test_a_scheduler_without_workers_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrate.fleet.workers.JOIN_S", 0.1)
    with (
        cluster_of(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(ToolFailedError, match="has no workers"),
        dask_workers(empty.scheduler_address),
    ):
        pass


def test_drives_are_fitted_here_where_no_worker_is_left(alone: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[object] = []
    monkeypatch.setattr("calibrate.fleet.workers.WATCH_S", 0.1)
    with (
        cluster_of(n_workers=1, processes=False, dashboard_address=":0") as small,
        dask_workers(small.scheduler_address) as executor,
    ):
        monkeypatch.setattr("calibrate.fleet.workers.JOIN_S", 1.0)
        found = fit_fleet([RACK], executor, progress=lambda _: left or left.append(small.scale(0)))
    assert left
    assert_same(found, alone)


def test_a_scheduler_has_workers_of_its_own(qsim: Callable[..., Any]) -> None:
    run = qsim("fleet", ".", "--scheduler", "tcp://127.0.0.1:1", "--workers", "2")
    assert run.code == 2
    assert "--scheduler and --workers exclude each other" in run.error
