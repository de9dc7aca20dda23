"""Text of others: reads untrusted files, whose size, kind and encoding are checked first, and makes text safe to show.

A name is shown on one line; a cell of a table holds no formula of a spreadsheet and nothing that a terminal obeys.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import re
import stat
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from measure.errors import DataError, MeasureError
from measure.machine import files
from measure.units import format_bytes

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import WriteableBuffer

MAX_BYTES = 2**25
HEAD_BYTES = 2**16
LONGEST_LINE = 2**18
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}[mKABCDGhl]")
"""What a terminal takes for a colour, an erased line or a move of its cursor."""
_BEFORE_LINES = (
    "> ?",
    r"\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ",
    r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S{1,80} \S{1,80}\[\d{1,9}\]: ",
)
"""What mails, GitHub's actions and journals put before each line; docker compose puts a name and a bar."""
_INDENT = re.compile(r"[\r\n]*([ \t]{1,40})\S")
_OF_COMPOSE = re.compile(r"\s*([\w.-]{1,80} +\|) ")
MOST_BRACKETS = 2**20
"""A parser makes an object of each { and [, of up to 100 bytes; the output of a tool has some thousands."""
_WITHOUT_WAITING = files.flags("O_NONBLOCK")

STDIN = Path("-")  # stands for the standard input

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

_PACKED = {
    b"\x1f\x8b": ("compressed by gzip", "unpack it"),
    b"(\xb5/\xfd": ("compressed by zstd", "unpack it"),
    b"\xfd7zXZ": ("compressed by xz", "unpack it"),
    b"PK\x03\x04": ("an archive or a workbook", "unpack it, or save the sheet as CSV"),
    b"PAR1": ("a Parquet file", "write its table as CSV"),
}

