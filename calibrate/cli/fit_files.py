"""Fits on disk: one fit, or several under one schema; none is ever replaced."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.outputs import naming
from measure.errors import DataError
from measure.machine.durable import write_new
from measure.text_files import read_document, reading

if TYPE_CHECKING:
    from calibrate import Fit

ONE = "qsim-fit/3"
SEVERAL = "qsim-fits/3"


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
