"""A server that goes round its classes: engine against engine, formula, and the laws of M/G/1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from customers import both_engines

from qsim import Delay, Deterministic, Erlang, Exponential, LogNormal, Metrics, Network, Node, Region, simulate, solve
from qsim.errors import InvalidParameterError, NoFormulaError, UnstableQueueError

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
LAWS = {"a": ONE, "b": Erlang(2, 0.5), "c": LogNormal(0.8, 3.0)}
RATES = {"a": 0.2, "b": 0.4, "c": 0.3}
WAYS = {"as long to each": LogNormal(0.3, 2.0), "not all": {"a": Deterministic(0.1), "b": ONE}, "none": None}
CONFIDENCE = 0.999


def alone(service: Any = LAWS, rates: dict[str, float] = RATES, **given: Any) -> Network:
    server = Node(service, discipline="polling", **given)
    return Network({"server": server}, arrivals={name: {"server": rate} for name, rate in rates.items()})


def in_a_cycle(visits: Any, **given: Any) -> Network:
    stations = {"host": Delay(2.0), "die": Node(ONE, discipline="polling", visits=visits, **given), "bus": Node(ONE)}
    ways = {"host": {"die": 1}, "die": {"bus": 1}, "bus": {"host": 1}}
    return Network(
        stations,
        populations={"read": {"host": 4}, "write": {"host": 2}},
        routing={"read": ways, "write": ways},
        regions=[Region(["die", "bus"], 5)],
    )


RUNNING = {
    **{
        f"{visits}, {way}": alone(visits=visits, turnaround=turn)
        for visits in ("exhaustive", "gated", "limited")
        for way, turn in WAYS.items()
    },
    "seldom": alone(rates={"a": 0.001, "b": 0.002, "c": 0.001}, turnaround=ONE),
    "breaks down": alone(rates={"a": 0.1, "b": 0.2}, turnaround=ONE, uptime=Exponential(2.0), repair=ONE),
    "few places": alone(turnaround=ONE, capacity=4),
    "in a cycle": in_a_cycle("gated", turnaround=Exponential(0.2)),
    "in a cycle, by speeds": in_a_cycle("limited", speeds=(1.0, 1.5, 2.0)),
    "held up": Network(
        {
            "first": Node(ONE, discipline="polling", turnaround=Exponential(0.1)),
            "next": Node(Exponential(0.5), capacity=1, when_full="before service"),
        },
        arrivals={"a": {"first": 0.3}, "b": {"first": 0.3}},
        routing={"a": {"first": {"next as b": 1}}, "b": {"first": {"next": 1}}},
    ),
    "a class that never comes": Network(
        {"first": Node({"a": ONE}, discipline="polling", turnaround=ONE), "next": Node(ONE)},
        arrivals={"a": {"first": 0.3}, "b": {"next": 0.3}},
        routing={"a": {"first": {"next": 1}}, "b": {}},
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    assert low <= exact <= high, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


@pytest.mark.parametrize("visits", ["exhaustive", "gated"])
@pytest.mark.parametrize("way", WAYS)
def test_each_class_waits_as_the_formula_says(visits: Any, way: str) -> None:
    model = alone(visits=visits, turnaround=WAYS[way])
    exact, run = solve(model), simulate(model, customers=400_000, seed=71, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for known, seen in zip([exact, *exact.classes], [run, *run.classes], strict=True):
        within(seen, "Wq", known.Wq)
        within(seen, "p_wait", known.p_wait)
    within(run, "utilization", exact.utilization)


@pytest.mark.parametrize("turn", [None, LogNormal(0.3, 2.0)], ids=["none", "as long to each"])
def test_one_at_each_visit_of_classes_that_are_alike(turn: Any) -> None:
    model = alone(SKEWED, dict.fromkeys("abcd", 0.12), visits="limited", turnaround=turn)
    run = simulate(model, customers=400_000, seed=72, confidence=CONFIDENCE)
    for seen, known in zip([run, *run.classes], [solve(model), *solve(model).classes], strict=True):
        within(seen, "Wq", known.Wq)


@pytest.mark.parametrize("visits", ["exhaustive", "gated"])
def test_without_ways_the_work_is_that_of_one_queue(visits: Any) -> None:
    """Kleinrock's conservation law: Σ ρᵢ·Wqᵢ = ρ/(1 - ρ)·Σ λᵢ·E[Sᵢ²]/2."""
    parts = solve(alone(visits=visits))["server"].classes
    rho = math.fsum(part.utilization for part in parts)
    work = rho / (1 - rho) * math.fsum(RATES[c] * LAWS[c].moment(2) for c in LAWS) / 2
    assert math.fsum(part.utilization * part.Wq for part in parts) == pytest.approx(work, rel=1e-12)


