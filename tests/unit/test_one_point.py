"""A device from one measured point: it is met, the rest is assumed and said to be, and the bands are that wide."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.one_point import from_one_point
from calibrate.points import points_of
from calibrate.prediction import predict
from measure import load_dataset
from measure.dataset import Sweep
from measure.errors import DataError

DEPTHS = np.array([1.0, 4, 16, 64])


def points(crossing=10.0, p=3.0, kind="queue_depth"):
    x = 1e5 * ((DEPTHS / crossing) ** -p + 1) ** (-1 / p)
    table = {"series": "reads", "load": DEPTHS, "throughput_per_s": x, "latency_s": DEPTHS / x}
    return points_of(Sweep(points=pd.DataFrame(table), load_kind=kind, name="device"))


@pytest.mark.parametrize("peak", [None, 1e5])
def test_the_point_is_met_and_the_rest_is_assumed(peak):
    whole = points()
    made = from_one_point(whole.choose([1.0]), peak)
    curve = predict(made, whole.load)
    assert curve.throughput_per_s[0] == pytest.approx(whole.throughput_per_s[0], rel=2e-3)
    assert (curve.throughput_low_per_s < whole.throughput_per_s).all()
    assert (whole.throughput_per_s < curve.throughput_high_per_s).all()
    assert made.parameters["R1"].identified
    assert made.parameters["Xmax"].identified == (peak is not None)
    assert not made.parameters["p"].identified
    assert any("assumed" in note for note in made.notes)
    assert list(made.was_used(whole)) == [True, False, False, False]


def test_a_peak_from_the_sheet_narrows_the_bands_and_finds_the_knee():
    one = points().choose([1.0])
    alone, with_peak = (predict(from_one_point(one, peak), [64]) for peak in (None, 1e5))
    ratio = [float(c.throughput_high_per_s[0] / c.throughput_low_per_s[0]) for c in (alone, with_peak)]
    assert ratio[1] < ratio[0] / 3
    assert from_one_point(one, 1e5).knee.load == pytest.approx(10, rel=0.1)


def test_nothing_impossible_is_drawn():
    for crossing in (1.0, 300.0):
        made = from_one_point(points(crossing).choose([1.0]))
        assert np.isfinite(made.draws).all()
        assert (made.draws[:, 0] >= 1).all()


def test_what_one_point_cannot_do_is_refused():
    with pytest.raises(DataError, match="one point"):
        from_one_point(points())
    with pytest.raises(DataError, match="one point"):
        from_one_point(points(kind="injected_delay").choose([1.0]))
    with pytest.raises(DataError, match="not below the data sheet's peak"):
        from_one_point(points().choose([1.0]), 100.0)
    with pytest.raises(ValueError, match="peak_iops"):
        from_one_point(points().choose([1.0]), -1.0)


def test_published_drives_lie_in_the_bands_from_depth_1_alone():
    inside = []
    for name in ("001-ssd", "004-ssd-depth"):
        sweep = load_dataset(name, corrected=True)
        for series in sweep.series:
            whole = points_of(sweep, series)
            whole = whole.at(whole.load < 512)
            curve = predict(from_one_point(whole.choose([1.0])), whole.load)
            held = (curve.throughput_low_per_s <= whole.throughput_per_s) & (
                whole.throughput_per_s <= curve.throughput_high_per_s
            )
            inside += list(held[1:])
    assert len(inside) >= 14
    assert np.mean(inside) >= 0.85
