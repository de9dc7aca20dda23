"""Axes that can be read: noise is seen beside what it is the floor of, and a knee far off presses nothing together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import compare
from calibrate.report.compared.curves import latency_against_throughput
from calibrate.report.compared.residuals import add_noise_floor
from calibrate.report.drawing import empty_figure
from measure import Sweep


def test_the_noise_floor_ends_within_the_plot() -> None:
    drawing = empty_figure("x", "y")
    add_noise_floor(drawing, 14.0)
    figure = drawing.to_plotly()
    reached = [v for trace in figure.data if trace.y is not None for v in trace.y if v is not None]
    assert min(reached) < -14.0 < 14.0 < max(reached)
    assert [t.name for t in figure.data if t.showlegend is not False] == ["noise floor: repeats differ by ±14 %"]


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
