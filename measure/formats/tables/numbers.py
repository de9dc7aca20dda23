"""The numbers in the cells of a table: empty cells, percent signs, decimal commas, marks between thousands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from measure.errors import DataError
from measure.formats.tables.text import TextTable

Mark = Literal["point", "comma", "thousands"]

_EMPTY = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_COMMA = re.compile(r"[+-]?(\d+),(\d+)(?:[eE][+-]?\d+)?%?")
_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{3}){2,}%?|[+-]?\d{1,3}(?:,\d{3})+\.\d+%?")
_POINTS_THEN_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+%?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_BLANK_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?%?")


def number(cell: str, scale: float, line: int, column: str, name: str) -> float | None:
    """The cell in SI units; None where it is empty. Raises DataError where it is no finite number."""
    if cell.lower() in _EMPTY:
        return None
    plain = cell.removesuffix("%").strip() if scale == 0.01 else cell
    try:
        value = float(plain)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{name}: {cell[:40]!r} in line {line}, column {column!r} is not a number; correct the cell")
    # Dividing by a whole number keeps 188.19 us the float that 188.19e-6 is, where multiplying by 1e-6 would not.
    return value * scale if scale >= 1 else value / round(1 / scale)


def with_points(table: TextTable, columns: Iterable[str], name: str) -> TextTable:
    """The table with decimal points and nothing between thousands in these columns.

    What a comma means follows from all cells of these columns: in "0,5" it can only stand for a point, in "1,234,567"
    only between thousands, and where "81.2" has a point, "12,345" has thousands. Beside decimal commas the point in
    "12.345" is that of thousands. Raises DataError where nothing tells ("12,345" alone), or where the cells contradict
    each other.
    """
    chosen = frozenset(columns)
    table = _converted(table, chosen, lambda cell: _BLANK_GROUPS.sub("", cell))
    cells = [(line, row[c]) for line, row in table.rows for c in chosen]
    mark = _mark(cells, name)
    if mark == "point":
        return table
    if mark == "thousands":
        return _converted(table, chosen, lambda cell: cell.replace(",", ""))
    for line, row in table.rows:
        for column in chosen:
            if _POINT.fullmatch(row[column]) and not _POINT_GROUPS.fullmatch(row[column]):
                raise DataError(
                    f"{name}: {row[column][:40]!r} in line {line}, column {column!r} has a decimal point where other "
                    "cells have decimal commas; write all of them with points"
                )
    return _converted(table, chosen, lambda cell: cell.replace(".", "").replace(",", "."))


def _mark(cells: Iterable[tuple[int, str]], name: str) -> Mark:
    """What the commas in these cells mean."""
    told: dict[Mark, tuple[int, str]] = {}
    open_cell: tuple[int, str] | None = None
    has_points = False
    for line, cell in cells:
        has_points |= _POINT.fullmatch(cell) is not None and not _POINT_GROUPS.fullmatch(cell)
        comma = _COMMA.fullmatch(cell)
        if _GROUPS.fullmatch(cell):
            told["thousands"] = (line, cell)
        elif _POINTS_THEN_COMMA.fullmatch(cell):
            told["comma"] = (line, cell)
        elif comma is not None:
            whole, behind = comma.groups()
            if len(behind) != 3 or len(whole) > 3 or whole.startswith("0"):
                told["comma"] = (line, cell)
            else:
                open_cell = open_cell or (line, cell)
    if len(told) > 1:
        (line, decimal), (_, groups) = told["comma"], told["thousands"]
        raise DataError(
            f"{name}: the comma in {decimal[:40]!r} (line {line}) is that of decimals and in {groups[:40]!r} that of "
            "thousands; write decimals with a point"
        )
    if told:
        return next(iter(told))
    if open_cell is not None and has_points:
        return "thousands"
    if open_cell is not None:
        line, cell = open_cell
        raise DataError(
            f"{name}: {cell[:40]!r} in line {line} may be {cell.replace(',', '.')} or {cell.replace(',', '')}; write "
            "decimals with a point and thousands without a comma"
        )
    return "point"


def _converted(table: TextTable, columns: frozenset[str], convert: Callable[[str], str]) -> TextTable:
    rows = ((line, {c: convert(cell) if c in columns else cell for c, cell in row.items()}) for line, row in table.rows)
    return replace(table, rows=tuple(rows))
