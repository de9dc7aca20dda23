"""A law in a file of its own: every family comes back equal, and what is no law is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from service_laws import LAWS

from measure.errors import DataError, MeasureError
from measure.formats.law_file import read_law, write_law
from qsim import BurrXII, Distribution, Exponential

AWKWARD = 1e-4 / 3
"""A unit of time that gives parameters of seventeen digits."""


@pytest.mark.parametrize(
    "law", [law.scaled(AWKWARD) for law in [*LAWS, BurrXII(2.0, 4.0, 1.0)]], ids=lambda law: type(law).__name__
)
def test_a_law_comes_back_equal_to_the_last_digit(law: Distribution, tmp_path: Path) -> None:
    path = tmp_path / "law.json"
    write_law(law, path, {"name": "a device"})
    assert read_law(path) == law
    assert json.loads(path.read_text())["about"] == {"name": "a device"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("lognormal", "is not JSON"),
        ("[1]", r"not a law of qsim \(schema None\)"),
        ('{"schema": "qsim-fit/2"}', "not a law of qsim"),
        ('{"schema": "qsim-law/1"}', r"a law that cannot be \('law'\)"),
        ('{"schema": "qsim-law/1", "law": 3}', "a law that cannot be"),
        ('{"schema": "qsim-law/1", "law": {"family": "Closed"}}', "'Closed' is unknown"),
        ('{"schema": "qsim-law/1", "law": {"family": "Exponential", "mean": -1}}', "mean"),
        ('{"schema": "qsim-law/1", "law": {"family": "Exponential", "speed": 1}}', "speed"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_law_is_refused_with_the_command_that_writes_one(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "law.json"
    path.write_text(content)
    with pytest.raises(DataError, match=words) as error:
        read_law(path)
    assert str(error.value).endswith("write one with: qsim fit-service DATA --out law.json")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="cannot be written: No such file"):
        write_law(Exponential(1.0), tmp_path / "none" / "law.json", {})
