"""Every lab runs without hardware, as a notebook does, and its key, which checks the answers, after it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import labs
import pytest


def test_there_are_seven_labs_each_with_its_key() -> None:
    assert [name[:2] for name in labs.names()] == ["01", "02", "03", "04", "05", "06", "07"]
    assert sorted(p.name for p in (labs.LABS / "key").glob("*.md")) == labs.names()


def test_at_least_half_of_the_points_of_each_lab_check_themselves() -> None:
    for path in sorted(labs.LABS.glob("*.md")):
        found = re.findall(r'"grade_id": "(check|prose)-\w+", "locked": \w+, "points": (\d+)', path.read_text("utf-8"))
        by_check, in_all = (
            sum(int(n) for kind, n in found if kind in kinds) for kinds in ({"check"}, {"check", "prose"})
        )
        assert in_all, path.name
        assert 2 * by_check >= in_all, path.name


@pytest.mark.parametrize("name", labs.names())
def test_a_lab_opens_as_a_notebook(name: str) -> None:
    notebook = labs.notebook(labs.LABS / name)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[0] == "markdown"
    assert kinds.count("code") >= 5
    assert notebook.metadata["kernelspec"]["language"] == "python"
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.search(r"\*\*Time:\*\* \d+ minutes; with hardware, \d+ minutes? of machine time", text)
    for step in ("Predict", "Compare", "Explain"):
        assert step.lower() in text.lower()
    asked = [int(n) for n in re.findall(r"^\*\*Question (\d)\.\*\*", text, re.M)]
    assert asked == list(range(1, len(asked) + 1))
    answered = re.findall(r"^\*\*(\d)\.\*\*", (labs.LABS / "key" / name).read_text(encoding="utf-8"), re.M)
    assert [int(n) for n in answered] == asked


@pytest.mark.parametrize("name", labs.names())
def test_students_do_something_and_the_handout_has_no_answer(name: str) -> None:
    notebook = labs.notebook(labs.LABS / name)
    sources = {c.metadata["nbgrader"]["grade_id"]: c for c in notebook.cells if "nbgrader" in c.metadata}
    order = [c.metadata.get("nbgrader", {}).get("grade_id", "") for c in notebook.cells]
    measured = next(i for i, c in enumerate(notebook.cells) if "keep_table(" in c.source)
    assert order.index("name") < order.index("guess") < order.index("sealed") < measured
    graded = [i for i, c in sources.items() if c.metadata["nbgrader"]["grade"]]
    own = [i for i in graded if i.startswith("check-")]
    assert 2 <= len(own) <= 4
    for identity in own:
        answer = sources[identity.replace("check", "answer")]
        assert "= None" in answer.source
        assert answer.metadata["nbgrader"]["solution"]
    text = (labs.LABS / name).read_text("utf-8")
    assert len([i for i in graded if i.startswith("prose-")]) == len(re.findall(r"^\*\*Question \d", text, re.M))
    key = (labs.LABS / "key" / name).read_text("utf-8")
    answers = list(re.findall(r"^answer_\w+ = (.*)$", key, re.M))
    assert len(answers) == len(own)
    assert not [a for a in answers if a in text]


@pytest.mark.parametrize("name", labs.names())
def test_no_answer_stands_between_a_lead_in_and_its_code(name: str) -> None:
    shown = list(labs.notebook(labs.LABS / name).cells)
    for cell, following in itertools.pairwise(shown):
        if cell.cell_type == "markdown" and cell.source.rstrip().endswith(":") and "nbgrader" not in cell.metadata:
            assert following.cell_type == "code", cell.source


@pytest.mark.parametrize("name", labs.names())
def test_a_lab_and_its_key_hold_without_hardware(name: str, tmp_path: Path) -> None:
    namespace, printed = labs.run(name, tmp_path / "labs", hardware=False)
    number = int(name[:2])
    assert (tmp_path / "labs" / f"lab-{number}-guess.json").exists()
    assert (tmp_path / "labs" / f"lab-{number}-table.csv").read_text().count("\n") > 2
    assert namespace["HARDWARE"] is False
    assert printed.count("\n") > 10
    figure = namespace["figure"]
    assert sum(len(trace.x) for trace in figure.data) > 10
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize("name", labs.names())
def test_a_lab_and_its_key_hold_on_hardware(
    name: str, require_tool: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minutes of machine time: only where asked for, with QSIM_LAB_TESTS=hardware."""
    import os

    if os.environ.get("QSIM_LAB_TESTS") != "hardware":
        pytest.skip("runs the labs on this machine for 15 minutes; ask for it with QSIM_LAB_TESTS=hardware")
    require_tool("fio")
    require_tool("nbdkit")
    monkeypatch.setenv("LAB_DISK", str(tmp_path))
    namespace, _ = labs.run(name, tmp_path / "labs", hardware=True)
    assert namespace["HARDWARE"] is True
