"""Every lab runs without hardware, as a notebook does, and its key, which checks the answers, after it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import jupytext
import labs
import pytest


def test_there_are_six_labs_each_with_its_key() -> None:
    assert [name[:2] for name in labs.names()] == ["01", "02", "03", "04", "05", "06"]
    assert sorted(p.name for p in (labs.LABS / "key").glob("*.md")) == labs.names()


@pytest.mark.parametrize("name", labs.names())
def test_a_lab_opens_as_a_notebook(name: str) -> None:
    notebook = jupytext.read(labs.LABS / name)
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
def test_a_lab_and_its_key_hold_without_hardware(name: str) -> None:
    namespace, printed = labs.run(name, hardware=False)
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
    namespace, _ = labs.run(name, hardware=True)
    assert namespace["HARDWARE"] is True
