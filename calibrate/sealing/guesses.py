"""A class seals its guesses of a knee and a peak, and reveals them when the device has been measured.

The list that everybody sees holds names, times and SHA-256(nonce || canonical JSON) of each guess, and is sealed as a
prediction is: its own hash stands for the whole list. The nonce, 32 random bytes, hides the guess: without it anyone
could hash the knees from 1 to 1000. Guess and nonce stay in a file of the guesser's own until the reveal.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrate.fitting.curve_fit import Fit
from calibrate.prediction.answer import FACTOR, missed_text
from calibrate.sealing.sealed_prediction import SCHEMA as PREDICTION
from calibrate.sealing.sealed_prediction import (
    SealedPrediction,
    canonical,
    check_unsealed,
    measured_before,
    now,
    read_seal,
    sha256_of,
    used_rows,
    verified,
    write_new,
)
from measure.errors import DataError, MeasureError
from measure.machine.durable import lock_file, write_durably
from measure.sweep import Sweep
from measure.text_files import read_document
from measure.units import format_percent
from qsim.errors import InvalidParameterError

LIST = "qsim-guesses/2"
GUESS = "qsim-guess/1"
MODEL = "qsim"
QUANTITIES = ("knee", "peak_per_s")

_LIST_REMEDY = "a list of sealed guesses is written with: qsim seal add FILE --name NAME --knee N"
_REVEAL_REMEDY = "give the list of seals, the guesses that qsim seal add wrote, and sealed predictions"


@dataclass(frozen=True)
class Guess:
    """Who guesses what: the ``knee`` in outstanding requests, and the peak throughput, which may be left out.

    >>> Guess("Ada", knee=24).knee
    24
    """

    name: str
    knee: float
    peak_per_s: float | None = None

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidParameterError("name", "is empty", "who guesses?")
        for what, value in (("knee", self.knee), ("peak", self.peak_per_s)):
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InvalidParameterError(what, f"must be a positive number, not {value!r}", value=value)


@dataclass(frozen=True)
class Commitment:
    """One entry of the public list: who, when, and the hash of the guess."""

    name: str
    made_at: str
    commitment: str


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard; errors in percent, None where nothing was guessed or nothing is valid.

    ``state`` is "revealed", or why it takes no part: "not revealed", "does not match its seal", "was made from these
    data", "predicts no knee of these data", or of which other load it is. ``inside``: whether the guessed knee lies in
    the interval of the measured one. The ratios are guessed / measured. Equal scores share a rank.
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
    knee_ratio: float | None = None
    peak_ratio: float | None = None

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
    commitment is among ``taken_back`` may guess again; the list shows both. Raises DataError where the list is damaged
    or has a guess by this name, MeasureError where a file cannot be written.

    >>> from calibrate import Guess
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     commitment, kept = add_guess(Path(folder) / "class.json", Guess("Ada", knee=24))
    ...     commitment.name, kept.exists()
    ('Ada', True)
    """
    own = keep or path.with_name(f"{path.stem}.{slug(guess.name)}.guess.json")
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")
    try:
        with lock_file(path.with_name(f".{path.name}.lock"), wait=True):  # a class writes at the same time
            entries = read_list(path) if path.exists() else ()
            standing = [e.name.casefold() for e in entries if e.commitment not in taken_back]
            if guess.name.casefold() in standing:
                raise DataError(f"{path}: {guess.name} has sealed a guess already, and a sealed guess is not changed")
            check_unsealed(own)
            nonce = secrets.token_bytes(32)
            entry = Commitment(guess.name, now(), committed(guess, nonce))
            write_new(own, {"schema": GUESS, "nonce": nonce.hex(), **asdict(guess)}, mode=0o600)
            document = _document((*entries, entry))
            write_durably(path, canonical({**document, "sha256": sha256_of(document)}) + b"\n")
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
    return entry, own


