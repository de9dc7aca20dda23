"""Axes that can be read: a knee far off presses nothing together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import compare
from calibrate.report.compared.curves import latency_against_throughput
from measure import Sweep


@pytest.mark.parametrize(("highest", "drawn"), [(9500.0, True), (2000.0, False)])
def test_an_open_knee_far_beyond_the_points_does_not_press_them_together(highest: float, drawn: bool) -> None:
    rates = np.linspace(500.0, highest, 6)
    sweep = Sweep(
        pd.DataFrame({"series": "d", "load": rates, "throughput_per_s": rates, "latency_s": 1 / (1e4 - rates)}),
        load_kind="arrival_rate",
        load_unit="requests/s",
    )
    comparison = compare(sweep, model="M/M/1")
    assert (comparison.knee.throughput_per_s < 1.5 * highest) is drawn
    (star,) = (t for t in latency_against_throughput(comparison).to_plotly().data if (t.name or "").startswith("knee"))
    assert (star.x[0] is not None) is drawn
    assert ("far beyond these loads" in star.name) is not drawn
