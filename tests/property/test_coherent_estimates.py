"""No estimate lies outside its own interval, whatever the points say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_up import points_at

from calibrate import Fit, fit, from_datasheet, predict
from calibrate.inference.weights import quantiles
from measure import load_dataset
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
growth = st.lists(st.floats(0.7, 2.6), min_size=len(DEPTHS) - 1, max_size=len(DEPTHS) - 1)


def holds(low: float | None, estimate: float | None, high: float | None) -> bool:
    """Whether the estimate is in its interval; an end that is missing is open."""
    if estimate is None:
        return True
    return (low is None or low <= estimate) and (high is None or estimate <= high)


def incoherent(made: Fit) -> list[str]:
    """What lies outside its interval."""
    wrong = [name for name, e in made.parameters.items() if not holds(e.low, e.estimate, e.high)]
    k = made.knee
    if not holds(k.low, k.load, k.high):
        wrong.append("knee")
    if not holds(k.throughput_low_per_s, k.throughput_per_s, k.throughput_high_per_s):
        wrong.append("throughput at the knee")
    if not holds(made.ninety.low, made.ninety.load, made.ninety.high):
        wrong.append("90 % of the peak")
    return wrong


def coherent_curve(made: Fit, loads: np.ndarray) -> bool:
    curve = predict(made, loads)
    x = (curve.throughput_low_per_s <= curve.throughput_per_s) & (curve.throughput_per_s <= curve.throughput_high_per_s)
    r = (curve.response_time_low_s <= curve.response_time_s) & (curve.response_time_s <= curve.response_time_high_s)
    return bool(x.all() and r.all())


@settings(max_examples=6, deadline=None)
@given(growth, st.floats(1e2, 1e6), st.sampled_from([None, "p-norm", "asymptotic bounds"]))
def test_of_any_closed_sweep(ratios: list[float], alone: float, model: str | None) -> None:
    x = alone * np.cumprod([1.0, *ratios])
    sweep = Sweep(points_at(DEPTHS, x))
    for use in ([1.0], [64.0], [1.0, 32.0], [1.0, 8.0, 64.0], list(DEPTHS)):
        made = fit(sweep, use, model=model)
        assert incoherent(made) == []
        assert coherent_curve(made, DEPTHS)


@pytest.mark.parametrize("series", ["64 B read", "256 B write non-temporal"])
@pytest.mark.parametrize("use", [(0.0, 500.0, 20000.0), (200.0, 1000.0, 20000.0)])
def test_of_memories_whose_knee_the_loaders_hardly_reach(series: str, use: tuple[float, ...]) -> None:
    made = fit(load_dataset("001-memory"), use, series=series)
    assert incoherent(made) == []
    assert coherent_curve(made, np.array([0.0, 100.0, 700.0, 20000.0]))


@settings(max_examples=10, deadline=None)
@given(st.floats(1e-6, 1e-2), st.floats(1.5, 500.0))
def test_of_data_sheets(latency: float, crossing: float) -> None:
    made = from_datasheet(latency, crossing / latency)
    assert incoherent(made) == []
    assert coherent_curve(made, DEPTHS)
    assert made.knee.load == pytest.approx(crossing, rel=1e-9)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(0.2, 2)), min_size=1, max_size=20), st.floats(0.01, 0.49))
@example([(0.0, 1.5), (0.0, 0.25), (1.0, 1.5), (-1.0, 2.0)], 0.25)  # Newton's steps alone never settle here
@settings(max_examples=50, deadline=None)
def test_quantiles_of_a_mixture_have_their_share_below_them(parts: list[tuple[float, float]], share: float) -> None:
    from scipy.stats import norm

    mean, deviation = (np.array(v)[:, None] for v in zip(*parts, strict=True))
    found = quantiles(mean, deviation, np.ones(len(parts)), (share, 0.5, 1 - share))[:, 0]
    below = [float(norm.cdf((q - mean) / deviation).mean()) for q in found]
    assert below == pytest.approx([share, 0.5, 1 - share], abs=0.03)
    assert (np.diff(found) >= 0).all()
