"""A write cache in a time series: told where it is, not elsewhere, and good for rates that were not seen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrate import fit_write_cache
from measure.errors import DataError
from qsim import Exponential, Network, WriteCache, fluid_cache, simulate_throughput

PLACES = 5000


def drive(think_time: float) -> Network:
    return WriteCache(8, think_time, cache=Exponential(200e-6), disk=Exponential(1e-3), places=PLACES)


def series(model: Network, until: float, intervals: int = 80) -> tuple[np.ndarray, np.ndarray]:
    run = simulate_throughput(model, np.linspace(0.0, until, intervals + 1), replications=2, seed=1)
    return run.times[1:], run.throughput


def test_it_is_told_by_the_series_of_a_drive_that_has_one() -> None:
    made, true = fit_write_cache(*series(drive(0.0), 4.0)), fluid_cache(drive(0.0))
    assert made is not None
    assert made.full_at_s == pytest.approx(true.full_at, rel=0.05)
    assert (made.before, made.after) == pytest.approx((true.before, true.after), rel=0.03)
    assert made.places == pytest.approx(PLACES, rel=0.05)


@pytest.mark.parametrize("think_time", [2e-3, 4e-3])
def test_it_predicts_other_rates_and_beats_what_is_plain(think_time: float) -> None:
    made = fit_write_cache(*series(drive(0.0), 4.0))
    assert made is not None
    ends, held_out = series(drive(think_time), 12.0)
    offered = float(held_out[:3].mean())

    def missed(completed: np.ndarray) -> float:
        edges = np.concatenate([[0.0], ends])
        return float(np.abs(np.diff(completed) / np.diff(edges) - held_out).mean())

    edges = np.concatenate([[0.0], ends])
    own = missed(made.at_rate(offered).completed(edges))
    as_before = missed(offered * np.minimum(edges, made.full_at_s) + made.after * np.maximum(edges - made.full_at_s, 0))
    for_ever = missed(offered * edges)
    assert own < 0.5 * min(as_before, for_ever)


def test_a_rate_that_the_disk_keeps_up_with_never_fills_it() -> None:
    made = fit_write_cache(*series(drive(0.0), 4.0))
    assert made is not None
    assert made.at_rate(0.9 * made.after).full_at == math.inf


@pytest.mark.parametrize("kind", ["steady", "a line", "wandering", "warming up", "a small step", "an ageing drive"])
def test_it_is_not_told_elsewhere(kind: str) -> None:
    rng, told = np.random.default_rng(3), 0
    for _ in range(100):
        n = int(rng.integers(10, 120))
        t, noise = np.arange(1.0, n + 1), 0.05 * rng.standard_normal(n)
        wandering = np.zeros(n)
        for i in range(1, n):
            wandering[i] = 0.9 * wandering[i - 1] + noise[i]
        rates = {
            "steady": 1 + noise,
            "a line": (1 - 0.5 * t / n) * (1 + noise),
            "wandering": 1 + wandering,
            "warming up": (1 - np.exp(-t / 5)) * (1 + noise),
            "a small step": np.where(t < n / 2, 1, 0.9) * (1 + 0.2 * noise),
            "an ageing drive": (0.4 + 0.6 * np.exp(-3 * t / n)) * (1 + noise),
        }[kind]
        told += fit_write_cache(t, 1000 * np.maximum(rates, 0)) is not None
    assert told <= 2


def test_what_is_no_series_is_refused_and_a_short_one_shows_nothing() -> None:
    for wrong in (([1, 2], [1]), ([1, 1], [1, 1]), ([1, 2], [1, math.nan]), ([1, 2], [1, -1])):
        with pytest.raises(DataError, match="a series needs"):
            fit_write_cache(*wrong)
    assert fit_write_cache([1, 2, 3], [9, 9, 1]) is None
