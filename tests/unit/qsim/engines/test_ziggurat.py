"""The exponential variates of the engines are exponential, independent, and numpy's generator underneath."""

from __future__ import annotations

import numpy as np
from scipy import stats

from qsim.engines.ziggurat import EDGES, TAIL, FastExponential


def draws(n: int, seed: int = 1, mean: float = 1.0) -> np.ndarray:
    out = np.empty(n)
    FastExponential(mean, np.random.SeedSequence(seed)).fill(np.random.default_rng(), out)
    return out


def test_the_law_is_exponential() -> None:
    x = draws(2_000_000)
    assert stats.kstest(x, "expon").pvalue > 1e-4
    seen = np.histogram(x, bins=EDGES[::-1][:256])[0]  # layer by layer, where a mistake would show
    expected = x.size * np.diff(-np.expm1(-np.minimum(EDGES[::-1][:256], 700)) * 1.0)
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), seen.size) > 1e-4


def test_the_tail_is_as_long_as_it_should_be() -> None:
    x = draws(20_000_000, seed=2)
    for height in (TAIL, 10.0, 12.0):
        expected = x.size * np.exp(-height)
        assert abs(np.count_nonzero(x > height) - expected) < 4 * np.sqrt(expected)


def test_draws_do_not_remember() -> None:
    x = draws(1_000_000, seed=3)
    for lag in (1, 2, 7):
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 4 / np.sqrt(x.size)


def test_pieces_make_the_same_stream_and_the_mean_scales_it() -> None:
    whole, source = draws(1000), FastExponential(1.0, np.random.SeedSequence(1))
    pieces = np.empty(1000)
    for part in np.split(pieces, [1, 10, 500]):
        source.fill(np.random.default_rng(), part)
    np.testing.assert_array_equal(whole, pieces)
    np.testing.assert_array_equal(draws(1000, mean=4.0), 4 * whole)
    assert draws(10, seed=2).tolist() != whole[:10].tolist()
