"""Differences under common random numbers: true, and narrower than independent runs would make them."""

from __future__ import annotations

import numpy as np
import pytest

from qsim import MM1, MMc, MMcN, UnstableQueueError, difference, replicate, solve

BEFORE, AFTER = MM1(0.8, 1.0), MM1(0.8, 1.05)


def test_the_difference_is_that_of_the_formulas() -> None:
    d = difference(MMc(2.7, 1.0, 3), MMc(2.7, 1.0, 4), seed=1, confidence=0.999)
    a, b = solve(d.a.model), solve(d.b.model)
    for name in ("W", "Wq", "L", "Lq", "utilization", "p_wait"):
        low, high = d.interval(name)
        assert low <= getattr(b, name) - getattr(a, name) <= high
        assert d.value(name) == pytest.approx(getattr(d.b, name) - getattr(d.a, name))
    assert d.is_clear("W")


def test_common_numbers_make_it_narrower_than_independent_seeds() -> None:
    d = difference(BEFORE, AFTER, seed=1)
    low, high = d.interval("W")
    a, b = (replicate(model, seed=seed).interval("W") for model, seed in ((BEFORE, 2), (AFTER, 3)))
    independent = np.hypot(a[1] - a[0], b[1] - b[0])
    assert high - low < independent / 2
    assert d.variance_reduction["W"] > 4
    assert d.variance_reduction["throughput"] > 9


def test_a_model_against_itself_differs_by_nothing() -> None:
    d = difference(BEFORE, BEFORE, replications=3, customers=20_000, seed=1)
    assert d.interval("W") == (0, 0)
    assert not d.is_clear("W")
    assert d.variance_reduction["W"] == np.inf


def test_closed_models_too_and_spread_over_processes() -> None:
    a, b = MMcN(16, 2.0, 1.0, 4), MMcN(16, 2.0, 1.0, 5)
    d = difference(a, b, customers=20_000, seed=1, confidence=0.999, workers=2)
    low, high = d.interval("throughput")
    assert low <= solve(b).throughput - solve(a).throughput <= high
    assert d == difference(a, b, customers=20_000, seed=1, confidence=0.999)


def test_it_prints_as_a_table() -> None:
    text = str(difference(BEFORE, MMc(0.8, 1.0, 2), replications=5, customers=20_000, seed=1))
    assert text.startswith(
        "a: M/M/1, b: M/M/2: simulated, compiled engine (numba), 5 replications, common random numbers"
    )
    assert "95 % interval" in text
    assert any(line.startswith("W ") and " x" in line for line in text.splitlines())


def test_nonsense_is_refused() -> None:
    with pytest.raises(UnstableQueueError):
        difference(BEFORE, MM1(1.0, 1.0))
    with pytest.raises(ValueError, match=r"^replications"):
        difference(BEFORE, AFTER, replications=1)
    with pytest.raises(ValueError, match=r"^name must be one of"):
        difference(BEFORE, AFTER, replications=2, customers=5000, seed=1).interval("R")
