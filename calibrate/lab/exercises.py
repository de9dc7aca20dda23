"""Exercises of the lab notebooks: guesses sealed in a cell, tables saved in a file, and questions with checks.

Each student has numbers of their own, drawn by the name. A check says whether an answer is right within a tolerance,
and gives a hint otherwise; the answers are worked out here, so that no notebook holds them.
"""

from __future__ import annotations

import json
import math
import random
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.lab.run.duel import Guess, real
from measure.machine.files import write_durably, write_new
from measure.text_files import plain_cells
from qsim import MD1, MG1, MM1, Gamma, MMcN, solve
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Question:
    """A question whose ``text`` has places for the ``choices`` that are drawn, and its ``answer`` from them."""

    answer: Callable[..., float]
    text: str
    choices: Mapping[str, list[float]]
    hint: str
    tolerance: float = 0.02


ANSWERS: Mapping[str, Callable[..., float]] = {
    "1a": lambda x, r: 1e-3 * x * r,
    "1b": lambda n, x: 1e3 * n / x,
    "2a": lambda s, n: 1e3 * solve(MMcN(int(n), 0.0, 1e-3 * s)).W,
    "2b": lambda s, x: 1e3 * solve(MM1(arrival_rate=x, service_rate=1e3 / s)).W,
    "2c": lambda s, n: 1e3 * (1 - 1 / n) / s,
    "2d": lambda s, z: (z + s) / s,
    "3a": lambda rho: solve(MM1(arrival_rate=rho, service_rate=1.0)).Lq,
    "3b": lambda l: (math.sqrt(l**2 + 4 * l) - l) / 2,  # noqa: E741 - as in the question
    "3c": lambda s, x, r: 1e-3 * x * (r - s),
    "4a": lambda r, x: 1e-3 * r * x,
    "4b": lambda r, x, n: min(1e3 * n / r, x),
    "5a": lambda s, v, rho: 1e3 * solve(MG1(1e3 * rho / s, Gamma(1e-3 * s, v))).W,
    "5b": lambda w: w * math.log(100),
    "5c": lambda s, rho: 1e3 * solve(MD1(1e3 * rho / s, 1e-3 * s)).Wq,
    "6a": lambda b, r: b * r / 64,
    "6b": lambda n, r, z: 64 * n / (r + z),
    "7a": lambda s, c, v, x: 1e3 * min(c / s, x / v),
    "7b": lambda z, s, v, r: (z + s + 1e-3 * v * r) / s,
    "7c": lambda n, x, z: 1e3 * n / x - z,
}


def _questions() -> Mapping[str, Question]:
    texts = tomllib.loads((files("calibrate.lab") / "exercises.toml").read_text("utf-8"))
    return {name: Question(ANSWERS[name], **text) for name, text in texts.items()}


QUESTIONS = _questions()


def numbers(name: str, question: str) -> dict[str, float]:
    """The numbers of a student's question, the same for a name whatever its letters.

    >>> numbers("Ada", "1a") == numbers(" ADA ", "1a")
    True
    """
    if not name.strip():
        raise InvalidParameterError("name", "is empty", "write yours into NAME in the first cell")
    draw = random.Random(f"{question} {' '.join(name.split()).casefold()}")
    return {key: draw.choice(values) for key, values in _asked(question).choices.items()}


def ask(name: str, question: str) -> str:
    """The question with the student's numbers.

    >>> ask("Ada", "5b")
    'M/M/1 has a mean response of 8 ms. Its p99 in ms?'
    """
    return _asked(question).text.format(**numbers(name, question))


def check(name: str, question: str, answer: object) -> str:
    """A word of praise; AssertionError with a hint where the answer is missing, or off by more than the tolerance.

    ``answer`` is any real number, also one of numpy's, or its text.
    """
    asked, number = _asked(question), real(answer)
    if math.isnan(number):
        raise AssertionError(f"{question}: give a number. {asked.hint}")
    right = asked.answer(**numbers(name, question))
    if abs(number - right) > asked.tolerance * abs(right):
        direction = "high" if number > right else "low"
        raise AssertionError(f"{question}: {number:g} is too {direction}. {asked.hint}")
    return f"{question}: right"


def seal_guess(name: str, guess: object, path: Path | str) -> str:
    """Seal a guess in the file ``path``, before the measurement; its commitment, to be shown to others.

    A sealed guess stays: FileExistsError where the file holds another one.
    """
    kept = Path(path)
    if kept.exists():
        found = Guess(**json.loads(kept.read_text("utf-8")))
        if (found.name, found.load) != (" ".join(name.split()), real(guess)):
            raise FileExistsError(f"{kept} holds a sealed guess, {found.load:g} by {found.name}; it is not changed")
        return found.commitment
    made = Guess.sealed(name, guess)
    write_new(kept, (json.dumps(asdict(made)) + "\n").encode())
    return made.commitment


def keep_table(table: pd.DataFrame, path: Path | str) -> str:
    """Write a measured table to the CSV file ``path``; returns a sentence about it.

    Run again, it replaces the table; FileExistsError where the file has other columns.
    """
    kept, text = Path(path), plain_cells(table).to_csv()
    if kept.exists() and kept.read_text("utf-8", "replace").partition("\n")[0] != text.partition("\n")[0]:
        raise FileExistsError(f"{kept} exists and holds something else; it is not replaced: name another file")
    write_durably(kept, text.encode())
    return f"{len(table)} rows are in {path}: hand it in"


def _asked(question: str) -> Question:
    if question not in QUESTIONS:
        raise InvalidParameterError("question", f"is {question!r}", f"it must be one of {', '.join(QUESTIONS)}")
    return QUESTIONS[question]
