"""Errors on the command line: their fields are read, their sentences are not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from measure.errors import UnsafeTargetError
from qsim.errors import InvalidParameterError, NoFormulaError


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
    ],
)
def test_fields_make_the_sentence_here_and_in_another_process(error: Exception, sentence: str) -> None:
    assert str(error) == sentence
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(again) == sentence
    assert vars(again) == vars(error)


def test_a_refused_parameter_is_named_as_its_option_with_its_fields(qsim: Callable[..., Any]) -> None:
    run = qsim("simulate", "mm1", "--arrival-rate", "1", "--service-rate", "2", "--customers", "-5", "--json")
    assert run.code == 2
    told = run.json["error"]
    assert told["parameter"] == "--customers"
    assert told["value"] == -5
    assert told["message"].startswith("--customers must be")
