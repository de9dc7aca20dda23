"""stdout carries results, stderr everything else."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from qsim.text_table import described_table, table

__all__ = ["complain", "described_table", "plain", "print_json", "remark", "say", "table", "warn"]


def say(text: str = "") -> None:
    """A result, on stdout."""
    typer.echo(text)


def complain(text: str) -> None:
    """An error, a warning or a remark, on stderr, each as one line."""
    remark(" ".join(text.split()))


def warn(text: str) -> None:
    """A warning, on stderr."""
    complain(f"warning: {text}")


def remark(text: str) -> None:
    """A remark on stderr; dropped where the terminal is closed."""
    with contextlib.suppress(OSError):
        typer.echo(text, err=True)


def print_json(document: Mapping[str, Any]) -> None:
    """The one JSON document of a run, on stdout."""
    typer.echo(json.dumps(plain(document), indent=2, allow_nan=False))


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
