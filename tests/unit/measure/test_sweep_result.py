"""A sweep shows itself: short text, an escaped table in a notebook, a data frame, a figure."""

from __future__ import annotations

import pandas as pd

from measure import Sweep, load_dataset


def test_repr_is_two_lines() -> None:
    first, second = repr(load_dataset("000-ssd", as_published=True)).splitlines()
    assert first.startswith("Sweep 000-ssd: 36 points of ")
    assert len(first) < 200
    assert second.startswith("outstanding requests N: ")


def test_frame_is_a_copy_with_units_in_its_columns() -> None:
    sweep = load_dataset("004-ssd-depth", as_published=True)
    frame = sweep.to_frame()
    frame["latency_s"] = 0.0
    assert (sweep.points["latency_s"] > 0).all()
    assert {"load", "throughput_per_s", "latency_s"} <= set(frame)


def test_html_is_escaped_and_leaves_out_unknown_columns() -> None:
    points = pd.DataFrame({"series": ["<b>"], "load": [1.0], "throughput_per_s": [10.0], "latency_s": [0.1]})
    page = Sweep(points, name="<i>")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "latency_p99_s" not in page


def test_figure_has_a_line_for_each_series() -> None:
    sweep = load_dataset("003-ssd-read", as_published=True)
    figure = sweep.plot()
    assert [line.name for line in figure.data] == list(sweep.series)
    one = sweep.select(sweep.series[0]).mean_points()
    assert list(figure.data[0].x) == one["throughput_per_s"].tolist()
    assert figure.layout.yaxis.title.text == "latency (s)"