def read_list(path: Path) -> tuple[Commitment, ...]:
    """The public list, its hash verified. DataError where it is none or was edited."""
    document = verified(path, LIST, "a list of sealed guesses", _LIST_REMEDY)
    try:
        return tuple(Commitment(**values) for values in document["guesses"])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: the list is damaged ({error}); {_LIST_REMEDY}") from error


def head(entries: Sequence[Commitment]) -> str:
    """The hash that stands for the whole list."""
    return sha256_of(_document(entries))


def _document(entries: Sequence[Commitment]) -> dict[str, Any]:
    return {"schema": LIST, "guesses": [asdict(e) for e in entries]}


def read_guess(path: Path) -> tuple[Guess, bytes]:
    """A guess that is revealed, and its nonce. DataError where the file is none."""
    document = read_document(path, (GUESS,), "a guess", _REVEAL_REMEDY)
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
    predictions: tuple[tuple[str, SealedPrediction], ...]


def read_revealed(paths: Sequence[Path]) -> Revealed:
    """The lists, guesses and sealed predictions in ``paths``. DataError where a file is none of these.

    Of a list the guesses that lie beside it are taken too.

    >>> from calibrate import Guess, add_guess
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _, kept = add_guess(Path(folder) / "class.json", Guess("Ada", knee=24))
    ...     len(read_revealed([Path(folder) / "class.json", kept]).guesses)
    1
    """
    entries: list[Commitment] = []
    guesses: dict[Path, tuple[Guess, bytes]] = {}
    predictions: list[tuple[str, SealedPrediction]] = []
    for path in paths:
        schema = read_document(path, (LIST, GUESS, PREDICTION), "a list, guess or prediction", _REVEAL_REMEDY)["schema"]
        if schema == LIST:
            entries += read_list(path)
            beside = sorted(path.parent.glob(f"{path.stem}.*.guess.json"))
            guesses.update({p.resolve(): read_guess(p) for p in beside})
        elif schema == GUESS:
            guesses[path.resolve()] = read_guess(path)
        else:
            predictions.append((f"{MODEL} ({path.name})", read_seal(path)))
    if not entries and not predictions:
        raise DataError(f"no list of seals and no sealed prediction among the files; {_REVEAL_REMEDY}")
    return Revealed(tuple(entries), tuple(guesses.values()), tuple(predictions))


def leaderboard(revealed: Revealed, observed: Fit, sweep: Sweep) -> list[Row]:
    """Who came closest to the knee and the peak of ``observed``, a fit to all points of ``sweep``.

    The error is |ln(guess / observed)|, so that half and twice are equally wrong, given as a percentage; the score is
    its mean over the quantities that everybody guessed. What takes no part stands last, without a rank. Raises
    DataError where the data have no knee, and where none of the sealed predictions takes part and nobody guessed.

    >>> from calibrate import Guess, add_guess, fit, read_revealed
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read", corrected=True).select("4 KiB read")
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _, kept = add_guess(Path(folder) / "class.json", Guess("Ada", knee=24))
    ...     [row.name for row in leaderboard(read_revealed([Path(folder) / "class.json", kept]), fit(sweep), sweep)]
    ['Ada']
    """
    ranked: list[tuple[str, Guess]] = []
    apart: list[Row] = []
    for entry in revealed.entries:
        named = [(g, n) for g, n in revealed.guesses if g.name == entry.name]
        opened = next((g for g, nonce in named if committed(g, nonce) == entry.commitment), None)
        if opened:
            ranked.append((entry.made_at, opened))
        else:
            apart.append(Row(None, entry.name, entry.made_at, "does not match its seal" if named else "not revealed"))
    for name, seal in revealed.predictions:
        guess = _predicted(name, seal, observed, sweep)
        if isinstance(guess, Guess):
            ranked.append((seal.made_at, guess))
        else:
            apart.append(Row(None, name, seal.made_at, guess))
    if not ranked and not revealed.entries:
        why = "; ".join(f"{row.name} {row.state}" for row in apart)
        raise DataError(
            f"{why}. These data are over {observed.load_name}: measure over the load that was predicted, into another "
            "directory"
        )
    knee = observed.knee.load
    if knee is None:
        why = observed.knee.note or "the data reach no knee"
        raise DataError(f"{observed.series or 'these data'}: no guess can be judged, since {why}")
    truth = {"knee": knee, "peak_per_s": peak_of(observed)}
    judged = [q for q in QUANTITIES if truth[q] and all(getattr(g, q) is not None for _, g in ranked)]
    rows = [_judged(made_at, guess, truth, judged, observed) for made_at, guess in ranked]
    rows.sort(key=lambda row: row.score_pct or 0.0)
    scores = [row.score_pct for row in rows]
    return [replace(row, rank=1 + scores.index(row.score_pct)) for row in rows] + apart


