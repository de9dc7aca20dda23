"""The text of a table as cells, and what they tell where the names of the columns do not.

- Which character separates them, which lines are rows, which are comments.
- A block size that each cell spells with its unit: ``bs`` over "4k", "16.0KiB", "4096B".
- The words of a mix: any column over "randread", "read", "write".
- A column that parts curves: rows at the same load that differ in ``threads`` or ``device`` are no repeats of each
  other. Unlike a measured value, which hardly recurs, each of its values is there at two places at least.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.column_names import BLOCK_UNITS, ColumnRole, plain_name
from measure.sweep import describe_series
from measure.text_files import check_rows
from measure.units import parse_duration, parse_mix

_MOST_COLUMNS = 1000
_MOST_TITLE_LINES = 5
_LOOKED_AT = 50
#: A byte order mark, also as text where a program took it for letters or escaped it.
_MARKS = re.compile(r"\A(?:\ufeff|\u00ef\u00bb\u00bf|%EF%BB%BF)+", re.IGNORECASE)
_MARKDOWN_RULE = re.compile(r"[|:\s-]*-[|:\s-]*")


@dataclass(frozen=True)
class TextTable:
    """The cells of a text table as strings, each row with the number of its line in the file."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]
    notes: Mapping[str, str]
    separator: str = ","


def looks_like_table(text: str) -> bool:
    """Whether the first lines are those of a table: a header of two or more names over a row of as many cells."""
    lines = [line for line in text[:65536].splitlines() if line.strip() and not line.lstrip().startswith("#")]
    lines = _with_tabs(lines)
    lines = lines[_title_lines(lines) :]
    if len(lines) < 1 or (separator := _separator(lines[0])) is None:
        return False
    names = [n.strip() for n in lines[0].split(separator)]
    has_name = any(re.search(r"[^\W\d_]", n) for n in names)
    return has_name and (len(lines) == 1 or lines[1].count(separator) >= 1)


_FIGURE = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?[A-Za-zµ%/]{0,5}")


def _with_tabs(lines: Sequence[str]) -> list[str]:
    """Columns that blanks alone separate as columns separated by tabs; the lines as they are where they are not such.

    The header has as many words as every row, and most words of each row are numbers.
    """
    if len(lines) < 2 or any(_separator(line) for line in lines[:2]):
        return list(lines)
    rows = [line.split() for line in lines]
    if len(rows[0]) < 2 or len({len(row) for row in rows[: _LOOKED_AT + 1]}) > 1:
        return list(lines)
    numbers = [sum(_FIGURE.fullmatch(word) is not None for word in row) for row in rows[: _LOOKED_AT + 1]]
    if numbers[0] or any(2 * count <= len(rows[0]) for count in numbers[1:]):
        return list(lines)
    return ["\t".join(row) + "\n" for row in rows]


def _separator(line: str) -> str | None:
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {s: bare.count(s) for s in ("\t", ";", ",", "|")}
    best = max(counts, key=lambda s: counts[s])
    return best if counts[best] else None


def _title_lines(lines: Sequence[str]) -> int:
    """How many lines above the header hold one cell at most, and a row with a number is below the header; else 0."""
    for i, (line, below) in enumerate(pairwise(lines[: _MOST_TITLE_LINES + 3])):
        separator = _separator(line)
        if separator is not None and sum(bool(cell.strip()) for cell in line.split(separator)) > 1:
            under = lines[i + 2] if _MARKDOWN_RULE.fullmatch(below.strip()) and i + 2 < len(lines) else below
            cells = [cell.strip(' "') for cell in under.split(separator)]
            return i if len(cells) > 1 and any(cell[:1].isdigit() for cell in cells) else 0
    return 0


def read_table(text: str, name: str) -> TextTable:
    """The table in a text; lines that begin with # are notes, ``key: value`` each. ``name`` tells it in messages.

    Lines above the header that hold one cell at most, as a title does, are left out, and so are the outer bars and the
    line of dashes of a table in Markdown.

    Raises DataError where it is empty, ragged, or no table.
    """
    body, numbers, notes = _lines(text)
    if not body:
        raise DataError(f"{name} is empty; measure again or name another file")
    check_rows(len(body) - 1, name)
    body = _with_tabs(body)
    above = _title_lines(body)
    body, numbers = body[above:], numbers[above:]
    separator = _separator(body[0])
    if separator is None:
        raise DataError(
            f"{name}: its first line {body[0].strip()[:60]!r} is not the header of a table; separate the columns by "
            "commas"
        )
    if separator == "|":
        body, numbers = _without_bars(body, numbers)
    reader = csv.reader(io.StringIO("".join(body)), delimiter=separator, skipinitialspace=True)
    rows: list[tuple[int, dict[str, str]]] = []
    lengths: list[int] = []
    try:
        header = tuple(cell.strip() for cell in next(reader))
        if len(header) > _MOST_COLUMNS:
            raise DataError(f"{name} has {len(header):,} columns, more than any table of measurements; leave some out")
        _check_header(header, name)
        for cells in reader:
            line_number = numbers[min(reader.line_num, len(numbers)) - 1]
            if len(cells) > len(header) and any(c.strip() for c in cells[len(header) :]):
                raise DataError(
                    f"{name}: line {line_number} has {len(cells)} cells under {len(header)} columns; "
                    "put cells that hold a separator in quotes"
                )
            padded = [*cells, *[""] * (len(header) - len(cells))]
            if any(c.strip() for c in cells):
                rows.append((line_number, dict(zip(header, (c.strip() for c in padded), strict=False))))
                lengths.append(len(cells))
    except (csv.Error, StopIteration) as error:
        raise DataError(f"{name} cannot be read as a table: {error or 'no header'}; save it as plain CSV") from error
    if rows and not text.endswith(("\n", "\r")) and _is_torn(lengths, len(header)):
        raise DataError(f"{name}: line {rows[-1][0]}, the last, is cut off; take it out, or end it with a new line")
    if not rows:
        raise DataError(f"{name} has a header but no row; measure again or name another file")
    return TextTable(header, tuple(rows), notes, separator)