LINE_ENDS = "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
"""What begins a new line or column where text is printed."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def shown_name(path: str | Path) -> str:
    """A file's name on one line, to store and print: a byte that is not UTF-8 becomes ``\\xe9``, a line end ``\\n``.

    A name of two lines could pass for two answers.
    """
    name = os.fsencode(path).decode(errors="backslashreplace")
    return name.translate({ord(end): end.encode("unicode_escape").decode() for end in LINE_ENDS})


def plain_cell(text: str) -> str:
    """The text without control characters; quoted where a spreadsheet would take it for a formula.

    A formula begins with =, +, - or @, also after blanks and in fullwidth forms. A number stays unchanged. A formula
    that is quoted already gets one more quote: take the first one away, and each cell is what it was.

    >>> plain_cell("=1+1"), plain_cell(" ＝A1"), plain_cell("-5"), plain_cell("4 KiB\\nread"), plain_cell("'=1+1")
    ("'=1+1", "' ＝A1", '-5', '4 KiB read', "''=1+1")
    """
    text = _CONTROL.sub(" ", text)
    if not unicodedata.normalize("NFKC", text).lstrip("\ufeff\u200b '").startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def plain_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its column names and text cells made plain."""
    plain = table.rename(columns=lambda name: plain_cell(name) if isinstance(name, str) else name)
    for column in (c for c in plain if plain[c].dtype.kind not in "biufcmM"):
        plain[column] = plain[column].map(lambda cell: plain_cell(cell) if isinstance(cell, str) else cell)
    return plain


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn any exception of a reader of untrusted files into a DataError that names the file."""
    try:
        yield
    except DataError:
        raise
    except MeasureError as error:
        raise DataError(f"{name}: {error}") from error
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise DataError(
            f"{name} cannot be read, as it holds what its tool does not write ({said}); it was damaged or edited: "
            "restore it, or measure again"
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file, opened without waiting, and its size in bytes; DataError naming it where it is none."""
    try:
        with os.fdopen(os.open(path, _WITHOUT_WAITING), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{path} is not a regular file; give the file that the tool wrote")
            yield file, status.st_size
    except FileNotFoundError as error:
        raise DataError(f"{path} does not exist; check the name") from error
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error  # ValueError: a NUL in the name
        circle = isinstance(error, OSError) and error.errno == errno.ELOOP
        remedy = "its links lead in a circle; name the file itself" if circle else "check its permissions"
        raise DataError(f"{path} cannot be read: {reason}; {remedy}") from error


def read_head(path: Path) -> str:
    """The first 64 KiB as Latin-1 text, to detect the format; "" where it cannot be read."""
    try:
        with _opened(path) as (file, _):
            return file.read(HEAD_BYTES).decode("latin-1")
    except DataError:
        return ""  # read_text says why


class Lines(io.RawIOBase):
    """The bytes of a file for a reader that keeps whole lines in memory: DataError where a line has no end."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = path.open("rb", buffering=0)
        self._behind_newline = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into ``buffer``; DataError for too long a line, OSError where the file cannot be read."""
        view = memoryview(buffer)[:LONGEST_LINE]
        count = self._file.readinto(view) or 0
        newline = bytes(view[:count]).rfind(b"\n")
        self._behind_newline = count - newline - 1 if newline >= 0 else self._behind_newline + count
        if self._behind_newline >= LONGEST_LINE:
            raise DataError(
                f"{self._path} holds a line of more than {LONGEST_LINE >> 10} KiB, and no tool writes such lines; the "
                "file is damaged: measure again"
            )
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def check_readable(path: Path) -> None:
    """Raise DataError naming the file where it is empty, or not a readable regular file."""
    with _opened(path) as (_, size):
        if size == 0:
            raise DataError(f"{path} is empty; the tool wrote nothing, so measure again")


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """The text of a regular file of at most ``max_bytes``: UTF-8, UTF-16 with its mark (as PowerShell writes), Latin-1.

    ``STDIN`` reads the standard input. Raises DataError naming the file where it is missing, unreadable, not regular,
    too large, empty or binary.
    """
    if path == STDIN:
        if sys.stdin is None:
            raise DataError("the standard input is closed; give a file, or pipe the data in")
        content = sys.stdin.buffer.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise DataError(f"the standard input has more than the {format_bytes(max_bytes)} that are read")
        return decode(content, "the standard input")
    with _opened(path) as (file, size):
        if size > max_bytes:
            raise DataError(
                f"{path} has {format_bytes(size)}, more than the {format_bytes(max_bytes)} that are read; give the "
                "tool's summary, not its logs (fio's latency logs are read whatever their size)"
            )
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise DataError(f"{path} grew beyond {format_bytes(max_bytes)} while it was read; wait until it is complete")
    return decode(content, str(path))


def _as_printed(text: str) -> str:
    """The text without what a log or a mail puts before most lines, and without an indentation that all lines have."""
    named, head = _OF_COMPOSE.match(text), text[:HEAD_BYTES]
    for mark in (*_BEFORE_LINES, *([rf"{re.escape(named[1])} ?"] if named else [])):
        before = re.compile(f"^{mark}", re.MULTILINE)
        if 2 * len(before.findall(head)) > head.count("\n"):
            text = before.sub("", text)
    indent = _INDENT.match(text)
    if indent is None or re.search(rf"^(?!{indent[1]})(?=.*\S)", text, re.MULTILINE):
        return text
    return re.sub(f"^{indent[1]}", "", text, flags=re.MULTILINE)


def decode(content: bytes, name: str) -> str:
    """Text from bytes, as it was printed; DataError naming ``name`` where it is empty, binary, or only brackets."""
    if not content.strip():
        raise DataError(f"{name} is empty; the tool wrote nothing, so measure again")
    if packed := next((found for mark, found in _PACKED.items() if content.startswith(mark)), None):
        raise DataError(f"{name} is {packed[0]}; {packed[1]} and give the text")
    encoding = next((e for mark, e in _BOMS if content.startswith(mark)), None)
    if encoding is None and b"\0" in content:
        raise DataError(f"{name} is binary, not text; give fio's JSON, MLC's text or a CSV table")
    try:
        text = content.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding is not None:
            raise DataError(f"{name} is damaged: it is not {encoding} text ({error.reason})") from error
        text = content.decode("latin-1")
    text = _as_printed(_COLOURS.sub("", text))
    if (brackets := text.count("[") + text.count("{")) > MOST_BRACKETS:
        raise DataError(
            f"{name} holds {brackets:,} opening brackets, which no output of a tool does; give the tool's own output"
        )
    control = sum(1 for c in text[:4096] if ord(c) < 32 and c not in "\t\n\r\f\x1b\b")
    if control > len(text[:4096]) // 20:
        raise DataError(f"{name} is binary, not text; give fio's JSON, MLC's text or a CSV table")
    return text


MOST_DIGITS = 300
MOST_PARTS = 200


def read_document(path: Path, schemas: Collection[str], what: str, remedy: str) -> dict[str, Any]:
    """The JSON object in a file of qsim with one of these values of ``schema``.

    DataError naming the file, ``what`` was expected, and ``remedy``.
    """
    is_empty = path.is_file() and not path.stat().st_size  # read_text would say to measure again
    text = "" if is_empty else read_text(path)
    try:
        document = json_of(text)
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}), so it is not {what}; {remedy}") from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in schemas:
        raise DataError(f"{path} is not {what} (schema {schema!r}); {remedy}")
    return dict(document)


def json_of(text: str) -> Any:
    """What a text in JSON says. ValueError where it is none, has a field twice, or is beyond what a person writes."""
    return _parsed(lambda: json.loads(text, parse_int=_whole, object_pairs_hook=_each_once))


def toml_of(text: str) -> dict[str, Any]:
    """What a text in TOML says. ValueError as for JSON: the parser takes the square of the parts of a name."""
    if any(piece.count(".") > MOST_PARTS for piece in re.split(r"[=,{}\[\]\n]", text)):
        raise ValueError(f"a name of more than {MOST_PARTS} parts")
    return dict(_parsed(lambda: tomllib.loads(text)))


def _parsed(parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:  # Python names its own setting where a number is too long
        raise ValueError(str(error).partition("; use sys.")[0]) from error


def _each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(fields)
    if len(found) < len(fields):
        ((twice, _),) = Counter(name for name, _ in fields).most_common(1)
        raise ValueError(f"{twice!r} stands twice in one table")
    return found


def _whole(digits: str) -> int:
    """A whole number that a float can hold. ValueError for one of more digits."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)
