"""Named parts of devices are the networks that they say."""

from __future__ import annotations

import pytest

from qsim import Exponential, ForkJoin, MG1Setup, UnequalServers, WriteCache, simulate, solve

ONE = Exponential(1.0)


def test_without_think_time_there_is_no_host() -> None:
    assert list(WriteCache(4, 0.0, ONE, ONE, 8).stations) == ["cache", "disk"]
    assert list(WriteCache(4, 1.0, ONE, ONE, 8).stations) == ["host", "cache", "disk"]
    assert list(UnequalServers(4, 0.0, ONE, (1, 2)).stations) == ["dies"]


def test_a_full_cache_is_as_fast_as_its_disk() -> None:
    run = simulate(WriteCache(8, 0.0, Exponential(0.05), ONE, places=50), customers=60_000, seed=1)
    assert run.throughput == pytest.approx(1.0, rel=0.03)
    assert run["disk"].L == pytest.approx(50, rel=0.01)


def test_a_stripe_of_one_is_a_queue_and_a_setup_after_long_is_none() -> None:
    assert solve(ForkJoin(0.5, ONE, 1)).W == pytest.approx(2.0)
    assert solve(MG1Setup(0.5, ONE, ONE, off_after=1e6)).W == pytest.approx(2.0)
