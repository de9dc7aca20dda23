"""A device that sleeps, simulated: the points tell it, and those of other devices do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

from calibrate import compare, fit, predict
from calibrate.models.open_models import SleepingQueue, falls
from calibrate.points import points_of
from calibrate.prediction.baselines import interpolation_over_rate
from measure import Sweep
from measure.loads import ArrivalRate
from qsim import MG1, LogNormal, MMc, Network, simulate

S, D, T = 80e-6, 400e-6, 1e-3
RATES = [rho / S for rho in (0.002, 0.01, 0.03, 0.08, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)]
USED = RATES[::2]
SERVICE = LogNormal(S, 0.5)
DEVICES: dict[str, Callable[[float], Network]] = {
    "one server": lambda rate: MG1(rate, SERVICE),
    "four servers": lambda rate: MMc(rate, 0.25 / S, 4),
}


def mean_response_asleep(rate: float, seed: int, customers: int = 200_000) -> float:
    """One server that falls asleep after T without a request and takes D to wake, request by request."""
    rng = np.random.default_rng(seed)
    arrivals = rng.exponential(1 / rate, customers).cumsum()
    services = SERVICE.sample(rng, customers)
    free, total = -math.inf, 0.0
    for arrived, service in zip(arrivals.tolist(), services.tolist(), strict=True):
        free = max(arrived, free) + (D if arrived > free + T else 0.0) + service
        total += free - arrived
    return total / customers


@cache
def simulated(device: str) -> Sweep:
    rows = []
    for seed, rate in enumerate(RATES):
        if device == "sleeps":
            mean = mean_response_asleep(rate, seed)
        else:
            mean = simulate(DEVICES[device](rate), customers=100_000, seed=seed, allow_short=True).W
        rows.append({"series": device, "load": rate, "throughput_per_s": rate, "latency_s": mean})
    return Sweep(pd.DataFrame(rows), load_type=ArrivalRate(), name=device)


def test_it_is_the_formula_of_one_server() -> None:
    values = np.array([[1 / S, 1.0, 0.5, D, T]])
    response = SleepingQueue().curve(values, np.array(RATES))[1][0]
    followed = [mean_response_asleep(rate, seed) for seed, rate in enumerate(RATES)]
    assert response[:-2] == pytest.approx(followed[:-2], rel=0.02)
    assert response[-2:] == pytest.approx(followed[-2:], rel=0.06)  # near saturation a sample of 200,000 varies


def test_a_device_that_sleeps_is_told_by_its_points() -> None:
    sweep = simulated("sleeps")
    points = points_of(sweep)
    made = fit(sweep, USED)
    assert made.model == SleepingQueue().name
    for name, true in (("setup", D), ("off after", T)):
        assert made.parameters[name].low < true < made.parameters[name].high
    held = ~made.was_used(points)

    def missed(response: np.ndarray) -> float:
        return float(np.abs(response / points.response_time_s - 1)[held].mean())

    own = missed(predict(made, RATES).response_time_s)
    plain = missed(predict(fit(sweep, USED, model="M/G/c"), RATES).response_time_s)
    between = interpolation_over_rate(
        points.load[~held], points.throughput_per_s[~held], points.response_time_s[~held], points.load
    )[1]
    assert own < 0.25 * min(plain, missed(between))
    assert compare(sweep, USED).models[0].name == SleepingQueue().name


@pytest.mark.parametrize("device", ["one server", "four servers"])
def test_a_device_that_does_not_sleep_is_not_said_to(device: str) -> None:
    sweep = simulated(device)
    assert not falls(points_of(sweep))
    assert fit(sweep, USED).model != SleepingQueue().name
    assert SleepingQueue().name not in [rung.name for rung in compare(sweep, USED).models]
