"""Whatever is known of a table: no verdict rests on a computed figure, and none is shown without its mark."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate import compare
from calibrate.cli.measuring.run import points_table, sweep_document
from calibrate.lab.compare_page import curves_figure
from calibrate.lab.folder import LabSource
from calibrate.lab.widgets import theme_of
from calibrate.prediction.comparison_answer import points_table as compared_table
from calibrate.report.measured import section_of, views_of
from calibrate.report.page import render
from measure import Sweep, audit
from measure.origin import MARKS, MEASURED, ORIGIN, PUBLISHED, can_judge, foot_lines, word_of

LOAD = np.array([1.0, 2, 4, 8, 16, 32])
ORIGINS = {
    "load": [MEASURED, "computed: X R", "corrected: 4 jobs, by N = X R", "told: load=COLUMN", "assumed: one at a time"],
    "throughput_per_s": [MEASURED, "computed: N / R", "computed: bandwidth / block", "corrected: a unit"],
    "latency_s": [MEASURED, "computed: N / X", "corrected: a unit off by 1,000, by N = X R"],
}


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    """A curve whose figures were measured, computed, corrected, told or assumed, row by row."""
    peak = draw(st.sampled_from([4.0, 9.0]))
    rate = np.minimum(LOAD, peak) * 1e4 * np.exp(draw(st.lists(st.floats(-0.3, 0.3), min_size=6, max_size=6)))
    latency = LOAD / rate * np.exp(draw(st.lists(st.floats(-0.5, 0.5), min_size=6, max_size=6)))
    table = pd.DataFrame({"series": "a", "load": LOAD, "throughput_per_s": rate, "latency_s": latency})
    for figure, column in ORIGIN.items():
        origins = draw(st.lists(st.sampled_from(ORIGINS[figure]), min_size=6, max_size=6))
        kept = np.array(draw(st.lists(st.booleans(), min_size=6, max_size=6)))
        words = np.array([word_of(origin) for origin in origins])
        published = (words == "corrected") | ((words == "computed") & kept)
        table[column] = origins
        table[PUBLISHED[figure]] = np.where(published, table[figure] * 3, np.nan)
    return Sweep(table, name="t")


def judged(sweep: Sweep) -> list[tuple[str, str]]:
    """The verdicts of the audit: what it found, without what it could not check."""
    return [(f.check, f.message) for f in audit(sweep) if "cannot be checked" not in f.message]


@settings(max_examples=40, deadline=None)
@given(sweeps(), st.lists(st.floats(0.2, 5), min_size=6, max_size=6))
def test_no_verdict_rests_on_a_computed_figure(sweep: Sweep, factors: list[float]) -> None:
    """Other values in place of the computed and assumed ones change no verdict."""
    points = sweep.points.copy()
    for figure in ("throughput_per_s", "latency_s"):
        free = ~points[ORIGIN[figure]].map(can_judge)
        points[figure] = np.where(free, points[figure] * factors, points[figure])
    assert judged(Sweep(points, name="t")) == judged(sweep)


@settings(max_examples=40, deadline=None)
@given(sweeps())
def test_the_law_holds_only_at_points_where_it_gave_no_figure(sweep: Sweep) -> None:
    origins = sweep.points[[*ORIGIN.values()]]
    own = ~(origins.map(lambda o: "X R" in o or "N / " in o or word_of(o) == "assumed")).any(axis=1)
    holds = [re.search(r"N = X R holds at (\d+) point", message) for _, message in judged(sweep)]
    assert all(found is None or int(found[1]) <= int(own.sum()) for found in holds)


def words_of(sweep: Sweep, figures: list[str]) -> set[str]:
    """The words of the origins in a sweep of these figures that have a mark."""
    return {word_of(o) for figure in figures for o in sweep.points[ORIGIN[figure]]} - {"measured"}


def cells(table: str, count: int) -> list[str]:
    """The lines of the points of a table in text."""
    return [line for line in table.splitlines() if re.match(r"\s*(a\s+)?~?\d", line)][:count]


@settings(max_examples=10, deadline=None)
@given(sweeps())
def test_every_figure_that_was_not_measured_has_its_mark(sweep: Sweep) -> None:
    figures = list(ORIGIN)
    marks = {MARKS[word] for word in words_of(sweep, figures)}  # type: ignore[index]
    wanted = [
        [MARKS[word_of(row[ORIGIN[f]])] for f in figures if row[ORIGIN[f]] != MEASURED]  # type: ignore[index]
        for row in sweep.points.to_dict("records")
    ]
    shown = points_table(sweep)
    for line, row in zip(cells(shown, 6), wanted, strict=True):
        assert [line.count(mark) for mark in MARKS.values()] == [row.count(mark) for mark in MARKS.values()], line
    assert {line[0] for line in shown.splitlines() if line[:1] in MARKS.values() and line[1:3] == "  "} == marks

    compared = compare(sweep, LOAD.tolist())
    for line, row in zip(cells(compared_table(compared), 6), wanted, strict=True):
        assert all(line.count(mark) == row.count(mark) for mark in MARKS.values()), line

    document = sweep_document(sweep, Path("t"))
    assert [row["latency_origin"] for row in document["points"]] == sweep.points["latency_origin"].tolist()
    origins = [one["observed"]["origin"] for one in compared.to_dict()["points"]]
    assert [origin["throughput_per_s"] for origin in origins] == sweep.points["throughput_origin"].tolist()


@settings(max_examples=5, deadline=None)
@given(sweeps())
def test_the_report_and_the_lab_have_the_marks_and_their_meaning(
    tmp_path_factory: pytest.TempPathFactory, sweep: Sweep
) -> None:
    table = tmp_path_factory.mktemp("lab") / "points.csv"
    sweep.points.to_csv(table, index=False)
    source = LabSource("own", "t", path=table)
    found = source.measured()
    page = render([section_of(found, views_of(found, {}))], title="t")
    (curve,) = source.curves()
    hover = "".join(curves_figure([curve], theme_of("light"))["data"][0]["text"])
    for word in words_of(sweep, list(ORIGIN)):
        assert MARKS[word] in hover  # type: ignore[index]
        assert any(line.startswith(MARKS[word]) for line in foot_lines(curve.figures))  # type: ignore[index]
    for line in foot_lines(found.table):
        assert line in page
