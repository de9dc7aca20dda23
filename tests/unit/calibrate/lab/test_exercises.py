"""Questions with a student's own numbers, and guesses and tables in files."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.lab.exercises import QUESTIONS, ask, check, keep_table, numbers, seal_guess

NAMES = ["Ada", "Bo Li", "Zoë", "Чарльз", "d", "e", "f", "g", "h", "i"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_students_have_numbers_of_their_own_and_a_right_answer_each(question):
    drawn = [numbers(name, question) for name in NAMES]
    answers = [QUESTIONS[question].answer(**values) for values in drawn]
    assert len(set(answers)) >= 3
    for name, right in zip(NAMES, answers, strict=True):
        assert "{" not in ask(name, question)
        assert check(name, question, right) == f"{question}: right"
        tolerance = QUESTIONS[question].tolerance
        assert check(name, question, right * (1 + 0.9 * tolerance))
        for wrong, direction in ((1 + 1.1 * tolerance, "high"), (1 - 1.1 * tolerance, "low")):
            with pytest.raises(AssertionError, match=f"too {direction}") as refused:
                check(name, question, right * wrong)
            assert QUESTIONS[question].hint in str(refused.value)


@given(st.sampled_from(sorted(QUESTIONS)), st.sampled_from(NAMES))
def test_the_numbers_belong_to_the_name_whatever_its_letters(question, name):
    assert numbers(name, question) == numbers(f"  {name.upper()} ", question)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, Fraction, Decimal, str, "  {!r} ".format])
def test_an_answer_is_any_real_number(kind):
    right = QUESTIONS["5b"].answer(**numbers("Ada", "5b"))
    assert check("Ada", "5b", kind(right)) == "5b: right"


def test_a_whole_number_of_numpy_is_graded_and_sealed(tmp_path):
    right = round(QUESTIONS["2a"].answer(**numbers("Ada", "2a")))
    for kind in (np.int64, np.int32, np.uint8 if right < 256 else np.uint16, str):
        assert check("Ada", "2a", kind(right)) == "2a: right"
        with pytest.raises(AssertionError, match="2a: 1 is too low"):
            check("Ada", "2a", kind(1))
    assert seal_guess("Ada", np.int64(7), tmp_path / "guess.json") == seal_guess("Ada", "7", tmp_path / "guess.json")


@pytest.mark.parametrize(
    "answer",
    [None, "many", "7 ms", "", True, np.True_, float("nan"), float("inf"), "nan", 1j, np.array([7.0]), b"7", 10**400],
)
def test_what_is_no_number_is_not_graded(answer):
    with pytest.raises(AssertionError, match="give a number"):
        check("Ada", "1a", answer)


def test_a_name_and_a_question_are_needed():
    with pytest.raises(ValueError, match="first cell"):
        ask(" ", "1a")
    with pytest.raises(ValueError, match="one of 1a"):
        ask("Ada", "9z")


def test_a_sealed_guess_stays(tmp_path):
    first = seal_guess("Ada", 7, tmp_path / "guess.json")
    assert seal_guess(" Ada ", 7.0, tmp_path / "guess.json") == first  # the cell is run again
    for name, guess in (("Ada", 8), ("Bob", 7)):
        with pytest.raises(FileExistsError, match="not changed"):
            seal_guess(name, guess, tmp_path / "guess.json")
    assert seal_guess("Ada", 7, tmp_path / "other.json") != first  # a nonce of its own


def test_a_table_is_written_to_be_handed_in(tmp_path):
    said = keep_table(pd.DataFrame({"x": [1, 2]}), tmp_path / "table.csv")
    assert said.startswith("2 rows")
    assert (tmp_path / "table.csv").read_text().splitlines()[0] == ",x"
    assert keep_table(pd.DataFrame({"x": [1, 2, 3]}), tmp_path / "table.csv").startswith("3 rows")  # run again


def test_a_table_does_not_replace_a_file_of_other_columns(tmp_path):
    (tmp_path / "table.csv").write_text("my notes\n")
    with pytest.raises(FileExistsError, match="holds something else"):
        keep_table(pd.DataFrame({"x": [1, 2]}), tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text() == "my notes\n"
