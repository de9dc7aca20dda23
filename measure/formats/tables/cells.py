"""Splits the text of a table into cells, and reads cells as numbers: separators, comments, commas, units."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from measure.errors import DataError
from measure.formats.tables.column_names import UNITS, ColumnRole
from measure.formats.tables.layouts import body_of, header_of, upright
from measure.text_files import HEAD_BYTES, check_rows

_MOST_COLUMNS, _SHOWN = 1000, 40

#: A byte order mark, also where a program decoded it as letters or escaped it.
_MARKS = re.compile(r"\A(?:\ufeff|\u00ef\u00bb\u00bf|%EF%BB%BF)+", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]{0,5})")
_LEAST_BARE = 512.0
_EMPTY = frozenset({"", "-", "na", "n/a", "nan", "null", "none"})
_END = r"(?:[eE][+-]?\d+)?[%kKMG]?"
_STYLES = {
    ".": re.compile(rf"[+-]?(?:\d*|[1-9]\d{{0,2}}(?:,\d{{3}})+)(?:\.\d+)?{_END}"),
    ",": re.compile(rf"[+-]?(?:\d*|[1-9]\d{{0,2}}(?:\.\d{{3}})+)(?:,\d+)?{_END}"),
}
"""Decimal mark -> pattern of a number with it, the other mark separating thousands."""
_BLANK_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
_WITH_PREFIX = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)) ?([kKMG])")
_PREFIXES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class TextTable:
    """The cells of a text table as strings, each row with its line number in the file."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]
    separator: str = ","


def looks_like_table(text: str) -> bool:
    """Whether the text begins like a table: a header of two or more names, then a row with the same number of cells."""
    body = body_of(_MARKS.sub("", text[:HEAD_BYTES]))
    if not body.lines or (separator := body.separator) is None:
        return False
    has_name = any(re.search(r"[^\W\d_]", name) for name in body.lines[0].split(separator))
    return has_name and (len(body.lines) == 1 or separator in body.lines[1])


def read_table(text: str, name: str) -> TextTable:
    """The table in a text; lines that begin with # are comments. ``name`` is the file's name.

    Raises DataError where it is empty, ragged, or not a table.
    """
    body = body_of(_MARKS.sub("", text))
    if not body.lines:
        raise DataError(f"{name} is empty; measure again or name another file")
    check_rows(len(body.lines), name)
    separator = body.separator
    if separator is None:
        raise DataError(
            f"{name}: its first line {body.lines[0].strip()[:_SHOWN]!r} is not the header of a table; separate the "
            "columns by commas"
        )
    reader = csv.reader(io.StringIO("".join(body.lines)), delimiter=separator, skipinitialspace=True)
    try:
        listed = [([cell.strip() for cell in cells], body.numbers[reader.line_num - 1]) for cells in reader]
    except csv.Error as error:
        raise DataError(f"{name} cannot be read as a table: {error}; save it as plain CSV") from error
    turned = upright([cells for cells, _ in listed])
    if turned and turned[0] != listed[0][0]:
        listed = [(cells, body.numbers[0]) for cells in turned]
    header, taken = header_of([cells for cells, _ in listed[:3]])
    _check_header(header, name)
    rows = _rows(header, listed[taken:], name, is_framed=body.is_framed)
    if not rows:
        raise DataError(f"{name} has a header but no row; measure again or name another file")
    lengths = [len(cells) for cells, _ in listed[taken:] if any(cells)]
    is_open = not text.endswith(("\n", "\r"))
    if is_open and lengths[-1] < len(header) and min(lengths[:-1], default=len(header)) >= len(header):
        raise DataError(f"{name}: line {rows[-1][0]}, the last, is cut off; take it out, or end it with a new line")
    return TextTable(header, tuple(rows), separator)


def _rows(
    header: Sequence[str], listed: Sequence[tuple[list[str], int]], name: str, *, is_framed: bool
) -> list[tuple[int, dict[str, str]]]:
    """The rows below the header that are not empty, each with its line. DataError for one with too many cells."""
    rows = []
    for cells, line in listed:
        if any(cells[len(header) :]) or (is_framed and len(cells) != len(header)):
            remedy = "give each row as many cells" if is_framed else "put cells that hold a separator in quotes"
            raise DataError(f"{name}: line {line} has {len(cells)} cells under {len(header)} columns; {remedy}")
        if any(cells):
            rows.append((line, dict(zip_longest(header, cells[: len(header)], fillvalue=""))))
    return rows


