"""Where a report may be written, decided before any work; other files are written once, never over another."""

from __future__ import annotations

from pathlib import Path

from measure.errors import MeasureError


def check_report_path(path: Path) -> None:
    """MeasureError where ``path`` is a directory or a file that is no report of ours; nothing is changed."""
    if path.is_dir():
        raise MeasureError(f"{path} is a directory; name a file for the report, such as {path / 'report.html'}")
    if path.exists() and not is_report(path):
        raise MeasureError(f"{path} exists and is not a report of qsim; choose another name for the report")


def free_report_path(path: Path) -> Path:
    """``path``, or the first numbered name beside it that is free or holds a report of ours."""
    candidate, number = path, 1
    while candidate.exists() and (candidate.is_dir() or not is_report(candidate)):
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def is_report(path: Path) -> bool:
    """Whether the file is a report that qsim wrote."""
    from calibrate.report.page import MARK

    try:
        with path.open("rb") as file:
            return MARK.encode() in file.read(4096)
    except OSError:
        return False


def write_new(path: Path, text: str, option: str) -> str:
    """Write ``text`` to a file that does not exist yet, and give its name back. MeasureError where that fails."""
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError as error:
        raise MeasureError(f"{path} exists and is not replaced; choose another name for {option}") from error
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
    return str(path)
