"""Detects a file's format, and reads the files of one format as one Sweep.

A format is detected from the content, not from the file's name. Only fio's logs are identified by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from measure.errors import DataError
from measure.formats.block_device_counts import looks_like_record, record_sweep
from measure.formats.fio.logs import log_name
from measure.formats.fio.runs_as_sweep import fio_sweep, log_sweep
from measure.formats.fio.text_output import looks_like_normal, looks_like_terse
from measure.formats.load_tools import tool_of
from measure.formats.mess_curves import curves_sweep, looks_like_curves, looks_like_pairs
from measure.formats.mlc import looks_like_mlc, mlc_sweep
from measure.formats.server_reports import cause_in
from measure.formats.servers import (
    JSON_TOOLS,
    TOOLS,
    documents,
    reader_of,
    server_runs_sweep,
    several_tools,
    writers_in,
)
from measure.formats.sysstat import looks_like_sysstat, sysstat_sweep
from measure.formats.tables.cells import looks_like_table
from measure.formats.tables.column_names import parse_columns
from measure.formats.tables.records import records_in
from measure.formats.tables.table import csv_sweep
from measure.formats.which_kind import of_its_kind, told_apart
from measure.sweep import Sweep, join
from measure.text_files import HEAD_BYTES, STDIN, read_head, read_text, reading, shown_name

Format = Literal["fio", "mlc", "curves", "record", "sysstat", "server", "table", "log"]

MAX_TEXT = 2**29  # characters of all files together, without logs

_LOG_LINE = re.compile(r"^\d{1,20}, ?\d{1,20}, ?[0-4], ?\d{1,12}(?:, ?(?:0x)?[\da-fA-F]{1,20}){0,3}\r?$")
_HISTOGRAM_LINE = re.compile(r"^\d{1,20}, ?[0-2], ?\d{1,12}(?:, ?\d{1,18}){19,1900}\r?$")
_LOOK_AT_LINES, _QUOTED, _NAMED = 5, 40, 3
_NUMBERS = re.compile(r"^[^\n]{0,200}?\d[ \t]*[,;|\t ][ \t]*[+-]?\.?\d", re.MULTILINE)
_THREE_COLUMNS = "a table of three columns does: clients,requests_per_s,latency_ms"
_ANNOUNCED = re.compile(r"^\S.{0,200}?: \(g=\d{1,9}\): rw=", re.MULTILINE)


class NoMeasurementError(DataError):
    """A file that is not the output of a measuring tool, is complete, and holds no columns of numbers."""


Columns = Mapping[str, str] | None


@dataclass(frozen=True)
class _Reader:
    """A format: its name in messages, its detector, and the reader of {name: text} as one sweep."""

    name: str
    looks_like: Callable[[str], object]
    read: Callable[[Mapping[str, str], Columns, Columns], Sweep]


def _alone(texts: Mapping[str, str], read: Callable[[str, str], Sweep]) -> Sweep:
    """One sweep of files that are read one by one."""
    return join([(name, read(text, name)) for name, text in texts.items()], ", ".join(texts))


def _read_tables(texts: Mapping[str, str], columns: Columns, units: Columns) -> Sweep:
    def read(text: str, name: str) -> Sweep:
        if (tool := tool_of(text[:HEAD_BYTES])) is None or not tool.columns:
            return csv_sweep(text, columns, units, name=name)
        named, in_units = parse_columns(tool.columns)
        named = {role: column for role, column in named.items() if column in text[:HEAD_BYTES]}
        return csv_sweep(text, {**named, **(columns or {})}, {**in_units, **(units or {})}, name=name)

    return _alone(texts, read)


def _read_curves(texts: Mapping[str, str], columns: Columns, units: Columns) -> Sweep:
    is_table = columns and not all(map(looks_like_pairs, texts.values()))
    return _read_tables(texts, columns, units) if is_table else curves_sweep(texts, units)


def _looks_like_fio(text: str) -> bool:
    return '"fio version"' in text or looks_like_terse(text) or looks_like_normal(text)


_TEXTS: Mapping[Format, _Reader] = {
    "fio": _Reader("fio JSON", _looks_like_fio, lambda t, *_: fio_sweep(t)),
    "mlc": _Reader("MLC text", looks_like_mlc, lambda t, *_: mlc_sweep(t)),
    "curves": _Reader("bandwidth-latency text", looks_like_curves, _read_curves),
    "record": _Reader("record of qsim watch", looks_like_record, lambda t, *_: _alone(t, record_sweep)),
    "sysstat": _Reader("log of iostat", looks_like_sysstat, lambda t, *_: _alone(t, sysstat_sweep)),
    "server": _Reader("run of a load generator", reader_of, lambda t, c, _: server_runs_sweep(t, c)),
    "table": _Reader("table", looks_like_table, _read_tables),
}
"""The formats in the order in which they are tried."""
NAMES: Mapping[Format, str] = {**{kind: reader.name for kind, reader in _TEXTS.items()}, "log": "fio log"}

MOST_LINES = 2_000_000
"""Lines of a text that is no log. The text of 32 MiB has so many where a line has 16 characters."""


def sniff(text: str, name: str) -> Format:
    """The format of a text; DataError saying what the text looks like where no reader applies."""
    if (lines := text.count("\n")) > MOST_LINES:
        raise DataError(
            f"{name} has {lines:,} lines, more than the {MOST_LINES:,} that are read; give the tool's summary"
        )
    start, head = text.lstrip("\ufeff \t\r\n"), text[:HEAD_BYTES]
    kind = next((kind for kind, reader in _TEXTS.items() if kind != "table" and reader.looks_like(text)), None)
    if kind is not None:
        return kind
    if start.startswith("{") and not start.startswith("{|") and not documents(text):
        raise DataError(f"{name} is JSON that was cut off or edited; run the tool again")
    if (known := tool_of(head)) is not None and not known.columns:
        refusal = DataError if has_numbers(text) else NoMeasurementError
        raise refusal(f"{name} is {known.name}, which is not read: {known.instead}")
    if start.startswith(("{", "[")) and documents(text):
        if records_in(text):
            return "table"
        raise NoMeasurementError(f"{name} is JSON of no tool that is read ({', '.join(JSON_TOOLS)}); {_THREE_COLUMNS}")
    if "verify failed" in head or "\nverify: " in head:
        raise DataError(
            f"{name} holds fio's messages of a data verification that failed, and no result; settle that, then "
            "measure again"
        )
    if start.startswith(("fio:", "fio-")) or "fio: terminating" in head or _ANNOUNCED.search(head):
        raise DataError(
            f"{name} holds fio's messages but no JSON result{cause_in(head)}; run fio again with --output-format=json+"
        )
    if looks_like_table(text):
        return "table"
    begins = " ".join(start[:_QUOTED].split())
    if (cause := cause_in(head)) and not has_numbers(text):
        raise NoMeasurementError(f"{name} holds no measurement{cause}; settle that, then run the tool again")
    refusal = DataError if has_numbers(text) else NoMeasurementError
    raise refusal(
        f"{name} is neither a table with a header nor the output of a tool that is read ({_TOOLS}); "
        f"begins {begins!r}; {_THREE_COLUMNS}"
    )


def has_numbers(text: str) -> bool:
    """Whether a line near the beginning holds two numbers next to each other."""
    return _NUMBERS.search(text[:HEAD_BYTES]) is not None


@dataclass(frozen=True)
class InputFile:
    """One file; the text of a log is not loaded."""

    name: str
    path: Path
    text: str


def looks_like_log(head: str) -> bool:
    """Whether the first lines are those of a fio log, of requests or of histograms."""
    lines = [line for line in head.split("\n")[:_LOOK_AT_LINES] if line.strip()]
    whole = lines[:-1] if len(lines) > 1 else lines  # the last one may be cut
    return bool(whole) and all(_LOG_LINE.match(line) or _HISTOGRAM_LINE.match(line) for line in whole)


def read_file(path: Path, name: str) -> tuple[Format, InputFile]:
    """The file's format and text. A log is recognised by its first lines and its name, and is not read yet."""
    name = shown_name(name)
    with reading(name):
        if not looks_like_log(read_head(path)):
            text = read_text(path)
            return sniff(text, name), InputFile(name, path, text)
        if log_name(path.name) is None:
            raise DataError(
                f"{name} looks like a log of fio's, but its name does not say of what; name it as fio does, for "
                "example NAME_lat.1.log"
            )
        return "log", InputFile(name, path, "")


