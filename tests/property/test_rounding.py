"""No figure of a JSON document hangs on the last bit of what was measured, or on the processor that computes it.

The documents and how they are compared are those of ``python examples/accuracy/rounding.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "accuracy"))

from rounding import CHAOTIC, allowed, elsewhere, moved, other_core, overlapping, plain_processor
from rounding_documents import answer, questions

QUESTIONS = questions()
EACH = pytest.mark.parametrize("name", QUESTIONS)


@cache
def as_given(name: str) -> Any:
    """The document of a question as it is."""
    return answer(QUESTIONS[name])


def check_the_same(name: str, one: Any, other: Any) -> None:
    """Fails where a figure of two documents moved by more than is allowed, and names it."""
    if name in CHAOTIC:
        assert overlapping(one, other)
        return
    assert {place: by for place, by in moved(one, other).items() if by > allowed(name, place)} == {}


def check_all_the_same(after: Mapping[str, Any]) -> None:
    assert QUESTIONS.keys() == after.keys()
    for name in QUESTIONS:
        check_the_same(name, as_given(name), after[name])


@EACH
def test_one_part_in_1e14_of_the_inputs_moves_no_figure(name: str) -> None:
    check_the_same(name, as_given(name), answer(QUESTIONS[name], seed=1))


@pytest.mark.slow
@EACH
@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_nor_do_other_changes_of_the_inputs_as_small(name: str, seed: int) -> None:
    check_the_same(name, as_given(name), answer(QUESTIONS[name], seed))


def test_no_figure_hangs_on_instructions_that_only_newer_processors_have() -> None:
    check_all_the_same(elsewhere(**plain_processor()))


@pytest.mark.slow
def test_no_figure_hangs_on_the_processor_that_the_linear_algebra_is_made_for() -> None:
    check_all_the_same(elsewhere(**other_core()))
