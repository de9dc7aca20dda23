"""The whole road against an answer that is known: real fio, four servers of 2 ms behind nbdkit, a knee at exactly 4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibrate import compare, fit
from measure import Sweep

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def best_repeats(known_device_sweep: Sweep) -> Sweep:
    """The best repeat of each depth: the servers are exact, so whatever else runs here can only take from them."""
    points = known_device_sweep.points
    best = points.loc[points.groupby("load")["throughput_per_s"].idxmax()]
    return replace(known_device_sweep, points=best)


def test_two_points_give_the_knee(best_repeats: Sweep) -> None:
    """R(1) Xmax is 4 where nothing else runs; on a busy machine a lone request takes longer, and the knee is that."""
    knee = fit(best_repeats, [1, 32]).knee
    seen = best_repeats.points.set_index("load")
    crossing = float(seen.loc[1.0, "latency_s"] * seen.loc[32.0, "throughput_per_s"])
    assert 3.7 < crossing < 6.0
    assert knee.load == pytest.approx(crossing, rel=0.08)
    assert knee.low is not None
    assert knee.high is not None
    assert knee.low < crossing < knee.high


def test_three_points_give_the_throughput_beyond_the_knee_and_bands_below_it(best_repeats: Sweep) -> None:
    """At depths 1 and 4 a slow lone request looks like a knee as sharp as this; the bands hold both."""
    comparison = compare(best_repeats, [1, 4, 32])
    error, load = np.abs(comparison.residual_throughput_pct), comparison.points.load
    assert error[np.isin(load, [6, 8, 16])].max() <= 6.0 + lost_pct(best_repeats)
    shallow, predicted = np.isin(load, [2, 3]), comparison.predicted
    observed = comparison.points.throughput_per_s[shallow]
    lost = lost_pct(best_repeats) / 100
    assert (predicted.throughput_low_per_s[shallow] * (1 - lost) <= observed).all()
    assert (observed <= predicted.throughput_high_per_s[shallow] * (1 + lost)).all()


def test_depth_2_beside_them_gives_it_everywhere(best_repeats: Sweep) -> None:
    comparison = compare(best_repeats, [1, 2, 4, 32])
    assert (~comparison.held_out).sum() == 4
    assert np.abs(comparison.residual_throughput_pct).max() <= 8.0 + lost_pct(best_repeats)


def lost_pct(sweep: Sweep) -> float:
    """What the machine took at most from any depth, in percent of what four servers of 2 ms complete."""
    load, throughput = (sweep.points[column].to_numpy(float) for column in ("load", "throughput_per_s"))
    return float(100 * np.max(1 - throughput / (np.minimum(load, 4) / 2e-3), initial=0.0))


def test_the_default_model_has_the_other_depths_in_its_bands(best_repeats: Sweep) -> None:
    comparison = compare(best_repeats, [1, 4, 32])
    assert comparison.summary().inside_band_pct is not None
    assert comparison.summary().inside_band_pct >= 80.0
    assert comparison.summary().held_out_mdape_throughput_pct is not None
    assert comparison.summary().held_out_mdape_throughput_pct <= 8.0


def test_the_audit_has_no_quarrel_with_it(best_repeats: Sweep) -> None:
    assert [f for f in compare(best_repeats, [1, 32]).audit if f.severity == "error"] == []
