"""The text of a table as cells: which character separates them, which lines are rows, which are comments."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from measure.errors import DataError
from measure.text_files import check_rows

_MOST_COLUMNS = 1000
_MOST_TITLE_LINES = 5
#: A byte order mark, also as text where a program took it for letters or escaped it.
_MARKS = re.compile(r"\A(?:\ufeff|\u00ef\u00bb\u00bf|%EF%BB%BF)+", re.IGNORECASE)
_MARKDOWN_RULE = re.compile(r"[|:\s-]*-[|:\s-]*")


@dataclass(frozen=True)
class TextTable:
    """The cells of a text table as strings, each row with the number of its line in the file."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, str]], ...]
    notes: Mapping[str, str]


def looks_like_table(text: str) -> bool:
    """Whether the first lines are those of a table: a header of two or more names over a row of as many cells."""
    lines = [line for line in text[:65536].splitlines() if line.strip() and not line.lstrip().startswith("#")]
    lines = lines[_title_lines(lines) :]
    if len(lines) < 1 or (separator := _separator(lines[0])) is None:
        return False
    names = [n.strip() for n in lines[0].split(separator)]
    has_name = any(re.search(r"[^\W\d_]", n) for n in names)
    return has_name and (len(lines) == 1 or lines[1].count(separator) >= 1)


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
    except (csv.Error, StopIteration) as error:
        raise DataError(f"{name} cannot be read as a table: {error or 'no header'}; save it as plain CSV") from error
    if not rows:
        raise DataError(f"{name} has a header but no row; measure again or name another file")
    return TextTable(header, tuple(rows), notes)


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
