"""Tests for what stands below the points of a table: a rule, a summary, a remark."""

from __future__ import annotations

import pytest

from measure.formats.tables.table import csv_sweep

HEADER = "threads,ops_s,mean_us\n"
POINTS = "1,9803.2,101.5\n4,38001,104.7\n16,128430,124.1\n64,161234,396.4\n"


def loads_and_lines(text: str) -> tuple[list[float], list[str]]:
    sweep = csv_sweep(text, name="t.csv")
    said = [f.message for f in sweep.findings if f.check in ("rows-left-out", "remarks")]
    return sweep.points["load"].tolist(), said


@pytest.mark.parametrize(
    ("below", "line"),
    [
        ("avg,84367,181\n", "line 6 (avg)"),
        ("Grand Total,,\n", "line 6 ('Grand Total"),
        ("\nMeasured on db3, kernel 6.1, by night, twice\n", "line 7 ('Measured on db3, kernel 6.1, by night, t"),
        ("max,161234,396\nmin,9803,101\n", "line 6 (max), line 7 (min)"),
    ],
)
def test_a_summary_or_a_remark_below_the_points_is_left_out_and_named(below: str, line: str) -> None:
    loads, said = loads_and_lines(HEADER + POINTS + below)
    assert loads == [1, 4, 16, 64]
    assert len(said) == 1
    assert line in said[0]


def test_a_table_of_blanks_between_rules_with_fewer_cells_below_is_read() -> None:
    text = f"My results\n==========\n{HEADER}--------\n{POINTS}--------\navg,84367\n".replace(",", "   ")
    loads, said = loads_and_lines(text)
    assert loads == [1, 4, 16, 64]
    assert "line 10 ('avg   84367')" in said[0]


def test_a_word_between_points_parts_two_curves() -> None:
    sweep = csv_sweep(f"{HEADER}{POINTS}writes,,\n{POINTS.replace('.', '')}")
    assert sweep.series == ("first", "writes")
    assert len(sweep) == 8


def test_a_series_that_is_named_all_is_a_series() -> None:
    rows = "one,1,90,11\none,8,500,16\nall,1,80,12.5\nall,8,400,20\n"
    assert csv_sweep(f"series,threads,ops_s,mean_ms\n{rows}").series == ("one", "all")
