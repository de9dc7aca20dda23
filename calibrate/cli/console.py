"""stdout carries results, as text or as one JSON document; stderr everything else.

Cells, names and paths come from others and may hold sequences that a terminal obeys. So everything that a command
prints passes :func:`visible`.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer

from calibrate.cli.failures import CommandError

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tabs and line ends (C0, C1), marks of direction and line, and bytes that are not UTF-8."""
LONGEST_LINE = 4000  # characters of an error or a warning, which may name a value of any length


def visible(text: str) -> str:
    r"""The text with what a terminal would obey, and not show, spelled out.

    >>> print(visible("a\x1b[2Jb\u202e"))
    a\x1b[2Jb\u202e
    """
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}" if found[0] < " " else f"\\u{ord(found[0]):04x}", text)


def say(text: str = "") -> None:
    """Print a result on stdout."""
    typer.echo(visible(text))


def complain(text: str) -> None:
    """Print an error, a warning or a remark on stderr, each as one line; of one that repeats a long value both ends."""
    line = " ".join(text.split())
    remark(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}")


def warn(text: str) -> None:
    """Print a warning on stderr."""
    complain(f"warning: {text}")


def remark(text: str) -> None:
    """Print a remark on stderr; dropped where the terminal is closed."""
    with contextlib.suppress(OSError):
        typer.echo(visible(text), err=True)


def print_json(document: Mapping[str, Any]) -> None:
    """Print the JSON document of a run on stdout."""
    say(json.dumps(plain(document), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """The value as JSON can hold it: NaN and infinity become null, numpy's numbers and arrays plain ones."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, str | bool | int) or value is None:
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Sequence | set | frozenset):
        return [plain(v) for v in value]
    return str(value)


WRITTEN = {"report": "report", "pdf": "to print"}
"""The files that a command may write, by their keys in JSON, and what the text says of them."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command: the same values as text and as JSON, built only when printed."""

    text: Callable[[], str]
    document: Callable[[], Mapping[str, Any]]
    written: Mapping[str, str | None] = field(default_factory=dict)
    failed: CommandError | None = None

    def show(self, *, as_json: bool) -> None:
        """Print the result; raise its failure, with the document in that of the error."""
        if not as_json:
            files = (f"{WRITTEN[kind]}: {name}" for kind, name in self.written.items() if name is not None)
            say("\n\n".join([self.text(), *files]))
            if self.failed is not None:
                raise self.failed
            return
        document = {**self.document(), **self.written}
        if self.failed is not None:
            raise CommandError(self.failed.message, self.failed.exit_code, document)
        print_json(document)
