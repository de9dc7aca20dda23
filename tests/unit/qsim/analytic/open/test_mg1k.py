"""M/G/1/K against chains, M/D/1/K in closed form, the loss system and a simulation."""

from __future__ import annotations

import math

import pytest
from seen import queue

from qsim import (
    MG1,
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    NoFormulaError,
    Open,
    erlang_b,
    solve,
)
from qsim.analytic.open import markovian, mg1k

VALUES = ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait", "p_block")


@pytest.mark.parametrize("law", [Exponential(1.0), Erlang(3, 1.0), HyperExponential.from_moments(1.0, 4.0)], ids=repr)
@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("capacity", [1, 2, 7, 60])
def test_phases_are_solved_as_a_chain_too(law: Distribution, rate: float, capacity: int) -> None:
    model = Open(Exponential(1 / rate), law, capacity=capacity)
    found, known = mg1k.solve(queue(model)), markovian.solve(queue(model))
    for name in VALUES:
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-9, abs=1e-12), name
    assert found.p(range(capacity + 1)) == pytest.approx(known.p(range(capacity + 1)), rel=1e-8, abs=1e-14)


def test_two_places_of_constant_service_in_closed_form() -> None:
    """d(0) is the chance that nobody comes during a service, so p(2) = 1 - 1/(e^-ρ + ρ)."""
    found = solve(Open(Exponential(1 / 0.7), Deterministic(1.0), capacity=2))
    assert found.p_block == pytest.approx(1 - 1 / (math.exp(-0.7) + 0.7))


def test_one_place_is_erlang_s_loss_and_many_are_no_limit() -> None:
    lognormal = LogNormal(1.0, 0.5)
    one = mg1k.solve(queue(Open(Exponential(2.0), lognormal, capacity=1)))
    assert one.p_block == pytest.approx(erlang_b(1, 0.5))
    many, endless = solve(Open(Exponential(2.0), lognormal, capacity=300)), solve(MG1(0.5, lognormal))
    assert (many.W, many.p(3)) == pytest.approx((endless.W, endless.p(3)), rel=1e-6)


def test_so_much_too_much_that_digits_are_lost_is_left_to_simulation() -> None:
    with pytest.raises(NoFormulaError):
        solve(Open(Exponential(1 / 50), Deterministic(1.0), capacity=20))


def test_six_hundred_places_and_three_times_too_much_are_counted_without_overflow() -> None:
    """The states span 286 powers of ten; exponential times by another name must be M/M/1/K."""
    found = solve(Open(Exponential(1 / 3), Gamma(1.0, 1.0), capacity=600))
    known = solve(Open(Exponential(1 / 3), Exponential(1.0), capacity=600))
    assert "imbedded" in found.method
    assert (found.L, found.W, found.throughput) == pytest.approx((known.L, known.W, known.throughput), rel=1e-6)
    assert found.p([600, 599, 590]) == pytest.approx(known.p([600, 599, 590]), rel=1e-5)
