"""Errors on the command line: their fields are read, their sentences are not."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import calibrate.cli
from calibrate.prediction.baselines import BeyondCapacityError
from measure.errors import UnsafeTargetError
from qsim.errors import InvalidParameterError, NoFormulaError
from tests.cli.conftest import Qsim

MODULES = sorted(Path(str(calibrate.cli.__file__)).parent.rglob("*.py"))
PARSING = {
    "replace",
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "splitlines",
    "removeprefix",
    "removesuffix",
    "startswith",
    "endswith",
    "find",
    "index",
    "match",
    "search",
    "fullmatch",
    "sub",
    "findall",
}


def parsed_messages(tree: ast.AST) -> Iterator[int]:
    """The lines on which the text of a caught exception is taken apart or looked into."""
    for handler in (n for n in ast.walk(tree) if isinstance(n, ast.ExceptHandler) and n.name):
        texts = {handler.name}
        for node in (n for statement in handler.body for n in ast.walk(statement)):
            if isinstance(node, ast.Assign) and _says(node.value, texts):
                texts |= {t.id for t in node.targets if isinstance(t, ast.Name)}
            called = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            if called and called.attr in PARSING and any(_says(p, texts) for p in (called.value, *node.args)):
                yield node.lineno
            looked_into = isinstance(node, ast.Compare) and any(isinstance(o, ast.In | ast.NotIn) for o in node.ops)
            if looked_into and _says(node, texts):
                yield node.lineno


def _says(node: ast.AST, texts: set[str | None]) -> bool:
    """Whether an expression holds the text of an exception: ``str(error)``, ``f"{error}"``, or a name given to it."""
    for part in ast.walk(node):
        named = isinstance(part, ast.Name) and part.id in texts and part is node
        text = isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("str", "repr")
        shown = isinstance(part, ast.FormattedValue)
        inner = (n.id for n in ast.walk(part) if isinstance(n, ast.Name))
        if named or ((text or shown) and any(name in texts for name in inner)):
            return True
    return False


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.stem)
def test_no_module_of_the_command_line_parses_a_message(module: Path) -> None:
    assert list(parsed_messages(ast.parse(module.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "handler",
    [
        "said = str(error).partition(';')[0]",
        "said = re.match('[a-z]+', str(error))",
        "text = str(error); text = text.replace('a', 'b')",
        "known = 'capacity' in f'{error}'",
        "known = 'capacity' in str(error)",
    ],
)
def test_a_parsed_message_is_found(handler: str) -> None:
    source = f"try:\n    run()\nexcept ValueError as error:\n    {handler}\n"
    assert list(parsed_messages(ast.parse(source))) == [4]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InvalidParameterError("depth", "must be 1 or 2, not 0", "give 1", 0), "depth must be 1 or 2, not 0: give 1"),
        (InvalidParameterError("depth", "is 0", "give 1", 0), "depth is 0; give 1"),
        (InvalidParameterError("depth", ": 0 is too small"), "depth: 0 is too small"),
        (
            NoFormulaError("G/G/1", "hard"),
            "no formula for G/G/1 (hard); use simulate(model, customers=1_000_000) instead.",
        ),
        (
            UnsafeTargetError("x{y}", "{read} or {write}", "/dev/{z}"),
            "x{y}; consent to its being read or give its name again as the device to write (/dev/{z})",
        ),
        (BeyondCapacityError("M/M/1", 2.0, 1.0), "M/M/1 has no answer at load 2: its capacity is 1"),
    ],
)
def test_fields_make_the_sentence_here_and_in_another_process(error: Exception, sentence: str) -> None:
    assert str(error) == sentence
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == sentence
    assert vars(again) == vars(error)


def test_a_refused_parameter_is_named_as_its_option_with_its_fields(qsim: Qsim) -> None:
    run = qsim("simulate", "mm1", "--arrival-rate", "1", "--service-rate", "2", "--confidence", "2", "--json")
    assert run.code == 2
    told = run.json["error"]
    assert told["parameter"] == "--confidence"
    assert told["value"] == 2
    assert told["remedy"] == "0.95 means 95 %"
    assert told["message"] == "--confidence must lie strictly between 0 and 1, not 2.0: 0.95 means 95 %"
