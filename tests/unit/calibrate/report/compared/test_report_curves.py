"""The star of the knee lies on the predicted curve, or the legend says that it is beyond the loads that were drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from made_up import open_sweep, points_at

from calibrate import Comparison, compare, compare_all, fit
from calibrate.fitting.fit_answer import figure_word
from calibrate.prediction.comparison_answer import answer
from calibrate.report.compared import compared_section, views_of
from calibrate.report.compared.curve_figures import (
    against_load,
    curve_table,
    latency_against_throughput,
    small_multiples,
)
from calibrate.report.compared.curve_views import curve_output, key_figures
from measure import Sweep, load_dataset
from measure.datasets import about, dataset_names
from measure.findings import Finding
from measure.formats.tables.table import csv_sweep
from measure.loads import InjectedDelay

CURVES = [name for name in dataset_names() if about(name).curve and name != "000-memory"]  # of caches: not fitted


@cache
def compared(name: str) -> tuple[list[Comparison], dict[str, str]]:
    return compare_all(load_dataset(name))


def distance(x: float, y: float, line: dict[str, Any]) -> float:
    """How far, as a share of x or y, the place lies from the polyline."""
    places = np.log(np.column_stack([line["x"], line["y"]]).astype(float))
    begin, way = places[:-1], np.diff(places, axis=0)
    gap = np.log([x, y]) - begin
    along = np.clip((gap * way).sum(axis=1) / np.maximum((way**2).sum(axis=1), 1e-30), 0, 1)
    return float(np.abs(gap - along[:, None] * way).max(axis=1).min())


def test_the_key_figures_count_clients_in_the_plural() -> None:
    sweep = csv_sweep("clients,rps,avg latency (ms)\n1,100,10\n4,350,11.4\n16,800,20\n")
    words = [figure.what for figure in key_figures(fit(sweep))]
    assert words[:2] == ["clients where queueing starts (rough)", "clients with 90 % of the peak (rough)"]


def test_the_latency_of_a_lone_request_has_the_word_that_its_row_of_parameters_has() -> None:
    sure = fit(csv_sweep("queue_depth,iops\n1,10000\n2,19900\n4,39000\n8,60000\n16,61000\n32,61200\n"))
    for made, word in ((sure, ""), (replace(sure, doubted="the audit doubts the runs (drift)"), " (rough)")):
        (idle,) = (figure.what for figure in key_figures(made) if "alone" in figure.what)
        assert idle == f"latency of one request alone{word}"
        assert figure_word(made, "R1", made.curve_parameters["R1"]) == (word.strip(" ()") or "sure")


def test_a_peak_that_the_points_do_not_tell_is_called_assumed_wherever_it_stands() -> None:
    made = compare(load_dataset("001-memory"), [1000, 5000, 20000], series="64 B read")
    (peak,) = (figure.what for figure in key_figures(made.fit) if "peak" in figure.what)
    assert peak == "predicted peak bandwidth of the memory (assumed)"
    assert re.search(r"; peak [^,;]*, assumed$", "\n".join(answer([made])), re.MULTILINE)


@pytest.mark.parametrize("name", CURVES)
def test_the_star_lies_on_its_curve_or_the_legend_says_why_not(name: str) -> None:
    for comparison in compared(name)[0]:
        traces = latency_against_throughput(comparison).data
        star = next(t for t in traces if t.get("marker", {}).get("symbol") == "star")
        line = next(t for t in traces if t.get("name") == "predicted")
        off = "beyond these loads" in star["name"] or "which these loads do not reach" in star["name"]
        assert off != (distance(star["x"][0], star["y"][0], line) < 0.005), comparison.series
        assert "response time at the knee" in [figure.what for figure in curve_output(comparison)["key_numbers"]]


def test_a_knee_that_the_loads_do_not_reach_has_no_response_time() -> None:
    delay = np.array([0.0, 20, 50, 100, 500, 2500])
    rates = 10 / (150e-9 + 1e-9 * delay)
    table = points_at(delay, rates, 150e-9 + 10e-9 * np.exp(-delay / 50))
    comparison = compare(Sweep(table, InjectedDelay()))
    assert comparison.knee.load is None
    assert "response time at the knee" not in [figure.what for figure in curve_output(comparison)["key_numbers"]]


def test_the_error_is_a_key_figure_where_points_are_held_out() -> None:
    def errors(comparison: Comparison) -> list[str]:
        return [k.what for k in curve_output(comparison)["key_numbers"] if "error" in k.what]

    depths = np.array([1.0, 4, 16, 64])
    sweep = Sweep(points_at(depths, 1e5 * depths / (depths + 8)))
    both = ["held-out error, throughput", "held-out error, response time"]
    assert errors(compare(sweep, [1, 16])) == both
    assert errors(compare(sweep, depths.tolist())) == []
    rates = np.array([100.0, 400, 600, 800, 900])
    arrivals = compare(open_sweep(rates, 1 / (1000 - rates)), [100, 600, 900])
    assert errors(arrivals) == both[1:]


def test_the_gravest_finding_about_the_data_stands_first() -> None:
    loads = [1.0, 4.0, 16.0]
    findings = tuple(Finding("a check", severity, "why") for severity in ("info", "error", "warning"))
    made = compare(Sweep(points_at(loads, [1e3, 3e3, 6e3]), findings=findings), loads)
    assert [f.severity for f in curve_output(made)["audit"] if f in findings] == ["error", "warning", "info"]


def test_the_table_has_the_knee_where_it_is_drawn() -> None:
    (comparison,) = compared("004-ssd-depth")[0]
    star = next(t for t in latency_against_throughput(comparison).data if t.get("name", "").startswith("knee"))
    row = curve_table(comparison).set_index("what").loc["knee"]
    assert star["y"][0] / row["response_time_s"] == pytest.approx(1e3)


def test_axes_end_a_third_beyond_the_points_however_wide_the_band() -> None:
    (comparison,) = compared("003-ssd-read")[0][:1]
    assert comparison.predicted.throughput_high_per_s.max() > 2 * comparison.points.throughput_per_s.max()
    drawing = latency_against_throughput(comparison)
    (_, end) = drawing.layout["xaxis"]["range"]
    assert end <= 1.34 * 1e-3 * comparison.points.throughput_per_s.max()
    bars = next(t for t in drawing.data if "error_y" in t)
    assert len(bars["x"]) == comparison.held_out.sum()


def test_a_curve_that_is_drawn_from_one_user_on_has_ticks_from_one_on() -> None:
    sweep = csv_sweep("users,tps,mean (ms)\n10,9.9,10.9\n50,49.1,18.9\n90,84.3,67.5\n110,94.6,163\n")
    figure = against_load(compare(sweep, [10, 50, 90]), "throughput")
    assert figure.layout["xaxis"]["tickvals"] == [1, 2, 4, 8, 16, 32, 64]


def test_many_curves_have_a_table_and_a_panel_each() -> None:
    done, refused = compared("001-memory")
    views = {v.name: v for v in compared_section("m", [views_of(c) for c in done], refused).views}
    text = views["summary"].text
    assert text is not None
    assert [row[0] for row in text.rows] == [c.series for c in done]
    layout = small_multiples(done).layout
    panels = [tuple(layout[f"{a}axis{i + 1 if i else ''}"]["domain"] for a in "xy") for i in range(len(done))]
    for (x, y), (other_x, other_y) in combinations(panels, 2):
        assert x[1] < other_x[0] or other_x[1] < x[0] or y[1] < other_y[0] or other_y[1] < y[0]


def test_a_point_whose_load_was_corrected_has_its_mark_in_every_plot() -> None:
    """Each of the users keeps 16 requests outstanding, found by N = X R."""
    pipelines = "users,req/s,latency_ms\n1,1600,10\n4,4000,16\n16,6000,42.7\n64,6200,165\n"
    comparison = compare(csv_sweep(pipelines, name="t.csv"))
    figures = [latency_against_throughput(comparison), small_multiples([comparison])]
    figures += [against_load(comparison, "throughput"), against_load(comparison, "response")]
    for figure in figures:
        observed = [t for t in figure.data if t.get("name", "").startswith("observed")]
        assert [t["text"] for t in observed] == [["←", "←"]] * 2
    for name in ("004-ssd-depth", "003-ssd-read"):
        one = compared(name)[0][0]
        marks = {m for t in latency_against_throughput(one).data for m in t.get("text") or ()}
        assert marks == ({"←"} if name == "003-ssd-read" else set())  # a latency that a law gave is a point of its own


@pytest.mark.parametrize(("model", "apart"), [("p-norm with onset", True), ("p-norm", False)])
def test_the_caption_says_why_the_bounds_cross_beside_the_knee(model: str, apart: bool) -> None:
    made = compare(load_dataset("004-ssd-depth"), [1, 32, 1024], model=model)
    main = compared_section("", [views_of(made)], {}).curves[0].main
    (caption,) = (view.caption for view in main if view.name == "throughput")
    assert ("They cross at Rbusy Xmax; the knee is R1 Xmax" in caption) == apart
