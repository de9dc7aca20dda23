"""No text of somebody else's reaches a spreadsheet as a formula, or a terminal as a command."""

from __future__ import annotations

import pandas as pd
import pytest

from measure.text_files import plain_cell, plain_cells


@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\u00a0", "\u3000", "\ufeff", "\x1b"])
@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
def test_a_formula_is_quoted_wherever_it_begins(before: str, begins: str) -> None:
    cell = plain_cell(f'{before}{begins}HYPERLINK("x")')
    assert cell.startswith("'")
    assert cell.isprintable() or "\u00a0" in cell or "\u3000" in cell or "\ufeff" in cell
    assert not set(cell) & set("\t\r\n\x1b")


def test_numbers_and_names_stay() -> None:
    for cell in ("-5", "+1e3", "4 KiB random read", "", "µs"):
        assert plain_cell(cell) == cell


def test_a_tables_names_and_texts_are_plain_and_its_numbers_stay() -> None:
    table = plain_cells(pd.DataFrame({"=x": ["@y", None], "n": [-1.0, 2.0]}))
    assert list(table.columns) == ["'=x", "n"]
    assert table["'=x"].iloc[0] == "'@y"
    assert list(table["n"]) == [-1.0, 2.0]


def test_what_a_cell_was_can_be_told_from_what_it_is() -> None:
    typed = ["=1", "'=1", "''=1", " '=1", "' =1", "-5", "'-5", "'a", "a", "@", "'@"]
    cells = [plain_cell(text) for text in typed]
    assert len(set(cells)) == len(typed)
    assert [cell[1:] if plain_cell(cell) != cell and cell.startswith("'") else cell for cell in cells] == typed
