"""The points of a series as a fit takes them: what stands beside a figure that a law replaced."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate.points import points_of
from measure import Sweep
from measure.origin import computed, corrected

LOADS, RATES = np.array([1.0, 2, 4, 8, 16]), np.array([80.0, 160, 320, 330, 331])


@pytest.mark.parametrize("published_per_s", [np.nan, 1000.0])
def test_what_was_measured_and_published_stands_beside_what_a_law_gave(published_per_s: float) -> None:
    latency = LOADS / RATES
    latency[0] = 0.018
    table = points_at(LOADS, RATES, latency)
    if np.isfinite(published_per_s):
        table["throughput_origin"] = ["measured"] * 4 + [corrected("a digit too many")]
        table["throughput_published_per_s"] = [np.nan] * 4 + [published_per_s]
    chosen = points_of(Sweep(table)).choose(None)
    assert chosen.response_time_s == pytest.approx(LOADS / RATES)
    assert chosen.origin is not None
    assert chosen.origin[:, 2].tolist() == ["computed: N / X"] + ["measured"] * 4
    of_load, of_throughput, of_latency = np.array(chosen.published).T
    assert np.isnan(of_load).all()
    assert of_throughput == pytest.approx([np.nan] * 4 + [published_per_s], nan_ok=True)
    assert of_latency == pytest.approx([0.018] + [np.nan] * 4, nan_ok=True)


@pytest.mark.parametrize(
    ("lacking", "notes"),
    [
        ([], ()),
        ([0], ("depth 1: calibrated on N / X, as the latency was computed by it",)),
        ([1, 4], ("depths 2, 16: calibrated on N / X, as the latency was computed by it",)),
    ],
)
def test_latencies_that_were_never_measured_are_named(lacking: list[int], notes: tuple[str, ...]) -> None:
    table = points_at(LOADS, RATES)
    table["latency_origin"] = [computed("N / X") if i in lacking else "measured" for i in range(len(LOADS))]
    assert points_of(Sweep(table)).choose(None).notes == notes
