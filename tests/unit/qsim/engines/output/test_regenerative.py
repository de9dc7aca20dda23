"""Regenerative cycles: found where the queue is empty, totals kept, intervals made."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from qsim import MM1, Deterministic, Exponential, GGc, MMc, MMcN, NoEngineError, Open, SteadyStateError, simulate
from qsim.engines.output.regenerative import ROWS, Cycles


def by_hand(gaps: np.ndarray, waits: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Totals of each complete cycle, customer by customer, on the clock of the whole run."""
    arrivals = np.cumsum(gaps)
    left = np.maximum.accumulate(arrivals + waits + services)
    starts = [i for i in range(gaps.size) if i == 0 or left[i - 1] <= arrivals[i]]
    rows = []
    for first, after in itertools.pairwise(starts):
        part = slice(first, after)
        time = arrivals[after] - arrivals[first]
        rows.append((time, waits[part].sum(), services[part].sum(), (waits[part] > 0).sum(), after - first))
    return np.array(rows, dtype=float)


def queue_of(servers: int, n: int = 5000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(servers)
    gaps, services, waits = rng.exponential(1 / (0.7 * servers), n), rng.exponential(1.0, n), np.empty(n)
    free, clock = np.zeros(servers), 0.0
    for i in range(n):
        clock += gaps[i]
        k = int(free.argmin())
        start = max(clock, free[k])
        waits[i] = start - clock
        free[k] = start + services[i]
    return gaps, waits, services


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("parts", [1, 7])
def test_cycles_are_those_found_by_hand(servers: int, parts: int) -> None:
    customers = queue_of(servers)
    rows = by_hand(*customers)
    cycles = Cycles()
    for part in np.array_split(np.arange(customers[0].size), parts):
        cycles.add(*(column[part] for column in customers))
    assert len(rows) > 100
    per_row = 2 if len(rows) >= ROWS else 1
    assert cycles.cycles == len(rows) // per_row * per_row
    by_row = rows[: cycles.cycles].reshape(-1, per_row, 5).sum(axis=1)
    np.testing.assert_allclose(cycles.rows, by_row, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_run_says_its_cycles_and_drops_nothing(engine: Any) -> None:
    r = simulate(MM1(0.5, 1.0), customers=20_000, seed=1, engine=engine, intervals="regenerative")
    assert "regenerative cycles" in r.method
    assert r.warmup == 0
    low, high = r.interval("W")
    assert low < r.W < high


def test_about_half_of_the_arrivals_at_half_load_find_an_empty_system() -> None:
    r = simulate(MM1(0.5, 1.0), customers=100_000, seed=1, intervals="regenerative")
    cycles = int(r.method.split()[-3].replace(",", ""))
    assert cycles == pytest.approx(50_000, rel=0.05)


def test_both_kinds_of_intervals_agree_on_length() -> None:
    model = MM1(0.8, 1.0)
    widths: dict[str, list[float]] = {"batch means": [], "regenerative": []}
    for kind, found in widths.items():
        for seed in range(20):
            low, high = simulate(model, customers=200_000, seed=seed, intervals=kind).interval("W")  # type: ignore[arg-type]
            found.append(high - low)
    assert np.median(widths["regenerative"]) == pytest.approx(np.median(widths["batch means"]), rel=0.3)


def test_constant_times_leave_no_doubt() -> None:
    r = simulate(GGc(Deterministic(1.0), Deterministic(0.5), 1), customers=10_000, seed=1, intervals="regenerative")
    assert r.interval("W") == pytest.approx((0.5, 0.5), abs=1e-6)


def test_too_few_cycles_are_refused_with_the_estimate() -> None:
    with pytest.raises(SteadyStateError, match=r"only .* regenerative cycles") as refusal:
        simulate(MMc(7.0, 1.0, 10), customers=10_000, seed=1, intervals="regenerative")
    assert refusal.value.metrics.W > 0


def test_a_queue_that_never_empties_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="intervals"):
        simulate(MMc(95.0, 1.0, 100), customers=20_000, seed=1, intervals="regenerative")


def test_models_without_cycles_are_refused_before_any_work() -> None:
    with pytest.raises(NoEngineError, match="regenerative"):
        simulate(MMcN(4, 1.0, 1.0), intervals="regenerative")
    with pytest.raises(NoEngineError, match=r"regenerative|not simulated"):
        simulate(Open(Exponential(2.0), Exponential(1.0), discipline="LCFS"), intervals="regenerative")
    with pytest.raises(ValueError, match=r"^intervals"):
        simulate(MM1(0.5, 1.0), intervals="exact")  # type: ignore[arg-type]