def _check_header(header: tuple[str, ...], name: str) -> None:
    if len(header) > _MOST_COLUMNS:
        raise DataError(f"{name} has {len(header):,} columns, more than any table of measurements; leave some out")
    if twice := {c for c in header if c and header.count(c) > 1}:
        raise DataError(f"{name}: the column {min(twice)!r} is there more than once; rename one of them")


# --- cells as numbers -------------------------------------------------------------------------------------------------


def block_bytes(cell: str) -> float | None:
    """Bytes of a block size as tools write it: "4k" and "4KB" are 4096, a bare number is bytes; None for other text.

    >>> block_bytes("16.0KiB"), block_bytes("4096B"), block_bytes("4")
    (16384.0, 4096.0, None)
    """
    match = _SIZE.fullmatch(cell.strip())
    if match is None:
        return None
    size, unit = float(match[1]), match[2]
    if not unit:
        return size if size >= _LEAST_BARE else None
    return size * UNITS["block"][unit] if unit in UNITS["block"] and size > 0 else None


def number(cell: str, role: ColumnRole, line: int, name: str) -> float | None:
    """The cell in SI units; None where it is empty. Raises DataError where it is not a finite number.

    A count or a rate may have a prefix: "14.0k" is 14,000.
    """
    if cell.lower() in _EMPTY:
        return None
    is_count = role.role in ("load", "depth", "delay", "arrival_rate", "jobs") or role.role.endswith("throughput")
    if is_count and role.scale == 1 and (found := _WITH_PREFIX.fullmatch(cell)):
        return float(found[1]) * _PREFIXES[found[2]]
    try:
        value = float(cell.removesuffix("%") if role.scale == 0.01 else cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            f"{name}: {cell[:_SHOWN]!r} in line {line}, column {role.column!r} is not a number; correct the cell"
        )
    return scaled(value, role.scale)


def scaled(value: float, scale: float) -> float:
    """A value in SI units; dividing by a whole number makes 188.19 us exactly 188.19e-6, as multiplying does not.

    >>> scaled(188.19, 1e-6) == 188.19e-6
    True
    """
    return value * max(1, scale) / max(1, round(1 / scale))


def with_points(table: TextTable, columns: Iterable[str], name: str) -> TextTable:
    """The table with decimal points and no thousands separators in these columns.

    The meaning of a comma follows from all cells of these columns: in "0,5" it can only be decimal, in "1,234,567"
    only separate thousands, and where "81.2" has a point, "12,345" has thousands. With decimal commas the point in
    "12.345" separates thousands. Raises DataError where it is ambiguous ("12,345" alone; where semicolons separate
    the cells also "12.345"), or where the cells contradict each other.
    """
    chosen = dict.fromkeys(columns)
    table = _converted(table, chosen, lambda cell: _BLANK_GROUPS.sub("", cell))
    seen: dict[str, tuple[int, str]] = {}
    for line, row in table.rows:
        for cell in (row[column] for column in chosen):
            marks = [mark for mark, style in _STYLES.items() if style.fullmatch(cell)]
            if len(marks) == 1:
                seen.setdefault(marks[0], (line, cell))
            elif marks and ("," in cell or ("." in cell and table.separator == ";")):
                seen.setdefault("either", (line, cell))
    remedy = "write decimals with a point, and thousands without a mark"
    if "." in seen and "," in seen:
        (line, point), (other, comma) = seen["."], seen[","]
        raise DataError(
            f"{name}: {comma[:_SHOWN]!r} in line {other} has a decimal comma and {point[:_SHOWN]!r} in line {line} has "
            f"none; {remedy}"
        )
    if list(seen) == ["either"]:
        line, cell = seen["either"]
        plain_cell = re.sub("[.,]", "", cell)
        raise DataError(
            f"{name}: {cell[:_SHOWN]!r} in line {line} may be {cell.replace(',', '.')} or {plain_cell}; {remedy}"
        )
    decimal, thousands = (",", ".") if "," in seen else (".", ",")
    style = _STYLES[decimal]

    def plain(cell: str) -> str:
        return cell.replace(thousands, "").replace(decimal, ".") if style.fullmatch(cell) else cell

    return _converted(table, chosen, plain)


def _converted(table: TextTable, columns: Collection[str], convert: Callable[[str], str]) -> TextTable:
    rows = ((line, {c: convert(cell) if c in columns else cell for c, cell in row.items()}) for line, row in table.rows)
    return replace(table, rows=tuple(rows))
