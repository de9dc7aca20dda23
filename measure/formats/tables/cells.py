"""From the text of a table, as people paste it, to a header and rows of cells, and from cells to numbers.

Markdown and the frames that databases draw, a title above, a header behind ``#``, two rows of headers, tables on their
side, units in the cells ("786.15 us", "14.0k IOPS"), and commas that are decimal or separate thousands.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile, zip_longest

from measure.errors import DataError
from measure.formats.tables.column_names import OPEN_UNIT, UNITS, ColumnRole, recognise
from measure.formats.tables.records import records_in
from measure.text_files import HEAD_BYTES

SEPARATORS = "\t;,"
_NOTHING = f"{SEPARATORS} "
"""A spreadsheet writes a title and an empty row with the separators of all its columns."""
_FRAME = r"[\s|+:=─━═╔╗╚╝╠╣╦╩╬║┌┐└┘├┤┬┴┼│╞╡╪-]*"
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\w*\s*")
_RULE = re.compile(rf"{_FRAME}[-─━═=]{{2,}}{_FRAME}")
_WHOLE_RULE = re.compile(r"\s*([-─━═=_*~])\1{3,}\s*")
_PARTED_RULE = re.compile(r"\s*[-=]{2,}(?:\s+[-=]{2,})+\s*")
_BARS = re.compile(r"(?<!\\)[|│║]")
_EMPHASIS = re.compile(r"^(\*{1,3}|_{2,3}|`|~~)(.*)\1$")
_FIGURE = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?[A-Za-zµ%/]{0,5}")
_BARE = re.compile(r"[+-]?(?:\d[\d.,]*|\.\d+)(?:[eE][+-]?\d+)?[kKMG]?")
_COUNT_AND_NOUN = re.compile(r"([\d.,]+) ([^\W\d_]+)")
_NOUN_AND_COUNT = re.compile(r"([^\W\d]+?) ?(=?) ?(\d+)")
_NUMBERED_RUN = re.compile(r"(?i:runs?|repeats?|rep|rounds?|trials?|iterations?|pass|attempt)\W*\d*")
_ENDS = "\r\n"
_LETTER = re.compile(r"[^\W\d_]")
_LOOKED_AT, _MOST_TITLES = 50, 3
MAX_ROWS = 200_000


@dataclass(frozen=True)
class Body:
    """The lines of a table from its header on, each with its number in the text, and what separates the cells.

    ``is_framed``: bars separate the cells, as in Markdown, and every row has as many as the header. ``notes`` are lines
    below the last row that are none, with their numbers.
    """

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    is_framed: bool = False
    notes: tuple[tuple[int, str], ...] = ()

    @property
    def separator(self) -> str | None:
        """The character between two cells; None where the first line is no header."""
        return "\t" if self.is_framed else separator_of(self.lines[0])


def separator_of(line: str) -> str | None:
    """The character that separates the cells of a line; None where there is none."""
    bare = re.sub(r'"[^"]*"', "", line)
    best = max(SEPARATORS, key=bare.count)
    return best if best in bare else None


def body_of(text: str) -> Body:
    """The table in a text: without comments, a title or a frame; a list of records has a row for each."""
    if records := records_in(text):
        names = list(dict.fromkeys(name for _, record in records for name in record))
        rows = [names, *([record.get(name, "") for name in names] for _, record in records)]
        return Body(tuple(map(_joined, rows)), (records[0][0], *(line for line, _ in records)), is_framed=True)
    if _WIKI.search(text):
        text = _html_of_wiki(text)
    if "</td>" in text or "</TD>" in text:
        text = _of_html(text)
    every = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    numbered = [(n, line) for n, line in every if line.strip(_NOTHING) and not _FENCE.fullmatch(line)]
    if framed := _framed(numbered) or _ruled(numbered):
        return _in_sections(framed, [(n, line) for n, line in numbered if not _BARS.search(line)])
    plain = [(n, line) for n, line in numbered if not (line.lstrip().startswith("#") or _WHOLE_RULE.fullmatch(line))]
    comments = [(n, line) for n, line in numbered if plain and n < plain[0][0]]
    if comments and not _LETTER.search(re.sub(r"\d[eE][+-]?\d", "", plain[0][1])):
        found = _cells_of([(comments[-1][0], comments[-1][1].lstrip(" \t#")), *plain])
        if separator_of(found.lines[0]):
            return found
    whole = _cells_of(plain)
    found = next((part for skip in range(1, _MOST_TITLES + 1) if (part := _without_title(plain, skip))), whole)
    hashed = [(n, line) for n, line in numbered if line.lstrip().startswith("#")]
    bare, titles = _without_notes(found)
    sections = _in_sections(bare, sorted([*hashed, *titles]))
    if sections is not bare:
        return sections
    below = tuple((n, title) for n, title in titles if n > bare.numbers[-1])
    if all(_NUMBERED_RUN.fullmatch(title) for _, title in titles[: len(titles) - len(below)]):
        return replace(bare, notes=below)
    return _in_sections(found, hashed)


_NOTE = re.compile(r"\W*(?i:notes?|remarks?|sources?|anmerkung(?:en)?|hinweise?|quellen?)\b(?=[\s:.])")


def _without_notes(body: Body) -> tuple[Body, list[tuple[int, str]]]:
    """The lines of cells, and those that are a title or a note: one cell of words, the other ones empty or absent.

    Below the last row that begins with a figure, they are also lines without one.
    """
    kept: list[int] = []
    notes: list[tuple[int, str]] = []
    mark, end = body.separator if body.lines else None, _last_row(body.lines)
    for k, (n, line) in enumerate(zip(body.numbers, body.lines, strict=True)):
        words, width = line.strip(f"{_NOTHING}{_ENDS}"), len(line.strip(_ENDS).split(mark))
        is_alone = separator_of(words) is None and _LETTER.search(words) and (" " in words or width > 1)
        is_below = k >= end and not any(map(_is_figure, line.split(mark)))
        if k and mark and (is_alone or is_below or _NOTE.match(words)):
            notes.append((n, words.strip('"')))
        else:
            kept.append(k)
    if not notes or len(kept) < 2:
        return body, []
    lines, numbers = tuple(body.lines[k] for k in kept), tuple(body.numbers[k] for k in kept)
    return replace(body, lines=lines, numbers=numbers), notes


def _last_row(lines: Sequence[str]) -> int:
    """The index behind the last of the lines that begins with a figure, where the first below the header does."""
    figures = [k for k, line in enumerate(lines) if _is_figure(line)]
    return figures[-1] + 1 if figures[:1] == [1] else len(lines)


def _in_sections(body: Body, titles: Sequence[tuple[int, str]]) -> Body:
    """The table with the lines above its sections as a column "series", where two sections share a first cell.

    A section has two rows or more. Sections that are numbered as runs are repeats.
    """
    titles = [(n, text) for n, text in titles if _LETTER.search(text)]
    if not titles or len(body.lines) < 2 or (mark := body.separator) is None or "series" in body.lines[0].lower():
        return body
    numbers = [0, *(n for n, _ in titles)]
    named = ["", *(" ".join(text.split()).strip("#*_:=- ") for _, text in titles)]
    above = [named[bisect(numbers, n) - 1] for n in body.numbers[1:]]
    firsts = {(line.split(mark)[0].strip(), title) for line, title in zip(body.lines[1:], above, strict=True)}
    shared = len(firsts) > len({first for first, _ in firsts}) and min(Counter(above).values()) > 1
    whole = {line.count(mark) for line in body.lines} == {body.lines[0].count(mark)}
    if not (shared and whole) or any(_NUMBERED_RUN.fullmatch(title) for title in set(above)):
        return body
    cells = ["series", *(re.sub(r'[",;\t]', " ", title) or "first" for title in above)]
    lines = (f"{line.rstrip(_ENDS)}{mark}{cell}\n" for line, cell in zip(body.lines, cells, strict=True))
    return replace(body, lines=tuple(lines))


_WIKI = re.compile(r"^\{\|", re.MULTILINE)


def _html_of_wiki(text: str) -> str:
    """The first table of MediaWiki's as HTML: a line of "|-" begins a row; "!" heads, "|" a cell; "||" parts two."""
    rows = [""]
    for line in map(str.strip, text[text.index("{|") :].splitlines()[1:]):
        if line.startswith("|}"):
            break
        if line.startswith("|-"):
            rows.append("")
        elif line.startswith(("|", "!")) and not line.startswith("|+"):
            tag = "th" if line[0] == "!" else "td"
            parts = (cell.rpartition("|") for cell in re.split(r"\|\||!!", line[1:]))
            rows[-1] += "".join(f"<{tag} {attributes}>{shown}</{tag}>" for attributes, _, shown in parts)
    return "".join(f"<tr>{row}" for row in rows if row)


