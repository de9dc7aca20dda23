"""The exponential variates of the engines are exponential, independent, and numpy's generator underneath."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from qsim import Exponential
from qsim.engines.variates import VariateStream
from qsim.engines.ziggurat import AREA, EDGES, TAIL, FastExponential


def draws(n: int, seed: int = 1, mean: float = 1.0) -> np.ndarray:
    out = np.empty(n)
    FastExponential(mean, np.random.SeedSequence(seed)).fill(np.random.default_rng(), out)
    return out


def test_the_layers_have_equal_areas_and_close_at_the_top() -> None:
    heights = np.exp(-EDGES)
    areas = EDGES[1:-1] * np.diff(heights[1:])
    np.testing.assert_allclose(areas, AREA, rtol=1e-10)
    assert TAIL * np.exp(-TAIL) + np.exp(-TAIL) == pytest.approx(AREA)
    assert np.all(np.diff(EDGES) < 0)


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


def test_streams_use_it() -> None:
    stream = VariateStream(Exponential(3.0), np.random.SeedSequence(1))
    np.testing.assert_array_equal(stream.block(), draws(8192, mean=3.0))


def test_the_generator_is_sfc64() -> None:
    """The first draws follow from numpy's raw bits."""
    raw = np.random.SFC64(np.random.SeedSequence(2)).random_raw(50)
    layer, share = (raw & 255).astype(np.int64), (raw >> np.uint64(11)) * 2.0**-53
    x = share * EDGES[layer]
    first = int(np.argmin(x < EDGES[layer + 1]))  # up to the first draw that needs a second look
    assert first > 5
    np.testing.assert_array_equal(draws(first, seed=2), x[:first])
