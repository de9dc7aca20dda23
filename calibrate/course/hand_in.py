"""What a student hands in of a lab: the answers, and where the lab asks for them a guess, its seal and a fit.

The file is sealed as a prediction is (:mod:`calibrate.sealing.sealed_prediction`): its hash finds damage and edits. The
guess is opened by its nonce: it must give the hash that stands in the public list of the class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calibrate.course.labs import CourseLab, answers_of, course_labs
from calibrate.fitting.fitted import Fit
from calibrate.sealing.guesses import Commitment, Guess, committed, read_guess, read_list
from calibrate.sealing.sealed_prediction import now, sha256_of, verified, write_new
from measure.errors import DataError
from measure.text_files import read_text
from qsim.errors import InvalidParameterError
from qsim.installed import version

SCHEMA = "qsim-hand-in/1"

REMEDY = "a hand-in is written with: qsim course hand-in NOTEBOOK --name NAME"


@dataclass(frozen=True)
class HandIn:
    """One lab of one student. ``answers`` holds what was answered, by question; ``made_at`` is the maker's clock."""

    name: str
    lab: CourseLab
    made_at: str
    answers: Mapping[int, str]
    sha256: str
    guess: Guess | None = None
    nonce: bytes = b""
    seal: Commitment | None = None
    fit: Fit | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What the lab asks for and is not there: the numbers of questions, then guess and fit."""
        asked = tuple(str(n) for n in self.lab.questions if n not in self.answers)
        files = {"guess": self.guess, "fit": self.fit} if self.lab.seals else {}
        return (*asked, *(name for name, there in files.items() if there is None))

    @property
    def opens_its_seal(self) -> bool:
        """Whether guess and nonce give the hash that was sealed."""
        return bool(self.guess and self.seal) and (
            committed(self.guess, self.nonce) == self.seal.commitment  # type: ignore[arg-type,union-attr]
        )


def write_hand_in(
    notebook: Path,
    path: Path,
    name: str,
    *,
    guess: Path | None = None,
    seal: Path | None = None,
    fit: Fit | None = None,
) -> HandIn:
    """Collect the answers in ``notebook``, a handout, and the files beside it into ``path``, which must not exist yet.

    ``guess`` is the student's own file and ``seal`` the list of the class. Raises ValueError where the name is empty or
    one of guess and seal is missing, DataError where a file is not what it should be or the guess is not the sealed
    one, and MeasureError where ``path`` exists or cannot be written.
    """
    if not name.strip():
        raise InvalidParameterError("name", "is empty", "who hands in?")
    if (guess is None) != (seal is None):
        raise InvalidParameterError("seal", "and --guess belong together", "give both, or neither")
    lab, answers = _answered(notebook)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "name": name.strip(),
        "lab": lab.name,
        "made_at": now(),
        "version": version(),
        "answers": {str(k): v for k, v in answers.items()},
        "guess": None,
        "seal": None,
        "fit": None,
    }
    if guess is not None and seal is not None:
        opened, nonce = read_guess(guess)
        hash_ = committed(opened, nonce)
        entry = next((e for e in read_list(seal) if e.commitment == hash_), None)
        if entry is None:
            raise DataError(f"{guess} is not sealed in {seal}; give the list to which it was added")
        document |= {"guess": {**asdict(opened), "nonce": nonce.hex()}, "seal": asdict(entry)}
    if fit is not None:
        document["fit"] = fit.to_dict()
    write_new(path, {**document, "sha256": sha256_of(document)})
    return read_hand_in(path)


def read_hand_in(path: Path) -> HandIn:
    """The hand-in in ``path``. DataError where it is none, was damaged or edited, or is of an unknown lab."""
    document = verified(path, SCHEMA, "a hand-in", REMEDY)
    try:
        labs = {lab.name: lab for lab in course_labs()}
        if document["lab"] not in labs:
            raise DataError(f"{path} is of lab {document['lab']!r}, which this version does not have")
        guess, seal, fit = document["guess"], document["seal"], document["fit"]
        asked = labs[document["lab"]].questions
        answers = {int(k): str(v) for k, v in document["answers"].items() if int(k) in asked and str(v).strip()}
        return HandIn(
            name=str(document["name"]),
            lab=labs[document["lab"]],
            made_at=str(document["made_at"]),
            answers=answers,
            sha256=str(document["sha256"]),
            guess=None if guess is None else Guess(guess["name"], guess["knee"], guess["peak_per_s"]),
            nonce=b"" if guess is None else bytes.fromhex(guess["nonce"]),
            seal=None if seal is None else Commitment(**seal),
            fit=None if fit is None else Fit.from_dict(fit),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: the hand-in lacks a part or has a wrong one ({error}); {REMEDY}") from error


def _answered(notebook: Path) -> tuple[CourseLab, dict[int, str]]:
    try:
        document = json.loads(read_text(notebook))
        name = document["metadata"]["qsim"]["lab"]
        answers = answers_of(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{notebook} is not a handout of a lab; write one with: qsim course handouts DIR") from error
    lab = next((lab for lab in course_labs() if lab.name == name), None)
    if lab is None:
        raise DataError(f"{notebook} is of lab {name!r}, which this version does not have")
    return lab, answers