def _of_html(text: str) -> str:
    """The rows of a table in HTML, a line each, with tabs between the cells."""
    rows = re.findall(r"<tr[ >].*?(?=<tr[ >]|</table|\Z)", text, re.DOTALL | re.IGNORECASE)
    below: dict[int, list[str]] = {}  # by its column, what a cell of several rows has in those that follow
    found = []
    for row in rows:
        plain: list[str] = []
        for kind, attributes, cell in _HTML_CELL.findall(row):
            while below.get(len(plain)):
                plain.append(below[len(plain)].pop())
            spans = {name.lower(): min(int(n), _MOST_COLUMNS) for name, n in _HTML_SPAN.findall(attributes)}
            shown = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", cell)).split())
            for column in range(spans.get("col", 1)):
                under = shown if kind in "dD" and not column else ""  # the rows of a header are joined later
                below[len(plain)] = [under] * (spans.get("row", 1) - 1)
                plain.append("" if column else shown)
        while plain and below.get(len(plain)):
            plain.append(below[len(plain)].pop())
        found.append(plain)
    return "".join(map(_joined, filter(None, found)))


_HTML_CELL = re.compile(r"<t([dh])(\s[^>]*)?>(.*?)</t[dh]>", re.DOTALL | re.IGNORECASE)
_HTML_SPAN = re.compile(r"(row|col)span=[\"']?(\d{1,4})", re.IGNORECASE)


