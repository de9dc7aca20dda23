"""What baselines miss: by hand, in a comparison, and where they have no answer."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from made_up import points_at

from calibrate import Points, compare, points_of
from calibrate.prediction.baselines import baseline_errors
from measure import Sweep, load_dataset
from measure.loads import ArrivalRate, Depth, Load

DEPTH = Depth()


def sweep(loads: list[float], x: list[float], r: list[float], kind: Load = DEPTH) -> Sweep:
    return Sweep(points_at(loads, x, r), load_type=kind)


@pytest.fixture
def points() -> Points:
    return points_of(sweep([1, 2, 4, 32], [1e4, 1.6e4, 5e4, 8e4], [1e-4, 1.25e-4, 8e-5, 4e-4]))


def test_the_errors_of_the_plain_bound_by_hand(points: Points) -> None:
    bound = baseline_errors(points, np.array([False, True, True, False]))[0]
    assert bound.name == "plain bound"
    assert bound.points == 2
    missed = np.array([25.0, 20.0])  # 20 k/s for 16, and 40 k/s for 50
    assert bound.throughput_median_pct == pytest.approx(np.percentile(missed, 50))
    assert bound.throughput_p90_pct == pytest.approx(np.percentile(missed, 90))
    assert bound.response_median_pct == pytest.approx(np.percentile([20.0, 25.0], 50))


def test_of_arrival_rates_only_the_response_is_predicted_and_an_overloaded_queue_says_so() -> None:
    rates = [100.0, 500.0, 900.0, 2000.0]
    points = points_of(sweep(rates, rates, [1 / 900, 1 / 500, 1 / 100, 1e-3], ArrivalRate()))
    stable, interpolated = baseline_errors(points.at(points.load < 1000), np.array([False, True, True]))
    assert stable.name == "M/M/1"
    assert stable.throughput_median_pct is None
    assert stable.response_p90_pct == pytest.approx(0, abs=1e-9)
    assert interpolated.response_median_pct is not None
    overloaded = baseline_errors(points, np.array([False, True, True, True]))[0]
    assert overloaded.response_median_pct is None
    assert overloaded.why == "M/M/1 has no answer at load 2e+03: its capacity is 1e+03"


def test_a_comparison_has_them_for_the_points_that_it_holds_out() -> None:
    comparison = compare(load_dataset("004-ssd-depth"), (1, 32))
    held_out = comparison.held_out
    assert comparison.baselines == baseline_errors(comparison.points, held_out)
    assert comparison.to_dict()["baselines"] == [asdict(e) for e in comparison.baselines]
    assert comparison.model_error.points == int(held_out.sum())
    assert comparison.model_error.throughput_median_pct == comparison.summary().held_out_mdape_throughput_pct
    assert comparison.model_error.response_median_pct == comparison.summary().held_out_mdape_response_pct


def test_a_fit_made_elsewhere_has_no_baselines() -> None:
    tonight = load_dataset("004-ssd-depth")
    fitted = compare(tonight, (1, 32)).fit
    other = replace(tonight, points=tonight.points.assign(throughput_per_s=tonight.points["throughput_per_s"] * 1.1))
    against = compare(other, fitted=fitted)
    assert against.baselines == ()
    assert against.to_dict()["baselines"] == []
