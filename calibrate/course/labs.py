"""The labs of a course: their pages, the questions in them, and the notebooks that are handed out.

An installed package brings the labs without their keys; a checkout has both, in ``examples/labs`` and its ``key``.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.errors import MeasureError
from qsim.installed import install_hint

PACKAGED = Path(__file__).with_name("lab_pages")
CHECKOUT = Path(__file__).resolve().parents[2] / "examples" / "labs"

_QUESTION = re.compile(r"^\*\*Question (\d+)\.\*\*", re.MULTILINE)
_NOT_ANSWERED = "*Your answer.*"
_ANSWER = re.compile(r"\s*\*\*Answer (\d+)\.\*\*(.*)", re.DOTALL)


@dataclass(frozen=True)
class CourseLab:
    """One lab: its file's name without suffix, its title, the numbers of its questions, and whether it seals a guess.

    >>> [lab.number for lab in course_labs()], course_labs()[3].seals
    ([1, 2, 3, 4, 5, 6], True)
    """

    name: str
    title: str
    questions: tuple[int, ...]
    seals: bool
    page: Path

    @property
    def number(self) -> int:
        """The lab's number."""
        return int(self.name.partition("-")[0])


def course_labs() -> tuple[CourseLab, ...]:
    """The labs in their order. MeasureError where they are not installed."""
    folder = PACKAGED if PACKAGED.is_dir() else CHECKOUT
    found = tuple(_lab(page) for page in sorted(folder.glob("0*.md")))
    if not found:
        raise MeasureError(f"there are no labs in {folder}; install qsim again from a wheel or a checkout")
    return found


def _lab(page: Path) -> CourseLab:
    text = page.read_text(encoding="utf-8")
    title = next(line[2:] for line in text.splitlines() if line.startswith("# "))
    return CourseLab(page.stem, title, tuple(map(int, _QUESTION.findall(text))), "add_guess(" in text, page)


def write_handouts(directory: Path, keys: Path | None = None) -> list[Path]:
    """Write every lab as a notebook into ``directory``, with a cell for each answer and without the keys.

    The keys go to ``keys``, another folder. Raises MeasureError where jupytext or the keys are missing, where a file is
    there already, and where the keys would lie in the folder that is handed out.
    """
    labs = course_labs()
    written = {directory / f"{lab.name}.ipynb": _notebook(lab) for lab in labs}
    if keys is not None:
        outside, inside = directory.resolve(), keys.resolve()
        if inside == outside or outside in inside.parents:
            raise MeasureError(f"the keys would lie in {directory}, which is handed out; name another folder")
        source = labs[0].page.parent / "key"
        if not source.is_dir():
            raise MeasureError("an installed qsim has no keys; they are in examples/labs/key of a checkout")
        written |= {keys / f"{lab.name}-key.ipynb": _read(source / lab.page.name) for lab in labs}
    taken = [path for path in (*written, directory / "data") if path.exists()]
    if taken:
        raise MeasureError(f"{taken[0]} exists and is not replaced; choose another folder")
    import jupytext

    try:
        for path, notebook in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            jupytext.write(notebook, path, fmt="ipynb")
        shutil.copytree(labs[0].page.parent / "data", directory / "data")
    except OSError as error:
        raise MeasureError(f"the notebooks cannot be written to {directory}: {error.strerror or error}") from error
    return list(written)


def _notebook(lab: CourseLab) -> Any:
    """The lab with a cell for an answer below each question, and a last one that says how to hand it in."""
    from nbformat import v4

    def text(source: str) -> Any:
        return v4.new_markdown_cell(source)  # type: ignore[no-untyped-call]

    notebook = _read(lab.page)
    cells = []
    for cell in notebook.cells:
        parts = re.split(r"(?=^\*\*Question \d+\.\*\*)", cell.source, flags=re.MULTILINE)
        if cell.cell_type != "markdown" or len(parts) == 1:
            cells.append(cell)
            continue
        for part in parts:
            asked, _, rest = _cut_at_heading(part)
            cells += [text(asked)] if asked else []
            cells += [text(f"**Answer {n}.** {_NOT_ANSWERED}") for n in _QUESTION.findall(asked)]
            cells += [text(rest)] if rest else []
    options = " --guess GUESS --seal LIST --fit FIT" if lab.seals else ""
    files = " The files' names are printed above." if lab.seals else ""
    cells.append(
        text(
            f"## Hand in\n\nSave this notebook, then type in a terminal:{files}\n\n"
            f'```\nqsim course hand-in {lab.name}.ipynb --name "YOUR NAME"{options}\n```'
        )
    )
    notebook.cells = cells
    notebook.metadata["qsim"] = {"lab": lab.name}
    return notebook


def _cut_at_heading(part: str) -> tuple[str, str, str]:
    """A question, and what follows it under a heading of its own: it stands below the answer."""
    if not part.startswith("**Question"):
        return part.strip(), "", ""
    head, mark, rest = part.partition("\n## ")
    return head.strip(), mark, f"## {rest}".strip() if mark else ""


def _read(page: Path) -> Any:
    try:
        import jupytext
    except ModuleNotFoundError as error:
        raise MeasureError(f"notebooks need jupytext, which is not installed: {install_hint('labs')}") from error
    return jupytext.read(page)


def answers_of(document: Any) -> dict[int, str]:
    """The answers in a notebook (its JSON) by question; what was not filled in is left out.

    >>> answers_of({"cells": [{"cell_type": "markdown", "source": ["**Answer 2.** ", "Four."]}]})
    {2: 'Four.'}
    """
    found: dict[int, str] = {}
    for cell in document.get("cells", []):
        if answer := _ANSWER.fullmatch("".join(cell["source"])) if cell.get("cell_type") == "markdown" else None:
            text = answer[2].replace(_NOT_ANSWERED, "").strip()
            found |= {int(answer[1]): text} if text else {}
    return found
