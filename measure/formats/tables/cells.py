"""From the lines of a table (:mod:`measure.formats.tables.table_in_text`) to rows of cells, and to numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile, zip_longest

from measure.errors import DataError
from measure.formats.tables.column_names import OPEN_UNIT, UNITS, ColumnRole, recognise
from measure.formats.tables.table_in_text import LETTER, MOST_COLUMNS, body_of, is_figure
from measure.text_files import HEAD_BYTES

_COUNT_AND_NOUN = re.compile(r"([\d.,]+) ([^\W\d_]+)")
_NOUN_AND_COUNT = re.compile(r"([^\W\d]+?) ?(=?) ?(\d+)")
MAX_ROWS = 200_000

# --- headers ----------------------------------------------------------------------------------------------------------

_UNIT_WORDS = {*UNITS["latency"], *UNITS["bandwidth"], *UNITS["throughput"]}


def header_of(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], int]:
    """The header of a table, and how many rows it takes: two where the second has units or parts of columns.

    >>> header_of([["depth", "latency (us)", ""], ["", "mean", "p99"], ["1", "83", "150"]])
    (('depth', 'mean latency (us)', 'p99 latency (us)'), 2)
    """
    first = tuple(cell.strip() for cell in rows[0])
    if len(rows) < 3 or len(rows[1]) != len(first) or not any(map(LETTER.search, rows[1])):
        return first, 1
    second = [cell.strip() for cell in rows[1]]
    if any(is_figure(cell) for cell in second) or not any(is_figure(cell) for cell in rows[2]):
        return first, 1
    names, group = [], ""
    for above, below in zip(first, second, strict=True):
        group = above or group
        if not below or not group:
            names.append(above or below)
        elif below.startswith(("(", "[")) or below in _UNIT_WORDS:
            names.append(f"{group} ({below.strip('()[]')})")
        else:
            names.append(f"{below} {group}")
    return tuple(names), 2


def _load_in(cell: str) -> tuple[str, str] | None:
    """What a load counts and how many, of a column that is named so: "8 clients", "c = 8" or "QD8"; None for others."""
    if found := _COUNT_AND_NOUN.fullmatch(cell):
        return found[2], found[1]
    found = _NOUN_AND_COUNT.fullmatch(cell)
    known = recognise(found[1]) if found else None
    return (found[1], found[3]) if found and (found[2] or (known and known.role == "depth")) else None


def upright(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows and columns of a table that lies on its side, exchanged; the rows of any other table unchanged.

    A table lies on its side where its first column holds names, two or more of them known, and its first row numbers.

    >>> upright([["clients", "1", "8"], ["tps", "90", "500"]])
    [['clients', 'tps'], ['1', '90'], ['8', '500']]
    """
    plain = [list(row) for row in rows]
    lengths = {len(row) for row in plain}
    if len(plain) < 2 or len(lengths) > 1 or lengths == {1}:
        return plain
    names, first = [row[0] for row in plain], plain[0]
    loads = [load for load in takewhile(bool, map(_load_in, first[1:])) if load]
    is_load = len(loads) == len(first) - 1 and len({noun.rstrip("s") for noun, _ in loads}) == 1
    if is_load and recognise(first[0]) is None:
        first = [loads[-1][0], *(count for _, count in loads)]
    is_known = sum(recognise(name) is not None for name in names) > 1
    if not is_known or not all(map(is_figure, first[1:])) or any(map(is_figure, names)):
        return plain
    return [list(column) for column in zip(first, *plain[1:], strict=True)]


# --- units in cells ---------------------------------------------------------------------------------------------------

_TIMES, _SPEEDS = UNITS["latency"], UNITS["bandwidth"]
_THINGS = r"(?:req(?:uest)?s?|ops?|tx|txns?|queries|trans(?:actions)?|ios?|I/Os)"
_A_SECOND = re.compile(rf"(?:{_THINGS}\s?)?/\s?s(?:ec)?|IOPS|[rqt]ps", re.IGNORECASE)
_WITH_UNIT = re.compile(
    r"(?P<value>[+-]?[\d.,]*\d[kKMG]?)\s?(?P<unit>[^\W\d_][\w/ ]{0,12}|/s|/sec)(?:\s?(?:±|\+/-|\+-)\s?[\d.,]+\s?\w*)?"
)
_SPREAD = re.compile(r"(?P<value>[+-]?[\d.,]*\d)\s?(?:±|\+/-|\+-)\s?[\d.,]+\s?(?P<unit>(?:[^\W\d_][\w/ ]{0,12}|/s)?)")
_MARKED = re.compile(r"(?P<figure>[+-]?[\d.,]*\d\s?[^\W\d]{0,5}(?:/s)?)(?:\s?\[\w{1,2}\]|\s?[*†‡§¶]{1,3})")

_IN_PARTS = re.compile(r"(?:(\d+)h)?(\d+)m(\d+(?:\.\d+)?)s")  # a time as Go prints it


