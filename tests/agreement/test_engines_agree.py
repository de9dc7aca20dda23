"""Engine against engine on the same customers, and both against the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from customers import log_of
from places import KNOWN_ANSWERS

from qsim import (
    GG1,
    MG1,
    MM1,
    Closed,
    Delay,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    GGc,
    HyperExponential,
    LogNormal,
    MMc,
    MMcN,
    Network,
    Station,
    simulate,
    solve,
    trace,
)
from qsim.engines.trace import draw

VALUES = ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait")
RANDOM = Closed(16, [Delay(2.0), Station(Exponential(1.0), servers=8, queues="random")])

FORMULA = [
    MM1(0.5, 1.0),
    MM1(8000.0, 10_000.0),
    MMc(2.7, 1.0, 3),
    MMc(7.0, 1.0, 8),
    MMc(18.0, 1.0, 20),  # the heap of free times
    MMcN(1, 1.0, 1.0),
    MMcN(20, 3.0, 1.0, 4),
    MMcN(64, 1e-6, 80e-6, 32),
    MMcN(12, 0.0, 1.0, 3),
    Closed(10, [Delay(Deterministic(3.0)), Station(Exponential(1.0), 2)]),
    RANDOM,
]

FCFS = [
    MM1(0.8, 1.0),
    MMc(2.7, 1.0, 3),
    MMc(18.0, 1.0, 20),
    MG1(0.7, LogNormal(1.0, 2.0)),
    GG1(Erlang(3, 1.0), HyperExponential.from_moments(0.7, 4.0)),
    GGc(Deterministic(1.0), Erlang(2, 3.2), 4),
    MG1(1.0, Empirical.from_histogram((0.1, 0.5, 2.0), (3, 1))),
]


def assert_covers(r: Any, name: str, exact: float, margin: float = 2.0) -> None:
    """Within twice the 95 % interval: about one false alarm in 20,000, and a factor of two never passes."""
    low, high = r.interval(name)
    centre, half = getattr(r, name), (high - low) / 2
    assert abs(centre - exact) <= margin * half + 1e-9 * abs(exact), f"{name}: {centre} +- {half}, exactly {exact}"


@pytest.mark.parametrize("model", FORMULA, ids=lambda m: m.kendall)
def test_compiled_engine_against_formula(model: Network) -> None:
    exact, r = solve(model), simulate(model, customers=400_000, seed=20, engine="compiled")
    for name in VALUES:
        assert_covers(r, name, getattr(exact, name))
        low, high = r.interval(name)
        assert high - low <= 0.3 * getattr(exact, name) + 1e-9, f"{name} is too vague to tell anything"


@pytest.mark.parametrize("model", FORMULA, ids=lambda m: m.kendall)
@pytest.mark.parametrize("q", [0.5, 0.95])
def test_simulated_quantiles_against_formula(model: Network, q: float) -> None:
    exact, r = solve(model), simulate(model, customers=400_000, seed=30)
    for of in ("W", "Wq"):
        low, high = r.quantile_interval(q, of)
        # Interpolation within a bin of 1.1 % adds its own small error.
        assert abs(r.quantile(q, of) - exact.quantile(q, of)) <= (high - low) + 0.003 * exact.quantile(q, of)


@pytest.mark.parametrize(
    "model", [MM1(0.6, 1.0), MMc(2.1, 1.0, 3), MMcN(20, 3.0, 1.0, 4), RANDOM], ids=lambda m: m.kendall
)
def test_reference_engine_against_formula(model: Network) -> None:
    exact, r = solve(model), simulate(model, customers=30_000, seed=40, engine="reference")
    for name in VALUES:
        assert_covers(r, name, getattr(exact, name))


@pytest.mark.parametrize("model", [*FORMULA[:-1], *FCFS, RANDOM], ids=lambda m: m.kendall)
def test_both_engines_live_through_the_same_run(model: Network) -> None:
    n = 17_000  # more than two blocks of variates
    compiled, reference = (
        simulate(model, customers=n, seed=50, engine=engine, allow_short=True, warmup=0.1)
        for engine in ("compiled", "reference")
    )
    for name in VALUES:
        assert getattr(compiled, name) == pytest.approx(getattr(reference, name), rel=1e-9), name
        assert compiled.interval(name) == pytest.approx(reference.interval(name), rel=1e-6), name


@pytest.mark.parametrize("model", FCFS, ids=lambda m: m.kendall)
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_customers_wait_as_long_as_those_of_a_trace(model: Network, engine: str) -> None:
    """The engine counts time from block to block; a trace counts it from zero. The waits are the same."""
    n = 17_000
    waits = log_of(model, engine, n, seed=60).finished[1]
    np.testing.assert_allclose(waits, trace(model, *draw(model, n, seed=60)).wait, rtol=1e-9, atol=1e-9)


def test_a_published_trace_of_two_servers() -> None:
    """queuecomputer's README prints the first ten departures of an M/M/2 queue."""
    import json

    cases = json.loads(KNOWN_ANSWERS.read_text())
    case = next(c for c in cases if c["id"] == "ka177")
    arrivals, services = np.array(case["params"]["arrivals"]), np.array(case["params"]["services"])
    model = GGc(Exponential(1.0), Exponential(1.0), case["params"]["c"])
    found = trace(model, np.diff(arrivals, prepend=0.0), services)
    np.testing.assert_allclose(found.finish, case["expected"]["departures"], atol=case["tolerance"])
