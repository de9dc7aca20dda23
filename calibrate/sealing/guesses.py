"""A class seals its guesses of a knee and a peak, and reveals them when the device has been measured.

Each guess is committed to: SHA-256(nonce || canonical JSON), with a random nonce of 32 bytes, without which a guess
could be found from its hash by trying knees from 1 to 1000. The list that everybody sees holds names, times and these
hashes, each entry chained to the one before, so that the last hash stands for the whole list. The nonce and the guess
stay in a file of the guesser's own until the reveal.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrate.fitting.curve_fit import Fit
from calibrate.sealing.sealed_prediction import SCHEMA as PREDICTION
from calibrate.sealing.sealed_prediction import (
    Seal,
    canonical,
    check_unsealed,
    now,
    read_json,
    read_seal,
    sha256_of,
    unseen,
    write_new,
)
from measure.errors import DataError, MeasureError
from measure.machine.durable import write_durably
from measure.sweep import Sweep

LIST = "qsim-guesses/1"
GUESS = "qsim-guess/1"
MODEL = "qsim"
QUANTITIES = ("knee", "peak_per_s")

_LIST_REMEDY = "a list of sealed guesses is written with: qsim seal add FILE --name NAME --knee N"
_REVEAL_REMEDY = "give the list of seals, the guesses that qsim seal add wrote, and sealed predictions"


@dataclass(frozen=True)
class Guess:
    """Who guesses what: the ``knee`` in outstanding requests, and the peak throughput, which may be left out."""

    name: str
    knee: float
    peak_per_s: float | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("name is empty; who guesses?")
        for what, value in (("knee", self.knee), ("peak", self.peak_per_s)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ValueError(f"{what} must be a positive number, not {value!r}")


@dataclass(frozen=True)
class Commitment:
    """One entry of the public list: who, when, the hash of the guess, and the hash of the list up to here."""

    name: str
    made_at: str
    commitment: str
    chained: str


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard; errors in percent, None where nothing was guessed or nothing is valid.

    ``state`` is "revealed", or why it takes no part: "not revealed", "does not match its seal", "was made from these
    data", or of which other load it is; ``inside`` tells whether the knee that was guessed lies in the interval of the
    one that was measured.
    """

    rank: int | None
    name: str
    made_at: str
    state: str
    knee: float | None = None
    peak_per_s: float | None = None
    knee_error_pct: float | None = None
    peak_error_pct: float | None = None
    score_pct: float | None = None
    inside: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def committed(guess: Guess, nonce: bytes) -> str:
    """SHA-256 (hex) over the nonce and the canonical form of the guess."""
    return hashlib.sha256(nonce + canonical(asdict(guess))).hexdigest()


def add_guess(
    path: Path, guess: Guess, keep: Path | None = None, taken_back: Collection[str] = ()
) -> tuple[Commitment, Path]:
    """Append the hash of ``guess`` to the list in ``path`` (begun where it is not there), and keep the guess itself.

    The guess and its nonce go to ``keep``, by default a file beside the list, readable by its owner alone. Whose
    commitment is among ``taken_back`` may guess anew; the list keeps both. Raises DataError where the list is damaged
    or has a guess by this name, MeasureError where a file cannot be written.
    """
    own = keep or path.with_name(f"{path.stem}.{_slug(guess.name)}.guess.json")
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")
    try:
        with path.with_name(f".{path.name}.lock").open("w") as lock:  # a class writes at the same time
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = read_list(path) if path.exists() else ()
            standing = [e.name.casefold() for e in entries if e.commitment not in taken_back]
            if guess.name.casefold() in standing:
                raise DataError(f"{path}: {guess.name} has sealed a guess already, and a sealed guess is not changed")
            check_unsealed(own)
            nonce = secrets.token_bytes(32)
            entry = _chained(entries, guess.name, now(), committed(guess, nonce))
            write_new(own, {"schema": GUESS, "nonce": nonce.hex(), **asdict(guess)}, mode=0o600)
            document = {"schema": LIST, "guesses": [asdict(e) for e in (*entries, entry)]}
            write_durably(path, canonical(document) + b"\n")
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
    return entry, own


def read_list(path: Path) -> tuple[Commitment, ...]:
    """The public list, its chain verified. DataError where it is none or was edited."""
    document = read_json(path, _LIST_REMEDY)
    if document.get("schema") != LIST:
        raise DataError(f"{path} is no list of sealed guesses (schema {document.get('schema')!r}); {_LIST_REMEDY}")
    entries: tuple[Commitment, ...] = ()
    try:
        for values in document["guesses"]:
            entry = Commitment(**values)
            if entry != _chained(entries, entry.name, entry.made_at, entry.commitment):
                raise DataError(f"{path}: the list is broken at {entry.name}: it was edited after it was sealed")
            entries = (*entries, entry)
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: the list is damaged ({error}); {_LIST_REMEDY}") from error
    return entries


