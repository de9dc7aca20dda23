"""What a fit was calibrated on: the hashes of the raw files, the block size and the mix."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from calibrate.fitting.fitted import Fit
from measure.errors import DataError
from measure.sweep import Sweep


def with_origin(fit: Fit, sweep: Sweep) -> Fit:
    """The fit with what it was calibrated on under ``details["calibrated_on"]``: SHA-256 of raw files, block, mix.

    Raises DataError where a raw file cannot be read any more.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> with_origin(fit(sweep), sweep).details["calibrated_on"]
    {'files': {}, 'block_bytes': 4096.0, 'read_fraction': 1.0}
    """
    rows = sweep.select(fit.series).points
    rows = rows[[bool(np.isclose(fit.used, load).any()) for load in rows["load"]]]
    hashes = hashes_of(sweep)
    named = {name: hashes[name] for name in dict.fromkeys(rows["source"].dropna()) if name in hashes}
    held: dict[str, Any] = {"files": named or hashes}
    for column in ("block_bytes", "read_fraction"):
        values = rows[column].dropna().unique()
        if len(values) == 1:
            held[column] = float(values[0])
    return replace(fit, details={**fit.details, "calibrated_on": held})


def hashes_of(sweep: Sweep) -> dict[str, str]:
    """SHA-256 (hex) of each raw file of a sweep, by its name. DataError where one cannot be read."""
    try:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sweep.raw if path.is_file()}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror or error}; check its permissions") from error