def _cells_of(lines: Sequence[tuple[int, str]]) -> Body:
    return Body(tuple(_with_tabs([f"{line}\n" for _, line in lines])), tuple(number for number, _ in lines))


def _without_title(lines: Sequence[tuple[int, str]], skip: int) -> Body | None:
    """The table below a title of ``skip`` lines; None where there is none, or a line of the title is a header."""
    if len(lines) < skip + 2:
        return None
    body = _cells_of(lines[skip:])
    mark = body.separator
    if mark is None or not _LETTER.search(body.lines[0]):
        return None
    cells = body.lines[0].count(mark)
    above = [line.rstrip(_NOTHING) for _, line in lines[:skip]]
    if any(line.count(mark) >= cells or any(map(recognise, [*line.split(mark), line.split()[0]])) for line in above):
        return None
    rows = [line for line in body.lines[1 : _last_row(body.lines)] if re.search(r"\d", line)]
    return body if rows and all(line.count(mark) == cells for line in rows) else None


def _with_tabs(lines: list[str]) -> list[str]:
    """The lines with tabs between columns that only blanks separate; other lines unchanged.

    Such columns have as many words in the header as in every row, or as many cells two blanks apart, and most of each
    row are numbers; of a table on its side all but the first.
    """
    if len(lines) < 2 or separator_of(lines[0]):
        return lines
    lines = _without_index(lines)
    end = _last_row(lines)
    lines, below = lines[:end], [line.replace("\t", " ") for line in lines[end:]]
    for cells_in in (str.split, _far_apart):
        first = [cells_in(line) for line in lines[:_LOOKED_AT]]
        numbers = [sum(_FIGURE.fullmatch(cell.replace(" ", "")) is not None for cell in row) for row in first]
        widths = {len(row) for row in first}
        on_its_side = set(numbers) == {max(widths) - 1} and any(recognise(row[0]) for row in first)
        if len(widths) == 1 and (on_its_side or (not numbers[0] and 2 * min(numbers[1:]) > max(widths))):
            return ["\t".join(cells_in(line)) + "\n" for line in lines] + below
    return lines + below


def _without_index(lines: list[str]) -> list[str]:
    """The lines without the numbers of rows, from 0 or 1 on, over which pandas and R print no name."""
    rows = [re.match(r"\s*(\d{1,6})\s+(?=\S)", line) for line in lines[1:]]
    numbers = [int(row[1]) if row else -1 for row in rows]
    count = len(lines[0].split()) + 1
    counted = numbers == list(range(numbers[0], numbers[0] + len(rows))) and numbers[0] in (0, 1)
    if not counted or any(len(line.split()) != count for line in lines[1:]):
        return lines
    return [lines[0], *(line[row.end() :] for line, row in zip(lines[1:], rows, strict=True) if row)]


