"""A fit, a prediction and a comparison show themselves: short text, an HTML table, a data frame, a figure."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate import Comparison, Fit, WhatIf, compare, fit, fit_service, of_samples, what_if
from calibrate.report.compared.curve_figures import latency_against_throughput
from calibrate.report.plots import curve_of
from measure import load_dataset


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return fit(load_dataset("004-ssd-depth"))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare(load_dataset("004-ssd-depth"))


def test_scenarios_and_laws_of_service_show_themselves_as_fits_do(fitted: Fit) -> None:
    assert repr(what_if(fitted, WhatIf(service=0.5))).startswith("What if: service times x 0.5")
    law = fit_service(of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200), "4 KiB read"))
    assert repr(law).startswith("4 KiB read: 200 requests in")
    assert len(repr(law).splitlines()) <= 4
    assert len(law.plot().data) > 1
    assert law._repr_html_().count("<tr") == 1 + len(law.to_frame())
    assert law.to_frame()["name"].tolist() == [family.name for family in law.families]
    assert "p99" in str(law.summary())


def test_frame_of_a_comparison_has_residuals(comparison: Comparison) -> None:
    frame = comparison.to_frame()
    residual = 100 * (frame["predicted_throughput_per_s"] / frame["throughput_per_s"] - 1)
    assert residual.to_numpy() == pytest.approx(frame["residual_throughput_pct"].to_numpy())
    assert frame["held_out"].tolist() == comparison.held_out.tolist()
    assert frame["load"].tolist() == comparison.points.load.tolist()


def test_figure_of_a_fit_has_its_points(fitted: Fit) -> None:
    marks = [trace for trace in fitted.plot().data if trace.mode == "markers"]
    assert [list(trace.x) for trace in marks] == [list(fitted.used)] * 2
    assert fitted.plot().layout.xaxis.type == "log"


@pytest.mark.parametrize(
    ("dataset", "series", "low", "high"), [("004-ssd-depth", None, 1, 64), ("001-memory", 0, 0, None)]
)
def test_the_curve_of_a_fit_spans_its_points(dataset: str, series: int | None, low: float, high: float | None) -> None:
    sweep = load_dataset(dataset)
    found = fit(sweep if series is None else sweep.select(sweep.series[series]))
    drawn = curve_of(found).load
    assert drawn[0] == low
    assert drawn[-1] == pytest.approx(max(found.used) if high is None else max(high, *found.used))
    assert np.all(np.diff(drawn) > 0)


def test_figure_of_a_prediction_holds_its_values(fitted: Fit) -> None:
    made = fitted.predict([1, 8, 64])
    lines = [trace for trace in made.plot().data if trace.name == "predicted"]
    assert [list(line.x) for line in lines] == [[1, 8, 64]] * 2
    assert np.asarray(lines[0].y) / made.throughput_per_s == pytest.approx(lines[0].y[0] / made.throughput_per_s[0])


def test_figure_of_a_comparison_is_the_reports(comparison: Comparison) -> None:
    assert comparison.plot() == latency_against_throughput(comparison).to_plotly()
