"""The files that a command writes: new ones, checked before any work, and fits, which are read again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure.errors import DataError, MeasureError
from measure.machine.files import appending, write_new
from measure.text_files import read_document, reading

if TYPE_CHECKING:
    from calibrate import Fit

ONE = "qsim-fit/3"
SEVERAL = "qsim-fits/3"


def check_new(path: Path, option: str = "--out") -> None:
    """MeasureError where ``path`` exists or its folder does not; nothing is changed."""
    if os.path.lexists(path):
        raise MeasureError(f"{path} exists and is not replaced; choose another name for {option}")
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")


@contextmanager
def new_record(path: Path, head: str, option: str) -> Iterator[Callable[[str], None]]:
    """A new file that begins with ``head``, and a function that appends a line to it. MeasureError where that fails."""
    check_new(path, option)
    with ExitStack() as stack:
        with naming(path, option):
            append = stack.enter_context(appending(path, head.encode()))

        def add(line: str) -> None:
            with naming(path, option):
                append(line.encode())

        yield add
        with naming(path, option):
            stack.close()


@contextmanager
def naming(path: Path, option: str = "--out") -> Iterator[None]:
    """A MeasureError that names the file in place of an OSError."""
    try:
        yield
    except FileExistsError as error:
        raise MeasureError(f"{path} exists and is not replaced; choose another name for {option}") from error
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error


def write_fits(fits: Sequence[Fit], path: Path) -> None:
    """Write one fit, or several, to a new file. Raises MeasureError where that fails."""
    document: dict[str, Any] = (
        fits[0].to_dict() if len(fits) == 1 else {"schema": SEVERAL, "fits": [f.to_dict() for f in fits]}
    )
    with naming(path):
        write_new(path, (json.dumps(document) + "\n").encode())


def read_fits(path: Path) -> list[Fit]:
    """The fits in a file. Raises DataError naming the file, what is wrong and the remedy."""
    from calibrate.fitting.fit import Fit

    remedy = "write one with: qsim fit DATA --out fit.json"
    document = read_document(path, (ONE, SEVERAL), "a fit of qsim", remedy)
    parts = document.get("fits") if document["schema"] == SEVERAL else [document]
    if not isinstance(parts, list) or not parts or not all(isinstance(p, dict) for p in parts):
        raise DataError(f"{path} holds no fit; {remedy}")
    with reading(str(path)):
        try:
            return [Fit.from_dict(part) for part in parts]
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
