"""Workloads that two suites measured: which differences are findings, and how often chance is one."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from measure import Sweep
from measure.suites.agreement import between_suites, disagreements, relative_ends

DEPTHS = (1, 2, 4, 8, 16)


def sweep(rng: np.random.Generator, noise: float, repeats: int = 3, factor: float = 1.0, **more: object) -> Sweep:
    load = np.repeat(DEPTHS, repeats)
    rate = factor * 1e4 * load**0.8 * np.exp(noise * rng.normal(size=len(load)))
    numbers = {"load": load, "repeat": np.tile(range(repeats), len(DEPTHS)), "throughput_per_s": rate}
    fixed = {"series": "4 KiB random read", "block_bytes": 4096, "read_fraction": 1.0, "pattern": "random", **more}
    return Sweep(pd.DataFrame({**numbers, "latency_s": load / rate, **fixed}))


@pytest.mark.parametrize("repeats", [2, 3])
def test_chance_is_a_finding_in_one_of_twenty_pairs_of_suites_at_most(repeats):
    rng = np.random.default_rng(1)
    alarms = sum(
        bool(disagreements({"depth": sweep(rng, 0.08, repeats), "tails": sweep(rng, 0.08, repeats)}))
        for _ in range(200)
    )
    assert alarms <= 20  # 10 are expected; 20 has a chance below 1 %


def test_a_suite_off_by_a_third_is_found_and_the_largest_difference_comes_first():
    rng = np.random.default_rng(2)
    found = disagreements({"depth": sweep(rng, 0.02), "tails": sweep(rng, 0.02, factor=1.35)})
    assert len(found) == len(DEPTHS)
    assert {f.check for f in found} == {"suites-disagree"}
    assert "in depth" in found[0].message
    assert "in tails" in found[0].message
    assert "apart where their noise explains" in found[0].message


def test_a_large_difference_and_the_noise_beside_it_are_both_factors():
    rng = np.random.default_rng(2)
    found = disagreements({"depth": sweep(rng, 0.02), "tails": sweep(rng, 0.02, factor=2.5)})
    assert re.search(r", 2\.\d times apart where their noise explains 1\.?\d* times\.$", found[0].message)


@pytest.mark.parametrize(("factor", "found"), [(1.15, 0), (2.0, len(DEPTHS))])
def test_without_repeats_only_a_large_difference_is_one(factor, found):
    rng = np.random.default_rng(3)
    suites = {"a": sweep(rng, 0.0, 1), "b": sweep(rng, 0.0, 1, factor=factor)}
    assert len(disagreements(suites)) == found


def test_other_blocks_are_other_workloads():
    rng = np.random.default_rng(4)
    assert disagreements({"a": sweep(rng, 0.01), "b": sweep(rng, 0.01, factor=3.0, block_bytes=65536)}) == []
    assert disagreements({}) == []


def test_a_suite_off_by_a_third_is_missed_in_one_of_twenty_at_most():
    rng = np.random.default_rng(5)
    found = [disagreements({"a": sweep(rng, 0.08), "b": sweep(rng, 0.08, factor=1.5)}) for _ in range(100)]
    assert sum(not one for one in found) <= 5


def test_what_moves_between_suites_is_the_spread_of_what_both_measured():
    rng = np.random.default_rng(6)
    found = [
        between_suites({name: sweep(rng, 0.01, factor=float(np.exp(0.2 * rng.normal()))) for name in ("a", "b", "c")})
        for _ in range(100)
    ]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(0.2, rel=0.15)
    assert between_suites({"a": sweep(rng, 0.01)}) == 0.0


def test_a_figure_of_several_suites_has_an_interval_that_holds_the_truth() -> None:
    """Of a suite that is off by 10 % (a standard deviation), with the mean of three repeats, in 90 to 99 % of draws."""
    rng = np.random.default_rng(7)
    held = []
    for _ in range(300):
        one = sweep(rng, 0.02, factor=float(np.exp(0.1 * rng.normal()))).mean_points().iloc[-1]
        ends = relative_ends(one["throughput_low"], one["throughput_per_s"], one["throughput_high"], 0.1)
        assert ends is not None
        held.append(ends[0] < 1e4 * 16**0.8 / one["throughput_per_s"] < ends[1])
    assert 0.90 <= np.mean(held) <= 0.99


def test_what_was_measured_once_has_no_interval() -> None:
    assert relative_ends(np.nan, 100.0, np.nan, 0.0) is None
    low, high = relative_ends(np.nan, 100.0, np.nan, 0.1)
    assert low == pytest.approx(np.exp(-0.196))
    assert high == pytest.approx(np.exp(0.196))
