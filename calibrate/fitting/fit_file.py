"""Reads a fit from a file, and checks each field and the consistency of the numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from math import isclose, isfinite
from numbers import Real
from typing import Any

import numpy as np

from calibrate.fitting.fit import SCHEMA, TABLE, USED, Fit
from calibrate.fitting.own_load import PLAIN
from calibrate.inference.parameters import LOWEST_LEVEL, Estimate
from calibrate.inference.weights import Weights
from calibrate.models.choice import ANY_LOAD
from measure.errors import DataError
from measure.loads import ClosedLoad, load_from_dict
from measure.sweep import Sweep
from measure.text_files import shown_name
from qsim.distributions import law_from_dict

WHOLE = 1e-6
"""How far from 1 the sum of the weights may be."""

SAME_KNEE = 0.01
"""The largest relative difference of a knee that is stated and one that is read off the table."""

NOT_READ = ("collapse", "refuted")
"""Fields that a file does not hold."""

LARGEST, LARGEST_LOG = 1e18, 100.0
"""The largest valid figure of a device, and the largest logarithm."""


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _is_list_of(holds: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(map(holds, value))


TEXT = (lambda value: isinstance(value, str), "text")
OBJECT = (lambda value: isinstance(value, Mapping), "an object")
NUMBER = (lambda value: value is None or _is_number(value), "a number or null")
NOT_NEGATIVE = (_is_list_of(lambda v: _is_number(v) and v >= 0), "numbers, none negative")

FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("model", "assumption", "load_kind", "load_unit", "series", "source"), TEXT),
    **dict.fromkeys(USED, NOT_NEGATIVE),
    **dict.fromkeys(("table", "parameters", "details"), OBJECT),
    "notes": (_is_list_of(lambda note: isinstance(note, str)), "a list"),
    "level": (lambda value: _is_number(value) and LOWEST_LEVEL <= value < 1, f"from {LOWEST_LEVEL:g} to below 1"),
    "measured": (lambda value: type(value) is int and value >= 0, "a whole number, none negative"),
    "known_peak_per_s": (lambda value: value is None or (_is_number(value) and value > 0), "above zero or null"),
    "between_runs": (lambda value: _is_number(value) and value >= 0, "a number, not negative"),
    "contradicted": (lambda value: isinstance(value, bool), "true or false"),
    "doubted": (lambda value: isinstance(value, (bool, str)), "text, or true or false"),
    "law": (lambda value: value is None or isinstance(value, Mapping), "an object or null"),
}
"""Field -> (check of its value, the requirement in words)."""

ESTIMATE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("estimate", "low", "high"), NUMBER),
    "identified": (lambda value: isinstance(value, bool), "true or false"),
    **dict.fromkeys(("unit", "note"), TEXT),
}


def read_fit(kind: type[Fit], values: Mapping[str, Any]) -> Fit:
    """``Fit.from_dict``. Raises DataError for another schema, or a missing or damaged field."""
    if values.get("schema") != SCHEMA:
        raise DataError(f"this is not a fit of schema {SCHEMA}; write one with: qsim fit DATA --out fit.json")
    try:
        needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
        needed.remove("load_type")
        _check_fields(values, [*needed, "load_kind", "load_unit", "parameters"])
        table = values["table"]
        columns: Any = [np.asarray(table[name], dtype=float) for name in TABLE]
        read = {f.name: values[f.name] for f in fields(kind) if f.name in values and f.name not in NOT_READ}
        read["load_type"] = load_from_dict(values)
        if isinstance(read.get("doubted"), bool):  # as earlier versions wrote, without the reason
            read["doubted"] = "the audit doubts the runs" if read["doubted"] else ""
        read |= {name: tuple(map(float, values[name])) for name in USED}
        read["notes"] = tuple(values.get("notes", ()))
        read["given"] = {name: Estimate(**estimate) for name, estimate in values["parameters"].items()}
        read["table"] = replace(Weights(*columns), scale=table.get("scale"))
        fit = kind(**read)
        _check_numbers(fit)
        _check_knee(fit, (values.get("knee") or {}).get("load"))
        if fit.law is not None:
            law_from_dict(fit.law)
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise DataError(f"the fit is damaged ({error}); make it again with: qsim fit DATA --out fit.json") from error
    return fit


def _demand(met: bool, name: str, wanted: str, value: object) -> None:
    if not met:
        raise ValueError(f"{name} must be {wanted}, not {value!r:.40}")


def _check_fields(values: Mapping[str, Any], needed: list[str]) -> None:
    """Raise ValueError where a field is missing or of the wrong type."""
    if missing := [name for name in needed if name not in values]:
        raise ValueError(f"it lacks {', '.join(missing)}")
    for name, (holds, wanted) in FIELDS.items():
        if name in values:
            _demand(holds(values[name]), name, wanted, values[name])
    if missing := [name for name in TABLE if name not in values["table"]]:
        raise ValueError(f"the table lacks {', '.join(missing)}")
    for name, estimate in values["parameters"].items():
        _demand(isinstance(estimate, Mapping), f"parameter {name}", "an object", estimate)
        for key, (holds, wanted) in ESTIMATE.items():
            if key in estimate:
                _demand(holds(estimate[key]), f"{key} of parameter {name}", wanted, estimate[key])
    origin = values.get("details", {}).get("calibrated_on", {})
    _demand(isinstance(origin, Mapping), "calibrated_on", "an object", origin)
    _demand(isinstance(origin.get("files", {}), Mapping), "files of calibrated_on", "an object", origin.get("files"))


def _check_numbers(fit: Fit) -> None:
    """Raise ValueError for columns of wrong shapes, or impossible values."""
    values, misfit, weight, directions = columns = [getattr(fit.table, name) for name in TABLE]
    if values.ndim != 2 or directions.shape[:2] != values.shape or not misfit.shape == weight.shape == values.shape[:1]:
        raise ValueError(f"a table with columns of shapes {', '.join(str(c.shape) for c in columns)}")
    scale = fit.table.scale
    if scale is None and isinstance(fit.load_type, ClosedLoad) and fit.model != ANY_LOAD:
        raise ValueError("a table without its scale, as earlier versions wrote")
    if scale is not None and not (type(scale) is int and 0 <= scale < values.shape[1] and directions.shape[2] == 1):
        raise ValueError(f"invalid scale {scale!r}: expected a column of a table with one direction")
    if not values.size or not all(np.isfinite(c).all() for c in columns):
        raise ValueError("the table must hold finite numbers, and not none")
    if (misfit < 0).any() or (weight < 0).any():
        raise ValueError("misfit and weight must not be negative")
    if not abs(np.minimum(weight, LARGEST).sum() - 1) < WHOLE:
        raise ValueError("the weights must make up 1 together")
    if np.abs(values).max() > LARGEST or max(np.abs(directions).max(initial=0.0), misfit.max()) > LARGEST_LOG:
        raise ValueError("the table holds numbers that no device has")
    _check_points(fit)
    _check_plain(fit)
    try:
        with np.errstate(all="ignore", divide="raise", invalid="raise"):
            curve = fit.curve_model.curve(values, np.array([min(fit.used, default=1.0)]))
            named = fit.curve_model.report(values)
    except FloatingPointError as error:
        raise ValueError("the table holds a parameter that is zero or negative where it must be positive") from error
    if not all(np.isfinite(one).all() and (one > 0).all() for one in curve):
        raise ValueError("invalid rows: every throughput and response time must be above zero")
    given = fit.given or {}
    for name, e in given.items():
        bounds = [end for end in (e.low, e.estimate, e.high) if end is not None]
        if bounds != sorted(bounds):
            raise ValueError(f"{name} {e.estimate} does not lie in its interval ({e.low} to {e.high})")
        lowest = min(bounds, default=0.0)
        _demand(lowest >= 0, name, "zero or positive", lowest)
    if missing := [name for name in named if name not in given]:
        raise ValueError(f"parameters lacks {', '.join(missing)}")


def _check_knee(fit: Fit, stated: object) -> None:
    """Raise ValueError where the file states another knee than its parameters and its table give: one was edited."""
    if stated is None or not fit.knee.load:
        return
    same = isinstance(stated, int | float) and isclose(stated, fit.knee.load, rel_tol=SAME_KNEE)
    _demand(same, "the load of the knee", f"{fit.knee.load:.6g}, as its parameters and its table say", stated)


def _check_plain(fit: Fit) -> None:
    """Raise ValueError where the most probable p-norm is none."""
    if (plain := fit.details.get(PLAIN)) is None:
        return
    if not isinstance(plain, list | tuple) or len(plain) != 3 or not all(map(_is_number, plain)):
        raise ValueError(f"{PLAIN} must be N*, Xmax and p, not {plain!r:.40}")
    if not all(1 / LARGEST <= v <= LARGEST for v in plain):
        raise ValueError(f"{PLAIN} must be above zero")


def _check_points(fit: Fit) -> None:
    """Raise ValueError where the calibration points are impossible."""
    if any(len(getattr(fit, name)) != len(fit.used) for name in USED):
        raise ValueError(f"{', '.join(USED)} must be numbers, as many of each")
    if not all(1 / LARGEST <= v <= LARGEST for v in (*fit.used_throughput_per_s, *fit.used_response_s)):
        raise ValueError("used_throughput_per_s and used_response_s must be above zero")
    noise = (*fit.used_noise, *fit.used_response_noise)
    if not all(0 <= v <= LARGEST for v in fit.used) or not all(0 <= v <= LARGEST_LOG for v in noise):
        raise ValueError("used, used_noise and used_response_noise must not be negative")
    if fit.used and not fit.table.misfit.min() > 0 and not min(fit.used_noise) > 0:
        raise ValueError("misfit must be above zero where used_noise is not")


def with_origin(fit: Fit, sweep: Sweep) -> Fit:
    """The fit with its origin under ``details["calibrated_on"]``: SHA-256 of raw files, block, mix.

    Raises DataError where a raw file cannot be read.

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
    origin: dict[str, Any] = {"files": named or hashes}
    for column in ("block_bytes", "read_fraction"):
        values = rows[column].dropna().unique()
        if len(values) == 1:
            origin[column] = float(values[0])
    return replace(fit, details={**fit.details, "calibrated_on": origin})


def hashes_of(sweep: Sweep) -> dict[str, str]:
    """SHA-256 (hex) of each raw file of a sweep, by its name. DataError where one cannot be read."""
    try:
        files = [path for path in sweep.raw if path.is_file()]
        return {shown_name(path.name): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror or error}; check its permissions") from error
