"""The noise of a ratio: variances that borrow from each other, and rounds that go together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from calibrate.changes.noise import Noise, moderated, noise_of


def test_variances_that_agree_are_pooled_and_unlike_ones_keep_apart():
    same, freedom = moderated(np.full(6, 4.0), np.full(6, 4.0))
    assert same == pytest.approx(np.ones(6))
    assert freedom == pytest.approx(np.full(6, 24.0))
    unlike, fewer = moderated(np.array([1e-4, 1e-4, 1e-2, 1.0, 1.0, 1e-2]), np.full(6, 4.0))
    assert unlike[0] < 1e-3
    assert unlike[3] > 0.1
    assert (fewer < 8).all()


def test_the_interval_of_unlike_variances_holds_its_share():
    """Variances drawn from Smyth's own prior: intervals at 90 % hold nothing in 90 % of loads."""
    random = np.random.default_rng(7)
    missed = []
    for _ in range(300):
        variance = 1e-4 * 6 / random.chisquare(6, 8)
        runs = [np.sqrt(variance) * random.standard_normal((3, 8)) for _ in range(2)]
        ratio = runs[1].mean(axis=0) - runs[0].mean(axis=0)
        found = noise_of(runs[:1], runs[1], assumed=0.0)
        half = t.isf(0.05, found.run_freedom) * np.sqrt(found.run * found.share)
        missed.append(np.abs(ratio) > half)
    assert np.mean(missed) == pytest.approx(0.1, abs=0.02)


def test_an_interval_against_one_old_sweep_is_satterthwaites_of_its_parts():
    noise = Noise(
        run=np.array([4e-4]),
        run_freedom=np.array([4.0]),
        rounds=np.array([1e-4]),
        rounds_freedom=np.array([2.0]),
        assumed=5e-5,
        spread=np.zeros(1),
        spread_of_mean=np.zeros(()),
        share=np.array([0.5]),
        sweeps=1,
    )
    runs, rounds, sweeps = 0.5 * 4e-4, 2 * 1e-4, 2 * 5e-5  # both sweeps have what moves a sweep
    freedom = (runs + rounds + sweeps) ** 2 / (runs**2 / 4 + rounds**2 / 2)
    half = t.isf(0.05, freedom) * np.sqrt(runs + rounds + sweeps)
    assert noise.half_widths(0.05) == pytest.approx([half], rel=1e-9)


def test_rounds_that_go_together_are_noise_that_no_load_averages_out():
    random = np.random.default_rng(3)
    shared = []
    for size in (0.0, 0.1):
        runs = [0.01 * random.standard_normal((40, 6)) + size * random.standard_normal((40, 1)) for _ in range(2)]
        shared.append(noise_of(runs[:1], runs[1], assumed=0.0).rounds[0])
    assert shared[0] < 1e-4
    assert shared[1] == pytest.approx(0.1**2, rel=0.4)


def test_without_repeats_the_ratio_shows_the_noise():
    random = np.random.default_rng(5)
    found = []
    for _ in range(200):
        runs = [np.linspace(0, 0.2, 7) + 0.03 * random.standard_normal((1, 7)) for _ in range(2)]
        found.append(noise_of(runs[:1], runs[1], assumed=0.0).run[0])
    assert np.sqrt(np.mean(found)) == pytest.approx(0.03, rel=0.05)
    assert np.isinf(noise_of([np.zeros((1, 3))], np.zeros((1, 3)), assumed=0.0).run).all()


def test_a_block_of_loads_that_moved_is_no_noise_and_mere_noise_seldom_a_block():
    random = np.random.default_rng(6)
    moved, plain = [], []
    for _ in range(300):
        runs = [0.01 * random.standard_normal((1, 7)) for _ in range(2)]
        plain.append(noise_of(runs[:1], runs[1], assumed=0.0).run[0] ** 0.5)
        runs[1][0, 2:4] -= 0.3
        moved.append(noise_of(runs[:1], runs[1], assumed=0.0).run[0] ** 0.5)
    assert np.median(moved) == pytest.approx(0.014, abs=0.004)  # the block is known, which the search allows for
    assert np.sqrt(np.mean(np.square(plain))) == pytest.approx(0.01, rel=0.1)


def test_many_experiments_at_once_are_judged_as_one_by_one():
    random = np.random.default_rng(8)
    for repeats, sweeps in ((3, 1), (1, 1), (1, 3), (3, 3)):
        *old, new = 0.01 * random.standard_normal((sweeps + 1, 5, repeats, 6))
        together = noise_of(old, new, assumed=0.03).half_widths(0.01)
        apart = [noise_of([o[k] for o in old], new[k], assumed=0.03).half_widths(0.01) for k in range(5)]
        assert together == pytest.approx(np.array(apart))


def test_the_spread_of_old_sweeps_is_what_moves_between_them():
    random = np.random.default_rng(9)
    for repeats in (1, 3):
        found = []
        for _ in range(100):
            runs = 0.01 * random.standard_normal((12, repeats, 6)) + 0.05 * random.standard_normal((12, 1, 1))
            found.append(noise_of(list(runs[:-1]), runs[-1], assumed=0.03).spread_of_mean)
        assert np.mean(found) == pytest.approx(0.05**2, rel=0.15)
