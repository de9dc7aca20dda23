"""What a file is, told by its content and not by its name. Of fio's logs alone the name tells what they log."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from measure.errors import DataError
from measure.formats.fio.log_names import log_name, looks_like_log
from measure.formats.fio.normal_output import looks_like_normal
from measure.formats.fio.terse_output import looks_like_terse
from measure.formats.mess_curves import looks_like_curves
from measure.formats.mlc import looks_like_mlc
from measure.formats.servers.tools import looks_like_server_run
from measure.formats.tables.text import looks_like_table
from measure.formats.watched.record import looks_like_record
from measure.formats.watched.sysstat import looks_like_sysstat
from measure.text_files import read_head, read_text

Format = Literal["fio", "mlc", "curves", "record", "sysstat", "server", "table", "log"]

MAX_TEXT = 2**29  # characters of all files together, logs aside

NAMES: Mapping[Format, str] = {
    "fio": "fio JSON", "mlc": "MLC text", "curves": "bandwidth-latency text",
    "record": "record of qsim watch", "sysstat": "log of iostat or sar", "server": "run of a load generator",
    "table": "table", "log": "fio log",
}  # fmt: skip
_ANNOUNCED = re.compile(r"^\S.{0,200}?: \(g=\d{1,9}\): rw=", re.MULTILINE)


class NoMeasurementError(DataError):
    """A text that no tool for measuring wrote. ``text`` is None where it is JSON, else the text itself."""

    def __init__(self, message: str, text: str | None = None) -> None:
        super().__init__(message)
        self.text = text


def _looks_like_fio(text: str) -> bool:
    return '"fio version"' in text or looks_like_terse(text) or looks_like_normal(text)


_TOLD_BY: Mapping[Format, Callable[[str], bool]] = {
    "fio": _looks_like_fio, "mlc": looks_like_mlc, "curves": looks_like_curves, "record": looks_like_record,
    "sysstat": looks_like_sysstat, "server": looks_like_server_run,
}  # fmt: skip
"""What each format is known by; a table is what is none of these."""


def sniff(text: str, name: str) -> Format:
    """Which tool's output a text is; DataError saying what it looks like where it is none that is read."""
    start = text.lstrip("\ufeff \t\r\n")
    kind = next((kind for kind, looks_like in _TOLD_BY.items() if looks_like(text)), None)
    if kind is not None:
        return kind
    if start.startswith(("{", "[")):
        raise NoMeasurementError(
            f'{name} is JSON, but not fio\'s (no "fio version"); run fio with --output-format=json+'
        )
    if "verify failed" in text[:65536] or "\nverify: " in text[:65536]:
        raise DataError(
            f"{name} holds fio's messages of a data verification that failed, and no result; settle that, then "
            "measure again"
        )
    if start.startswith(("fio:", "fio-")) or "fio: terminating" in text[:65536] or _ANNOUNCED.search(text[:65536]):
        raise DataError(f"{name} holds fio's messages but no JSON result; run fio again with --output-format=json+")
    if looks_like_table(text):
        return "table"
    begins = " ".join(start[:40].split())
    raise NoMeasurementError(
        f"{name} is neither fio's output, MLC's text, a bandwidth-latency curve nor a CSV table; begins {begins!r}",
        text,
    )


@dataclass(frozen=True)
class InputFile:
    """One file; the text of a log stays on the disk."""

    name: str
    path: Path
    text: str


def read_file(path: Path, name: str) -> tuple[Format, InputFile]:
    """What the file is, with its text. A log is recognised by its first lines and its name, and is not read yet."""
    if looks_like_log(read_head(path)):
        if log_name(path.name) is None:
            raise DataError(
                f"{name} looks like a log of fio's, but its name does not say of what; name it as fio does, for "
                "example NAME_lat.1.log"
            )
        return "log", InputFile(name, path, "")
    text = read_text(path)
    return sniff(text, name), InputFile(name, path, text)


def counted_characters(before: int, file: InputFile, where: str) -> int:
    """The characters read so far; DataError where all files together would fill the memory."""
    if before + len(file.text) > MAX_TEXT:
        raise DataError(f"{where} hold more than {MAX_TEXT / 1e6:g} MB of text; name fewer of them")
    return before + len(file.text)
