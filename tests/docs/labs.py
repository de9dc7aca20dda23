"""Run a lab as a notebook is run: its cells in order in one namespace, then the key's, which check the answers."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

LABS = Path(__file__).resolve().parents[2] / "examples" / "labs"
UNANSWERED = "give a number"


def names() -> list[str]:
    """The labs, in their order."""
    return sorted(path.name for path in LABS.glob("0*.md"))


def notebook(path: Path) -> NotebookNode:
    """A page as Jupyter would see it."""
    import jupytext  # takes three seconds

    return jupytext.read(path)


def cells(path: Path) -> list[NotebookNode]:
    """The code cells of a page."""
    return [cell for cell in notebook(path).cells if cell.cell_type == "code"]


def is_check(cell: NotebookNode) -> bool:
    """Whether nbgrader gives points for what the cell finds."""
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def run(name: str, folder: Path, *, hardware: bool) -> tuple[dict[str, Any], str]:
    """What the lab and its key leave in the namespace, and what the lab printed. Files go into ``folder``.

    A check is refused before the key's answers are there, and passes afterwards.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    shutil.copytree(LABS, folder, dirs_exist_ok=True)
    before = os.environ.pop("LAB_HARDWARE", None)
    if hardware:
        os.environ["LAB_HARDWARE"] = "1"
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            checks = []
            for page in (Path(name), Path("key") / name):
                for number, cell in enumerate(cells(page), 1):
                    program = compile(cell.source, f"{page}, cell {number}", "exec")
                    try:
                        exec(program, namespace)  # noqa: S102 - the lab's own code
                    except AssertionError as error:
                        if not is_check(cell) or UNANSWERED not in str(error):
                            raise
                        checks.append(program)
            for program in checks:
                exec(program, namespace)  # noqa: S102 - the lab's own code
    finally:
        os.environ.pop("LAB_HARDWARE", None)
        if before is not None:
            os.environ["LAB_HARDWARE"] = before
    assert len(checks) >= 2
    return namespace, printed.getvalue()
