"""Formulas of open queues against the simulator, by confidence interval."""

from __future__ import annotations

import math

import pytest
from class_networks import Flow, queue_of

from qsim import (
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Metrics,
    Network,
    Open,
    simulate,
    solve,
)

M = Exponential
UNEVEN = HyperExponential.from_moments(1 / 1.6, 3.0)
URGENT = Flow(M(5.0), M(1.0))

MODELS: list[Network] = [
    Open(M(1.25), LogNormal(1.0, 2.0)),
    Open(M(1 / 1.6), Deterministic(1.0), 2),
    Open(UNEVEN, Erlang(2, 1.0), 2),
    Open(LogNormal(1.0, 2.0), M(1.6), 2),
    Open(Erlang(3, 0.8), HyperExponential.from_moments(1.0, 3.0), 2, 5),
    Open(M(0.1), LogNormal(1.0, 2.0), 10, 10),
    Open(LogNormal(0.1, 2.0), M(1.0), 10, 10),
    Open(M(1 / 0.9), M(1.0), discipline="SJF"),
    Open(M(1.25), Erlang(2, 1.0), discipline="PSJF"),
    Open(M(1.25), LogNormal(1.0, 2.0), discipline="PS"),
    Open(M(1 / 1.6), Deterministic(1.0), 2, discipline="PS"),
    Open(M(1.25), LogNormal(1.0, 2.0), discipline="LCFS-PR"),
    Open(Erlang(2, 1 / 1.6), M(1.0), 2, discipline="LCFS-PR"),
    Open(M(1 / 1.6), Erlang(2, 1.0), 2, discipline="LCFS"),
    Open(M(1 / 1.6), Erlang(2, 1.0), 2, queues="round-robin"),
    Open(UNEVEN, Erlang(2, 1.0), 2, queues="random"),
    Open(M(1 / 2.2), M(1.0), 3, speeds=(1.0, 1.5, 2.5, 2.8)),
    Open(M(1 / 2.2), M(1.0), 2, 4, speeds=(1.0, 1.5, 2.5)),
    Open(M(1 / 2.2), Deterministic(1.0), speeds=(1.0, 1.5, 2.5, 2.8), discipline="PS"),
    queue_of([URGENT, Flow(M(1 / 0.6), M(1.0), 1)], priority="non-preemptive"),
    queue_of([URGENT, Flow(M(1 / 0.3), Deterministic(2.0), 1)], priority="preemptive-resume"),
    queue_of([URGENT, Flow(M(0.8), M(1.0), 1)], 2, priority="preemptive-resume"),
    queue_of([URGENT, Flow(M(0.8), M(1.0), 1)], 2, priority="non-preemptive"),
    queue_of([Flow(M(2.0), M(1.0)), Flow(M(2.0), M(2.0))], 2),
]


def disagreements(exact: Metrics, run: Metrics) -> list[str]:
    found = []
    for name in ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait"):
        value, (low, high) = getattr(exact, name), run.interval(name)
        slack = 1e-9 * abs(value)
        if not math.isnan(value) and not low - slack <= value <= high + slack:
            found.append(f"{name}: {value:.6g} is not in {low:.6g} .. {high:.6g}")
    return found


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.kendall)
def test_the_formula_lies_in_the_interval(model: Network) -> None:
    exact = solve(model)
    assert exact.kind == "exact"
    # Some 180 values are compared: intervals that miss one in ten thousand.
    run = simulate(model, customers=600_000, seed=20, confidence=0.9999)
    assert not disagreements(exact, run)
    for part, simulated in zip(exact.classes, run.classes, strict=True):
        assert not disagreements(part, simulated), part.name
    if exact.times is not None and run.times is not None:
        for q in (0.5, 0.99):
            low, high = run.quantile_interval(q)
            assert low * 0.99 <= exact.quantile(q) <= high * 1.01
