"""Lines of any origin in one figure: panels, units, colours, bands."""

from __future__ import annotations

import numpy as np

from calibrate import WhatIf, from_datasheet, what_if
from calibrate.report.lines import Line, figure_of
from calibrate.report.predicted import predicted_section
from measure.loads import Depth

X = np.array([1.0, 2.0, 4.0])
TIME = Line("a", "W", X, 1e-6 * X)
RATE = Line("a", "X", X, 1e5 * X, low=0.9e5 * X, high=1.1e5 * X)
POINTS = Line("b", "X", X, 1e5 * X, low=0.9e5 * X, high=1.2e5 * X, measured=True, curve="a")


def test_a_panel_for_each_quantity_with_its_unit() -> None:
    layout = figure_of([TIME, RATE], "load").layout
    assert layout["yaxis"]["title"]["text"] == "response time W (µs)"
    assert layout["yaxis2"]["title"]["text"] == "throughput X (k/s)"
    assert layout["xaxis2"]["title"]["text"] == "load"


def test_measured_and_predicted_points_of_a_curve_have_its_colour() -> None:
    traces = figure_of([RATE, POINTS], "load").to_plotly().data
    line, points = traces[-2], traces[-1]
    assert line.line.color == points.marker.color
    assert list(line.y) == [100, 200, 400]
    assert list(points.error_y.array) == [20, 40, 80]
    assert [t.showlegend for t in traces] == [False, True, True]


def test_names_are_escaped() -> None:
    hostile = Line("<b>x", "W", X, X)
    assert "<b>" not in str(figure_of([hostile, TIME], "load").to_dict())


def test_a_prediction_and_a_changed_device_are_curves_beside_each_other() -> None:
    drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    changed = what_if(drive, WhatIf(copies=(1, 2)))
    for scenario, names in ((None, ["predicted"]), (changed, ["as it is", "2 drives for 1"])):
        table = predicted_section(drive, Depth([1, 512]), scenario).views[0].table
        assert list(dict.fromkeys(table["device"])) == names
