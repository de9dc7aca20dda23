"""Grading a folder of hand-ins: each is checked by itself and against the others; a bad file stops nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrate.course.hand_in import REMEDY, SCHEMA, HandIn, read_hand_in
from calibrate.sealing.guesses import Commitment
from measure.errors import DataError
from measure.text_files import read_head

_LONG_ENOUGH = 40
"""Letters from which on two equal answers are worth a look."""


@dataclass(frozen=True)
class GradedHandIn:
    """What is found of one hand-in. ``seal`` is "kept", "broken", "not in the list" or "" where nothing was sealed.

    ``off_pct`` is how far the guessed knee is from that of the hand-in's own fit: |ln(guess / knee)|, in percent.
    """

    file: str
    hand_in: HandIn
    late: bool
    seal: str
    knee: float | None
    off_pct: float | None
    remarks: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing, in time and with its seal kept."""
        return not self.hand_in.missing and not self.late and self.seal in {"kept", ""}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        h = self.hand_in
        return {
            "file": self.file,
            "name": h.name,
            "lab": h.lab.number,
            "made_at": h.made_at,
            "late": self.late,
            "seal": self.seal,
            "guessed_knee": None if h.guess is None else h.guess.knee,
            "fitted_knee": self.knee,
            "off_pct": self.off_pct,
            "answered": len(h.answers),
            "questions": len(h.lab.questions),
            "missing": list(h.missing),
            "complete": self.complete,
            "remarks": list(self.remarks),
            "answers": {str(k): v for k, v in h.answers.items()},
            "sha256": h.sha256,
        }


@dataclass(frozen=True)
class GradedFolder:
    """The hand-ins by lab and name, and why other files (by name) could not be graded."""

    graded: tuple[GradedHandIn, ...]
    refused: dict[str, str]


def grade_folder(
    folder: Path, *, due: dt.datetime | None = None, sealed: Sequence[Commitment] | None = None
) -> GradedFolder:
    """Read every file in ``folder`` and below it, hidden ones left out.

    ``due`` is when the lab had to be handed in; ``sealed`` is the list of the class, in which each seal must stand.
    Raises DataError where ``folder`` is no folder or holds no file.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; name the folder that holds the hand-ins")
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not _hidden(p.relative_to(folder))]
    if not files:
        raise DataError(f"{folder} holds no file; put the students' hand-ins there")
    graded: list[GradedHandIn] = []
    refused: dict[str, str] = {}
    for path in files:
        file = path.relative_to(folder).as_posix()
        try:
            graded.append(_graded(file, read_hand_in(path), due, sealed))
        except DataError as error:
            refused[file] = _why(path, error)
    graded.sort(key=lambda g: (g.hand_in.lab.number, g.hand_in.name.casefold(), g.hand_in.made_at))
    return GradedFolder(tuple(replace(g, remarks=_remarks(g, graded)) for g in graded), refused)


def _why(path: Path, error: DataError) -> str:
    """Why a file is not graded, without its name and the command that every such line would end in."""
    head = read_head(path)
    if not head.strip():
        return "is empty"
    if SCHEMA in head and "is not JSON" in str(error):
        return "is a hand-in that is cut off or damaged"
    return str(error).removeprefix(str(path)).lstrip(": ").removesuffix(f"; {REMEDY}")


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _graded(file: str, one: HandIn, due: dt.datetime | None, sealed: Sequence[Commitment] | None) -> GradedHandIn:
    try:
        made_at = dt.datetime.fromisoformat(one.made_at)
    except ValueError as error:
        raise DataError(f"the time {one.made_at!r} is not in ISO 8601; write the hand-in again") from error
    made_at = made_at if made_at.tzinfo else made_at.replace(tzinfo=dt.UTC)
    seal = ""
    if one.guess is not None:
        known = sealed is None or any(e.commitment == getattr(one.seal, "commitment", None) for e in sealed)
        seal = "broken" if not one.opens_its_seal else "kept" if known else "not in the list"
    knee = None if one.fit is None else one.fit.knee.load
    off = 100 * abs(float(np.log(one.guess.knee / knee))) if one.guess is not None and knee else None
    return GradedHandIn(file, one, due is not None and made_at > due, seal, knee, off)


def _remarks(one: GradedHandIn, everybody: Sequence[GradedHandIn]) -> tuple[str, ...]:
    """What the hand-in shares with others: a second one by the same student, a guess or an answer of somebody else."""
    h, told = one.hand_in, []
    peers = [g for g in everybody if g is not one and g.hand_in.lab.number == h.lab.number]
    mine = [g for g in peers if g.hand_in.name.casefold() == h.name.casefold()]
    if any(g.hand_in.made_at >= h.made_at and (g.hand_in.made_at, g.file) > (h.made_at, one.file) for g in mine):
        told.append("a later hand-in counts")
    others = [g for g in peers if g not in mine]
    if same := [g.hand_in.name for g in others if h.nonce and g.hand_in.nonce == h.nonce]:
        told.append(f"the same sealed guess as {', '.join(same)}")
    for question, text in h.answers.items():
        words = " ".join(text.split()).casefold()
        same = [
            g.hand_in.name for g in others if " ".join(g.hand_in.answers.get(question, "").split()).casefold() == words
        ]
        if len(words) >= _LONG_ENOUGH and same:
            told.append(f"answer {question} as {', '.join(same)}")
    return tuple(told)
