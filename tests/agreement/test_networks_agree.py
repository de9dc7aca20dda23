"""Networks by formula against the compiled engine: every exact value within the interval of a run."""

from __future__ import annotations

import math

import pytest
from class_networks import Row, circling

from qsim import (
    Closed,
    Delay,
    Deterministic,
    Exponential,
    HyperExponential,
    Metrics,
    MMcKN,
    Network,
    Station,
    Tandem,
    simulate,
    solve,
)

CUSTOMERS = 300_000
CONFIDENCE = 0.999  # so that dozens of comparisons of correct numbers pass together

NETWORKS = [
    Closed(8, [Delay(1.0), Station(Exponential(0.2), 2), Station(Exponential(0.3))]),
    Closed(12, [Delay(2.0), Station(Exponential(1.0), 4, queues="random"), Station(Exponential(0.1))]),
    Closed(8, [Delay(Deterministic(2.0)), Station(Exponential(1.0), speeds=(1, 1.5, 2.0))]),
    Closed(
        8, [Delay(2.0), Station(HyperExponential.from_moments(1.0, 3.0), discipline="PS"), Station(Exponential(0.5))]
    ),
    Closed(8, [Delay(2.0), Station(Deterministic(1.0), discipline="LCFS-PR")]),
    Closed(8, [Delay(2.0), Station(Exponential(1.0), visits=2.0)]),
    MMcKN(8, 2.0, 1.0, 2, 4),
    Closed(8, [Delay(Deterministic(2.0)), Station(Exponential(1.0), 2, capacity=3)]),
    circling([4, 6], [Row([Exponential(1.0), Exponential(3.0)], servers=2, discipline="PS")], [2.0, 5.0]),
    circling([4, 6], [Row([Exponential(1.0)] * 2), Row([Exponential(0.5)] * 2, servers=2)], [3.0, 9.0]),
    Tandem(Exponential(1.0), [Station(Exponential(1.4), 2), Station(Deterministic(0.6), discipline="PS")]),
    Tandem(Exponential(1.0), [Station(Exponential(1.5), 3, queues="random"), Station(Exponential(0.8), speeds=(1, 2))]),
]


def check(run: Metrics, exact: Metrics, name: str) -> None:
    if math.isnan(getattr(exact, name)):
        return  # a probability of waiting, where servers are shared
    low, high = run.interval(name)
    rounding = 1e-9 * abs(getattr(exact, name))
    assert low - rounding <= getattr(exact, name) <= high + rounding, f"{name} of {exact.name or exact.model.kendall}"


@pytest.mark.parametrize("model", NETWORKS, ids=lambda m: m.kendall)
def test_formula_and_engine_agree(model: Closed | Network | Tandem) -> None:
    exact = solve(model)
    assert exact.kind == "exact"
    run = simulate(model, customers=CUSTOMERS, seed=20, confidence=CONFIDENCE)
    for name in ("throughput", "W", "Wq", "L", "p_wait", "p_block"):
        check(run, exact, name)
    for simulated, solved in zip(run.stations, exact.stations, strict=False):
        for name in ("throughput", "utilization", "W", "Wq", "p_wait"):
            check(simulated, solved, name)
    for simulated, solved in zip(run.classes, exact.classes, strict=False):
        check(simulated, solved, "W")


def test_approximations_are_where_they_say_they_are() -> None:
    """FCFS with unequal services: within the five per cent that its page states for a ratio of two."""
    model = circling([6, 4], [Row([Exponential(1.0), Exponential(2.0)], servers=3)], [2.0, 4.0])
    near, run = solve(model), simulate(model, customers=CUSTOMERS, seed=21)
    assert near.kind == "approximation"
    for formula, simulated in zip(near.classes, run.classes, strict=True):
        assert formula.throughput == pytest.approx(simulated.throughput, rel=0.05)
