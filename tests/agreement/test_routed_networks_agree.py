"""Networks with routes, limited places and regions: engine against engine, and both against formulas and chains."""

from __future__ import annotations

import numpy as np
import pytest
from class_networks import Row, both, jackson, passing
from customers import log_of

from qsim import Arrivals, Closed, Delay, Exponential, LogNormal, Metrics, Network, Population, Station, simulate, solve

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CUSTOMERS, CONFIDENCE = 300_000, 0.999
MODES = ()


SWITCHING = Network(
    {
        "host": Delay(3.0),
        "a": Station(
            {"read": ONE, "write": Exponential(1.5), "clean": SKEWED},
            2,
            discipline="preemptive priority",
            priority={"write": 1, "clean": 2},
        ),
        "b": Station({"read": Exponential(0.5), "write": SKEWED, "clean": ONE}, 2, queues="random", discipline="SIRO"),
    },
    {"clean": Arrivals(0.2, "a"), "read": Population(5, "host")},
    {
        "read": {"host": {"a": 0.7, "a as write": 0.3}, "a": {"b": 0.8, "a": 0.2}, "b": {"host": 1}},
        "write": {"a": {"b": 1}, "b": {"a as write": 0.2, "host as read": 0.8}},
        "clean": {"a": {"b": 0.5}},
    },
)

RUNNING = {
    "feedback": Network(
        {"host": Delay(20.0), "bus": Station(ONE), "die": Station(Exponential(8.0), servers=8)},
        Population(16, "host"),
        {"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ),
    "classes that change": SWITCHING,
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = (log_of(RUNNING[name], engine, 3000) for engine in ("compiled", "reference"))
    np.testing.assert_allclose(one.finished, other.finished, rtol=1e-6, atol=1e-6)
    for mine, theirs in zip(one.stays, other.stays, strict=True):  # a run ends with some that count in one alone
        n = min(mine.shape[1], theirs.shape[1]) - 20
        assert n > 200
        np.testing.assert_allclose(mine[:, :n], theirs[:, :n], rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    rounding = 1e-9 * abs(exact)
    assert low - rounding <= exact <= high + rounding, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


BY_FORMULA: list[Network] = [
    jackson(4, [Station(Exponential(0.04), visits=5), Station(Exponential(0.03), visits=2.5)]),
    jackson([1.0, 0.5], [Station(Exponential(0.4)), Station(Exponential(0.6), 2)], [[0.2, 0.5], [0.3, 0]]),
    jackson([1.0, 0.0], [Station(Exponential(0.5)), Delay(2.0)], [[0, 1.0], [0, 0]]),
    passing([2, 1], [Row([Exponential(0.1), Exponential(0.2)], [1, 2], discipline="PS")]),
    both([2], [3], [Row([Exponential(0.1), Exponential(0.1)])], [1]),
]


@pytest.mark.parametrize("model", BY_FORMULA, ids=lambda m: m.kendall)
def test_networks_of_product_form(model: Network) -> None:
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


CHANGING = {"host": {"die": 0.7, "die as write": 0.3}, "die": {"bus": 0.8, "die": 0.2}, "bus": {"host": 1}}
WRITES = {"die": {"bus": 1}, "bus": {"die as write": 0.2, "host as read": 0.8}}
DIE = Station({"read": ONE, "write": Exponential(1.5), "clean": SKEWED}, discipline="PS")
CHAINS = [
    Network(
        {"host": Delay(3.0), "die": DIE, "bus": Station(Exponential(0.5))},
        {"read": Population(5, "host"), "urgent": Population(3, "host")},
        {"read": CHANGING, "write": WRITES, "urgent": {"host": {"die as write": 1}}},
    ),
    Network(
        {"host": Delay(3.0), "die": DIE, "bus": Station(Exponential(0.5))},
        {"clean": Arrivals(0.2, "bus"), "read": Population(3, "host")},
        {"read": CHANGING, "write": WRITES, "clean": {"bus": {"die": 1}, "die": {"bus": 0.3}}},
    ),
    Network(
        {
            "die": Station({"read": ONE, "write": Exponential(0.5), "clean": SKEWED}, 2, discipline="PS"),
            "bus": Station(Exponential(0.5)),
        },
        {"read": Arrivals(0.3, "die"), "clean": Arrivals(0.2, "bus")},
        {
            "read": {"die": {"bus as write": 0.5, "bus": 0.5}, "bus": {"die": 0.3}},
            "write": {"bus": {"die": 0.6, "die as read": 0.1}},
            "clean": {"bus": {"die": 1}},
        },
    ),
    Network(
        {
            "think": Delay(2.0),
            "cpu": Station(ONE, speeds=(1, 1.5, 1.8)),
            "disks": Station(Exponential(2.0), 3, queues="random"),
        },
        Population(9, "think"),
        {"think": {"cpu": 1}, "cpu": {"disks": 0.6, "think": 0.4}, "disks": {"cpu": 1}},
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
    by_matrix = solve(jackson([4.0, 0.0, 0.0], [Station(Exponential(s)) for s in laws], routing))
    stations = {str(i): Station(Exponential(s)) for i, s in enumerate(laws)}
    ways = {str(i): {str(j): p for j, p in enumerate(row)} for i, row in enumerate(routing)}
    by_name = solve(Network(stations, Arrivals(4.0, "0"), ways))
    assert by_name.W == pytest.approx(by_matrix.W)
    for i, station in enumerate(by_matrix.stations):
        assert by_name[str(i)].L == pytest.approx(station.L)
