"""Shortest remaining time and foreground-background at stations of networks: engine against engine, and formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from customers import both_engines

from qsim import Delay, Erlang, Exponential, LogNormal, Network, Node, NoEngineError, Open, Region, simulate, solve
from qsim.errors import InvalidParameterError

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
BY_SIZE = ("SRPT", "FB")


def tandem(order: Any, **last: Any) -> Network:
    return Network(
        {"first": Node(SKEWED, discipline=order), "last": Node(Erlang(2, 0.8), **last)},
        arrivals={"first": 0.5},
        routing={"first": {"last": 1}, "last": {"first": 0.2}},
    )


def in_a_cycle(order: Any) -> Network:
    ways = {"host": {"die": 1}, "die": {"bus": 1}, "bus": {"host": 1}}
    stations = {"host": Delay(2.0), "die": Node({"read": ONE, "write": SKEWED}, discipline=order), "bus": Node(ONE)}
    return Network(
        stations,
        populations={"read": {"host": 5}, "write": {"host": 3}},
        routing={"read": ways, "write": ways},
        regions=[Region(["die", "bus"], 6)],
    )


RUNNING = {
    **{f"{order}, tandem": tandem(order) for order in BY_SIZE},
    **{f"{order}, both": tandem(order, discipline=order) for order in BY_SIZE},
    **{f"{order}, few places": tandem(order, discipline=order, capacity=3) for order in BY_SIZE},
    **{f"{order}, in a cycle": in_a_cycle(order) for order in BY_SIZE},
    "SRPT, two servers": tandem("FCFS", discipline="SRPT", servers=2),
    "SRPT, by speeds": tandem("FCFS", discipline="SRPT", speeds=(1.0, 1.5, 1.8)),
    "SRPT, held after service": tandem("SRPT", capacity=2, when_full="after service"),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("order", BY_SIZE)
def test_a_station_takes_the_time_of_the_formula(order: Any) -> None:
    """Behind an infinite-server station arrivals are a Poisson process still."""
    network = Network(
        {"before": Delay(SKEWED), "here": Node(SKEWED, discipline=order)},
        arrivals={"before": 0.6},
        routing={"before": {"here": 1}},
    )
    exact = solve(Open(Exponential(1 / 0.6), SKEWED, discipline=order))
    run = simulate(network, customers=400_000, seed=73, confidence=0.999)["here"]
    for name in ("W", "L", "utilization"):
        low, high = run.interval(name)
        assert low <= getattr(exact, name) <= high, name


def test_who_has_had_the_least_is_alone_at_its_server() -> None:
    with pytest.raises(InvalidParameterError, match="must not be 'FB' on several servers or with speeds"):
        Node(ONE, servers=2, discipline="FB")


@pytest.mark.parametrize(
    ("order", "when_full", "remedy"),
    [
        ("FB", "repetitive", "lost"),
        ("FB", "after service", "lost"),
        ("SRPT", "repetitive", "after service"),
        ("SRPT", "before service", "after service"),
    ],
)
def test_orders_under_which_nobody_can_wait_for_a_place(order: str, when_full: Any, remedy: str) -> None:
    with pytest.raises(NoEngineError, match=f"first serves in the order {order}, .* take when_full='{remedy}' there"):
        simulate(tandem(order, capacity=2, when_full=when_full), customers=1000, seed=1)
