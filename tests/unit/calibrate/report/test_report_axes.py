"""Axes that can be read: enough labels between the powers of ten, noise that is seen beside what it is the floor of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrate import compare
from calibrate.report.compared.curves import latency_against_throughput
from calibrate.report.compared.residuals import add_noise_floor
from calibrate.report.drawing import LABELS, depth_ticks, empty_figure, label_decades
from measure import Sweep


def labels(values: Any, **axis: Any) -> tuple[str, ...] | None:
    figure = empty_figure("x", "y", log_y=True)
    figure.add_scatter(x=np.arange(len(values)), y=values)
    figure.update_yaxes(**axis)
    label_decades(figure)
    found = figure.layout.yaxis.ticktext
    return None if found is None else tuple(found)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([2.5, 90.0], ("5", "10", "20", "50")), ([11.0, 74.0], ("20", "30", "40", "50", "60", "70")),
     ([0.012, 0.3, np.nan], ("0.02", "0.05", "0.1", "0.2")), ([0.0, -1.0, 2.0, 30.0], ("2", "5", "10", "20")),
     ([150.0, 12_000.0], ("200", "500", "1,000", "2,000", "5,000", "10,000"))],
)  # fmt: skip
def test_less_than_three_powers_of_ten_are_not_enough(values: list[float], expected: tuple[str, ...]) -> None:
    assert labels(values) == expected


def test_an_axis_with_enough_labels_or_too_short_for_any_is_left() -> None:
    assert labels([1.0, 1000.0]) is None
    assert labels([54.0, 56.0]) is None, "plotly finds ticks within a digit"
    assert labels([]) is None


def test_a_range_that_was_set_is_what_counts() -> None:
    assert labels([1.0, 1e6], range=[np.log10(2.0), np.log10(40.0)]) == ("2", "5", "10", "20")


def test_chosen_ticks_stay() -> None:
    figure = empty_figure("x", "y", log_x=True)
    figure.add_scatter(x=[1.0, 64.0], y=[1.0, 2.0])
    depth_ticks(figure, np.array([1.0, 64.0]))
    label_decades(figure)
    assert figure.layout.xaxis.ticktext == ("1", "2", "4", "8", "16", "32", "64")


def test_each_axis_is_labelled_by_what_is_on_it() -> None:
    figure = empty_figure("x", "y", log_y=True)
    figure.add_scatter(x=[1.0, 2.0], y=[1.0, 1e4])
    figure.add_scatter(x=[1.0, 2.0], y=[3.0, 40.0], yaxis="y2")
    figure.update_layout(yaxis2={"type": "log", "dtick": 1})
    label_decades(figure)
    assert figure.layout.yaxis.ticktext is None
    assert len(figure.layout.yaxis2.ticktext) >= LABELS


def test_the_noise_floor_ends_within_the_plot() -> None:
    figure = empty_figure("x", "y")
    add_noise_floor(figure, 14.0)
    reached = [v for trace in figure.data if trace.y is not None for v in trace.y if v is not None]
    assert min(reached) < -14.0 < 14.0 < max(reached)
    assert [t.name for t in figure.data if t.showlegend is not False] == ["noise floor: repeats differ by ±14 %"]


@pytest.mark.parametrize(("highest", "drawn"), [(9500.0, True), (2000.0, False)])
def test_an_open_knee_far_beyond_the_points_does_not_press_them_together(highest: float, drawn: bool) -> None:
    rates = np.linspace(500.0, highest, 6)
    sweep = Sweep(
        pd.DataFrame({"series": "d", "load": rates, "throughput_per_s": rates, "latency_s": 1 / (1e4 - rates)}),
        load_kind="arrival_rate", load_unit="requests/s",
    )  # fmt: skip
    comparison = compare(sweep, model="M/M/1")
    assert (comparison.knee.throughput_per_s < 1.5 * highest) is drawn
    (star,) = (t for t in latency_against_throughput(comparison).data if (t.name or "").startswith("knee"))
    assert (star.x[0] is not None) is drawn
    assert ("far beyond these loads" in star.name) is not drawn
