"""Tables to read: columns that nobody fills are left out, and doubt is said in the words of the answers."""

from __future__ import annotations

import pandas as pd
import pytest

from calibrate.inference.parameters import Estimate
from calibrate.report.view import FormattedTable, Section, parameter_table, quantity_text, shown


def test_a_column_that_is_empty_in_every_row_is_left_out() -> None:
    shown = FormattedTable.of(("name", "none", "some"), [("a", "", "1"), ("b", "", "")])
    assert shown.header == ("name", "some")
    assert shown.rows == (("a", "1"), ("b", ""))
    assert shown.words == (True, False)
    assert FormattedTable.of(("name",), []).header == ("name",)


def test_text_is_aligned_by_the_kind_of_column_and_ends_where_it_is_told_to() -> None:
    shown = FormattedTable.of(("name", "value"), [("a", "10"), ("bcd", "9")])
    assert shown.text() == "name  value\na        10\nbcd       9"
    assert shown.text(1) == "name  value\na        10"


def test_an_error_has_its_sign_and_none_is_no_negative_one() -> None:
    said = [quantity_text("error_pct", value) for value in (-12.34, -0.06, -0.04, 0.0, 0.04, 3.0)]
    assert said == ["-12 %", "-0.1 %", "0 %", "0 %", "0 %", "+3 %"]


def test_parameters_are_sure_rough_or_assumed() -> None:
    found = {
        "R1": Estimate(80e-6, 70e-6, 90e-6, True, "s"),
        "Xmax": Estimate(1e5, 2e4, 3e5, False, "1/s", "a wide note"),
        "p": Estimate(3.0, 2.5, 3.5, False),
        "c": Estimate(None, None, None, False, "", "the points do not bound it"),
    }
    shown = parameter_table(found)
    assert [row[shown.header.index("sure?")] for row in shown.rows] == ["sure", "rough", "assumed", "rough"]
    assert shown.rows[1][-1] == "a wide note"
    assert "identifiable" not in shown.text()
    assert [name for name, word in zip(shown.header, shown.words, strict=True) if word] == ["parameter", "sure?", ""]


def test_a_section_without_curves_is_compared_where_it_says_why_there_are_none() -> None:
    assert not Section("measured").is_compared
    refused = Section("compared", refused={"a": "too few points"})
    assert refused.is_compared


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (9e3, 11e3, "10.0 k/s ± 10 %"),
        (0.0, 20e3, "10.0 k/s (0 /s to 20.0 k/s)"),  # no percentage takes a rate below zero
        (9.999e3, 10.001e3, "10.0 k/s"),
        (5e3, 20e3, "10.0 k/s (5.00 k/s to 20.0 k/s)"),
    ],
)
def test_an_interval_is_shown_where_the_digits_show_it(low: float, high: float, words: str) -> None:
    table = pd.DataFrame({"throughput_per_s": [10e3], "throughput_low_per_s": [low], "throughput_high_per_s": [high]})
    assert shown(table).rows == ((words,),)
