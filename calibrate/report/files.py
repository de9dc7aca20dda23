"""The data of plots as CSV tables: a file for each view, a folder for each of several groups; nothing is replaced."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from calibrate.report.view import Group, View
from measure.errors import MeasureError
from measure.spreadsheet import plain_cell

LONGEST_NAME = 60


def csv_text(view: View) -> str:
    """A view's data: a header, columns in SI units, a row each; floats to six digits.

    pandas writes the same in three times as long.
    """
    written, table = io.StringIO(), view.table
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(plain_cell(str(name)) for name in table.columns)
    rows.writerows(zip(*([_cell(v) for v in table.iloc[:, i].tolist()] for i in range(table.shape[1])), strict=True))
    return written.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else plain_cell(value) if isinstance(value, str) else value


def write_tables(groups: Sequence[Group], directory: Path) -> list[Path]:
    """Write every view's data as a CSV table.

    Raises MeasureError where a file is there already or cannot be written; nothing is replaced.
    """
    return write_files(groups, directory, "csv", "--csv", lambda view: csv_text(view).encode())


def write_files(
    groups: Sequence[Group], directory: Path, suffix: str, option: str, content: Callable[[View], bytes]
) -> list[Path]:
    """Write the ``content`` of every view to its own file; ``option`` names what the user may choose otherwise."""
    check_free(groups, directory, suffix, option)
    written: list[Path] = []
    for path, view in places(groups, directory, suffix):
        data = content(view)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:  # never over what came since check_free
                file.write(data)
        except OSError as error:
            raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
        written.append(path)
    return written


def check_free(groups: Sequence[Group], directory: Path, suffix: str, option: str) -> None:
    """MeasureError where a file of these is there already, before any is written."""
    for path, _ in places(groups, directory, suffix):
        if path.exists():
            raise MeasureError(f"{path} exists and is not replaced; choose another {option} directory")


def places(groups: Sequence[Group], directory: Path, suffix: str) -> Iterator[tuple[Path, View]]:
    """The file of every view: in ``directory`` itself where there is one group, in a numbered folder of it else."""
    for number, group in enumerate(groups, 1):
        folder = directory if len(groups) == 1 else directory / folder_name(group.name, number)
        for view in group.views:
            yield folder / f"{view.name}.{suffix}", view


def folder_name(name: str, number: int) -> str:
    """A folder's name from that of a measurement or of a curve."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name).lower().split()
    return "-".join([f"{number:02d}", *words])[:LONGEST_NAME]
