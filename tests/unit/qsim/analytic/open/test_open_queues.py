"""Open models beyond the plain queue, and arrivals that depend on each other: names, numbers and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from class_networks import Flow, queue_of

from qsim import Exponential, MMcc, Network, NoEngineError, Open, Station, Tandem, UnstableQueueError, simulate, trace

ONE = Exponential(1.0)
HALF = Exponential(0.5)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: Open(ONE, HALF, discipline="LIFO"), "^discipline must be one of 'FCFS'"),
    (lambda: Open(ONE, HALF, queues="jsq"), "^queues must be one of"),
    (lambda: Open(ONE, HALF, servers=3, capacity=2), "^capacity must be .* at least 3"),
    (lambda: Open(ONE, HALF, servers=0), "^servers"),
    (lambda: Open(ONE, HALF, servers=math.inf, capacity=2), "^servers must be finite"),
    (lambda: Open(ONE, HALF, speeds=()), "^speeds must not be empty"),
    (lambda: Open(ONE, HALF, speeds=(1, -2)), "^speeds\\[1\\]"),
    (lambda: Open(ONE, HALF, servers=2, speeds=(1, 2), queues="random"), "^speeds must be None"),
    (lambda: Open(3.0, HALF), "^arrivals must be a Distribution"),
    (lambda: Open(ONE, Exponential(math.inf)), "^service must have a positive, finite mean"),
    (lambda: MMcc(1, 1, 0), "^servers"),
    (lambda: Tandem(ONE, []), "^stations must not be empty"),
    (lambda: Tandem(ONE, [HALF]), "^stations\\[0\\] must be a Delay or a Station"),
    (lambda: Tandem(ONE, [Station(HALF), Station(HALF, capacity=4)]), "^capacity of station 2 must be None"),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_nonsense_is_refused_by_name(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "model",
    [
        Open(ONE, Exponential(2.5), speeds=(1, 2)),
        queue_of([Flow(ONE, HALF), Flow(ONE, HALF)]),
        Tandem(ONE, [Station(HALF), Station(Exponential(1.2))]),
    ],
    ids=lambda m: m.kendall,
)
def test_overload_is_refused_before_any_work(model: Network) -> None:
    with pytest.raises(UnstableQueueError, match="overloaded"):
        simulate(model)


def test_limited_places_are_stable_under_any_load() -> None:
    assert simulate(Open(Exponential(0.1), ONE, capacity=4), customers=20_000, seed=1).p_block == pytest.approx(
        0.9, abs=0.01
    )


@pytest.mark.parametrize("discipline", ["PS", "SJF", "LCFS"])
def test_traces_refuse_what_they_do_not_follow(discipline: Any) -> None:
    with pytest.raises(NoEngineError, match="first-come"):
        trace(Open(ONE, HALF, discipline=discipline), [1.0], [1.0])
