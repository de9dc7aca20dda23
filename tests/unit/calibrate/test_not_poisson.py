"""Open points whose requests did not arrive as a Poisson process are calibrated on by consent only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import compare, fit
from measure import Sweep
from measure.errors import DataError

RATES = (100.0, 200.0, 300.0, 400.0)


def sweep(gap_scv: tuple[float, ...], rates: tuple[float, ...] = RATES) -> Sweep:
    """M/M/1 of 2 ms, by a device that logs the gaps between arrivals; a disturbed point waits twice as long."""
    rate, scv = np.array(rates), np.array(gap_scv)
    response = 2e-3 / (1 - 2e-3 * rate) * np.where(scv > 1.2, 2.0, 1.0)
    table = {
        "series": "open",
        "load": rate,
        "throughput_per_s": rate,
        "latency_s": response,
        "served_gap_scv": scv,
        "served_requests": 20_000,
    }
    return Sweep(points=pd.DataFrame(table), load_kind="arrival_rate", load_unit="1/s")


def test_a_disturbed_point_is_left_out_and_the_fit_says_so() -> None:
    made = fit(sweep((1.0, 1.0, 1.02, 2.5)))
    assert made.used == (100, 200, 300)
    assert any("400 /s: not calibrated on" in note and "qsim audit" in note for note in made.notes)
    compared = compare(sweep((1.0, 1.0, 1.02, 2.5)))
    assert compared.held_out.tolist() == [False, False, False, True]


def test_use_lets_it_in_and_the_fit_says_so() -> None:
    made = fit(sweep((1.0, 1.0, 1.0, 2.5)), [100, 400])
    assert made.used == (100, 400)
    assert any("400 /s: calibrated on although" in note for note in made.notes)


def test_where_too_few_are_left_the_sweep_is_refused_with_what_would_let_it_in() -> None:
    with pytest.raises(DataError, match=r"at 3 of 4 rates .* measure again .* --use 100,200,300,400"):
        fit(sweep((1.0, 2.0, 2.0, 2.5)))


def test_a_repeat_that_is_disturbed_disturbs_its_point() -> None:
    once = sweep((1.0, 1.0, 1.0, 1.0)).points
    again = once.assign(served_gap_scv=[1.0, 3.0, 1.0, 1.0], repeat=1)
    both = Sweep(points=pd.concat([once.assign(repeat=0), again]), load_kind="arrival_rate", load_unit="1/s")
    assert fit(both).used == (100, 300, 400)


def test_an_undisturbed_sweep_says_nothing() -> None:
    made = fit(sweep((1.0, 0.98, 1.02, 1.0)))
    assert made.used == (100, 200, 300, 400)
    assert not made.notes