def read_guess(path: Path) -> tuple[Guess, bytes]:
    """A guess that is revealed, and its nonce. DataError where the file is none."""
    document = read_json(path, _REVEAL_REMEDY)
    try:
        guess = Guess(**{k: document[k] for k in ("name", *QUANTITIES)})
        return guess, bytes.fromhex(document["nonce"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} holds no guess ({error}); {_REVEAL_REMEDY}") from error


@dataclass(frozen=True)
class Revealed:
    """What was given at the reveal: entries of lists, guesses with their nonces, sealed predictions by their names."""

    entries: tuple[Commitment, ...]
    guesses: tuple[tuple[Guess, bytes], ...]
    predictions: tuple[tuple[str, Seal], ...]


def read_revealed(paths: Sequence[Path]) -> Revealed:
    """The lists, guesses and sealed predictions in ``paths``. DataError where a file is none of these.

    Of a list the guesses that lie beside it are taken too.
    """
    entries: list[Commitment] = []
    guesses: dict[Path, tuple[Guess, bytes]] = {}
    predictions: list[tuple[str, Seal]] = []
    for path in paths:
        schema = read_json(path, _REVEAL_REMEDY).get("schema")
        if schema == LIST:
            entries += read_list(path)
            beside = sorted(path.parent.glob(f"{path.stem}.*.guess.json"))
            guesses.update({p.resolve(): read_guess(p) for p in beside})
        elif schema == GUESS:
            guesses[path.resolve()] = read_guess(path)
        elif schema == PREDICTION:
            predictions.append((f"{MODEL} ({path.name})", read_seal(path)))
        else:
            raise DataError(f"{path} is nothing that was sealed (schema {schema!r}); {_REVEAL_REMEDY}")
    if not entries and not predictions:
        raise DataError(f"no list of seals and no sealed prediction among the files; {_REVEAL_REMEDY}")
    return Revealed(tuple(entries), tuple(guesses.values()), tuple(predictions))


def leaderboard(revealed: Revealed, observed: Fit, sweep: Sweep) -> list[Row]:
    """Who came closest to the knee and the peak of ``observed``, a fit to all points of ``sweep``.

    The error is |ln(guess / observed)|, so that half and twice are equally wrong, given as a percentage; the score is
    its mean over the quantities that everybody guessed. Raises DataError where a sealed prediction knows the data or is
    of another load, and where the data have no knee.
    """
    knee, peak = observed.knee.load, observed.parameters["Xmax"].estimate if "Xmax" in observed.parameters else None
    if knee is None:
        raise DataError(f"{observed.series or 'the data'} reach no knee, so no guess can be judged: measure deeper")
    truth = {"knee": knee, "peak_per_s": peak}
    valid: list[tuple[str, str, Guess]] = []
    others: list[Row] = []
    for entry in revealed.entries:
        named = [(g, n) for g, n in revealed.guesses if g.name == entry.name]
        opened = [g for g, nonce in named if committed(g, nonce) == entry.commitment]
        if opened:
            valid.append((entry.name, entry.made_at, opened[0]))
        else:
            others.append(Row(None, entry.name, entry.made_at, "does not match its seal" if named else "not revealed"))
    for name, seal in revealed.predictions:
        unseen(seal, sweep)
        valid.append((name, seal.made_at, _predicted(name, seal, observed)))
    judged = [q for q in QUANTITIES if truth[q] and all(getattr(g, q) is not None for _, _, g in valid)]
    rows = [_judged(name, made_at, guess, truth, judged, observed) for name, made_at, guess in valid]
    rows.sort(key=lambda row: row.score_pct or 0.0)
    return [Row(**{**asdict(row), "rank": 1 + i}) for i, row in enumerate(rows)] + others


def of_another_load(seal: Seal, data: Sweep | Fit) -> str:
    """Over which loads a sealed prediction is, where none of them is that of ``data``; else nothing."""
    if any(_same_load(fit, data) for fit in seal.fits):
        return ""
    return ", ".join(dict.fromkeys(fit.load_name for fit in seal.fits))


def _same_load(fit: Fit, data: Sweep | Fit) -> bool:
    return fit.load_kind == data.load_kind and (fit.load_kind == "queue_depth" or fit.load_unit == data.load_unit)


def _predicted(name: str, seal: Seal, observed: Fit) -> Guess:
    if other := of_another_load(seal, observed):
        raise DataError(f"{name} is over {other}, and {observed.series or 'the data'} over {observed.load_name}")
    fits = {f.series: f for f in seal.fits if _same_load(f, observed)}
    fit = fits.get(observed.series) or (next(iter(fits.values())) if len(fits) == 1 else None)
    if fit is None or fit.knee.load is None:
        raise DataError(f"{name} predicts no knee of {observed.series}; it has: {', '.join(fits)}")
    peak = fit.parameters["Xmax"].estimate if "Xmax" in fit.parameters else None
    return Guess(name, fit.knee.load, peak)


def _judged(
    name: str, made_at: str, guess: Guess, truth: Mapping[str, float | None], judged: Sequence[str], observed: Fit
) -> Row:
    errors: dict[str, float | None] = {}
    for quantity in QUANTITIES:
        guessed, true = getattr(guess, quantity), truth[quantity]
        errors[quantity] = 100 * abs(float(np.log(guessed / true))) if guessed and true else None
    knee, inside = observed.knee, None
    if knee.low is not None and knee.high is not None:
        inside = bool(knee.low <= guess.knee <= knee.high)
    score = float(np.mean([errors[q] or 0.0 for q in judged]))
    return Row(
        None, name, made_at, "revealed", guess.knee, guess.peak_per_s, errors["knee"], errors["peak_per_s"], score,
        inside,
    )  # fmt: skip


def _chained(entries: Sequence[Commitment], name: str, made_at: str, commitment: str) -> Commitment:
    before = entries[-1].chained if entries else ""
    link = {"before": before, "name": name, "made_at": made_at, "commitment": commitment}
    return Commitment(name, made_at, commitment, sha256_of(link))


def _slug(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name.strip().lower()).strip("-") or "guess"
