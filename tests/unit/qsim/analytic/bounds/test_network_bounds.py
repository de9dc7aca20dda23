"""Bounds of closed networks, and what describes no network."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from class_networks import jackson

from qsim import Closed, Exponential, Station, balanced_bounds


def test_bounds_meet_at_one_customer_and_refuse_nonsense() -> None:
    b = balanced_bounds([1], 3.0, [1.0, 2.0])
    assert [float(b.throughput_low[0]), float(b.throughput_high[0])] == pytest.approx([1 / 6, 1 / 6])
    assert (b.kind, b.knee) == ("bound", pytest.approx(3.0))
    for wrong, name in [(([0.5], 1, [1]), "populations"), (([1], -1, [1]), "think_time"), (([1], 1, []), "demands")]:
        with pytest.raises(ValueError, match=name):
            balanced_bounds(*wrong)  # type: ignore[arg-type]


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
    ],
)
def test_nonsense_is_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
