"""Those who find no place and go elsewhere, or try again: engine against engine, formula, chain."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from customers import both_engines
from markov_chains import Moves, stationary

from qsim import (
    Delay,
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    LogNormal,
    Metrics,
    MMc,
    Network,
    Node,
    NoFormulaError,
    Region,
    Retrial,
    erlang_b,
    simulate,
    solve,
)

ONE = Exponential(1.0)
CONFIDENCE = 0.999
PARTLY_BACK = Network(
    {"desk": Node(ONE, 2, capacity=3, overflow_to="home"), "home": Delay(2.0), "late": Node(Exponential(0.5))},
    arrivals={"desk": 2.0},
    routing={"desk": {"late": 0.3}, "home": {"desk": 0.6}},
)
IN_A_REGION = Network(
    {
        "host": Delay(1.0),
        "fast": Node(Exponential(0.3), capacity=2, overflow_to="slow"),
        "slow": Node(LogNormal(1.0, 2.0), capacity=3, overflow_to="host"),
    },
    populations={"host": 9},
    routing={"host": {"fast": 1}, "fast": {"host": 1}, "slow": {"host": 1}},
    regions=[Region(["fast"], 3)],
)
HUNTING = Network(
    {"first": Node(ONE, capacity=1, overflow_to="second"), "second": Node(ONE, capacity=1)},
    arrivals={"first": 1.5},
    routing={"first": {}, "second": {}},
)
RUNNING = {
    "retrials": Retrial(1.5, ONE, 0.7, servers=2),
    "general": Retrial(0.6, LogNormal(1.0, 2.0), 2.0),
    "partly back": PARTLY_BACK,
    "in a region": IN_A_REGION,
    "hunting": HUNTING,
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    assert low <= exact <= high, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


@pytest.mark.parametrize(
    "model",
    [
        Retrial(0.5, ONE, 0.5),
        Retrial(0.5, Deterministic(1.0), 1.0),
        Retrial(0.6, Erlang(4, 1.0), 3.0),
        Retrial(1.0, ONE, 0.4, servers=2),
        Retrial(4.0, ONE, 1.0, servers=8),
    ],
    ids=["M/M/1", "M/D/1", "M/E4/1", "M/M/2", "M/M/8"],
)
def test_retrials(model: Network) -> None:
    exact, run = solve(model), simulate(model, customers=400_000, seed=41, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for name in ("W", "Wq", "L", "p_wait"):
        within(run, name, getattr(exact, name))
    within(run["server"], "p_block", exact["server"].p_block)
    within(run["orbit"], "throughput", exact["orbit"].throughput)


def test_retrials_of_two_servers_follow_their_chain() -> None:
    rate, again, most = 1.2, 0.4, 200

    def moves(state: Any) -> Moves:
        busy, orbit = state
        if busy < 2:
            yield rate, (busy + 1, orbit)
            if orbit:
                yield orbit * again, (busy + 1, orbit - 1)
        elif orbit < most:
            yield rate, (busy, orbit + 1)
        if busy:
            yield float(busy), (busy - 1, orbit)

    share = stationary((0, 0), moves)
    exact = solve(Retrial(rate, ONE, again, servers=2))
    assert exact["orbit"].L == pytest.approx(math.fsum(p * s[1] for s, p in share.items()), rel=1e-9)  # type: ignore[index]
    assert exact.p_wait == pytest.approx(math.fsum(p for s, p in share.items() if s[0] == 2), rel=1e-9)  # type: ignore[index]


@pytest.mark.parametrize(("gaps", "patience"), [(Erlang(2, 2.0), ONE), (Exponential(2.0), Erlang(2, 1.0))])
def test_retrials_without_memoryless_gaps_or_orbits_have_no_formula(gaps: Distribution, patience: Distribution) -> None:
    known = Retrial(0.5, ONE, 1.0)
    nodes = {**known.nodes, "orbit": dataclasses.replace(known.nodes["orbit"], service=patience)}
    with pytest.raises(NoFormulaError):
        solve(Network(nodes, arrivals={"customers": {"server": gaps}}, routing=known.routing))


def test_those_who_try_at_once_wait_as_in_a_queue() -> None:
    assert solve(Retrial(2.0, ONE, 1e7, servers=3)).Wq == pytest.approx(solve(MMc(2.0, 1.0, 3)).Wq, rel=1e-5)


def test_hunting_for_a_free_server_loses_what_erlang_says() -> None:
    run = simulate(HUNTING, customers=400_000, seed=42, confidence=CONFIDENCE)
    within(run, "p_block", erlang_b(2, 1.5))
    assert run["first"].p_block == pytest.approx(erlang_b(1, 1.5), rel=0.01)


def test_a_server_that_tried_ones_overload_is_refused_by_both() -> None:
    for answer in (solve, simulate):
        with pytest.raises(ValueError, match=r"is overloaded: rho = 1\.2"):
            answer(Retrial(1.2, ONE, 1.0))


@pytest.mark.parametrize(
    ("stations", "said"),
    [
        ({"a": Node(ONE, capacity=1, overflow_to="c")}, "overflow_to of a must name stations, not 'c': there are a"),
        (
            {"a": Node(ONE, capacity=1, overflow_to="b"), "b": Node(ONE, capacity=1, overflow_to="a")},
            "overflow_to of a must not come round in a circle: a to b to a never ends when all are full",
        ),
    ],
)
def test_where_nobody_can_go(stations: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Network(stations, arrivals={"a": 1.0})


def test_overflow_needs_a_limit_that_loses() -> None:
    for given in ({}, {"capacity": 2, "when_full": "after service"}):
        with pytest.raises(ValueError, match="overflow_to needs a capacity, and when_full='lost'"):
            Node(ONE, overflow_to="b", **given)


def test_only_those_who_come_back_wait_elsewhere() -> None:
    stations = {"a": Node(ONE, capacity=1, overflow_to="b"), "b": Delay(1.0)}
    gone, back = (Network(stations, arrivals={"a": 1.0}, routing={"b": way}) for way in ({}, {"a": 0.5}))
    assert (gone.is_orbit("b"), back.is_orbit("b")) == (False, True)
    run = simulate(gone, customers=20_000, seed=1, allow_short=True)
    assert run.Wq == 0
    assert simulate(back, customers=20_000, seed=1, allow_short=True).Wq > 0.5