@pytest.mark.parametrize("visits", ["exhaustive", "gated", "limited"])
def test_with_ways_the_work_is_as_boxma_and_groenendijk_say(visits: Any) -> None:
    way, names = LogNormal(0.3, 2.0), "abcdefghijkl"
    laws = {c: SKEWED if visits == "limited" else list(LAWS.values())[i % 3] for i, c in enumerate(names)}
    rates = {c: 0.05 if visits == "limited" else 0.01 * (i + 1) for i, c in enumerate(names)}
    parts = solve(alone(laws, rates, visits=visits, turnaround=way))["server"].classes
    each = np.array([part.utilization for part in parts])
    rho, s = each.sum(), len(names) * way.mean
    known = rho / (2 * (1 - rho)) * math.fsum(rates[c] * laws[c].moment(2) for c in laws)
    known += rho * (s**2 + len(names) * way.variance) / (2 * s) + s / (2 * (1 - rho)) * (rho**2 - each @ each)
    known += 0 if visits == "exhaustive" else s / (1 - rho) * (each @ each)
    weight = each * (1 - np.array(list(rates.values())) * s / (1 - rho) * (visits == "limited"))
    assert weight @ [part.Wq for part in parts] == pytest.approx(known, rel=1e-12)


def test_one_class_alone_is_vacations() -> None:
    ring, resting = Node(SKEWED, discipline="polling", turnaround=ONE), Node(SKEWED, vacation=ONE)
    one, other = (solve(Network({"server": node}, arrivals={"server": 0.5})) for node in (ring, resting))
    assert [one.Wq, one.p_wait] == pytest.approx([other.Wq, other.p_wait], rel=1e-12)


def test_two_alike_by_hand() -> None:
    """Takagi (1986), symmetric, exhaustive: Wq = δ²/(2r) + (N·λ·b2 + r·(N - ρ))/(2(1 - ρ)); ways of 1 +- 0."""
    model = alone(ONE, {"a": 0.25, "b": 0.25}, turnaround=Deterministic(1.0))
    assert solve(model).Wq == pytest.approx((0.5 * 2 + 1.0 * (2 - 0.5)) / (2 * 0.5))


def test_what_has_no_formula_is_refused() -> None:
    for model in (alone(visits="limited"), RUNNING["breaks down"], RUNNING["in a cycle"], RUNNING["few places"]):
        with pytest.raises(NoFormulaError, match="simulate"):
            solve(model)
    with pytest.raises(NoFormulaError, match="server goes round its classes"):
        solve(alone(visits="limited"))


def test_too_much_work_or_too_much_walking_is_refused() -> None:
    with pytest.raises(UnstableQueueError):
        solve(alone(rates={"a": 0.5, "b": 0.5, "c": 0.5}))
    busy = alone(ONE, {"a": 0.3, "b": 0.3}, visits="limited", turnaround=ONE)  # 2 of walking for at most 2 served
    with pytest.raises(UnstableQueueError):
        solve(busy)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"discipline": "polling", "servers": 2}, "servers must be 1 with polling, not 2"),
        ({"discipline": "polling", "setup": ONE}, "setup must be None with polling"),
        ({"discipline": "polling", "visits": "all"}, "visits must be"),
        ({"discipline": "polling", "vacation": ONE}, "discipline must be FCFS where servers go on vacation"),
        ({"discipline": "polling", "batch": 2}, "batch must be 1"),
        ({"visits": "gated"}, "visits must not be given"),
    ],
)
def test_stations_that_make_no_sense_are_refused(given: Any, why: str) -> None:
    with pytest.raises(InvalidParameterError, match=why):
        Node(ONE, **given)
