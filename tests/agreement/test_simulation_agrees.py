"""Simulation against formula: every exact value of queues, networks, their stations and classes, by intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from class_networks import Flow, Row, both, circling, jackson, queue_of

from qsim import (
    MM1,
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Metrics,
    MMc,
    MMcK,
    MMcN,
    Network,
    Open,
    Station,
    Tandem,
    simulate,
    solve,
)

M, ONE, SKEWED = Exponential, Exponential(1.0), LogNormal(1.0, 2.0)
UNEVEN = HyperExponential.from_moments(1 / 1.6, 3.0)
URGENT = Flow(M(5.0), ONE)
CONFIDENCE = 0.9999  # so that a thousand comparisons of correct numbers pass together

OPEN: list[Network] = [
    MM1(8000.0, 10_000.0),
    MMc(18.0, 1.0, 20),
    Open(Exponential(1 / 3.0), Exponential(1 / 1.0), math.inf),
    MMcK(5.0, 2.0, 2, 5),
    Open(M(1 / 1.6), Deterministic(1.0), 2),
    Open(UNEVEN, Erlang(2, 1.0), 2),
    Open(Erlang(3, 0.8), HyperExponential.from_moments(1.0, 3.0), 2),
    Open(M(0.1), SKEWED, 10, 10),
    Open(M(1.25), SKEWED, discipline="PS"),
    Open(M(1 / 1.6), Deterministic(1.0), 2, discipline="PS"),
    Open(M(1.25), SKEWED, discipline="LCFS-PR"),
    Open(M(1 / 1.6), ONE, 2, discipline="LCFS-PR"),
    Open(M(1 / 1.6), Erlang(2, 1.0), 2, queues="round-robin"),
    Open(M(1 / 1.6), Erlang(2, 1.0), 2, queues="random"),
    Open(M(1 / 2.2), ONE, 2, 4, speeds=(1.0, 1.5, 2.5)),
    Open(M(1 / 2.2), Deterministic(1.0), speeds=(1.0, 1.5, 2.5, 2.8), discipline="PS"),
    queue_of([URGENT, Flow(M(1 / 0.6), ONE, 1)], priority="non-preemptive"),
    queue_of([URGENT, Flow(M(1 / 0.3), Deterministic(2.0), 1)], priority="preemptive-resume"),
    queue_of([URGENT, Flow(M(0.8), ONE, 1)], 2, priority="non-preemptive"),
    queue_of([Flow(M(2.0), ONE), Flow(M(2.0), M(2.0))], 2),
]
CLOSED: list[Network] = [
    MMcN(20, 3.0, 1.0, 4),
    MMcN(64, 1e-6, 80e-6, 32),
    Closed(12, [Delay(2.0), Station(ONE, 4, queues="random"), Station(M(0.1))]),
    Closed(6, [Delay(3.0), Station(ONE, 2, capacity=4)]),
    Closed(8, [Delay(LogNormal(3.0, 2.0)), Station(ONE, 2, capacity=2)]),
    Closed(8, [Delay(Deterministic(2.0)), Station(ONE, speeds=(1, 1.5, 2.0))]),
    Closed(8, [Delay(2.0), Station(HyperExponential.from_moments(1.0, 3.0), discipline="PS"), Station(M(0.5))]),
    Closed(10, [Delay(Erlang(2, 3.0)), Station(ONE), Station(M(0.6), 2, visits=1.6)]),
    circling([4, 6], [Row([ONE, M(3.0)], servers=2, discipline="PS")], [2.0, 5.0]),
    circling((4, 3), [Row((M(0.5), ONE), discipline="PS"), Row((ONE, None), (1.5, 0.0), servers=2)], (2.0, 1.0)),
]
WAYS: dict[str, Any] = {
    "read": {"host": {"die": 1}, "die": {"bus": 0.8, "die": 0.2}, "bus": {"host": 1}},
    "write": {"host": {"die": 1}, "die": {"bus": 1}, "bus": {"die": 0.2, "host": 0.8}},
    "clean": {"bus": {"die": 1}, "die": {"bus": 0.3}},
}
DIE = Station({"read": ONE, "write": M(1.5), "clean": SKEWED}, discipline="PS")
ROUTED = Network(
    {"host": Delay(3.0), "die": DIE, "bus": Station({"read": M(0.3), "write": M(0.6), "clean": ONE}, discipline="PS")},
    {"clean": Arrivals({"bus": 0.15}), "read": 3, "write": 2},
    WAYS,
)
NETWORKS: list[Network] = [
    ROUTED,
    Tandem(ONE, [Station(M(1.4), 2), Station(Deterministic(0.6), discipline="PS")]),
    Tandem(ONE, [Station(M(1.5), 3, queues="random"), Station(M(0.8), speeds=(1, 2))]),
    jackson([1.0, 0.5], [Station(M(0.4)), Station(M(0.6), 2)], [[0.2, 0.5], [0.3, 0]]),
    both([2], [3], [Row([M(0.1), M(0.1)])], [1]),
    Network(
        {"host": Delay(20.0), "bus": Station(ONE), "die": Station(M(8.0), servers=8)},
        16,
        {"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ),
    Network(
        {"host": Delay(3.0), "die": DIE, "bus": Station(M(0.5))},
        {"read": 5, "write": 3},
        {"read": WAYS["read"], "write": WAYS["write"]},
    ),
    Network(
        {"think": Delay(2.0), "cpu": Station(ONE, speeds=(1, 1.5, 1.8)), "disks": Station(M(2.0), 3, queues="random")},
        9,
        {"think": {"cpu": 1}, "cpu": {"disks": 0.6, "think": 0.4}, "disks": {"cpu": 1}},
    ),
]


def misses(exact: Metrics, run: Metrics, names: Sequence[str]) -> list[str]:
    found = []
    for name in names:
        value, (low, high) = getattr(exact, name), run.interval(name)
        slack = 1e-9 * abs(value)
        if not math.isnan(value) and not low - slack <= value <= high + slack:
            found.append(f"{name} of {run.name or 'all'}: {value:.6g} is not in {low:.6g} .. {high:.6g}")
    return found


@pytest.mark.parametrize("model", [*OPEN, *CLOSED, *NETWORKS], ids=lambda m: m.kendall)
def test_the_formula_lies_in_the_interval(model: Network) -> None:
    exact, run = solve(model), simulate(model, customers=400_000, seed=20, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    low, high = run.interval("W")
    assert high - low <= 0.5 * exact.W, "too vague to say anything"
    found = misses(exact, run, ("throughput", "L", "W", "p_block"))
    if not exact.stations:
        found += misses(exact, run, ("utilization", "Lq", "Wq", "p_wait"))
    for known, seen in zip(exact.stations, run.stations, strict=bool(run.stations)):
        paced = model.stations[known.name].speeds is not None  # the mean service is that of the mean pace
        found += misses(known, seen, ("throughput", "L", "W", *(() if paced else ("utilization", "Wq"))))
        for part in known.classes:
            found += misses(part, seen[part.name], ("throughput", "L", "W"))
    for known, seen in zip(exact.classes, run.classes, strict=bool(run.classes)):
        found += misses(known, seen, ("throughput", "L", "W"))
    if exact.times is not None and run.times is not None:
        for q in (0.5, 0.95):
            low, high = run.quantile_interval(q)
            if not low * 0.99 <= exact.quantile(q) <= high * 1.01:  # bins are one percent wide
                found.append(f"quantile {q}: {exact.quantile(q):.6g} is not in {low:.6g} .. {high:.6g}")
    assert not found


def test_places_behind_a_delay_are_as_limited_as_without_it() -> None:
    """A Poisson stream leaves a Delay as one."""
    behind = Network({"way": Delay(1.0), "desk": Station(ONE, capacity=2)}, Arrivals(2.0))
    run, exact = simulate(behind, customers=400_000, seed=2, confidence=CONFIDENCE), solve(MMcK(2.0, 1.0, 1, 2))
    assert not misses(exact, run, ("throughput", "p_block"))
    assert not misses(exact, run["desk"], ("L", "W"))


@pytest.mark.parametrize("model", [MM1(0.6, 1.0), MMc(2.1, 1.0, 3), MMcN(20, 3.0, 1.0, 4)], ids=lambda m: m.kendall)
def test_the_reference_engine_against_the_formula(model: Network) -> None:
    run = simulate(model, customers=30_000, seed=40, engine="reference", confidence=CONFIDENCE)
    assert not misses(solve(model), run, ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait"))


def test_a_smarter_choice_of_queue_waits_less() -> None:
    waits = {
        q: simulate(Open(M(0.3), ONE, servers=4, queues=q), customers=400_000, seed=31).Wq  # type: ignore[arg-type]
        for q in ("random", "round-robin", "shortest", "shared")
    }
    assert waits["random"] > waits["round-robin"] > waits["shortest"] > waits["shared"]


def test_customers_that_circulate_are_all_somewhere() -> None:
    """Little's law at each station: the products of throughput and W of a closed chain add up to its population."""
    run = simulate(ROUTED, customers=300_000, seed=31)
    parts = [c for station in run.stations for c in station.classes]
    assert len(parts) == 6
    thinking = (run["read"].throughput + run["write"].throughput) * 3.0
    assert thinking + math.fsum(c.throughput * c.W for c in parts if c.name != "clean") == pytest.approx(5, rel=1e-3)
    for station in run.stations:
        for value in ("throughput", "L", "Lq"):
            total = math.fsum(getattr(c, value) for c in station.classes)
            assert total == pytest.approx(getattr(station, value), rel=2e-3, abs=1e-12)


def test_a_class_seldom_seen_at_a_station_has_no_values_there_and_says_so() -> None:
    net = Network(
        {"die": Station(M(0.4)), "retry": Station(M(0.4))},
        {"read": Arrivals({"die": 0.5}), "write": Arrivals({"die": 0.5})},
        {"read": {"die": {"retry": 1e-4}}, "write": {"die": {"retry": 1}}},
    )
    seldom = simulate(net, customers=20_000, seed=36)["retry"]["read"]
    assert math.isnan(seldom.W)
    assert "read" in seldom.warnings[0]
    assert "too few" in seldom.warnings[0]
