"""Tables of weights: quantiles and moments against exact answers, and rows of one scale against every row by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from calibrate.inference.parameters import MisfitProcess
from calibrate.inference.tables import Observed, Scale, table_of
from calibrate.inference.weights import Known, Weights, expected, normal_nodes, predictive, thinned, widened
from calibrate.models.curves import OnsetPNorm

SHARES = (0.05, 0.5, 0.95)
PROCESS = MisfitProcess(length=1.0, own=0.2)


def one_row(sd: float = 0.2) -> Weights:
    return Weights(np.array([[3.0, 5.0]]), np.array([0.1]), np.ones(1), np.array([[[sd], [-sd]]]))


def test_of_one_row_a_quantity_is_log_normal() -> None:
    found = one_row().quantiles(lambda v: v[:, 0] ** 2, SHARES)
    assert np.log(found / 9) == pytest.approx(0.4 * norm.ppf(SHARES), abs=2e-3)
    constant = one_row().quantiles(lambda v: v[:, 0] * v[:, 1], SHARES)  # the direction leaves the product alone
    assert constant == pytest.approx(np.full(3, 15.0), rel=1e-9)
    assert one_row().log_evidence == 0


def test_light_rows_are_dropped_and_the_evidence_is_of_all() -> None:
    values, none = np.arange(1.0, 1002)[:, None], np.zeros((1001, 1, 0))
    weight = np.append(np.full(1000, 5e-7), 1.0)
    table = Weights.of(values, np.zeros(1001), np.log(weight) + 1000, none)
    assert table.values.ravel().tolist() == [1001.0]
    assert table.weight.tolist() == [1.0]
    assert table.log_evidence == pytest.approx(np.log(weight.sum()) + 1000)
    even = Weights.of(values[1:], np.zeros(1000), np.zeros(1000), none[1:])
    assert len(even) == 999  # what is light beside others may be most of the weight together
    assert even.weight.sum() == pytest.approx(1)


def test_rows_at_even_steps_of_the_weight_represent_a_table() -> None:
    values, alike = np.array([[1.0, 9], [2, 8], [3, 7], [4, 6]]), np.full(4, 0.1)
    table = Weights(values, alike, np.array([0.25, 0.25, 0.25, 0.2]), np.zeros((4, 2, 0)))  # sums to less than 1
    assert table.rows(2).tolist() == [0, 2]
    assert table.rows(20)[-1] == 3
    assert table.spread(4)[0].tolist() == values.tolist()  # at 0.118, 0.354, 0.736 and 0.972
    assert table.spread(3)[0].tolist() == values[:3].tolist()
    assert not normal_nodes(3, 1).flags.writeable  # as all callers share it
    assert table.at(values[:, 0] < 3).weight.tolist() == [0.5, 0.5]
    many = Weights.of(np.arange(5000.0)[:, None], np.zeros(5000), np.zeros(5000), np.zeros((5000, 1, 0)))
    assert (len(many), many.weight.max()) == (2500, pytest.approx(4e-4))


@pytest.mark.parametrize("seed", range(4))
def test_which_of_equal_rows_stand_for_a_table_hangs_on_no_last_bit(seed: int) -> None:
    """5000 rows at 2500 even steps, and 2500 rows at 250: every step falls on a sum of weights."""
    off = 1e-15 * np.random.default_rng(seed).choice([-1.0, 1.0], 5000)
    rows, none = np.arange(5000.0)[:, None], np.zeros((5000, 1, 0))
    assert np.flatnonzero(thinned(1 + off, [rows[:, 0]])).tolist() == list(range(0, 5000, 2))
    even = Weights(rows[:2500], np.zeros(2500), (1 + off[:2500]) / 2500, none[:2500])
    assert even.rows(250).tolist() == list(range(4, 2500, 10))
    light = Weights.of(rows[:1000], np.zeros(1000), off[:1000], none[:1000])
    assert light.values.ravel().tolist() == list(range(1, 1000))


def test_rounding_of_the_scale_does_not_change_which_rows_stand_for_a_table() -> None:
    values = np.column_stack([np.ones(4), np.full(4, 100.0)])
    rounded = values * np.array([[1.0, 1 + 1e-15], [1.0, 1 - 1e-15], [1.0, 1 + 2e-15], [1.0, 1.0]])
    tables = [
        Weights(v, np.array([0.4, 0.1, 0.3, 0.2]), np.full(4, 0.25), np.full((4, 2, 1), 0.1), scale=1)
        for v in (values, rounded)
    ]
    (first, sizes), (again, sizes_again) = (table.spread(40) for table in tables)
    assert again == pytest.approx(first, rel=1e-12)
    assert sizes.tolist() == sizes_again.tolist()


def scaled_table() -> Weights:
    loads = np.array([1.0, 8, 64])
    rates = np.array([1e4, 6e4, 9e4])
    model = OnsetPNorm()
    return table_of(
        model.parameters(loads, rates, loads / rates),
        model.strata,
        lambda v: model.log_throughput(v, loads),
        Observed(loads, np.log(rates), np.zeros(3)),
        model.process,
        model.misfit,
        Scale("Xmax"),
    )


def test_rows_of_one_scale_are_what_each_row_is_by_itself() -> None:
    table, model = scaled_table(), OnsetPNorm()
    assert table.scale == 1
    each = replace(table, scale=None)
    for quantity in (
        lambda v: v[:, 0],
        lambda v: v[:, 1],
        model.lone,
        lambda v: model.knee(v).throughput,
        lambda v: model.throughput(v, np.array([1.0, 5, 300])),
    ):
        for ours, wanted in zip(table.moments(quantity), each.moments(quantity), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-7, atol=1e-9)


def test_a_prediction_of_one_row_is_the_exact_normal_distribution() -> None:
    """A curve with a scale only: measurements are jointly normal, and the prediction is the conditional."""
    used, new, noise = np.array([1.0, 16.0]), np.array([4.0]), np.array([0.03, 0.05])
    observed, sd, size = np.array([2.0, 2.3]), 0.4, 0.1
    table = Weights(np.full((1, 1), 2.1), np.array([size]), np.ones(1), np.full((1, 1, 1), sd))
    known = Known(table, lambda v, at: v * np.ones(len(at)), PROCESS, used, noise, observed)
    found = predictive(known, new)
    # given the scale, what is missed at the loads used says of the new one; then over the scale
    correlation = size**2 * PROCESS.among(np.concatenate([used, new]))
    gain = correlation[2:, :2] @ np.linalg.inv(correlation[:2, :2] + np.diag(noise**2))
    mean = np.log(2.1) + gain @ (np.log(observed) - np.log(2.1))
    left = correlation[2, 2] - float(gain[0] @ correlation[:2, 2]) + (sd * (1 - gain.sum())) ** 2
    assert found.mean[0] == pytest.approx(mean)
    assert expected(known, new) == pytest.approx(mean)
    again = left + np.median(noise) ** 2  # a new point is as noisy as the known ones
    assert found.deviation[0, 0] == pytest.approx(np.sqrt(again))
    assert found.covariance[0, 0] == pytest.approx(left)
    assert np.log(found.quantiles(SHARES)[:, 0]) == pytest.approx(mean + np.sqrt(again) * norm.ppf(SHARES), abs=2e-3)


def test_what_stands_for_a_table_has_its_quantiles() -> None:
    table = scaled_table()
    values, misfit = table.spread(2000)
    assert len(values) == len(misfit) == 2000
    for column in (0, 1):
        wanted = np.log(table.quantiles(lambda v, c=column: v[:, c], SHARES))
        found = np.quantile(np.log(values[:, column]), SHARES)
        assert np.abs(found - wanted).max() < 0.07 * (wanted[2] - wanted[0])


def test_a_quantile_beyond_every_number_is_infinite_and_warns_of_nothing() -> None:
    wide = Weights(np.array([[1.0]]), np.zeros(1), np.ones(1), np.full((1, 1, 1), 500.0))
    low, middle, high = wide.quantiles(lambda values: values[:, 0], (0.05, 0.5, 0.95))
    assert low == 0
    assert middle == pytest.approx(1.0, rel=0.5)
    assert high == np.inf


@pytest.mark.parametrize("interval", [(0.5, 1.0, np.inf), (0.5, np.inf, np.inf), (0.0, 1.0, 4.0)])
def test_an_interval_that_does_not_end_stays_as_it_is(interval: tuple[float, float, float]) -> None:
    assert widened(*interval, share=0.1, level=0.9) == (interval[0], interval[2])
