"""Output analysis: warm-up, batches, quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from qsim import Closed, Delay, Exponential, MMc, MMcK, Network, Station, simulate, solve
from qsim.engines.analysis import SampledTimes, analyse, batch_error, find_warmup, mser
from qsim.engines.recorder import ROWS, Recorder


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_mser_drops_a_transient_and_little_else() -> None:
    means = rng().normal(10, 1, 1000)
    means[:150] -= np.linspace(8, 0, 150)
    dropped, settled = mser(means)
    assert settled
    assert 80 <= dropped <= 220


@pytest.mark.parametrize("seed", range(2))
def test_a_high_excursion_at_the_start_is_no_warmup(seed: int) -> None:
    """A queue that wanders: MSER alone cuts its first excursion off, and so biases the mean."""
    steps, wander = np.random.default_rng(seed).normal(0, 0.2, 4000), np.empty(4000)
    wander[0] = 3.0
    for i in range(1, 4000):
        wander[i] = 0.98 * wander[i - 1] + steps[i]
    assert mser(wander)[0] > 0
    assert find_warmup(wander) == (0, True)
    climbing = np.concatenate((np.linspace(-30, 0, 400), wander[1000:]))
    dropped, settled = find_warmup(climbing)
    assert 300 <= dropped <= 500
    assert settled


def test_quantiles_of_counted_times_lie_within_their_bins() -> None:
    """Five batches of four customers: one up to 1 s, two up to 2 s, one up to 3 s; nobody waits."""
    counts = np.stack([np.tile([1, 2, 1], (5, 1)), np.zeros((5, 3), dtype=np.int64)])
    times = SampledTimes(np.arange(4.0), counts, 4, 0.95)
    assert [times.quantile(q, "W") for q in (0.125, 0.5, 0.75, 1.0)] == pytest.approx([0.5, 1.5, 2.0, 3.0])
    assert times.quantile(0.9, "Wq") == 0.0


def test_mser_keeps_a_steady_run_and_is_not_led_by_rounding() -> None:
    assert mser(np.ones(100)) == (0, True)
    assert mser(np.full(1000, 2.0) + rng().normal(0, 1e-15, 1000)) == (0, True)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_the_warmup_is_the_same_in_any_unit_of_time(unit: float) -> None:
    means = rng().normal(10, 1, 1000)
    means[:150] -= np.linspace(8, 0, 150)
    assert mser(unit * means) == mser(means)
    assert find_warmup(unit * means) == find_warmup(means)


def test_independent_batches_get_the_textbook_error() -> None:
    values = np.array([1.0, -1.0, 2.0, -2.0, 0.5, -0.5])  # alternating: never positively correlated
    error, correlation = batch_error(values)
    assert correlation < 0
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(6))


def test_correlated_batches_get_a_wider_error() -> None:
    values = np.sin(np.linspace(0, 6, 30))
    error, correlation = batch_error(values)
    assert correlation > 0.8
    assert error > 2 * values.std(ddof=1) / np.sqrt(30)


def filled(n: int, expected: int) -> tuple[Recorder, np.ndarray]:
    draws = rng().exponential(size=(3, n))
    recorder = Recorder(expected, 1.0)
    for part in np.array_split(np.arange(n), 17):
        recorder.add(draws[0, part], draws[1, part], draws[2, part])
    return recorder, draws


@pytest.mark.parametrize("expected", [10, 1_000, 40_000])
def test_the_table_holds_the_totals_however_often_it_is_folded(expected: int) -> None:
    recorder, draws = filled(40_000, expected)
    kept = recorder.rows.shape[0] * recorder.batch_size
    assert recorder.customers == 40_000
    assert 40_000 - kept < recorder.batch_size
    assert recorder.rows.shape[0] <= ROWS
    np.testing.assert_allclose(recorder.rows.sum(axis=0), [*draws[:, :kept].sum(axis=1), kept, 0], rtol=1e-9)


@pytest.mark.parametrize("expected", [10, 40_000])
@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.99])
def test_quantiles_come_from_the_customers(expected: int, q: float) -> None:
    recorder, draws = filled(40_000, expected)
    estimate = analyse(recorder, 1, 0.95, share=0.0)
    assert estimate.times.quantile(q, "W") == pytest.approx(np.quantile(draws[1] + draws[2], q), rel=0.02)
    assert estimate.times.quantile(q, "Wq") == pytest.approx(np.quantile(draws[1], q), rel=0.05)
    low, high = estimate.times.quantile_interval(q, "W")
    assert low < estimate.times.quantile(q, "W") < high


def test_the_quantile_of_constant_times_is_known_to_its_bin() -> None:
    recorder = Recorder(20_000, 1.0)
    recorder.add(np.full(20_000, 2.0), np.zeros(20_000), np.ones(20_000))
    times = analyse(recorder, 1, 0.95).times
    for q in (0.1, 0.5, 0.99):
        low, high = times.quantile_interval(q, "W")
        assert low <= 1 <= times.quantile(q, "W") <= high <= 1.02
    assert times.quantile_interval(0.5, "Wq") == (0, 0)


def test_far_quantiles_have_no_interval_in_short_runs() -> None:
    recorder, _ = filled(2_000, 2_000)
    estimate = analyse(recorder, 1, 0.95, share=0.0)
    low, high = estimate.times.quantile_interval(0.9, "W")
    assert low < high
    with pytest.raises(ValueError, match="too far out"):
        estimate.times.quantile_interval(0.9999, "W")


def test_a_loss_that_was_never_seen_is_not_impossible():
    model = MMcK(0.5, 1, 1, 16)
    r = simulate(model, customers=100_000, seed=1)
    assert r.p_block == 0
    low, high = r.interval("p_block")
    assert low == 0
    assert solve(model).p_block < high < 1e-4


def test_a_wait_that_was_never_seen_is_not_impossible_and_neither_is_none():
    r = simulate(MMc(0.1, 1, 8), customers=20_000, seed=1)
    assert r.interval("p_wait")[1] == pytest.approx(3.69 / (r.customers - r.warmup), rel=0.01)
    busy = simulate(MMc(99.99, 1, 100), customers=20_000, seed=1, allow_short=True)
    assert busy.interval("p_wait")[0] < 1


def test_where_nobody_can_wait_that_is_certain():
    alone = simulate(Closed(4, [Station(Exponential(1), servers=4)]), customers=10_000, seed=1)
    assert (alone.p_wait, alone.interval("p_wait"), alone.kind_of("p_wait")) == (0, (0, 0), "exact")
    users = simulate(Network({"users": Delay(1.0), "cpu": Station(Exponential(0.01), 8)}, 8), customers=10_000, seed=1)
    assert users["cpu"].interval("p_wait") == (0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_few_losses_have_the_interval_of_as_many_customers(seed):
    model = MMcK(0.5, 1, 1, 12)  # about 12 losses in 100,000
    low, high = simulate(model, customers=100_000, seed=seed).interval("p_block")
    assert low < solve(model).p_block < high
