"""Sealed guesses: a class commits to numbers before the measurement, and the reveal opens them.

Everybody sees SHA-256(nonce || canonical JSON of name and guess). The nonce, 32 random bytes, hides the guess: without
it, the hashes of 1 to 1,000 are quickly tried. Guess and nonce stay in a file of the lab until the reveal publishes
both, so that anybody can check them.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from calibrate.sealing.sealed_prediction import canonical
from qsim.errors import InvalidParameterError

LOWEST, HIGHEST = 1.0, 1000.0
LONGEST_NAME = 40
MODEL_NAME = "qsim"


@dataclass(frozen=True)
class Guess:
    """The guess of ``name`` at a load, with the nonce (hex) that hides it.

    >>> Guess("Ada", 24.0, "00").commitment[:8]
    'e056f984'
    """

    name: str
    load: float
    nonce: str

    @classmethod
    def sealed(cls, name: object, load: object) -> Guess:
        """A new guess with a nonce of its own. InvalidParameterError where the name or the number cannot be taken."""
        who = " ".join(name.split()) if isinstance(name, str) else ""
        if not who or not who.isprintable():
            raise InvalidParameterError("name", "is missing", "say who guesses, in letters")
        if len(who) > LONGEST_NAME:
            raise InvalidParameterError("name", "is too long", f"use at most {LONGEST_NAME} letters")
        if who.casefold() == MODEL_NAME:
            raise InvalidParameterError("name", f"{MODEL_NAME} is the model's", "take another name")
        if isinstance(load, bool) or not isinstance(load, int | float) or not LOWEST <= load <= HIGHEST:
            raise InvalidParameterError("guess", "is out of range", f"give a number from {LOWEST:g} to {HIGHEST:g}")
        return cls(who, float(load), secrets.token_bytes(32).hex())

    @property
    def commitment(self) -> str:
        """SHA-256 (hex) over the nonce and the canonical form of name and guess."""
        shown = canonical({"name": self.name, "guess": self.load})
        return hashlib.sha256(bytes.fromhex(self.nonce) + shown).hexdigest()
