"""Rare events against exact values, by interval."""

from __future__ import annotations

import pytest

from qsim import (
    GG1,
    MD1,
    MG1,
    MM1,
    MM1K,
    Erlang,
    HyperExponential,
    LogNormal,
    MMc,
    Open,
    UnstableQueueError,
    rare_loss,
    rare_quantile,
    rare_tail,
    solve,
)
from qsim.errors import InvalidParameterError, NoEngineError

SURE = 0.9999


@pytest.mark.parametrize(
    ("model", "t"),
    [
        (MM1(0.5, 1.0), 40.0),
        (MG1(0.6, HyperExponential.from_moments(1.0, 4.0)), 100.0),
        (GG1(Erlang(2, 1.25), Erlang(4, 1.0)), 30.0),
        (MD1(0.7, 1.0), 20.0),
    ],
    ids=lambda value: getattr(value, "kendall", str(value)),
)
@pytest.mark.parametrize("of", ["W", "Wq"])
def test_the_tail_is_the_formula(model: Open, t: float, of: str) -> None:
    found, exact = rare_tail(model, t, of, runs=5000, seed=3, confidence=SURE), solve(model).survival(t, of)
    assert exact < 1e-5
    assert found.low <= exact <= found.high
    assert found.high - found.low < 0.2 * exact


def test_the_quantile_is_the_formula() -> None:
    found = rare_quantile(MM1(0.5, 1.0), 1 - 1e-9, runs=2000, seed=5, confidence=SURE)
    assert found.low <= solve(MM1(0.5, 1.0)).quantile(1 - 1e-9) <= found.high
    assert found.high - found.low < 0.02 * found.value


def test_nobody_waits_with_so_small_a_share() -> None:
    assert rare_quantile(MM1(0.1, 1.0), 0.5, "Wq", runs=1000).value == 0.0


@pytest.mark.parametrize("capacity", [1, 5, 29])
def test_the_loss_is_the_formula(capacity: int) -> None:
    model = MM1K(0.5, 1.0, capacity)
    found = rare_loss(model, seed=1, confidence=SURE)
    assert found.low <= solve(model).p_block <= found.high


def test_intervals_hold_as_often_as_they_say() -> None:
    """Of 100 intervals of 95 %, fewer than 86 would hold once in ten thousand tries."""
    exact = solve(MM1(0.5, 1.0)).survival(40.0)
    runs = [rare_tail(MM1(0.5, 1.0), 40.0, runs=500, seed=seed) for seed in range(100)]
    assert sum(run.low <= exact <= run.high for run in runs) >= 86


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(NoEngineError, match="not LogNormal"):
        rare_tail(MG1(0.5, LogNormal(1.0, 2.0)), 10.0)
    with pytest.raises(NoEngineError, match="one server, not M/M/2"):
        rare_tail(MMc(1.0, 1.0, 2), 10.0)
    with pytest.raises(NoEngineError, match="use rare_loss"):
        rare_tail(MM1K(0.5, 1.0, 4), 10.0)
    with pytest.raises(NoEngineError, match="takes M/M/1/K"):
        rare_loss(MM1(0.5, 1.0))
    with pytest.raises(InvalidParameterError, match="rho between 0 and 1"):
        rare_loss(MM1K(2.0, 1.0, 4))
    with pytest.raises(UnstableQueueError):
        rare_tail(MM1(2.0, 1.0), 10.0)


def test_what_would_take_too_long_is_refused() -> None:
    with pytest.raises(NoEngineError, match=r"would take some .* steps, more than 1e.10; give fewer runs or a smaller"):
        rare_tail(MM1(0.999999, 1.0), 1e9)
