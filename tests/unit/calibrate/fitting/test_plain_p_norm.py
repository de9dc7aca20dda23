"""The most probable p-norm shares the prediction from three depths on, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import Fit, WhatIf, fit, what_if
from calibrate.fitting.own_load import PLAIN, SHARE, SHARED, expected, plain_p_norm
from calibrate.models.curves import PNorm
from calibrate.points import points_of
from measure import Sweep
from measure.loads import Depth

DEPTHS = np.array([1.0, 8.0, 64.0])
TRUTH = 20.0, 250e3, 2.6


def sweep(depths: np.ndarray = DEPTHS, **columns: float) -> Sweep:
    throughput = PNorm().throughput(np.array([TRUTH]), depths)[0]
    rows = {
        "series": "made up",
        "repeat": 0,
        "load": depths,
        "throughput_per_s": throughput,
        "latency_s": depths / throughput,
        **columns,
    }
    return Sweep(pd.DataFrame(rows), Depth())


def test_it_is_the_curve_that_made_the_points() -> None:
    found = plain_p_norm(points_of(sweep()))
    assert found == pytest.approx(TRUTH, rel=0.03)  # its prior of p is centred there, those of N* and the peak near


@pytest.mark.parametrize("made", [sweep(np.array([1.0, 64.0])), sweep(latency_sd_s=1e-5)], ids=["two", "spread"])
def test_two_depths_and_a_known_spread_are_left_to_the_model(made: Sweep) -> None:
    assert plain_p_norm(points_of(made)) is None
    assert PLAIN not in fit(made).details
    assert SHARED not in fit(made).assumption


def without(made: Fit) -> Fit:
    return Fit.from_dict({**made.to_dict(), "details": {k: v for k, v in made.details.items() if k != PLAIN}})


def test_the_prediction_moves_a_third_of_the_way_to_it_between_the_points() -> None:
    noisy = sweep()
    noisy.points.loc[1, ["throughput_per_s", "latency_s"]] *= [0.8, 1 / 0.8]
    made, loads = fit(noisy), np.array([2.0, 3.0, 20.0, 30.0])
    alone = expected(without(made), loads)
    curve = PNorm().throughput(np.array([made.details[PLAIN]]), np.append(loads, DEPTHS))[0]
    missed = np.log(noisy.points["throughput_per_s"].to_numpy() / curve[-3:])
    assert np.abs(missed).max() > 0.01
    apart = np.log(expected(made, loads) / alone) - SHARE * np.log(curve[:-3] / alone)
    assert np.all(np.abs(apart) <= SHARE * np.abs(missed).max())  # what it misses at the points is carried


def test_the_answer_says_that_it_shares_the_prediction() -> None:
    assert f"one may take longer or less than among others{SHARED}" in str(fit(sweep())).replace("\n", " ")


def test_a_fit_on_file_predicts_the_same() -> None:
    made = fit(sweep())
    again = Fit.from_dict(made.to_dict())
    assert made.predict([2, 20]).throughput_per_s == pytest.approx(again.predict([2, 20]).throughput_per_s, rel=1e-12)


def test_two_devices_at_twice_the_load_are_twice_one() -> None:
    made = fit(sweep())
    two = what_if(made, WhatIf(copies=(1, 2))).fit
    pair = two.predict([8, 60]).throughput_per_s
    assert pair == pytest.approx(2 * made.predict([4, 30]).throughput_per_s, rel=1e-6)
