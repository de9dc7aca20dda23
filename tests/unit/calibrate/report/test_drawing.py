"""A drawing is plain dictionaries that plotly.js reads: merged, without what is None, and JSON without NaN."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import numpy as np
import pytest

from calibrate.report.drawing import (
    LARGEST,
    Drawing,
    depth_ticks,
    empty_figure,
    interval,
    latency_axis,
    load_scale,
    panels,
)
from measure.loads import ArrivalRate, Bandwidth, Depth, Load


def test_parts_are_merged_at_every_depth_and_none_takes_one_out() -> None:
    drawing = empty_figure("x", "y", log_y=True)
    drawing.update_yaxes(title={"font": {"color": "red"}}, minor=None)
    assert drawing.layout["yaxis"]["title"] == {"text": "y", "font": {"color": "red"}}
    assert "minor" not in drawing.layout["yaxis"]
    assert "minor" in empty_figure("x", "y", log_y=True).layout["yaxis"], "what is shared stays as it was"


def test_every_axis_of_a_letter_is_changed() -> None:
    drawing = panels("load", ["a", "b", "c"])
    drawing.update_xaxes(type="log")
    assert [drawing.layout[f"xaxis{n}"]["type"] for n in ("", "2", "3")] == ["log"] * 3
    assert [drawing.layout[f"xaxis{n}"]["title"]["text"] for n in ("", "2", "3")] == ["", "", "load"]
    tops = [drawing.layout[f"yaxis{n}"]["domain"] for n in ("", "2", "3")]
    assert tops[0][1] == 1
    assert tops[2][0] == pytest.approx(0)
    assert all(upper[0] > lower[1] for upper, lower in pairwise(tops))


def test_numbers_are_read_back_from_json_and_what_is_none_is_null() -> None:
    drawing = Drawing()
    drawing.add_scatter(
        x=np.array([1.0, np.nan, np.inf]), y=[1.0, np.nan, np.float64(2)], text=None, customdata=np.arange(2)
    )
    (trace,) = json.loads(drawing.to_json())["data"]
    assert np.frombuffer(base64.b64decode(trace["x"]["bdata"]), "<f4") == pytest.approx(
        [1, np.nan, np.float32(LARGEST)], nan_ok=True
    )
    assert trace["y"] == [1.0, None, 2.0]
    assert trace["customdata"] == [0, 1]
    assert "text" not in trace


def test_a_figure_for_a_notebook_holds_the_same() -> None:
    drawing = empty_figure("x", "y", log_x=True)
    x = np.array([1.0, 8.0, 64.0])
    drawing.add_band(x, x, 2 * x, "#0072B2", name="band")
    drawing.add_upright(4, {"width": 1})
    drawing.add_shade(2, 3, "#0072B2", 0.2)
    depth_ticks(drawing, x)
    figure = drawing.to_plotly()
    (band,) = figure.data
    assert list(band.x) == [1, 8, 64, 64, 8, 1]
    assert list(band.y) == [2, 16, 128, 64, 8, 1]
    assert [(s.x0, s.x1, s.y0, s.y1) for s in figure.layout.shapes] == [(4, 4, 0, 1), (2, 3, 0, 1)]
    assert figure.layout.xaxis.ticktext == ("1", "2", "4", "8", "16", "32", "64")


def test_an_interval_never_reaches_the_wrong_way() -> None:
    bar = interval(np.array([2.0, 2.0]), np.array([1.0, 3.0]), np.array([5.0, 1.0]))
    assert list(bar["array"]) == [3, 0]
    assert list(bar["arrayminus"]) == [1, 0]


@pytest.mark.parametrize(
    ("load", "most", "title", "shown"),
    [
        (Bandwidth(), 25e9, "bandwidth (GB/s)", 25.0),
        (ArrivalRate(), 9999.0, "arrival rate (requests/s)", 9999.0),
        (ArrivalRate(), 1e4, "arrival rate (k requests/s)", 10.0),
        (Depth(), 64.0, "outstanding", 64.0),
    ],
)
def test_loads_are_drawn_in_the_unit_that_their_axis_names(load: Load, most: float, title: str, shown: float) -> None:
    scale = load_scale(load, "outstanding", np.array([0.5 * most, most]))
    assert scale.title == title
    assert scale.at(np.array([0.5 * most, most])) == pytest.approx([0.5 * shown, shown])
    assert scale.log == isinstance(load, Depth)


@pytest.mark.parametrize(
    ("seconds", "unit"),
    [([20e-6, 30e-6, 10e-3], "ms"), ([20e-6, 300e-6, 1.9e-3], "µs"), ([60e-9, 200e-9], "ns"), ([1.0, 5000.0], "s")],
)
def test_times_on_an_axis_are_in_the_unit_that_a_person_says(seconds: list[float], unit: str) -> None:
    assert latency_axis(np.array([*seconds, np.nan])).title == f"response time ({unit})"
