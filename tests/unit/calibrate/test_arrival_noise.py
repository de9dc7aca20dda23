"""The error of a mean response time within one run of an open queue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up import open_sweep

from calibrate import fit
from calibrate.points import error_of_mean, points_of
from measure import Sweep
from measure.known_device.server import truth_of
from measure.origin import Provenance
from qsim import MM1, Exponential, simulate

S = 2e-3
RATES = np.array([50.0, 250.0, 350.0, 475.0])


def measured(rates: np.ndarray = RATES, **columns: object) -> Sweep:
    """The points of an M/M/1 at ``rates``."""
    known = Provenance(tool="fio", details={"truth": truth_of(Exponential(S)).to_dict()})
    return replace(open_sweep(rates, 1 / (1 / S - rates), **columns), provenance=known)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.8])
def test_it_is_how_much_the_means_of_short_runs_scatter(rho: float) -> None:
    customers, runs = 20_000, 200
    means = [
        float(simulate(MM1(rho, 1.0), customers=customers, seed=seed, engine="compiled", allow_short=True).W)
        for seed in range(runs)
    ]
    (_, told) = error_of_mean(np.array([1.0, 1 / (1 - rho)]), np.array([1e4, customers]))
    scatter = np.std(means, ddof=1) * (1 - rho)
    assert scatter == pytest.approx(told, rel=3.5 / np.sqrt(2 * runs))


def test_a_point_near_saturation_does_not_decide_a_fit() -> None:
    """Twice the true response time at rho = 0.97, as a run of 10,000 requests may well measure it."""
    rates = np.array([50.0, 150.0, 250.0, 350.0, 485.0])
    response = 1 / (500 - rates) * np.array([1, 1, 1, 1, 2.0])
    few, many = (
        fit(open_sweep(rates, response, requests=n), use=rates, model="M/M/1").parameters["Xmax"] for n in (1e4, 1e9)
    )
    assert few.low < 500 < few.high
    assert few.estimate == pytest.approx(500, rel=0.005)
    assert many.estimate < 495  # the interval is wider than that: what moves between runs no number of requests tells


def test_the_interval_of_the_peak_ends_where_simulated_runs_end() -> None:
    """Nine in ten runs of a queue have a fitted peak whose interval holds the true one, and few are all too wide."""
    rates, requests = np.array([150.0, 300.0, 450.0]), 4000
    held, widths = [], []
    for seed in range(40):
        means = [
            simulate(MM1(rate, 500.0), customers=requests, seed=10 * seed + i, engine="compiled", allow_short=True).W
            for i, rate in enumerate(rates)
        ]
        peak = fit(open_sweep(rates, means, requests=requests), model="M/M/1").parameters["Xmax"]
        held.append((peak.low <= 500, 500 <= peak.high))
        widths.append(peak.high / peak.low)
    below, above = np.mean(held, axis=0)
    assert below >= 0.85
    assert above >= 0.85
    assert np.median(widths) < 1.25


def test_the_least_response_time_is_known_no_better_than_its_requests_tell() -> None:
    errors = error_of_mean(np.array([1.0, 1.0, 4.0]), np.array([100.0, 10_000.0, np.nan]))
    assert errors[:2] == pytest.approx([0.1, 0.01])
    assert np.isnan(errors[2])


@pytest.mark.parametrize("requests", [2e4, [np.nan, 2e4, 2e4, 2e4]], ids=["counted", "not counted"])
def test_a_rate_held_out_has_no_say_in_a_fit(requests: object) -> None:
    use = RATES[1:]
    beside, alone = fit(measured(requests=requests), use), fit(measured(use, requests=2e4), use)
    assert beside.used_response_noise == alone.used_response_noise
    assert max(alone.used_response_noise) > 0.05
    assert beside.model == alone.model
    assert beside.parameters == alone.parameters


def test_requests_that_were_not_counted_leave_the_error_of_repeats() -> None:
    points = points_of(measured(requests=[np.nan, 1e4, 1e4, 1e4]))
    known = replace(points, response_spread=np.full(len(RATES), 0.001))
    assert known.noise()[1][0] == pytest.approx(0.001)
    assert (known.noise()[1][1:] > 0.01).all()