def _is_torn(lengths: Sequence[int], columns: int) -> bool:
    """Whether the last row alone has too few cells."""
    return lengths[-1] < columns and all(length >= columns for length in lengths[:-1])


def _lines(text: str) -> tuple[list[str], list[int], dict[str, str]]:
    """The lines of the table, their numbers in the text, and the notes beside them."""
    lines = [f"{line}\n" for line in re.split(r"\r\n|\r|\n", _MARKS.sub("", text))]
    notes: dict[str, str] = {}
    body: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            key, colon, value = line.lstrip("# \t").partition(":")
            if colon:
                notes[key.strip()] = value.strip()
        elif line.strip():
            body.append(line)
            numbers.append(number)
    return body, numbers, notes


def _without_bars(body: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """The lines of a Markdown table with the separator between cells alone, and their numbers."""
    cells = [(f"{line.strip().strip('|')}\n", n) for line, n in zip(body, numbers, strict=True)]
    kept = [(line, n) for line, n in cells if not _MARKDOWN_RULE.fullmatch(line.strip())]
    return [line for line, _ in kept], [n for _, n in kept]


def _check_header(header: tuple[str, ...], name: str) -> None:
    twice = {c for c in header if c and header.count(c) > 1}
    if twice:
        raise DataError(f"{name}: the column {min(twice)!r} is there more than once; rename one of them")


#: The unit of a column whose cells each have their own.
IN_CELLS = "in its cells"

_BLOCK_NAME = re.compile(r"(?i:block|block_?size|bs|access_size|io_size|request_size)")
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]{0,5})")
_LEAST_BARE = 512.0
_MIX_WORDS = frozenset({"randrw", "rw", "readwrite"})
_NO_CURVE = re.compile(
    r"(?i:rep(?:eat|lica(?:te)?|etition)?s?|runs?(?:_?(?:id|no|number))?|iter(?:ation)?s?|trials?|rounds?|samples?|seeds?"
    r"|try|attempt|pass|date|time|(?:.*_)?timestamp|index|idx|id|no|number|n)"
)
_MOST_CURVES = 50
_SHOWN = 6
Mark = Literal["point", "comma", "thousands"]
_EMPTY = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_COMMA = re.compile(r"[+-]?(\d+),(\d+)(?:[eE][+-]?\d+)?[%kKMG]?")
_GROUPS = re.compile(r"[+-]?\d{1,3}(?:,\d{3}){2,}%?|[+-]?\d{1,3}(?:,\d{3})+\.\d+%?")
_POINTS_THEN_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+%?")
_POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_BLANK_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?[%kKMG]?")
_WITH_PREFIX = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)) ?([kKMG])")
_PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


def block_bytes(cell: str) -> float | None:
    """Bytes of a block as tools spell it: "4k" and "4KB" have 4096, a bare number is in bytes; None where it is none.

    >>> block_bytes("16.0KiB"), block_bytes("4096B"), block_bytes("4")
    (16384.0, 4096.0, None)
    """
    match = _SIZE.fullmatch(cell.strip())
    if match is None:
        return None
    size, unit = float(match[1]), match[2]
    if not unit:
        return size if size >= _LEAST_BARE else None
    scale = BLOCK_UNITS.get(unit)
    return size * scale if scale is not None and size > 0 else None


def cell_seconds(cell: str) -> float | None:
    """Seconds of a time that has its unit beside it; None where it has none.

    >>> cell_seconds("20.5ms"), cell_seconds("1.2 s"), cell_seconds("20.5")
    (0.0205, 1.2, None)
    """
    try:
        return parse_duration(cell) if cell[-1:].isalpha() else None
    except ValueError:
        return None


def roles_of_cells(
    ignored: Sequence[str], cells: Mapping[str, Sequence[str]], taken: Mapping[str, ColumnRole]
) -> list[ColumnRole]:
    """The roles of columns that no name tells: a block whose unit is in its cells, and the words of a mix.

    A role that is taken, or that two columns could have, is not given.
    """
    found: dict[str, list[ColumnRole]] = defaultdict(list)
    for column in ignored:
        filled = [c for c in cells[column] if c]
        if not filled:
            continue
        if _BLOCK_NAME.fullmatch(plain_name(column)) and all(block_bytes(c) is not None for c in filled):
            found["block"].append(ColumnRole("block", column, unit=IN_CELLS))
        elif all(_tells_mix(c) for c in filled):
            found["mix"].append(ColumnRole("mix", column))
    return [roles[0] for role, roles in found.items() if len(roles) == 1 and role not in taken]