def _far_apart(line: str) -> list[str]:
    """The cells of a line between two blanks or more, as one blank is within a name."""
    return re.split(r"\s{2,}", line.strip())


# --- Markdown, and frames ---------------------------------------------------------------------------------------------


def _framed(lines: Sequence[tuple[int, str]]) -> Body | None:
    """The first table between bars, without bars and emphasis, and the rows of others with the same header.

    Its header is marked by a rule below it; without one, all lines have the same number of bars, two or more.
    """
    lines = [(n, line.replace("||", "|") if line.startswith("||") else line) for n, line in lines]  # Jira's header
    rows = [(n, _cells(line)) for n, line in lines if _BARS.search(line) and not _RULE.fullmatch(line)]
    last = max((n for n, _ in rows), default=0)  # a rule below it closes a frame
    rules = [n for n, line in lines if n < last and _RULE.fullmatch(line) and re.search(r"[|+│┼╪║╬]", line)]
    marked = [n for n, _ in rows if any(n < rule <= n + 2 for rule in rules)]
    if marked:
        rows = [(n, cells) for n, cells in rows if n >= marked[0]]
    others = sum(not _RULE.fullmatch(line) for _, line in lines)
    alike = len(rows) > 1 and len(rows) == others and {len(cells) for _, cells in rows} == {len(rows[0][1])}
    if len(rows) < 2 or not (marked or (alike and len(rows[0][1]) > 2)):
        return None
    header = rows[0][1]
    if not _LETTER.search("".join(header)) or len(header) < 2:
        return None
    kept = [rows[0], *((n, cells) for n, cells in rows[1:] if cells != header)]
    return Body(tuple(map(_joined, (cells for _, cells in kept))), tuple(n for n, _ in kept), is_framed=True)


def _ruled(lines: Sequence[tuple[int, str]]) -> Body | None:
    """The first table whose header has a rule below it in as many parts as the table has columns.

    A column is as wide as its part of the rule and its cells, which the names of PowerShell's tables may exceed.
    """
    rules = [k for k, (_, line) in enumerate(lines) if _PARTED_RULE.fullmatch(line)]
    below = next((k for k in rules if k and k - 1 not in rules and k + 2 not in rules), None)
    if below is None:
        return None
    rows = lines[below + 1 : next((k for k in rules if k > below), len(lines))]
    under = [line for _, line in (lines[below], *rows)]
    filled = "".join(" x"[any(c.strip() for c in cells)] for cells in zip_longest(*under, fillvalue=" "))
    starts = [0, *(column.start() for column in re.finditer(r"(?<= )x", filled.lstrip()))]
    if len(starts) != len(lines[below][1].split()):
        return None
    indent = len(filled) - len(filled.lstrip())
    kept = [lines[below - 1], *rows]
    cells = [[line[indent:][a:b].strip() for a, b in zip_longest(starts, starts[1:])] for _, line in kept]
    return Body(tuple(map(_joined, cells)), tuple(n for n, _ in kept), is_framed=True)


def _cells(line: str) -> list[str]:
    inner = line.strip()
    inner = re.sub(r"^[|│║]|(?<!\\)[|│║]$", "", inner)
    return [_without_emphasis(cell) for cell in _BARS.split(inner)]


def _without_emphasis(cell: str) -> str:
    plain = re.sub(r"<br ?/?>", " ", cell.replace("\\|", "|").replace("\t", " ")).strip()
    while (found := _EMPHASIS.match(plain)) is not None:
        plain = found[2].strip()
    return plain


def _joined(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter="\t", lineterminator="\n").writerow(cells)
    return line.getvalue()


# --- headers ----------------------------------------------------------------------------------------------------------

_UNIT_WORDS = {*UNITS["latency"], *UNITS["bandwidth"], *UNITS["throughput"]}


def header_of(rows: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], int]:
    """The header of a table, and how many rows it takes: two where the second has units or parts of columns.

    >>> header_of([["depth", "IOPS", "latency"], ["", "(k)", "(us)"], ["1", "12", "83"]])
    (('depth', 'IOPS (k)', 'latency (us)'), 2)
    >>> header_of([["depth", "latency (us)", ""], ["", "mean", "p99"], ["1", "83", "150"]])
    (('depth', 'mean latency (us)', 'p99 latency (us)'), 2)
    """
    first = tuple(cell.strip() for cell in rows[0])
    if len(rows) < 3 or len(rows[1]) != len(first) or not any(map(_LETTER.search, rows[1])):
        return first, 1
    second = [cell.strip() for cell in rows[1]]
    if any(_is_figure(cell) for cell in second) or not any(_is_figure(cell) for cell in rows[2]):
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


