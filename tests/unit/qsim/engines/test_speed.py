"""Measuring speed: what is timed, and how ratios are taken; never how fast this machine happens to be."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

import qsim.engines.speed as speed_module
from qsim import MD1, MM1, Closed, Delay, Exponential, MMc, MMcN, Model, Open, Station, solve
from qsim.engines.peers import peers_of
from qsim.engines.speed import Speed, benchmark_models, measure_scaling, measure_speed


def test_engines_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int, int]] = []
    for name in ("compiled", "reference"):
        monkeypatch.setattr(speed_module, f"_{name}", lambda _, n, seed, name=name: calls.append((name, n, seed)))
    monkeypatch.setattr(speed_module, "peers_of", lambda _: {})
    seen: list[float] = []
    (found,) = measure_speed({"q": MM1(0.5, 1.0)}, rounds=2, customers=70, reference_customers=30, progress=seen.append)
    warming, timed = calls[:2], calls[2:]
    assert [seed for _, _, seed in warming] == [0, 0]
    assert timed == [("compiled", 70, 1), ("reference", 30, 1), ("compiled", 70, 2), ("reference", 30, 2)]
    assert seen == [0.5, 1.0]
    assert {engine: len(rates) for engine, rates in found.rates.items()} == {"compiled": 2, "reference": 2}


def test_the_ratio_is_the_median_of_the_rounds() -> None:
    found = Speed("q", {"compiled": (10.0, 20.0, 90.0), "reference": (1.0, 1.0, 3.0)})
    assert found.median("compiled") == 20
    assert found.ratio("reference") == 20  # of 10, 20 and 30


def test_the_benchmark_runs_every_model_it_names() -> None:
    found = measure_speed(rounds=1, customers=20_000, reference_customers=300)
    assert [s.name for s in found] == list(benchmark_models())
    assert all(rate > 0 for s in found for rates in s.rates.values() for rate in rates)
    assert "simpy" in found[0].rates


def test_scaling_gives_one_figure_a_round() -> None:
    assert len(measure_scaling(rounds=2, customers=20_000)) == 2


@pytest.mark.parametrize(
    ("model", "customers"),
    [
        (MM1(0.5, 1.0), 30_000),
        (MMc(1.6, 1.0, 2), 30_000),
        (MMcN(8, 2.0, 1.0, 2), 20_000),
        (Closed(6, [Delay(1.0), Station(Exponential(1.0), 3, queues="random")]), 20_000),
    ],
)
def test_peers_run_the_same_queue(model: Model, customers: int) -> None:
    waits = [peers_of(model)["simpy"](model, customers, seed) for seed in range(3)]
    assert statistics.mean(waits) == pytest.approx(solve(model).Wq, rel=0.1)  # type: ignore[type-var]


def test_peers_are_asked_only_what_they_can() -> None:
    assert peers_of(MD1(0.5, 1.0)) == {}
    assert peers_of(Open(Exponential(2.0), Exponential(1.0), capacity=4)) == {}


@pytest.mark.parametrize("arguments", [{"rounds": 0}, {"customers": 0.5}, {"reference_customers": -1}])
def test_nonsense_is_refused_by_name(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(arguments))}"):
        measure_speed({"q": MM1(0.5, 1.0)}, **arguments)
    with pytest.raises(ValueError, match=r"^workers"):
        measure_scaling(workers=1)
