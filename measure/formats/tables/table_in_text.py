"""The table in a text, as people paste it: the lines from its header on, and what separates their cells.

Markdown and the frames that databases draw, HTML, wikis, columns that blanks separate, a title above, notes below, a
header behind ``#``, sections, and lists of records.
"""

from __future__ import annotations

import csv
import html
import io
import re
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from measure.formats.tables.column_names import recognise
from measure.formats.tables.records import records_in

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
_NUMBERED_RUN = re.compile(r"(?i:runs?|repeats?|rep|rounds?|trials?|iterations?|pass|attempt)\W*\d*")
_ENDS = "\r\n"
LETTER = re.compile(r"[^\W\d_]")
_LOOKED_AT, _MOST_TITLES, MOST_COLUMNS = 50, 3, 1000


@dataclass(frozen=True)
class Body:
    """The lines of a table from its header on, each with its number in the text, and what separates the cells.

    ``is_framed``: every row has as many cells as the header. ``notes`` are the lines below the last row.
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
    if comments and not LETTER.search(re.sub(r"\d[eE][+-]?\d", "", plain[0][1])):
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
    """The lines of cells, and those that are a title or a note: one cell of words, or below the last row no figure."""
    kept: list[int] = []
    notes: list[tuple[int, str]] = []
    mark, end = body.separator if body.lines else None, _last_row(body.lines)
    for k, (n, line) in enumerate(zip(body.numbers, body.lines, strict=True)):
        words, width = line.strip(f"{_NOTHING}{_ENDS}"), len(line.strip(_ENDS).split(mark))
        is_alone = separator_of(words) is None and LETTER.search(words) and (" " in words or width > 1)
        is_below = k >= end and not any(map(is_figure, line.split(mark)))
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
    figures = [k for k, line in enumerate(lines) if is_figure(line)]
    return figures[-1] + 1 if figures[:1] == [1] else len(lines)


def is_figure(cell: str) -> bool:
    """Whether a cell begins as a figure."""
    return _BARE.match(cell.strip()) is not None


def _in_sections(body: Body, titles: Sequence[tuple[int, str]]) -> Body:
    """The table with the lines above its sections as a column "series", where two sections share a first cell."""
    titles = [(n, text) for n, text in titles if LETTER.search(text)]
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
            spans = {name.lower(): min(int(n), MOST_COLUMNS) for name, n in _HTML_SPAN.findall(attributes)}
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
    if mark is None or not LETTER.search(body.lines[0]):
        return None
    cells = body.lines[0].count(mark)
    above = [line.rstrip(_NOTHING) for _, line in lines[:skip]]
    if any(line.count(mark) >= cells or any(map(recognise, [*line.split(mark), line.split()[0]])) for line in above):
        return None
    rows = [line for line in body.lines[1 : _last_row(body.lines)] if re.search(r"\d", line)]
    return body if rows and all(line.count(mark) == cells for line in rows) else None


def _with_tabs(lines: list[str]) -> list[str]:
    """The lines with tabs between columns of numbers that only blanks separate; other lines unchanged."""
    if len(lines) < 2 or separator_of(lines[0]):
        return lines
    lines = _without_index(lines)
    end = _last_row(lines)
    lines, below = lines[:end], [line.replace("\t", " ") for line in lines[end:]]
    for cells_in in (str.split, lambda line: re.split(r"\s{2,}", line.strip())):  # one blank may be within a name
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


# --- Markdown, and frames ---------------------------------------------------------------------------------------------


def _framed(lines: Sequence[tuple[int, str]]) -> Body | None:
    """The first table between bars, its header above a rule or all lines alike, and the rows of others like it."""
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
    if not LETTER.search("".join(header)) or len(header) < 2:
        return None
    kept = [rows[0], *((n, cells) for n, cells in rows[1:] if cells != header)]
    return Body(tuple(map(_joined, (cells for _, cells in kept))), tuple(n for n, _ in kept), is_framed=True)


def _ruled(lines: Sequence[tuple[int, str]]) -> Body | None:
    """The first table whose header has a rule below it in as many parts as the table has columns."""
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
    inner = re.sub(r"^[|│║]|(?<!\\)[|│║]$", "", line.strip())
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
