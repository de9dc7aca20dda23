"""What the lab notebooks ask: guesses sealed in a cell, tables kept in a file, and questions that check themselves.

Each student has numbers of their own, drawn by the name. A check says whether an answer is right within a tolerance,
and gives a hint otherwise; the answers are worked out here, so that no notebook holds them.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.lab.run.duel import Guess
from measure.spreadsheet import plain_cells
from qsim import MD1, MG1, MM1, Gamma, MMcN, solve
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    import pandas as pd

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Question:
    """A question whose ``text`` has places for the ``choices`` that are drawn, and its ``answer`` from them."""

    text: str
    choices: Mapping[str, tuple[float, ...]]
    answer: Callable[[Numbers], float]
    hint: str
    tolerance: float = 0.02


def _wait(rho: float) -> float:
    return solve(MM1(arrival_rate=rho, service_rate=1.0)).Lq


QUESTIONS: Mapping[str, Question] = {
    "1a": Question(
        "A drive does {x:g} k reads a second with a mean latency of {r:g} µs. How many are in flight?",
        {"x": (48, 85, 120, 210), "r": (90, 140, 260, 310)},
        lambda n: 1e3 * n["x"] * 1e-6 * n["r"],
        "L = X · W, both in seconds.",
    ),
    "1b": Question(
        "At iodepth {n:g} a tool prints {x:g} k writes a second. Which mean latency must it print, in µs?",
        {"n": (4, 16, 32, 64), "x": (22, 35, 64, 150)},
        lambda n: 1e3 * n["n"] / n["x"],
        "W = N / X; mind the unit.",
    ),
    "2a": Question(
        "One server takes {s:g} ms a request, and {n:g} requests circle without thinking. W in ms?",
        {"s": (1.5, 2.5, 4), "n": (6, 12, 24)},
        lambda n: 1e3 * solve(MMcN(int(n["n"]), 0.0, 1e-3 * n["s"])).W,
        "The server never idles: X = 1 / S, and W = N / X.",
    ),
    "2b": Question(
        "The same kind of server, {s:g} ms, gets {x:g} Poisson requests a second. W of M/M/1 in ms?",
        {"s": (1.5, 2.5), "x": (120, 240, 310)},
        lambda n: 1e3 * solve(MM1(arrival_rate=n["x"], service_rate=1e3 / n["s"])).W,
        "W = S / (1 - ρ) with ρ = λ S.",
    ),
    "3a": Question(
        "Lq of M/M/1 at ρ = {rho:g}?",
        {"rho": (0.55, 0.65, 0.75, 0.85, 0.92)},
        lambda n: _wait(n["rho"]),
        "Lq = ρ² / (1 - ρ).",
    ),
    "3b": Question(
        "At which ρ are {l:g} customers waiting on average in M/M/1?",
        {"l": (1.5, 2.5, 4, 6)},
        lambda n: (math.sqrt(n["l"] ** 2 + 4 * n["l"]) - n["l"]) / 2,
        "Solve ρ² + Lq ρ - Lq = 0.",
        0.005,
    ),
    "4a": Question(
        "A drive answers a lone read in {r:g} µs and does {x:g} k reads a second at most. N*?",
        {"r": (75, 90, 110), "x": (180, 320, 550)},
        lambda n: 1e-3 * n["r"] * n["x"],
        "N* = R(1) · Xmax: Little's law where the two bounds cross.",
    ),
    "4b": Question(
        "For the same kind of drive, {r:g} µs and {x:g} k/s: at most how many k reads a second at depth {n:g}?",
        {"r": (80, 100), "x": (200, 400), "n": (4, 12, 64)},
        lambda n: min(1e3 * n["n"] / n["r"], n["x"]),
        "X ≤ min(N / R(1), Xmax).",
    ),
    "5a": Question(
        "M/G/1 with S = {s:g} ms, scv {v:g} and ρ = {rho:g}: the mean response in ms?",
        {"s": (1, 2), "v": (2, 3, 5), "rho": (0.5, 0.7)},
        lambda n: 1e3 * solve(MG1(1e3 * n["rho"] / n["s"], Gamma(1e-3 * n["s"], n["v"]))).W,
        "Wq = ρ (1 + scv) / 2 · S / (1 - ρ), and the service comes on top.",
    ),
    "5b": Question(
        "M/M/1 has a mean response of {w:g} ms. Its p99 in ms?",
        {"w": (3, 5, 8, 12)},
        lambda n: n["w"] * math.log(100),
        "The response time of M/M/1 is exponential: P(R > t) = exp(-t / W).",
    ),
    "5c": Question(
        "M/D/1 with S = {s:g} ms at ρ = {rho:g}: the mean wait in ms?",
        {"s": (1, 2, 4), "rho": (0.5, 0.8)},
        lambda n: 1e3 * solve(MD1(1e3 * n["rho"] / n["s"], 1e-3 * n["s"])).Wq,
        "Half of that of M/M/1.",
    ),
    "6a": Question(
        "A memory moves {b:g} GB/s at {r:g} ns. How many lines of 64 bytes are under way?",
        {"b": (18, 24, 36), "r": (95, 120, 150)},
        lambda n: n["b"] * n["r"] / 64,
        "Lines a second times seconds.",
    ),
    "6b": Question(
        "{n:g} lines circle, memory takes {r:g} ns, and the loader waits {z:g} ns. Bandwidth in GB/s?",
        {"n": (12, 24, 40), "r": (80, 110), "z": (100, 400)},
        lambda n: 64 * n["n"] / (n["r"] + n["z"]),
        "X = N / (R + Z) lines, 64 bytes each.",
    ),
    "7a": Question(
        "A transaction takes {s:g} ms of one of {c:g} processors and {v:g} reads of a drive that does {x:g} k reads a "
        "second at most. How many transactions a second are possible?",
        {"s": (1, 2, 4), "c": (2, 4), "v": (20, 50), "x": (40, 120)},
        lambda n: 1e3 * min(n["c"] / n["s"], n["x"] / n["v"]),
        "Each station does at most its own rate over its visits; the least of them limits.",
    ),
    "7b": Question(
        "A client thinks {z:g} ms, computes {s:g} ms and reads {v:g} blocks of {r:g} µs one after another. The one "
        "processor limits. At how many clients does waiting begin?",
        {"z": (50, 100, 200), "s": (2, 5), "v": (5, 10), "r": (80, 120)},
        lambda n: (n["z"] + n["s"] + 1e-3 * n["v"] * n["r"]) / n["s"],
        "N* is the whole cycle of a client alone over the demand of the bottleneck.",
    ),
    "7c": Question(
        "{n:g} clients get {x:g} transactions a second, and each thinks {z:g} ms. The mean response in ms?",
        {"n": (40, 60, 90), "x": (150, 200), "z": (50, 100, 150)},
        lambda n: 1e3 * n["n"] / n["x"] - n["z"],
        "The response time law of a closed system: R = N / X - Z.",
    ),
}


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


def check(name: str, question: str, answer: float | None) -> str:
    """A word of praise; AssertionError with a hint where the answer is missing, or off by more than the tolerance."""
    asked = _asked(question)
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer):
        raise AssertionError(f"{question}: give a number. {asked.hint}")
    right = asked.answer(numbers(name, question))
    if abs(answer - right) > asked.tolerance * abs(right):
        direction = "high" if answer > right else "low"
        raise AssertionError(f"{question}: {answer:g} is too {direction}. {asked.hint}")
    return f"{question}: right"


def seal_guess(name: str, guess: float, path: Path | str) -> str:
    """Seal a guess in the file ``path``, before the measurement; its commitment, to be shown to others.

    A sealed guess stays: FileExistsError where the file holds another one.
    """
    kept = Path(path)
    if kept.exists():
        found = Guess(**json.loads(kept.read_text("utf-8")))
        if (found.name, found.load) != (" ".join(name.split()), float(guess)):
            raise FileExistsError(f"{kept} holds a sealed guess, {found.load:g} by {found.name}; it is not changed")
        return found.commitment
    made = Guess.sealed(name, guess)
    kept.write_text(json.dumps(asdict(made)) + "\n", "utf-8")
    return made.commitment


def keep_table(table: pd.DataFrame, path: Path | str) -> str:
    """Write a measured table to the CSV file ``path``, which is handed in; a sentence that says so."""
    plain_cells(table).to_csv(path)
    return f"{len(table)} rows are in {path}: hand it in"


def _asked(question: str) -> Question:
    if question not in QUESTIONS:
        raise InvalidParameterError("question", f"is {question!r}", f"it must be one of {', '.join(QUESTIONS)}")
    return QUESTIONS[question]
