"""Small files that a command leaves beside its output: written once, never over another."""

from __future__ import annotations

from pathlib import Path

from measure.errors import MeasureError


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
