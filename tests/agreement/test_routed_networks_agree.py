"""Networks with routes, limited places and regions: engine against engine, and both against formulas and chains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from customers import both_logs
from markov_chains import Moves, stationary

from qsim import (
    ClassStation,
    Closed,
    Delay,
    Exponential,
    LogNormal,
    Metrics,
    MixedNetwork,
    Model,
    Network,
    Node,
    OpenNetwork,
    OpenNetworkClasses,
    Region,
    Station,
    simulate,
    solve,
)

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CUSTOMERS, CONFIDENCE = 300_000, 0.999
MODES = ("after service", "before service", "repetitive")


def tandem(mode: Any, law: Any = SKEWED) -> Network:
    stations = {
        "a": Node(ONE, capacity=4),
        "b": Node(law, capacity=2, when_full=mode),
        "c": Node(Exponential(0.8), 2, capacity=3, when_full=mode),
    }
    return Network(stations, arrivals={"a": 0.9})


def circle(mode: Any, discipline: Any = "FCFS") -> Network:
    stations = {
        "a": Node(ONE, capacity=6, when_full=mode),
        "b": Node(SKEWED, 2, capacity=3, when_full=mode),
        "c": Node(Exponential(0.8), capacity=4, when_full=mode, discipline=discipline),
    }
    routing = {"a": {"b": 0.6, "c": 0.4}, "b": {"c": 0.5, "a": 0.5}, "c": {"a": 0.5, "b": 0.4, "c": 0.1}}
    return Network(stations, populations={"a": 6}, routing=routing)


SWITCHING = Network(
    {
        "host": Delay(3.0),
        "a": Node(
            {"read": ONE, "write": Exponential(1.5), "clean": SKEWED},
            2,
            discipline="preemptive priority",
            priority={"write": 1, "clean": 2},
        ),
        "b": Node({"read": Exponential(0.5), "write": SKEWED, "clean": ONE}, 2, queues="random", discipline="SIRO"),
    },
    arrivals={"clean": {"a": 0.2}},
    populations={"read": {"host": 5}},
    routing={
        "read": {"host": {"a": 0.7, "a as write": 0.3}, "a": {"b": 0.8, "a": 0.2}, "b": {"host": 1}},
        "write": {"a": {"b": 1}, "b": {"a as write": 0.2, "host as read": 0.8}},
        "clean": {"a": {"b": 0.5}},
    },
)

RUNNING = {
    "feedback": Network(
        {"host": Delay(20.0), "bus": Node(ONE), "die": Node(Exponential(8.0), servers=8)},
        populations={"host": 16},
        routing={"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ),
    "losses": Network(
        {"a": Node(ONE), "b": Node(SKEWED, capacity=2), "c": Node(Exponential(0.8), 2, capacity=3)},
        arrivals={"a": 0.7},
        routing={"a": {"b": 0.5, "c": 0.5}, "b": {"a": 0.3, "c": 0.5}},
    ),
    "classes that change": SWITCHING,
    **{f"tandem, {mode}": tandem(mode) for mode in MODES},
    **{f"circle, {mode}": circle(mode) for mode in MODES},
    "circle, last come": circle("after service", "LCFS"),
    "region": Network(
        {"think": Delay(5.0), "a": Node(ONE, 2), "b": Node(SKEWED, speeds=(1, 1.5))},
        populations={"think": 12},
        regions=[Region(["a", "b"], 4)],
    ),
    "region and blocking": Network(
        {
            "think": Delay(4.0),
            "a": Node(ONE, 2, capacity=3, when_full="after service"),
            "b": Node(SKEWED, capacity=2, when_full="after service"),
            "d": Node(Exponential(0.5), queues="shortest", servers=2, discipline="PSJF"),
        },
        arrivals={"writes": {"a": 0.3}},
        populations={"reads": {"think": 12}},
        routing={
            "writes": {"a": {"b": 1}},
            "reads": {"think": {"a": 1}, "a": {"b": 0.9, "d": 0.1}, "b": {"d": 1}, "d": {"think": 1}},
        },
        regions=[Region(["a", "b"], 4)],
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    logs = both_logs(RUNNING[name], 3000)
    one, other = (np.hstack(log.finished) for log in logs)
    assert one.shape[1] == 3000
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    for here, there in zip(*(log.stays for log in logs), strict=True):  # a run ends with some that count in one alone
        mine, theirs = np.hstack(here), np.hstack(there)[: len(here[0])]
        n = min(mine.shape[1], theirs.shape[1]) - 20
        assert n > 200
        np.testing.assert_allclose(mine[:, :n], theirs[:, :n], rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    rounding = 1e-9 * abs(exact)
    assert low - rounding <= exact <= high + rounding, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


BY_FORMULA: list[Model] = [
    OpenNetwork(4, [Station(Exponential(0.04), visits=5), Station(Exponential(0.03), visits=2.5)]),
    OpenNetwork([1.0, 0.5], [Station(Exponential(0.4)), Station(Exponential(0.6), 2)], [[0.2, 0.5], [0.3, 0]]),
    OpenNetwork([1.0, 0.0], [Station(Exponential(0.5)), Delay(2.0)], [[0, 1.0], [0, 0]]),
    OpenNetworkClasses([2, 1], [ClassStation([Exponential(0.1), Exponential(0.2)], [1, 2], discipline="PS")]),
    MixedNetwork([2], [3], [ClassStation([Exponential(0.1), Exponential(0.1)])], [1]),
]


@pytest.mark.parametrize("model", BY_FORMULA, ids=lambda m: m.kendall)
def test_networks_of_product_form(model: Model) -> None:
    exact, run = solve(model), simulate(model, customers=CUSTOMERS, seed=21, confidence=CONFIDENCE)
    for name in ("throughput", "W", "L"):
        within(run, name, getattr(exact, name))
    for solved, simulated in zip(exact.stations, run.stations, strict=False):
        within(simulated, "W", solved.W)
        within(simulated, "throughput", solved.throughput)
    for solved, simulated in zip(exact.classes, run.classes, strict=False):
        within(simulated, "W", solved.W)


def test_gordon_and_newell_with_feedback() -> None:
    """Nine in ten leave the die: 1/0.9 visits on average."""
    run = simulate(RUNNING["feedback"], customers=CUSTOMERS, seed=22, confidence=CONFIDENCE)
    die = Station(Exponential(8.0), servers=8, visits=1 / 0.9)
    exact = solve(Closed(16, [Delay(20.0), Station(ONE), die]))
    within(run, "throughput", exact.throughput)
    within(run, "W", exact.W)
    within(run["die"], "W", exact.stations[1].W)


def held_tandem(mode: str) -> tuple[float, float]:
    """Losses and throughput of M/M/1/4 before M/M/1/2 at rates 0.9, 1, 1: a chain of (first, second, held or not)."""
    arrival, places, behind = 0.9, 4, 2

    def moves(state: Any) -> Moves:
        first, second, held = state
        if first < places:
            yield arrival, (first + 1, second, held)
        if first > 0 and second < behind:
            yield 1.0, (first - 1, second + 1, 0)
        elif first > 0 and not held and mode == "after service":
            yield 1.0, (first, second, 1)
        if second > 0:
            yield 1.0, (first - 1, behind, 0) if held else (first, second - 1, 0)

    share = stationary((0, 0, 0), moves)
    lost = math.fsum(p for state, p in share.items() if state[0] == places)  # type: ignore[index]
    return lost, arrival * (1 - lost)


@pytest.mark.parametrize("mode", MODES)
def test_blocking_follows_its_chain(mode: Any) -> None:
    stations = {"first": Node(ONE, capacity=4), "second": Node(ONE, capacity=2, when_full=mode)}
    run = simulate(Network(stations, arrivals={"first": 0.9}), customers=CUSTOMERS, seed=23, confidence=CONFIDENCE)
    lost, throughput = held_tandem(mode)
    within(run, "p_block", lost)
    within(run["first"], "p_block", lost)
    within(run, "throughput", throughput)


def test_a_region_around_everything_is_a_closed_queue_with_a_line_before_it() -> None:
    """With exponential times a region of K around one exponential server only moves the line outside."""
    region = Network(
        {"think": Delay(3.0), "die": Node(ONE)}, populations={"think": 8}, regions=[Region(["die"], 3, name="tags")]
    )
    exact = solve(Closed(8, [Delay(3.0), Station(ONE)]))
    run = simulate(region, customers=CUSTOMERS, seed=24, confidence=CONFIDENCE)
    within(run, "throughput", exact.throughput)
    within(run, "W", exact.W)
    assert run["gate of tags"].L + run["die"].L == pytest.approx(exact.L, rel=0.03)
    assert run["die"].L < 3


CHANGING = {"host": {"die": 0.7, "die as write": 0.3}, "die": {"bus": 0.8, "die": 0.2}, "bus": {"host": 1}}
WRITES = {"die": {"bus": 1}, "bus": {"die as write": 0.2, "host as read": 0.8}}
DIE = Node({"read": ONE, "write": Exponential(1.5), "clean": SKEWED}, discipline="PS")
CHAINS = [
    Network(
        {"host": Delay(3.0), "die": DIE, "bus": Node(Exponential(0.5))},
        populations={"read": {"host": 5}, "urgent": {"host": 3}},
        routing={"read": CHANGING, "write": WRITES, "urgent": {"host": {"die as write": 1}}},
    ),
    Network(
        {"host": Delay(3.0), "die": DIE, "bus": Node(Exponential(0.5))},
        arrivals={"clean": {"bus": 0.2}},
        populations={"read": {"host": 3}},
        routing={"read": CHANGING, "write": WRITES, "clean": {"bus": {"die": 1}, "die": {"bus": 0.3}}},
    ),
    Network(
        {
            "die": Node({"read": ONE, "write": Exponential(0.5), "clean": SKEWED}, 2, discipline="PS"),
            "bus": Node(Exponential(0.5)),
        },
        arrivals={"read": {"die": 0.3}, "clean": {"bus": 0.2}},
        routing={
            "read": {"die": {"bus as write": 0.5, "bus": 0.5}, "bus": {"die": 0.3}},
            "write": {"bus": {"die": 0.6, "die as read": 0.1}},
            "clean": {"bus": {"die": 1}},
        },
    ),
    Network(
        {
            "think": Delay(2.0),
            "cpu": Node(ONE, speeds=(1, 1.5, 1.8)),
            "disks": Node(Exponential(2.0), 3, queues="random"),
        },
        populations={"think": 9},
        routing={"think": {"cpu": 1}, "cpu": {"disks": 0.6, "think": 0.4}, "disks": {"cpu": 1}},
    ),
]


@pytest.mark.parametrize("model", CHAINS, ids=lambda m: m.kendall)
def test_chains_of_classes_that_change(model: Network) -> None:
    exact, run = solve(model), simulate(model, customers=CUSTOMERS, seed=25, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for name in ("throughput", "W", "L"):
        within(run, name, getattr(exact, name))
    for solved, simulated in zip(exact.stations, run.stations, strict=True):
        within(simulated, "W", solved.W)
        if simulated.name != "cpu":  # of speeds, the run tells the mean pace
            within(simulated, "utilization", solved.utilization)
            within(simulated, "Wq", solved.Wq)
    for solved, simulated in zip(exact.classes, run.classes, strict=True):
        within(simulated, "W", solved.W)


def test_a_network_is_the_model_that_it_describes() -> None:
    """Jackson's network, described by names, has the same solution."""
    routing = [[0.0, 0.5, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    laws = (0.04, 0.03, 0.05)
    by_matrix = solve(OpenNetwork([4.0, 0.0, 0.0], [Station(Exponential(s)) for s in laws], routing))
    stations = {str(i): Node(Exponential(s)) for i, s in enumerate(laws)}
    ways = {str(i): {str(j): p for j, p in enumerate(row)} for i, row in enumerate(routing)}
    by_name = solve(Network(stations, arrivals={"0": 4.0}, routing=ways))
    assert by_name.W == pytest.approx(by_matrix.W)
    for i, station in enumerate(by_matrix.stations):
        assert by_name[str(i)].L == pytest.approx(station.L)