def check_one_loop(cells: Mapping[str, Sequence[str]], name: str) -> None:
    """DataError where a column tells rows of open loops from rows of closed loops: their loads are two things."""
    for column, values in cells.items():
        words = {re.sub(r"[\s_-]*(?:loop|system)?$", "", cell.lower()) for cell in values if cell}
        if words == {"open", "closed"}:
            raise DataError(
                f"{name}: the column {column!r} holds rows of open and of closed loops; their loads are a rate and a "
                "number of requests, so load them as two tables"
            )


def part_curves(
    records: Sequence[dict[str, Any]], rows: Sequence[Mapping[str, str]], ignored: Sequence[str], name: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Give the ``records`` that differ in a column which parts curves a "series" of their own.

    ``rows`` are the cells of the same rows, ``ignored`` the columns without a role. What is returned: those of them
    that part no curves, and a finding for each that does. None does where no two records have the same curve and load.
    """
    shared: dict[tuple[str, float], list[int]] = defaultdict(list)
    for i, record in enumerate(records):
        shared[record["series"], record["load"]].append(i)
    crowded = [group for group in shared.values() if len(group) > 1]
    places = [(record["series"], record["load"]) for record in records]
    parting = {
        column: values
        for column in ignored
        if crowded and _parts(column, values := [row[column] for row in rows], places, crowded)
    }
    for i, record in enumerate(records):
        known = "" if record["series"] == describe_series(None, None, None) else record["series"]
        own = [f"{column} {values[i]}" for column, values in parting.items()]
        record["series"] = " ".join([known, *own]).strip() or record["series"]
    findings = [
        Finding(
            "curves-by-column",
            "info",
            f"{name}: rows at the same load differ in {column} ({_some(values)}), and are curves of their own.",
            "they were measured under conditions of their own.",
            f"look whether they are repeats of one point instead: then rename the column {column!r} to repeat.",
        )
        for column, values in parting.items()
    ]
    return tuple(column for column in ignored if column not in parting), findings


def _parts(
    column: str, values: Sequence[str], places: Sequence[tuple[str, float]], crowded: Sequence[Sequence[int]]
) -> bool:
    """Whether a column parts curves: few values, each at two places or more, several of them at one place."""
    if _NO_CURVE.fullmatch(plain_name(column)) or not all(values):
        return False
    at: dict[str, set[tuple[str, float]]] = defaultdict(set)
    for value, place in zip(values, places, strict=True):
        at[value].add(place)
    if not 1 < len(at) <= _MOST_CURVES or any(len(found) < 2 for found in at.values()):
        return False
    return any(len({values[row] for row in group}) > 1 for group in crowded)


def _some(values: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(values))
    return ", ".join(distinct[:_SHOWN]) + (", ..." if len(distinct) > _SHOWN else "")


def _tells_mix(cell: str) -> bool:
    return cell.strip().lower() in _MIX_WORDS or parse_mix(cell).read_fraction in (0.0, 1.0)


def number(
    cell: str, scale: float, line: int, column: str, name: str, *, may_have_prefix: bool = False
) -> float | None:
    """The cell in SI units; None where it is empty. Raises DataError where it is no finite number.

    A count or a rate ``may_have_prefix``: "14.0k" is 14,000.
    """
    if cell.lower() in _EMPTY:
        return None
    if may_have_prefix and scale == 1 and (found := _WITH_PREFIX.fullmatch(cell)):
        return float(found[1]) * _PREFIXES[found[2]]
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
    if mark == "point" and table.separator == ";":
        _check_points(cells, [cell for _, row in table.rows for cell in row.values()], name)
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


def _check_points(cells: Sequence[tuple[int, str]], all_cells: Sequence[str], name: str) -> None:
    """DataError where the points may be those of thousands, as where semicolons separate the cells: "14.000".

    A cell such as "81.2" or "0.125" tells that they are those of decimals.
    """
    commas = any(_COMMA.fullmatch(cell) for cell in all_cells)
    decimals = any(_POINT.fullmatch(cell) and not _POINT_GROUPS.fullmatch(cell) for _, cell in cells)
    doubtful = next(((line, cell) for line, cell in cells if _POINT_GROUPS.fullmatch(cell)), None)
    if doubtful is not None and (commas or not decimals):
        line, cell = doubtful
        raise DataError(
            f"{name}: {cell[:40]!r} in line {line} may be {cell} or {cell.replace('.', '')}; write thousands without a "
            "point, and decimals with another number of digits"
        )


def _converted(table: TextTable, columns: frozenset[str], convert: Callable[[str], str]) -> TextTable:
    rows = ((line, {c: convert(cell) if c in columns else cell for c, cell in row.items()}) for line, row in table.rows)
    return replace(table, rows=tuple(rows))
