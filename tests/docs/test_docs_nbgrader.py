"""nbgrader hands a lab out without its solutions, and grades a full and an empty submission."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import labs
import pytest

if TYPE_CHECKING:
    from nbformat import NotebookNode

pytestmark = pytest.mark.slow
LAB = "03-mm1-live.md"
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "queues"
c.ExecutePreprocessor.timeout = 300
"""


def recipe() -> list[str]:
    """The commands of the docs."""
    page = (labs.LABS.parents[1] / "docs" / "what-qsim-leaves-to-others.md").read_text("utf-8")
    return next(text for text in re.findall(r"```text\n(.*?)```", page, re.S) if "nbgrader" in text).splitlines()


def run(course: Path, command: str) -> None:
    """A command of the recipe in the course's folder."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it starts alembic
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=course,
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"


def answered(release: Path) -> NotebookNode:
    """The handed out notebook with the answers of the key in the places of the stubs."""
    key = (labs.LABS / "key" / LAB).read_text("utf-8")
    given = {"name": 'NAME = "Bo Li"', "guess": "my_guess = 3.2"}
    for identity, expression in re.findall(r"^answer_(\w+) = (.*)$", key, re.M):
        lines = f'from calibrate.lab.exercises import numbers\nn = numbers(NAME, "{identity}")'
        given[f"answer-{identity}"] = f"{lines}\nanswer_{identity} = {expression}"
    notebook = labs.notebook(release)
    for cell in notebook.cells:
        identity = cell.metadata.get("nbgrader", {}).get("grade_id")
        if identity in given:
            cell.source = given[identity]
        elif str(identity).startswith("prose-"):
            cell.source = "Because everybody waits for the others."
    return notebook


def test_a_lab_is_handed_out_collected_and_graded(require_module: Callable[..., None], tmp_path: Path) -> None:
    require_module("nbgrader", "pip install nbgrader")
    import jupytext
    from nbgrader.api import Gradebook

    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    (tmp_path / "examples").symlink_to(labs.LABS.parent)
    *prepare, grade = recipe()
    for command in prepare:
        run(tmp_path, command)
    release = tmp_path / "release" / "mm1" / "mm1.ipynb"
    handout = release.read_text("utf-8")
    assert "SOLUTION" not in handout
    assert handout.count("YOUR CODE HERE") == 5  # name, guess, three answers
    key = (labs.LABS / "key" / LAB).read_text("utf-8")
    assert not [line for line in re.findall(r"^answer_\w+ = (.*)$", key, re.M) if line in handout]

    for who, notebook in (("full", answered(release)), ("empty", labs.notebook(release))):
        folder = tmp_path / "submitted" / who / "mm1"
        shutil.copytree(release.parent, folder)
        jupytext.write(notebook, folder / "mm1.ipynb")
    run(tmp_path, grade)
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as book:
        points = {who: book.find_submission("mm1", who) for who in ("full", "empty")}
        assert [points[who].code_score for who in ("full", "empty")] == [5.0, 0.0]
        assert points["full"].max_code_score == 5.0
        assert points["full"].needs_manual_grade  # answers in words
    assert (tmp_path / "autograded" / "full" / "mm1" / "lab-3-guess.json").exists()
