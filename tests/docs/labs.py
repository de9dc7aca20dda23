"""Run a lab as a notebook is run: its cells in order in one namespace, then the key's, which check the answers."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any

import jupytext

LABS = Path(__file__).resolve().parents[2] / "examples" / "labs"


def names() -> list[str]:
    """The labs, in their order."""
    return sorted(path.name for path in LABS.glob("0*.md"))


def cells(path: Path) -> list[str]:
    """The code of a page, as Jupyter would see it."""
    return [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]


def run(name: str, *, hardware: bool) -> tuple[dict[str, Any], str]:
    """What the lab and its key leave in the namespace, and what the lab printed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    before = os.environ.pop("LAB_HARDWARE", None)
    if hardware:
        os.environ["LAB_HARDWARE"] = "1"
    try:
        with contextlib.chdir(LABS), contextlib.redirect_stdout(printed):
            for page in (LABS / name, LABS / "key" / name):
                for number, code in enumerate(cells(page), 1):
                    exec(compile(code, f"{page.relative_to(LABS)}, cell {number}", "exec"), namespace)  # noqa: S102
    finally:
        os.environ.pop("LAB_HARDWARE", None)
        if before is not None:
            os.environ["LAB_HARDWARE"] = before
    return namespace, printed.getvalue()
