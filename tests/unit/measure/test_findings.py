"""Every warning and error that this room can find tells what would explain it, and what would settle it."""

from __future__ import annotations

import ast
from pathlib import Path

import measure
from measure.findings import Finding, unreadable

ORDER = ("check", "severity", "message", "hypothesis", "remedy")


def calls_of_finding() -> list[tuple[str, dict[str, ast.expr]]]:
    """(where, the arguments by name) of every place that makes a Finding."""
    found = []
    for path in sorted(Path(measure.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                given = dict(zip(ORDER, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
                found.append((f"{path.name}:{node.lineno}", given))
    return found


def test_no_warning_is_without_hypothesis_and_remedy() -> None:
    calls = calls_of_finding()
    assert len(calls) > 50
    bare = [
        where
        for where, given in calls
        if not (isinstance(given["severity"], ast.Constant) and given["severity"].value == "info")
        and not {"hypothesis", "remedy"} <= set(given)
    ]
    assert bare == []


def test_a_finding_reads_as_evidence_hypothesis_and_remedy() -> None:
    text = str(unreadable("a.txt is empty"))
    assert text == (
        "[warning] unreadable-file: a.txt is empty. Likely: it is not a measurement, or it was cut off or edited "
        "after it was written. To settle it: name that file alone, as in qsim audit FILE, or take it out of the "
        "directory."
    )
    assert "Likely" not in str(Finding("x", "info", "all is well"))
