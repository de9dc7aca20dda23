"""Simulation over time, held against the formula over time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from qsim import MG1, Deterministic, Exponential, MMc, MMcK, NoEngineError, Open, simulate_over_time, solve, transient

TIMES = [0.5, 2.0, 8.0, 30.0]


def inside(simulated, exact) -> int:
    return int(((simulated.low <= exact.L) & (exact.L <= simulated.high)).sum())


@pytest.mark.parametrize(
    ("model", "start", "rate"),
    [
        (MMc(1.5, 1.0, 2), 0, None),
        (MMc(1.5, 1.0, 2), 7, None),
        (MMcK(3.0, 1.0, 2, 5), 4, None),
        (MMc(1.5, 1.0, 2), 0, {0: 0.5, 4: 3.0, 9: 1.0}),
        (MMc(1.5, 1.0, 2), 0, lambda t: 1.5 + math.sin(t)),
    ],
)
def test_intervals_at_99_9_percent_hold_the_formula(model, start, rate) -> None:
    exact = transient(model, TIMES, start, rate)
    found = simulate_over_time(model, TIMES, start, rate, replications=4000, seed=11, confidence=0.999)
    assert inside(found, exact) == len(TIMES)
    assert (found.high - found.low).max() < 0.25 * exact.L.max()


def test_a_general_service_reaches_its_long_run() -> None:
    queue = MG1(0.5, Deterministic(1.0))
    found = simulate_over_time(queue, [200.0], replications=4000, seed=3, confidence=0.999)
    assert found.low[0] <= solve(queue).L <= found.high[0]


def test_the_same_seed_is_the_same_run_and_nobody_comes_at_rate_zero() -> None:
    one, two = (simulate_over_time(MMc(1, 1, 2), TIMES, replications=10, seed=5) for _ in range(2))
    assert one.L.tolist() == two.L.tolist()
    assert simulate_over_time(MMc(1, 1, 2), TIMES, arrival_rate=0.0, replications=2, seed=1).L.tolist() == [0.0] * 4


def test_what_is_not_simulated_over_time_is_said() -> None:
    shared = Open(Exponential(1.0), Exponential(0.5), discipline="PS")
    with pytest.raises(NoEngineError, match="is not simulated over time"):
        simulate_over_time(shared, TIMES)
    with pytest.raises(ValueError, match="not -1 at t = "):
        simulate_over_time(MMc(1, 1, 2), TIMES, arrival_rate=lambda t: -1.0 if 3 < t < 3.1 else 1.0)
    with pytest.raises(ValueError, match="replications must be"):
        simulate_over_time(MMc(1, 1, 2), TIMES, replications=1)


def test_the_figure_has_the_band_of_the_interval() -> None:
    found = simulate_over_time(MMc(1, 1, 2), TIMES, replications=20, seed=1)
    assert np.asarray(found.plot().data[2].y).tolist() == found.high.tolist()
    with pytest.raises(ValueError, match="not known from a simulation over time"):
        found.p(0)
