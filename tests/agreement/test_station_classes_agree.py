"""The classes at each station of a simulated network: against product form, priority formulas and Little's law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from class_networks import Flow, Row, circling, queue_of

from qsim import Arrivals, Delay, Exponential, LogNormal, Metrics, Network, Population, Station, simulate, solve

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CUSTOMERS, CONFIDENCE = 300_000, 0.9995
TIMES = ("throughput", "utilization", "L", "Lq", "W", "Wq")


def within(run: Metrics, exact: Metrics, names: Sequence[str] = TIMES) -> None:
    for name in names:
        (low, high), value = run.interval(name), getattr(exact, name)
        rounding = 1e-9 * abs(value)
        assert low - rounding <= value <= high + rounding, f"{name} of {run.name}: {low} .. {high}, exactly {value}"


SWITCHING = Network(
    {
        "host": Delay(3.0),
        "die": Station({"read": ONE, "write": Exponential(1.5), "clean": SKEWED}, discipline="PS"),
        "bus": Station({"read": Exponential(0.3), "write": Exponential(0.6), "clean": ONE}, discipline="LCFS-PR"),
    },
    {"clean": Arrivals(0.15, "bus"), "read": Population(4, "host")},
    {
        "read": {"host": {"die": 0.7, "die as write": 0.3}, "die": {"bus": 0.8, "die": 0.2}, "bus": {"host": 1}},
        "write": {"die": {"bus": 1}, "bus": {"die as write": 0.2, "host as read": 0.8}},
        "clean": {"bus": {"die": 1}, "die": {"bus": 0.3}},
    },
)


@pytest.fixture(scope="module")
def switching() -> Metrics:
    return simulate(SWITCHING, customers=CUSTOMERS, seed=31, confidence=CONFIDENCE)


def test_product_form_gives_each_class_at_each_station(switching: Metrics) -> None:
    exact = solve(SWITCHING)
    assert exact.kind == "exact"
    for station in exact.stations:
        assert {c.name for c in station.classes} == {c.name for c in switching[station.name].classes}
        for known in station.classes:
            within(switching[station.name][known.name], known)


def test_those_who_circulate_are_all_somewhere(switching: Metrics) -> None:
    """Little's law at each station: the products of throughput and W of a closed chain add up to its population."""
    parts = [c for station in switching.stations for c in station.classes]
    assert len(parts) == 6
    thinking = switching["read"].throughput * 3.0
    assert thinking + math.fsum(c.throughput * c.W for c in parts if c.name != "clean") == pytest.approx(4, rel=1e-3)
    for station in switching.stations:
        for value in ("throughput", "L", "Lq"):
            total = math.fsum(getattr(c, value) for c in station.classes)
            assert total == pytest.approx(getattr(station, value), rel=2e-3, abs=1e-12)


def test_classes_of_a_closed_network_without_names() -> None:
    model = circling(
        (4, 3),
        [
            Row((Exponential(0.5), Exponential(1.0)), discipline="PS", name="die"),
            Row((ONE, None), visits=(1.5, 0.0), servers=2, discipline="PS", name="bus"),
        ],
        think_times=(2.0, 1.0),
    )
    exact, run = solve(model), simulate(model, customers=CUSTOMERS, seed=32, confidence=CONFIDENCE)
    assert exact.kind == "exact"
    for station in exact.stations:
        for known, seen in zip(station.classes, run[station.name].classes, strict=True):
            within(seen, known)


@pytest.mark.parametrize(
    ("discipline", "priority"), [("priority", "non-preemptive"), ("preemptive priority", "preemptive-resume")]
)
def test_priority_formulas(discipline: Any, priority: Any) -> None:
    """Cobham (1954), and M/M/1 with preemption, each class behind a delay that keeps it Poisson."""
    die = Station({"read": Exponential(0.5), "write": ONE}, discipline=discipline, priority={"read": 0, "write": 1})
    net = Network({"way": Delay(2.0), "die": die}, {"read": Arrivals(0.6), "write": Arrivals(0.3)})
    run = simulate(net, customers=CUSTOMERS, seed=33, confidence=CONFIDENCE)
    classes = [Flow(Exponential(1 / 0.6), Exponential(0.5), 0, "read"), Flow(Exponential(1 / 0.3), ONE, 1, "write")]
    for known in solve(queue_of(classes, priority=priority)).classes:
        within(run["die"][known.name], known)


def test_a_class_seldom_seen_has_no_values_and_says_so() -> None:
    net = Network(
        {"die": Station({"read": Exponential(0.5), "retry": ONE})},
        {"read": Arrivals(1.0, "die")},
        {"read": {"die": {"die as retry": 1e-4}}},
    )
    run = simulate(net, customers=20_000, seed=36)
    retry = run["die"]["retry"]
    assert math.isnan(retry.W)
    assert "retry" in retry.warnings[0]
    assert "too few" in retry.warnings[0]
    assert not math.isnan(run["die"]["read"].W)
