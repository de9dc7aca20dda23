"""The first page of a course: device, five figures, verdict, one plot, from whatever was measured."""

from __future__ import annotations

import pytest

from calibrate.course import front_of, published_names, published_sections
from calibrate.prediction.comparison import Comparison


def test_a_drive_leads_with_its_knee_and_peak() -> None:
    sections = published_sections(published_names("004"))
    front = front_of(sections)
    assert "Sabrent" in front.device
    assert len(front.figures) == 5
    assert [f.what.split(" (")[0] for f in front.figures[:3]] == [
        "depth at the knee",
        "peak throughput",
        "latency of one request alone",
    ]
    compared: Comparison = next(s for s in sections if s.is_compared).comparisons[0]
    assert float(front.figures[0].value) == pytest.approx(compared.knee.load, rel=0.05)
    assert all(len(f.value.split()[0].replace(".", "")) <= 3 for f in front.figures)
    held = int(compared.held_out.sum())
    assert f"{held} held-out points" in front.verdict[0]
    assert front.view is not None
    assert front.view.figure is not None


def test_a_table_without_a_curve_has_what_was_measured_and_says_that_nothing_is_predicted() -> None:
    front = front_of(published_sections(published_names("002")))
    assert front.view is None
    assert front.verdict[0] == "No curve over a load is predicted, so none checks a model."
    assert front.lines()[0].startswith("DEVICE  ")
    assert front.lines()[-2].startswith("VERDICT ")


def test_a_memory_is_summed_up_too() -> None:
    front = front_of(published_sections(["001-memory"]))
    assert {"peak bandwidth of the memory", "idle latency of the memory"} <= {f.what for f in front.figures}
    assert front.view is not None