def off_text(ratio: float) -> str:
    """How far a guess lies from what was measured, by their ratio.

    >>> off_text(1.094), off_text(0.8), off_text(2.1), off_text(0.4), off_text(1.0)
    ('9.4 % too high', '20 % too low', '2.1 times too high', '2.5 times too low', 'exact')
    """
    percent = round(100 * (ratio - 1), 1)
    if not 1 / FACTOR <= ratio <= FACTOR:
        return missed_text(100 * (ratio - 1))
    return f"{format_percent(abs(percent))} too {'high' if percent > 0 else 'low'}" if percent else "exact"


def sealed_late(rows: Sequence[Row], sweep: Sweep) -> list[str]:
    """The names of those who sealed after a point was measured, where the data show when."""
    return [row.name for row in rows if measured_before(row.made_at, sweep)]


def peak_of(fit: Fit) -> float | None:
    """The estimate of Xmax; None for a model without one."""
    return fit.curve_parameters["Xmax"].estimate if "Xmax" in fit.curve_parameters else None


def _predicted(name: str, seal: SealedPrediction, observed: Fit, sweep: Sweep) -> Guess | str:
    """What a sealed prediction guesses, or why it takes no part."""
    fits = {f.series: f for f in seal.fits if _same_load(f, observed)}
    if not fits:
        return f"is over another load: {', '.join(dict.fromkeys(f.load_name for f in seal.fits))}"
    if used_rows(seal, sweep).any():
        return "was made from these data"
    fit = fits.get(observed.series) or (next(iter(fits.values())) if len(fits) == 1 else None)
    if fit is None or fit.knee.load is None:
        return "predicts no knee of these data"
    return Guess(name, fit.knee.load, peak_of(fit))


def _same_load(fit: Fit, data: Fit) -> bool:
    return fit.load_kind == data.load_kind and (fit.load_type.is_closed or fit.load_unit == data.load_unit)


def _judged(made_at: str, guess: Guess, truth: dict[str, float | None], judged: Sequence[str], observed: Fit) -> Row:
    ratios: dict[str, float | None] = {}
    for quantity, true in truth.items():
        guessed = getattr(guess, quantity)
        ratios[quantity] = guessed / true if guessed and true else None
    errors = {q: None if r is None else 100 * abs(float(np.log(r))) for q, r in ratios.items()}
    knee, inside = observed.knee, None
    if knee.low is not None and knee.high is not None:
        inside = bool(knee.low <= guess.knee <= knee.high)
    score = float(np.mean([errors[q] or 0.0 for q in judged]))
    return Row(
        None,
        guess.name,
        made_at,
        "revealed",
        guess.knee,
        guess.peak_per_s,
        errors["knee"],
        errors["peak_per_s"],
        score,
        inside,
        ratios["knee"],
        ratios["peak_per_s"],
    )


def slug(name: str) -> str:
    """A name as part of a file's name.

    >>> slug("Ada Lovelace")
    'ada-lovelace'
    """
    return re.sub(r"[^\w-]+", "-", name.strip().lower()).strip("-") or "guess"