def _is_figure(cell: str) -> bool:
    return _BARE.match(cell.strip()) is not None


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
    names = [row[0] for row in plain]
    loads = [load for load in takewhile(bool, map(_load_in, plain[0][1:])) if load]
    is_load = len(loads) == len(plain[0]) - 1 and len({noun.rstrip("s") for noun, _ in loads}) == 1
    if is_load and recognise(plain[0][0]) is None:
        plain[0] = [loads[-1][0], *(count for _, count in loads)]
    if not all(map(_is_figure, plain[0][1:])) or any(map(_is_figure, names)):
        return list(map(list, rows))
    if sum(recognise(name) is not None for name in names) < 2:
        return list(map(list, rows))
    return [list(column) for column in zip(*plain, strict=True)]


# --- units in cells ---------------------------------------------------------------------------------------------------

_TIMES, _SPEEDS = UNITS["latency"], UNITS["bandwidth"]
_THINGS = r"(?:req(?:uest)?s?|ops?|tx|txns?|queries|trans(?:actions)?|ios?|I/Os)"
_A_SECOND = re.compile(rf"(?:{_THINGS}\s?)?/\s?s(?:ec)?|IOPS|[rqt]ps", re.IGNORECASE)
_WITH_UNIT = re.compile(
    r"(?P<value>[+-]?[\d.,]*\d[kKMG]?)\s?(?P<unit>[^\W\d_][\w/ ]{0,12}|/s|/sec)(?:\s?(?:±|\+/-|\+-)\s?[\d.,]+\s?\w*)?"
)
_SPREAD = re.compile(r"(?P<value>[+-]?[\d.,]*\d)\s?(?:±|\+/-|\+-)\s?[\d.,]+\s?(?P<unit>[^\W\d_]{0,12})")

_IN_PARTS = re.compile(r"(?:(\d+)h)?(\d+)m(\d+(?:\.\d+)?)s")
"""A time as Go prints it."""


def without_units(
    header: Sequence[str], rows: Sequence[tuple[int, Mapping[str, str]]], name: str
) -> tuple[dict[str, str], list[tuple[int, dict[str, str]]]]:
    """The name of each column and the rows, with the units of times, rates and bandwidths in names instead of cells.

    A unit is added to a name that has none. Cells with another unit than the first cell are converted. Raises DataError
    for a cell that cannot be converted, and for a time without a unit among others with units.
    """
    names = {column: column for column in header}
    cells = [(line, {column: _without_spread(cell) for column, cell in row.items()}) for line, row in rows]
    for column in header:
        found = [_split(row[column]) for _, row in cells]
        units = [unit for _, unit in found if unit]
        bare = [cell for cell, (value, unit) in zip(cells, found, strict=True) if not unit and _needs_unit(value)]
        if units and bare and all(unit in _TIMES for unit in units):
            _refuse_bare(column, *bare[0], units[0], name)
        if bare or not units:
            continue
        known = recognise(column)
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
    """The number of a cell such as "4.71 ± 0.3"; other cells unchanged."""
    found = _SPREAD.fullmatch(cell)
    return found["value"] if found and not found["unit"] else cell


def _needs_unit(value: str) -> bool:
    """Whether a cell is a figure other than 0, which is 0 in any unit."""
    return _is_figure(value) and value.strip("+-0.,") != ""


def _refuse_bare(column: str, line: int, row: Mapping[str, str], unit: str, name: str) -> None:
    known = recognise(column)
    if known is None or not known.unit:
        where = f"{row[column][:40]!r} in line {line}, column {column!r}"
        raise DataError(
            f"{name}: {where} has no unit, and others have {unit}; write it into each cell, or into the name"
        )


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


_MOST_COLUMNS, _SHOWN = 1000, 40

#: A byte order mark, also where a program decoded it as letters or escaped it.
_MARKS = re.compile(r"\A(?:\ufeff|\u00ef\u00bb\u00bf|%EF%BB%BF)+", re.IGNORECASE)
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z]{0,5})")
_LEAST_BARE = 512.0
_EMPTY = frozenset({"", "-", "–", "—", "na", "n/a", "nan", "null", "none"})
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
