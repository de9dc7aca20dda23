"""Replications: what they pool, their intervals, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from class_networks import Flow, queue_of

from qsim import MM1, Exponential, MMc, MMcN, Station, SteadyStateError, Tandem, replicate, simulate, solve
from qsim.engines.analysis import student_t
from qsim.engines.replications import run_seeds

MODEL = MM1(0.5, 1.0)


def test_replications_are_plain_runs_with_seeds_of_their_own() -> None:
    r = replicate(MODEL, replications=4, customers=20_000, seed=9)
    runs = [simulate(MODEL, customers=20_000, seed=s) for s in run_seeds(9, 4)]
    assert len({run.W for run in runs}) == 4
    assert pytest.approx(np.mean([run.W for run in runs])) == r.W
    assert r.customers == 80_000
    assert r.warmup == sum(run.warmup or 0 for run in runs)
    assert r.seed == 9
    assert "4 replications" in r.method
    with pytest.raises(ValueError, match="quantiles of M/M/1 are not known"):
        r.quantile(0.9)


def test_classes_and_stations_are_pooled_each() -> None:
    urgent, patient = (Flow(Exponential(4.0), Exponential(1.0), priority=p) for p in (0, 1))
    classes = queue_of((urgent, patient), priority="preemptive-resume")
    r = replicate(classes, customers=20_000, seed=1, confidence=0.999)
    assert [part.W for part in r.classes] == sorted(part.W for part in r.classes)
    low, high = r.classes[0].interval("W")
    assert low <= 1 / (1 - 0.25) <= high  # the first class sees an M/M/1 of its own
    line = Tandem(Exponential(2.0), (Station(Exponential(1.0)), Station(Exponential(0.5))))
    r = replicate(line, customers=20_000, seed=1, confidence=0.999)
    for station, exact in zip(r.stations, (2.0, 2 / 3), strict=True):  # Burke: M/M/1 in a row
        low, high = station.interval("W")
        assert low <= exact <= high


def test_more_replications_keep_the_first() -> None:
    assert run_seeds(5, 8)[:3] == run_seeds(5, 3)
    assert len(set(run_seeds(5, 1000))) == 1000
    assert all(0 <= seed < 2**53 for seed in run_seeds(5, 100))


def test_the_interval_is_about_that_of_student() -> None:
    """Replications of a light queue are hardly skewed, so the correction for it is small."""
    r = replicate(MODEL, replications=30, customers=20_000, seed=1)
    values = np.array([simulate(MODEL, customers=20_000, seed=s).throughput for s in run_seeds(1, 30)])
    reach = student_t(0.95, 29) * values.std(ddof=1) / np.sqrt(30)
    low, high = r.interval("throughput")
    assert (high - low) / 2 == pytest.approx(reach, rel=0.1)
    narrow = replicate(MODEL, replications=30, customers=20_000, seed=1, confidence=0.5).interval("throughput")
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.parametrize("model", [MM1(0.8, 1.0), MMc(2.4, 1.0, 3), MMcN(20, 3.0, 1.0, 4)])
def test_replications_find_the_formula(model: Any) -> None:
    exact, r = solve(model), replicate(model, customers=50_000, seed=2, confidence=0.999)
    for name in ("throughput", "L", "W", "Wq", "p_wait"):
        low, high = r.interval(name)
        assert low <= getattr(exact, name) <= high


def test_progress_of_replications() -> None:
    seen: list[float] = []
    replicate(MODEL, replications=4, customers=5000, seed=1, progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_short_replications_are_refused_with_their_estimate() -> None:
    with pytest.raises(SteadyStateError, match=r"20 of 20 runs complain.*customers") as refusal:
        replicate(MM1(0.99, 1.0), customers=1000, seed=1)
    assert refusal.value.metrics == replicate(MM1(0.99, 1.0), customers=1000, seed=1, allow_short=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replications": 1}, "^replications .* two"),
        ({"replications": 2.5}, "^replications"),
        ({"customers": -1}, "^customers"),
        ({"seed": -1}, "^seed"),
        ({"engine": "gpu"}, "^engine"),
        ({"warmup": "welch"}, "^warmup"),
        ({"confidence": 2}, "^confidence"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replicate(MODEL, **{"customers": 1000, **arguments})
