"""The first page of a course: device, five figures, verdict, one plot, from whatever was measured."""

from __future__ import annotations

import pytest
from published_course import course_of

from calibrate import fit
from calibrate.course import front_of
from calibrate.prediction.comparison import Comparison
from calibrate.report.view import Section
from measure.findings import Finding


def test_a_drive_leads_with_its_knee_and_peak() -> None:
    sections = course_of("004-ssd-depth", "004-ssd-mix")
    front = front_of(sections)
    assert "Sabrent" in front.device
    assert len(front.figures) == 5
    assert [f.what for f in front.figures[:4]] == [
        "depth where queueing starts, 16 KiB",
        "depth with 90 % of the peak, 16 KiB",
        "peak throughput, 16 KiB",
        "latency of one request alone, 16 KiB",
    ]
    compared: Comparison = next(s for s in sections if s.is_compared).comparisons[0]
    whole = fit(compared.sweep, series=compared.series)
    for figure, expected in zip(
        front.figures[:3:2], (whole.knee.load, 1e-3 * whole.parameters["Xmax"].estimate), strict=True
    ):
        assert float(figure.value.split()[0]) == pytest.approx(expected, rel=0.05)
    assert all(len(f.value.split()[0].replace(".", "")) <= 3 for f in front.figures)
    held = int(compared.held_out.sum())
    assert f"{held} held-out points" in front.verdict[0]
    assert front.verdict[1].startswith("The prediction misses throughput by ")
    assert front.view is not None
    assert front.view.figure is not None
    names = [t.get("name", "") for t in front.view.figure.data]
    assert any("band" in name for name in names)
    assert sum("knee" in name or "N90" in name for name in names) == 2


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
    assert {"peak bandwidth of the memory", "idle latency of the memory"} <= {
        f.what.partition(",")[0] for f in front.figures
    }
    assert front.view is not None


def test_the_figures_include_what_moves_between_suites() -> None:
    sections = course_of("004-ssd-depth")
    narrow, wide = (front_of(sections, moves=moves).figures[0] for moves in (0.0, 0.5))
    assert narrow != wide
    assert narrow.value == wide.value
