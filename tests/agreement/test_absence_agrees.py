"""Servers on vacation, and servers that break down: engine against engine, formula, chain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from customers import both_engines
from markov_chains import Moves, stationary

from qsim import MG1, Delay, Deterministic, Erlang, Exponential, LogNormal, Metrics, Network, Node, simulate, solve

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CONFIDENCE = 0.999


def alone(rate: float, service: Any = ONE, servers: int = 1, **given: Any) -> Network:
    return Network({"server": Node(service, servers, **given)}, arrivals={"server": rate})


RUNNING = {
    "vacations": alone(0.6, SKEWED, vacation=Exponential(2.0)),
    "one vacation": alone(0.6, SKEWED, vacation=Erlang(2, 2.0), vacations="single"),
    "very short vacations": alone(0.1, vacation=Exponential(0.01)),
    "each on its own": alone(1.2, SKEWED, 3, queues="shortest", vacation=Deterministic(2.0)),
    "breakdowns": alone(0.5, SKEWED, uptime=LogNormal(3.0, 2.0), repair=Exponential(1.0)),
    "breakdowns of several": alone(2.0, ONE, 4, uptime=Exponential(3.0), repair=Erlang(2, 1.0), discipline="SJF"),
    "both, unequal, in a cycle": Network(
        {
            "host": Delay(2.0),
            "die": Node(SKEWED, 2, queues="random", vacation=ONE, uptime=Exponential(2.0), repair=ONE, paces=(1, 2)),
        },
        populations={"host": 6},
    ),
    "served again": Network(
        {
            "host": Delay(1.0),
            "first": Node(ONE, uptime=Exponential(2.0), repair=ONE),
            "next": Node(ONE, capacity=1, when_full="repetitive"),
        },
        populations={"host": 5},
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    assert low <= exact <= high, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


@pytest.mark.parametrize(
    "given",
    [
        {"vacation": Exponential(2.0)},
        {"vacation": Deterministic(1.5)},
        {"vacation": Exponential(0.02)},
        {"vacation": Deterministic(0.7), "vacations": "single"},
        {"vacation": SKEWED, "vacations": "single"},
        {"uptime": Exponential(4.0), "repair": Exponential(1.0)},
        {"uptime": Exponential(0.5), "repair": Deterministic(0.1)},
    ],
    ids=str,
)
@pytest.mark.parametrize("service", [ONE, SKEWED, Deterministic(1.0)], ids=["M", "lognormal", "D"])
def test_the_formulas(given: dict[str, Any], service: Any) -> None:
    model = alone(0.6, service, **given)
    exact, run = solve(model), simulate(model, customers=300_000, seed=51, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for name in ("W", "Wq", "L", "utilization", "p_wait"):
        within(run, name, getattr(exact, name))


def test_vacations_of_no_length_are_the_plain_queue() -> None:
    for vacations in ("multiple", "single"):
        short = solve(alone(0.7, SKEWED, vacation=Exponential(1e-9), vacations=vacations))
        assert short.Wq == pytest.approx(solve(MG1(0.7, SKEWED)).Wq, rel=1e-8)


def test_a_vacation_by_hand() -> None:
    """λ = 1/2, S = 1 exponential: 1 as in M/M/1, and E[V²]/(2E[V]) = 2 for exponential V of mean 2."""
    assert solve(alone(0.5, vacation=Exponential(2.0))).Wq == pytest.approx(3.0)


def test_breakdowns_by_hand() -> None:
    """λ = 1/4, S = 1, ξ = 1/2, R = 2: C has mean 2 and E[C²] = 2·4 + ½·8 = 12, so W = 2 + ¼·12/(2·½) = 5."""
    assert solve(alone(0.25, uptime=Exponential(2.0), repair=Exponential(2.0))).W == pytest.approx(5.0)


def test_several_servers_that_break_follow_their_chain() -> None:
    rate, breaks, mends, servers, most = 1.2, 0.25, 1.0, 2, 120

    def moves(state: Any) -> Moves:
        """Present, and how many of the servers that are taken are down."""
        present, down = state
        working = min(present, servers) - down
        if present < most:
            yield rate, (present + 1, down)
        if working:
            yield float(working), (present - 1, down)
            yield breaks * working, (present, down + 1)
        if down:
            yield mends * down, (present, down - 1)

    share = stationary((0, 0), moves)
    L = math.fsum(p * s[0] for s, p in share.items())  # type: ignore[index]
    model = alone(rate, ONE, servers, uptime=Exponential(1 / breaks), repair=Exponential(1 / mends))
    within(simulate(model, customers=300_000, seed=52, confidence=CONFIDENCE), "L", L)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vacation": {"a": ONE}}, "vacation must be one law, not one for each class"),
        ({"vacation": Deterministic(0.0)}, "mean"),
        ({"vacation": ONE, "servers": 2}, "queues must be random, round-robin or shortest, not 'shared'"),
        ({"vacation": ONE, "discipline": "SJF"}, "discipline must be FCFS where servers go on vacation"),
        ({"vacation": ONE, "setup": ONE}, "setup must be None where servers go on vacation"),
        ({"vacation": ONE, "vacations": "often"}, "vacations must be one of"),
        ({"vacation": ONE, "servers": math.inf}, "servers must be finite, not inf, where vacation is given"),
        ({"uptime": ONE}, "repair must be given with uptime: servers break down"),
        ({"repair": ONE}, "uptime must be given with repair"),
        ({"uptime": ONE, "repair": ONE, "discipline": "PS"}, "uptime needs servers that finish"),
    ],
)
def test_servers_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Node(**{"service": ONE, **given})


def test_too_much_work_for_a_server_that_is_often_down_is_refused_by_both() -> None:
    for answer in (solve, simulate):
        with pytest.raises(ValueError, match="is overloaded"):
            answer(alone(0.6, uptime=Exponential(1.0), repair=Exponential(1.0)))