def without_units(
    header: Sequence[str], rows: Sequence[tuple[int, Mapping[str, str]]], name: str
) -> tuple[dict[str, str], list[tuple[int, dict[str, str]]]]:
    """The name of each column and the rows, with the units of times, rates and bandwidths in names instead of cells.

    Cells with another unit than the first are converted. Raises DataError for a cell that cannot be converted, and for
    a time without a unit among others with units.
    """
    names = {column: column for column in header}
    cells = [(line, {column: _without_spread(cell) for column, cell in row.items()}) for line, row in rows]
    for column in header:
        found = [_split(row[column]) for _, row in cells]
        units = [unit for _, unit in found if unit]
        bare = [
            f"{row[column][:40]!r} in line {line}, column {column!r}"
            for (line, row), (value, unit) in zip(cells, found, strict=True)
            if not unit and is_figure(value) and value.strip("+-0.,")  # 0 is 0 in any unit
        ]
        known = recognise(column)
        if units and bare and all(unit in _TIMES for unit in units) and (known is None or not known.unit):
            raise DataError(
                f"{name}: {bare[0]} has no unit, and others have {units[0]}; write it into each cell, or into the name"
            )
        if bare or not units:
            continue
        own = known.unit if known is not None and known.unit != OPEN_UNIT else ""
        target, renamed = _target(column, own, units[0])
        values = [value if unit in ("", target) else _rescaled(value, unit, target) for value, unit in found]
        if None in values:
            if recognise(renamed) is None:
                continue
            line, row = cells[values.index(None)]
            where = f"{row[column][:40]!r} in line {line}, column {column!r}"
            raise DataError(f"{name}: {where} cannot be converted to {target}; write all of its cells in {target}")
        names[column] = renamed
        for (_, row), value in zip(cells, values, strict=True):
            row[column] = value or ""
    return names, [(line, {names[column]: cell for column, cell in row.items()}) for line, row in cells]


def _without_spread(cell: str) -> str:
    """The number of a cell such as "4.71 ± 0.3", without the mark of a footnote as in "310[1]"; others unchanged."""
    cell = marked["figure"] if (marked := _MARKED.fullmatch(cell)) else cell
    found = _SPREAD.fullmatch(cell)
    return found["value"] if found and not found["unit"] else cell


def _target(column: str, own: str, unit: str) -> tuple[str, str]:
    """The unit of a column's cells, and its new name; ``own`` is the unit in its name."""
    for scales in (_TIMES, _SPEEDS):
        if unit in scales:
            return (own, column) if own in scales else (unit, f"{column} ({unit})")
    return unit, column if own or recognise(column) is not None else f"{column} (req/s)"


def _split(cell: str) -> tuple[str, str]:
    """A cell's number and its unit, or the cell and nothing."""
    if parts := _IN_PARTS.fullmatch(cell):
        hours, minutes, seconds = (float(part or 0) for part in parts.groups())
        return repr(3600 * hours + 60 * minutes + seconds), "s"
    match = _SPREAD.fullmatch(cell) or _WITH_UNIT.fullmatch(cell)
    if match is None:
        return cell, ""
    unit = re.sub(r"(?<=B)(?:ps|/sec)$", "/s", match["unit"].strip())
    if unit in _TIMES or unit in _SPEEDS:
        return match["value"], unit
    return (match["value"], "/s") if _A_SECOND.fullmatch(unit) else (cell, "")


def _rescaled(value: str, unit: str, target: str) -> str | None:
    """The number in the target's unit; None for a unit of another kind, or a number with a comma or a prefix."""
    scales = _TIMES if unit in _TIMES else _SPEEDS
    if unit not in scales or target not in scales or not re.fullmatch(r"[+-]?\d*\.?\d+", value):
        return None
    factor = scales[unit] / scales[target]
    return repr(float(value) * round(factor) if factor >= 1 else float(value) / round(1 / factor))


_SHOWN = 40

#: A byte order mark, also where a program decoded it as letters or escaped it.
_MARKS = re.compile(r"\A(?:\ufeff|\u00ef\u00bb\u00bf|%EF%BB%BF)+", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]{0,5})")
_LEAST_BARE = 512.0
_EMPTY = frozenset({"", "-", "–", "—", "?", "na", "n/a", "nan", "null", "none", "dnf", "oom", "timeout", "timed out"})
_EMPTY |= {"err", "error", "fail", "failed", "crash", "crashed", "aborted", "killed"}
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
    """The cells of a text table as strings, each row with its line number in the file.

    ``notes`` are lines below the last row that are none, with their numbers.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]
    separator: str = ","
    notes: tuple[tuple[int, str], ...] = ()


def looks_like_table(text: str) -> bool:
    """Whether the text begins like a table: a header of two or more names, then a row with the same number of cells."""
    body = body_of(_MARKS.sub("", text[:HEAD_BYTES]))
    if not body.lines or (separator := body.separator) is None:
        return False
    has_name = any(re.search(r"[^\W\d_]", name) for name in body.lines[0].split(separator))
    return has_name and (len(body.lines) == 1 or separator in body.lines[1])


def check_rows(count: int, name: str) -> None:
    """Raise DataError where a text holds more rows than any sweep has points, before they are read one by one."""
    if count > MAX_ROWS:
        raise DataError(
            f"{name} has {count:,} rows, more than the {MAX_ROWS:,} that are read as points; give the means of the "
            "runs, or a log under fio's own name"
        )


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
    heads = [cells for cells, _ in listed[:taken]]
    listed = [*listed[:taken], *(row for row in listed[taken:] if row[0] not in heads)]
    rows = _rows(header, listed[taken:], name, is_framed=body.is_framed)
    if not rows:
        raise DataError(f"{name} has a header but no row; measure again or name another file")
    lengths = [len(cells) for cells, _ in listed[taken:] if any(cells)]
    is_open = not text.endswith(("\n", "\r"))
    if is_open and lengths[-1] < len(header) and min(lengths[:-1], default=len(header)) >= len(header):
        raise DataError(f"{name}: line {rows[-1][0]}, the last, is cut off; take it out, or end it with a new line")
    return TextTable(header, tuple(rows), separator, body.notes)


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
    if len(header) > MOST_COLUMNS:
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
    """The cell in SI units; None where it is empty or says that nothing came. DataError for another without a number.

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

    The meaning of a comma follows from all of their cells: in "0,5" it can only be decimal, in "1,234,567" only
    separate thousands. Raises DataError where it is ambiguous ("12,345" alone; where semicolons separate the cells also
    "12.345"), or where the cells contradict each other.
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
