"""simulate: arguments, seeds, refusals, and what importing costs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pytest

from qsim import (
    MM1,
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Exponential,
    GGc,
    MMc,
    MMcN,
    Network,
    NoEngineError,
    Open,
    Station,
    SteadyStateError,
    Tandem,
    UnstableQueueError,
    simulate,
)
from qsim.engines.run_length import shortest_run
from qsim.engines.variates import BLOCK

STEADY = MM1(0.5, 1.0)


@pytest.mark.parametrize("customers", [BLOCK, BLOCK + 1, 2 * BLOCK - 1])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_run_has_as_many_customers_as_were_asked_for(engine: Any, customers: int) -> None:
    assert simulate(STEADY, customers=customers, seed=1, engine=engine, allow_short=True).customers == customers


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_seed_repeats_a_run_and_another_does_not(engine: Any) -> None:
    first, again, other = (simulate(STEADY, customers=10_000, seed=s, engine=engine) for s in (3, 3, 4))
    assert first == again
    assert first.W != other.W


def test_a_fresh_seed_is_reported_and_repeats_the_run() -> None:
    fresh = simulate(STEADY, customers=10_000)
    assert fresh.seed is not None
    assert simulate(STEADY, customers=10_000, seed=fresh.seed) == fresh
    assert simulate(STEADY, customers=10_000).seed != fresh.seed


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_progress_rises_to_one(engine: Any) -> None:
    seen: list[float] = []
    simulate(
        STEADY, customers=200 * BLOCK if engine == "compiled" else 5000, seed=1, engine=engine, progress=seen.append
    )
    assert seen == sorted(seen)
    assert seen[0] < 1 == seen[-1]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_too_short_a_run_is_refused_with_its_estimate(engine: Any) -> None:
    with pytest.raises(SteadyStateError, match="too short for a steady state") as refusal:
        simulate(MM1(0.99, 1), customers=1000, seed=1, engine=engine)
    estimate = refusal.value.metrics
    assert estimate.W > 0
    assert estimate.warnings
    shown = simulate(MM1(0.99, 1), customers=1000, seed=1, engine=engine, allow_short=True)
    assert shown == estimate
    assert "warning: too short" in str(shown)


def test_the_shortest_run_grows_towards_saturation() -> None:
    needed = [shortest_run(MM1(rho, 1)) for rho in (0.1, 0.5, 0.8, 0.95, 0.99)]
    assert needed == sorted(needed)
    assert needed[-1] > 500_000
    assert shortest_run(MMc(500, 1, 1000)) >= 20 * 500


@pytest.mark.parametrize("unit", [1e-100, 1e12])
def test_any_unit_of_time_will_do(unit: float) -> None:
    one, other = (simulate(MM1(0.5 / u, 1 / u), customers=20_000, seed=1) for u in (1.0, unit))
    assert other.W / unit == pytest.approx(one.W, rel=1e-9)
    assert other.quantile(0.9) / unit == pytest.approx(one.quantile(0.9), rel=0.01)


def test_warmup_by_share() -> None:
    assert simulate(STEADY, customers=100_000, seed=1, warmup=0.1).warmup == pytest.approx(10_000, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"customers": 0}, "customers"),
        ({"customers": float("nan")}, "customers"),
        ({"seed": -1}, "seed"),
        ({"confidence": 95}, "confidence"),
        ({"warmup": -1}, "warmup"),
        ({"engine": "gpu"}, "engine"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter}"):
        simulate(STEADY, **{"customers": 10_000, "seed": 1, **arguments})


@pytest.mark.parametrize("customers", [1, 10, 100])
def test_tiny_runs_are_refused_in_words(customers: int) -> None:
    with pytest.raises(ValueError, match="customers"):
        simulate(STEADY, customers=customers, seed=1)


def test_models_that_have_no_steady_state_or_no_engine() -> None:
    pair = [Station(Exponential(0.5)), Station(Exponential(1.2))]
    for overloaded in (MM1(1, 1), Open(Exponential(1), Exponential(2.5), speeds=(1, 2)), Tandem(Exponential(1), pair)):
        with pytest.raises(UnstableQueueError, match="overloaded"):
            simulate(overloaded)
    with pytest.raises(ValueError, match="arrival_rate"):
        simulate(MM1(0, 1))
    with pytest.raises(NoEngineError, match="engines serve FCFS, PS"):
        simulate(Open(Exponential(2), Exponential(1), discipline="SRPT"))
    with pytest.raises(NoEngineError, match="1,000,000,000 services of each customer"):
        simulate(Network({"a": Station(Exponential(1), visits=1e9)}, 3))
    with pytest.raises(ValueError, match="model"):
        simulate("M/M/1")  # type: ignore[arg-type]


def test_deterministic_queues_never_wait() -> None:
    r = simulate(GGc(Deterministic(1.0), Deterministic(1.5), 2), customers=10_000, seed=1)
    assert (r.Wq, r.W, r.p_wait) == (0, 1.5, 0)
    closed = simulate(Closed(4, [Delay(Deterministic(0)), Station(Deterministic(1.0), 2)]), customers=10_000, seed=1)
    assert closed.throughput == pytest.approx(2.0)
    assert closed.W == pytest.approx(2.0)


def test_thousands_of_customers_are_present_at_once() -> None:
    stations = {"pause": Delay(1.0), "disk": Station(Exponential(1 / 6000))}
    r = simulate(Network(stations, Arrivals(3000.0)), customers=60_000, seed=1, allow_short=True)
    assert r["pause"].L == pytest.approx(3000, rel=0.05)
    assert r["disk"].L == pytest.approx(1.0, rel=0.1)


def test_refusals_survive_pickling() -> None:
    error = SteadyStateError("It is too short.", "Give", simulate(STEADY, customers=10_000, seed=1))
    back = pickle.loads(pickle.dumps(error))  # noqa: S301
    sentence = "It is too short. Give allow_short=True to see the estimate as it is."
    assert (type(back), str(back), back.metrics) == (SteadyStateError, sentence, error.metrics)
    unstable = pickle.loads(pickle.dumps(UnstableQueueError("M/M/1", 2.0, 1.0, 1)))  # noqa: S301
    assert unstable.rho == 2


def test_importing_is_light() -> None:
    heavy = ["numba", "simpy", "scipy", "pandas", "plotly", "typer"]
    code = f"import sys, qsim; qsim.solve(qsim.MMcN(8, 1, 1)); print([m for m in {heavy} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_of_a_closed_queue_no_more_are_present_than_circulate(engine: Any) -> None:
    for seed in range(1, 5):
        found = simulate(MMcN(64, 80e-6, 32), customers=20_000, seed=seed, engine=engine)
        assert found.L <= 64 * (1 + 1e-12)
        assert found.interval("L")[1] <= 64
        assert found.throughput * found.W == pytest.approx(found.L, rel=1e-12)