def counted_characters(before: int, file: InputFile, where: str) -> int:
    """The characters read so far; DataError where all files together would fill the memory."""
    if before + len(file.text) > MAX_TEXT:
        raise DataError(f"{where} hold more than {MAX_TEXT / 1e6:g} MB of text; name fewer of them")
    return before + len(file.text)


_OF_A_TOOL: Mapping[Format, str] = {"fio": "fio", "mlc": "MLC", "sysstat": "iostat"}
_TOOLS = ", ".join((*_OF_A_TOOL.values(), TOOLS))


def _others_in(text: str) -> list[str]:
    """The load generators in the text of another tool; none is looked for in what is one document."""
    whole = text.strip()
    is_document = whole.startswith("{") and whole.endswith("}") and "\n{" not in whole
    return [] if is_document else writers_in(text)


def sweep_of(kind: Format, files: Sequence[InputFile], columns: Columns = None, units: Columns = None) -> Sweep:
    """The sweep in files of one format, its kind of load as ``columns`` tell it or as its points do."""
    columns, told = told_apart(columns, of_table=kind == "table")
    for file in files if kind in _OF_A_TOOL else ():
        if others := _others_in(file.text):
            raise several_tools(file.name, [_OF_A_TOOL[kind], *others])
    with reading(", ".join(f.name for f in files[:_NAMED])):
        if kind == "log":
            sweep = log_sweep([f.path for f in files])
        else:
            sweep = _TEXTS[kind].read({f.name: f.text for f in files}, columns, units)
            sweep = of_its_kind(sweep, told)
    return replace(sweep, raw=tuple(f.path for f in files if f.path != STDIN), name=sweep.name or files[0].name)
