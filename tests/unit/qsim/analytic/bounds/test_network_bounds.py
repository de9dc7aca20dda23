"""Bounds of closed networks, and what describes no network."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from class_networks import jackson

from qsim import (
    Closed,
    Exponential,
    MMcKN,
    Station,
    balanced_bounds,
    geometric_bounds,
    largest_population,
    proportional_bounds,
)


@pytest.mark.parametrize("bounds", [balanced_bounds, proportional_bounds, geometric_bounds])
def test_bounds_meet_at_one_customer_and_refuse_nonsense(bounds: Callable[..., object]) -> None:
    b = bounds([1], 3.0, [1.0, 2.0])
    assert b.throughput_low[0] == pytest.approx(1 / 6)
    if bounds is not geometric_bounds:  # whose upper one takes X(N-1) for X(N) when there is think time
        assert b.throughput_high[0] == pytest.approx(1 / 6)
    assert (b.kind, b.knee) == ("bound", pytest.approx(3.0))
    for wrong, name in [(([0.5], 1, [1]), "populations"), (([1], -1, [1]), "think_time"), (([1], 1, []), "demands")]:
        with pytest.raises(ValueError, match=name):
            bounds(*wrong)


def test_the_largest_population_is_the_one_at_which_the_bound_is_met() -> None:
    from qsim import asymptotic_bounds

    N = largest_population(30.0, 18.0, [5, 4, 3], [2, 1, 1])
    assert asymptotic_bounds([N], 18.0, [5, 4, 3], [2, 1, 1]).response_time_low[0] == pytest.approx(30.0)
    with pytest.raises(ValueError, match="response_time must be at least the total demand 12"):
        largest_population(11.0, 18.0, [5, 4, 3])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: jackson([1.0], [Station(Exponential(1), visits=2)], [[0.0]]), "visits of station 1 must be left at 1"),
        (lambda: Station(Exponential(1), speeds=()), "speeds must not be empty"),
        (lambda: Station(Exponential(1), speeds=(1, 0)), r"speeds\[1\]"),
        (lambda: Station(Exponential(1), servers=3, capacity=2), "capacity"),
        (
            lambda: Closed(3, [Station(Exponential(1), capacity=2), Station(Exponential(1))]),
            "capacity of station 1 must be None",
        ),
        (lambda: MMcKN(5, 0.0, 1.0, 1, 2), "think_time"),
    ],
)
def test_nonsense_is_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
