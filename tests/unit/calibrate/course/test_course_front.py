"""The first page of a course: device, five figures, verdict, one plot, from whatever was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from published_course import course_of

from calibrate.course import CoursePlan, course_sections, front_of
from calibrate.fitting.readings import ninety_among
from calibrate.prediction.comparison import Comparison
from calibrate.report.view import Section
from measure import load_dataset
from measure.findings import Finding
from measure.loads import ClosedLoad, MemoryLoad
from measure.suites.runs import SuiteResults


def test_a_drive_leads_with_its_measured_knee_and_peak_and_the_predictions_beside_them() -> None:
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    front = front_of(sections)
    assert "Sabrent" in front.device
    assert len(front.figures) == 5
    assert [f.what for f in front.figures[:3]] == [
        "depth with 90 % of the highest throughput, read between measured points, 16 KiB",
        "highest throughput, measured at depth 32, 16 KiB",
        "latency, measured at depth 1, 16 KiB",
    ]
    compared: Comparison = next(s for s in sections if s.is_compared).comparisons[0]
    fit, rates = compared.fit, compared.points.throughput_per_s
    knee = ninety_among(compared.points.load, rates)
    assert float(front.figures[0].value) == pytest.approx(knee, rel=0.05)
    assert [f.value for f in front.figures[1:3]] == ["108 k/s", "21 µs"]
    for figure, expected in zip(front.figures, (fit.ninety.load, 1e-3 * fit.parameters["Xmax"].estimate), strict=False):
        word, value = figure.interval.split()[:2]
        assert word == "predicted"
        assert float(value) == pytest.approx(expected, rel=0.05)
    held = int(compared.held_out.sum())
    assert f"{held} held-out points" in front.verdict[0]
    assert front.verdict[1].startswith("The prediction misses throughput by ")
    assert front.view is not None
    assert front.view.figure is not None
    names = [t.get("name", "") for t in front.view.figure.data]
    assert any("band" in name for name in names)
    assert sum("knee" in name or "N90" in name for name in names) == 2


def test_the_peak_of_the_first_page_is_the_highest_of_the_table_of_points() -> None:
    sections = course_of("004-ssd-depth")
    table = next(v.table for s in sections for v in s.views if v.name == "points")
    assert front_of(sections).figures[1].value == f"{1e-3 * table['throughput_per_s'].max():.0f} k/s"


def test_every_page_that_predicts_a_peak_names_the_one_that_was_measured() -> None:
    shallow = load_dataset("004-ssd-depth")
    deepest = shallow.points["load"].max()
    shallow = replace(shallow, points=shallow.points[shallow.points["load"].isin([1, 4, deepest])])
    sweeps = {"depth": load_dataset("004-ssd-depth"), "shallow": shallow}
    sections = course_sections(CoursePlan((), None), SuiteResults(sweeps))
    said = [note for s in sections if s.is_compared for note in s.notes if note.startswith("Measured")]
    assert len(said) == 2
    assert len(set(said)) == 1
    front = front_of(sections)
    assert f"the highest throughput is {front.figures[1].value}, at depth 32;" in said[0]
    assert said[0].endswith(f"90 % of it is reached at depth {front.figures[0].value}, read between measured points.")


def test_no_measured_page_prints_the_peak_of_a_fit_and_the_first_curve_is_the_predicted_one() -> None:
    sections = course_of("004-ssd-depth")
    texts = [v.text for s in sections if not s.is_compared for v in s.views if v.text is not None]
    assert not any("PEAK" in text.header for text in texts)
    view = front_of(sections).view
    assert view is not None
    assert view.figure is not None
    assert any("held out" in t.get("name", "") for t in view.figure.data)


def test_the_front_names_what_disagrees_and_the_worst_finding() -> None:
    apart = Finding("suites-disagree", "warning", "depth 1 took 78 µs in one suite and 149 µs in another")
    findings = [
        Finding("drift", "warning", "the throughput falls by 20 %", series="reads"),
        Finding("littles-law", "error", "X R is 0.6 of the depth.", load=4.0),
        Finding("note", "info", "nothing to mind"),
    ]
    front = front_of([Section("a drive", findings=findings)], [apart])
    assert front.verdict[1:] == (
        "Suites disagree at 1 workload; the worst: depth 1 took 78 µs in one suite and 149 µs in another.",
        "The audit finds 1 error and 1 warning.",
        "The worst: X R is 0.6 of the depth.",
    )


def test_a_table_without_a_curve_has_what_was_measured_and_says_that_nothing_is_predicted() -> None:
    front = front_of(course_of("004-ssd-mix"))
    assert front.view is None
    assert [f.what for f in front.figures] == ["most bandwidth", "least mean latency"]
    assert front.verdict[0] == "No curve over a load is predicted, so none checks a model."
    assert front.lines()[0].startswith("DEVICE  ")
    assert any(line.startswith("VERDICT ") for line in front.lines())


def test_a_memory_is_summed_up_too() -> None:
    front = front_of(course_of("001-memory"))
    assert [f.what for f in front.figures[:2]] == [
        "highest bandwidth, measured at delay 0, 64 B read",
        "latency, measured at delay 20000, 64 B read",
    ]
    assert front.view is not None


def test_the_figures_include_what_moves_between_suites() -> None:
    sections = course_of("004-ssd-depth")
    narrow, wide = (front_of(sections, moves=moves).figures for moves in (0.0, 0.5))
    assert [f.interval for f in narrow] != [f.interval for f in wide]
    assert [f.value for f in narrow] == [f.value for f in wide]


def test_the_verdict_counts_the_held_out_points_of_the_drive_and_of_the_memory() -> None:
    sections = course_of("004-ssd-depth", "001-memory")
    done = [c for s in sections for c in s.comparisons]
    drive, memory, wider, *_ = front_of(sections, moves=0.12).verdict
    assert wider == "The intervals above include what differs between suites, ±12 %."
    for line, name, load in ((drive, "Drive: ", ClosedLoad), (memory, "Memory: ", MemoryLoad)):
        held = sum(int(c.held_out.sum()) for c in done if isinstance(c.points.load_type, load))
        assert line.startswith(name)
        assert f"{held} held-out points" in line
