"""Sealed predictions: a file that proves that a prediction existed before the data it is compared with.

A seal holds the fits with their tables of weights, the curve and the knee that they predict, their calibration data
(hashes of the raw files and the points themselves), time and version, and the SHA-256 of all that in a canonical form.
Changing a digit changes the hash. The hash does not prove when it was made: for that another party must know it before
the measurement (a board, a mail, a time-stamping service, RFC 3161).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_answer import knees_labelled
from calibrate.fitting.fit_file import hashes_of
from calibrate.inference.parameters import Mask
from calibrate.points import points_of
from measure.errors import DataError, MeasureError
from measure.machine.files import write_new
from measure.sweep import Sweep
from measure.text_files import read_document
from measure.units import counted
from qsim.installed import version

SCHEMA = "qsim-seal/1"
REDRAWN = 1e-3  # the largest relative difference between the sealed curve and the one that this version computes

_REMEDY = "a seal is written with: qsim predict FIT --seal FILE"


@dataclass(frozen=True, repr=False)
class SealedPrediction:
    """The content of a seal; ``sha256`` is verified, ``made_at`` (ISO 8601) is from the maker's clock.

    ``points`` are the predictions of each fit, SI units.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from calibrate import from_datasheet, seal
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> with TemporaryDirectory() as folder:
    ...     sealed = seal([drive], [[1, 8, 64]], Path(folder) / "guess.seal")
    >>> [row["load"] for row in sealed.points[0]]
    [1.0, 8.0, 64.0]
    """

    fits: tuple[Fit, ...]
    points: tuple[tuple[Mapping[str, float], ...], ...]
    made_at: str
    version: str
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what identifies the seal, without the prediction."""
        return {"sha256": self.sha256, "made_at": self.made_at, "version": self.version}

    def __repr__(self) -> str:
        knees = "\n".join(knees_labelled([(fit.series, fit) for fit in self.fits]))
        return f"{counted(len(self.fits), 'curve')}, {self}\n{knees}"

    def __str__(self) -> str:
        return f"sealed at {self.made_at} by qsim {self.version}, SHA-256 {self.sha256}"


def canonical(document: Mapping[str, Any]) -> bytes:
    """The canonical form of a JSON document: keys sorted, no blanks, UTF-8. ValueError for NaN and infinity."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def sha256_of(document: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over the canonical form, without the key ``sha256`` itself."""
    return hashlib.sha256(canonical({k: v for k, v in document.items() if k != "sha256"})).hexdigest()


