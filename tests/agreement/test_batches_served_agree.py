"""Servers that take several at once: engine against engine, formula, chain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from customers import both_engines
from markov_chains import Moves, stationary

from qsim import Delay, Deterministic, Exponential, LogNormal, Metrics, MMc, Network, Node, Region, simulate, solve

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CONFIDENCE = 0.999


def alone(rate: float, service: Any = ONE, servers: int = 1, **given: Any) -> Network:
    return Network({"server": Node(service, servers, **given)}, arrivals={"server": rate})


RUNNING = {
    "as many as there are": alone(2.0, SKEWED, batch=4),
    "enough of them": alone(2.0, SKEWED, 2, batch=4, batch_least=3),
    "with setup": alone(2.0, SKEWED, 2, queues="shortest", batch=4, batch_least=2, setup=ONE, off_after=0.5),
    "breaks down": alone(2.0, ONE, batch=4, uptime=Exponential(2.0), repair=ONE),
    "few places": alone(3.0, ONE, batch=4, capacity=6),
    "in a cycle with a region": Network(
        {"host": Delay(1.0), "die": Node(ONE, 2, batch=3), "bus": Node(Exponential(0.1))},
        populations={"host": 12},
        routing={"host": {"die": 1}, "die": {"bus": 1}, "bus": {"host": 1}},
        regions=[Region(["die", "bus"], 8)],
    ),
    "copies": Network(
        {"cache": Node(Exponential(0.2), batch=4, copies_to="disk"), "disk": Node(Exponential(0.3), batch=2)},
        arrivals={"cache": 2.0},
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    assert low <= exact <= high, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


@pytest.mark.parametrize(("least", "most"), [(1, 4), (3, 4), (8, 8), (1, 128)])
@pytest.mark.parametrize("rho", [0.2, 0.8])
def test_bulk_service(least: int, most: int, rho: float) -> None:
    model = alone(rho * most, batch=most, batch_least=least)
    exact, run = solve(model), simulate(model, customers=300_000, seed=61, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for name in ("W", "Wq", "L", "utilization", "p_wait"):
        within(run, name, getattr(exact, name))


def test_a_batch_by_hand() -> None:
    """λ = μ, b = 2: r + r² = 1, the golden section; a = 1, so that Wq = (r/(1-r)²)/(1 + 1/(1-r))."""
    r = (math.sqrt(5) - 1) / 2
    assert solve(alone(1.0, batch=2)).Wq == pytest.approx(r / (1 - r) ** 2 / (1 + 1 / (1 - r)))


def test_batches_of_one_are_the_plain_queue() -> None:
    assert solve(alone(0.7, batch=1)).Wq == pytest.approx(solve(MMc(0.7, 1.0, 1)).Wq)
    one, other = (
        simulate(alone(0.7, **given), customers=2000, seed=1, allow_short=True)
        for given in ({}, {"batch": 1, "batch_least": 1})
    )
    assert one.W == other.W


def test_several_servers_of_batches_follow_their_chain() -> None:
    rate, servers, most, limit = 3.0, 2, 3, 120

    def moves(state: Any) -> Moves:
        busy, waiting = state
        if busy < servers:
            yield rate, (busy + 1, 0)
        elif waiting < limit:
            yield rate, (busy, waiting + 1)
        if busy:
            yield float(busy), (busy, max(0, waiting - most)) if waiting else (busy - 1, 0)

    share = stationary((0, 0), moves)
    Lq = math.fsum(p * s[1] for s, p in share.items())  # type: ignore[index]
    run = simulate(alone(rate, ONE, servers, batch=most), customers=300_000, seed=62, confidence=CONFIDENCE)
    within(run, "Wq", Lq / rate)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"batch": 0}, "batch must be"),
        ({"batch": 4, "batch_least": 5}, "batch_least must be at most batch, 4, not 5"),
        ({"batch": 1000}, "batch must be at most 128, not 1000"),
        ({"batch": 4, "batch_least": 3, "capacity": 2}, "capacity must be at least batch_least, 3, not 2"),
        ({"batch": 4, "discipline": "PS"}, "batch must be 1 unless servers are FCFS"),
        ({"batch": 4, "servers": math.inf}, "servers must be finite, not inf, where batch is given"),
    ],
)
def test_batches_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Node(**{"service": ONE, **given})


def test_those_served_together_cannot_wait_on_their_server() -> None:
    stations = {"a": Node(ONE, batch=3), "b": Node(ONE, capacity=2, when_full="after service")}
    with pytest.raises(ValueError, match="a batches its customers, so nobody has a server to stay on when b is full"):
        simulate(Network(stations, populations={"a": 5}), customers=1000, allow_short=True)


def test_too_much_work_is_refused_by_both() -> None:
    for answer in (solve, simulate):
        with pytest.raises(ValueError, match="is overloaded"):
            answer(alone(4.5, Deterministic(1.0) if answer is simulate else ONE, batch=4))