def seal(
    fits: Sequence[Fit], loads: Sequence[Sequence[float]], path: Path, *, made_at: str | None = None
) -> SealedPrediction:
    """Write the prediction of ``fits`` at ``loads`` (one list for each) to ``path``, which must not exist yet.

    Raises MeasureError where ``path`` exists or cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> with TemporaryDirectory() as folder:
    ...     sealed = seal([drive], [[1, 8, 64]], Path(folder) / "guess.seal")
    ...     read_seal(Path(folder) / "guess.seal").sha256 == sealed.sha256
    True
    """
    check_unsealed(path)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "made_at": made_at or dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "version": version(),
        "predictions": [
            {"fit": fit.to_dict(), "points": fit.predict(at).to_dicts(), "knee": fit.knee.to_dict()}
            for fit, at in zip(fits, loads, strict=True)
        ],
    }
    content = (
        json.dumps({**document, "sha256": sha256_of(document)}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    )
    try:
        write_new(path, content)
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error
    return read_seal(path)


def check_unsealed(path: Path) -> None:
    """Raise MeasureError where ``path`` exists or cannot be created."""
    if path.exists():
        raise MeasureError(f"{path} exists, and what is sealed is never replaced; choose another name")
    if not path.parent.is_dir():
        raise MeasureError(f"{path} cannot be written: there is no directory {path.parent}; create it first")


def read_seal(path: Path) -> SealedPrediction:
    """The sealed prediction in ``path``, verified.

    Raises DataError where it is another kind of file, where its hash does not match its content, and where this version
    computes another curve from its fit than the sealed one.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from calibrate import from_datasheet, seal
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> with TemporaryDirectory() as folder:
    ...     _ = seal([drive], [[1, 64]], Path(folder) / "guess.seal", made_at="2026-01-02T03:04:05+00:00")
    ...     read_seal(Path(folder) / "guess.seal").made_at
    '2026-01-02T03:04:05+00:00'
    """
    document = _verified(path)
    try:
        parts = document["predictions"]
        fits = tuple(Fit.from_dict(part["fit"]) for part in parts)
        points = tuple(tuple({str(k): float(v) for k, v in row.items()} for row in part["points"]) for part in parts)
        made_at = _moment(str(document["made_at"])).isoformat(timespec="seconds")
        version = str(document["version"])
        for fit, rows in zip(fits, points, strict=True):
            _check_redrawn(fit, rows, version, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: the seal lacks a part or has a wrong one ({error}); {_REMEDY}") from error
    if not fits:
        raise DataError(f"{path} holds no prediction; {_REMEDY}")
    return SealedPrediction(fits, points, made_at, version, str(document["sha256"]))


def _verified(path: Path) -> dict[str, Any]:
    document = read_document(path, (SCHEMA,), "a sealed prediction", _REMEDY)
    try:
        found = sha256_of(document)
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}: the seal is broken: {error}") from error
    if document.get("sha256") != found:
        raise DataError(
            f"{path}: the seal is broken: the content has SHA-256 {found[:16]}..., and the seal says "
            f"{str(document.get('sha256'))[:16]}...; the file was edited or damaged after it was sealed"
        )
    return document


def _check_redrawn(fit: Fit, rows: Sequence[Mapping[str, float]], version: str, path: Path) -> None:
    try:
        with np.errstate(divide="raise"):
            drawn = fit.predict([row["load"] for row in rows], refuse=False)
    except FloatingPointError as error:
        raise ValueError("a load is so small that the fit has no throughput there") from error
    columns = ("throughput_per_s", "response_time_s")
    if not all(np.allclose(getattr(drawn, k), [row[k] for row in rows], rtol=REDRAWN) for k in columns):
        raise DataError(
            f"{path}: this version of qsim draws another curve from the sealed fit than qsim {version} did; hold the "
            "data against it with that version"
        )


def used_rows(seal: SealedPrediction, sweep: Sweep) -> Mask:
    """True (m,) for the rows of ``sweep`` that a sealed prediction was calibrated on.

    A row is recognised by its raw file's hash, or by its load and throughput (of the row, or of the mean over repeats).
    """
    hashes = hashes_of(sweep)
    sealed = {h for fit in seal.fits for h in dict(fit.details.get("calibrated_on", {})).get("files", {}).values()}
    table = sweep.points
    found = np.array([hashes.get(str(name)) in sealed for name in table["source"]], dtype=bool)
    if len(hashes) == 1 and set(hashes.values()) & sealed:
        found[:] = True
    pairs = [p for fit in seal.fits for p in zip(fit.used, fit.used_throughput_per_s, strict=True)]
    for series in sweep.series:
        points = points_of(sweep, series)
        means = dict(zip(points.load, points.throughput_per_s, strict=True))
        for i in np.flatnonzero(table["series"] == series):
            load = float(table["load"].iloc[i])
            measured = (float(table["throughput_per_s"].iloc[i]), float(means.get(load, np.nan)))
            found[i] |= any(np.isclose(load, n) and np.isclose(measured, x).any() for n, x in pairs)
    return found


def unseen(seal: SealedPrediction, sweep: Sweep) -> Sweep:
    """``sweep`` without the calibration rows of the sealed predictions. Raises DataError where none is left.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from calibrate import fit, seal
    >>> from measure import load_dataset
    >>> sweep = load_dataset("004-ssd-depth")
    >>> with TemporaryDirectory() as folder:
    ...     sealed = seal([fit(sweep, [1, 32])], [[8]], Path(folder) / "guess.seal")
    >>> unseen(sealed, sweep).points["load"].tolist()
    [4.0, 256.0, 1024.0]
    """
    used = used_rows(seal, sweep)
    if not used.any():
        return sweep
    if used.all():
        raise DataError(
            f"{sweep.name or 'the data'} has no point that the sealed prediction did not have at hand (they were used, "
            "or the files that hold them); measure again"
        )
    return replace(sweep, points=sweep.points[~used])


def doubt_of(seal: SealedPrediction, sweep: Sweep) -> str:
    """Why ``sweep`` may have been known when the prediction was sealed, in a sentence; "" where it was not."""
    times = sweep.points["started_at"].dropna()
    try:
        early = sum(_moment(str(t)) < _moment(seal.made_at) for t in times)
    except ValueError:
        times = times.head(0)
    if times.empty:
        return f"the data do not say when they were measured; the prediction was sealed at {seal.made_at}"
    if not early:
        return ""
    return (
        f"{early} of {len(times)} points were measured before the prediction was sealed ({seal.made_at}): whoever "
        "sealed it may have known them"
    )


def _moment(text: str) -> dt.datetime:
    """A time in ISO 8601, UTC without a zone. ValueError for other text."""
    moment = dt.datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
