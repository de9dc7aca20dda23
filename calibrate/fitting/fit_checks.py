"""Checks of a fit that is read from a file: each field is what it must be, and the numbers fit each other.

Every check raises ValueError with the field's name, what it must be and what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from measure.loads import LOADS

if TYPE_CHECKING:
    from calibrate.fitting.calibration import Calibration

USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
TABLE = ("values", "misfit", "weight", "directions")
_LARGEST, _LARGEST_LOG = 1e18, 100.0


def check_fields(values: Mapping[str, Any], needed: Sequence[str]) -> None:
    """ValueError where a field of what was read is missing, or is not of the kind that it must be."""
    if lost := [name for name in needed if name not in values]:
        raise ValueError(f"it lacks {', '.join(lost)}")
    given = {name: values[name] for name in (*needed, "level", "notes", "source", "details") if name in values}
    for name in {"model", "assumption", "load_kind", "load_unit", "series", "source"} & given.keys():
        _demand(isinstance(given[name], str), name, "text", given[name])
    for name in {*USED, "notes"} & given.keys():
        _demand(isinstance(given[name], (list, tuple)), name, "a list", given[name])
    _demand(isinstance(given["table"], Mapping), "table", "an object", given["table"])
    if lost := [name for name in TABLE if name not in given["table"]]:
        raise ValueError(f"the table lacks {', '.join(lost)}")
    for note in given.get("notes", ()):
        _demand(isinstance(note, str), "a note", "text", note)
    for name in USED:
        for value in given[name]:
            _demand(_is_number(value) and value >= 0, name, "numbers, none negative", value)
    _demand(_is_number(given.get("level", 0.9)), "level", "a number", given.get("level"))
    _demand(isinstance(given["parameters"], Mapping), "parameters", "an object", given["parameters"])
    for name, estimate in given["parameters"].items():
        _demand(isinstance(estimate, Mapping), f"parameter {name}", "an object", estimate)
        for key in ("estimate", "low", "high"):
            value = estimate.get(key)
            _demand(value is None or _is_number(value), f"{key} of parameter {name}", "a number or null", value)
        for key, kind, wanted in (("identified", bool, "true or false"), ("unit", str, "text"), ("note", str, "text")):
            value = estimate.get(key, kind())
            _demand(isinstance(value, kind), f"{key} of parameter {name}", wanted, value)
    measured, peak = values.get("measured", 0), values.get("known_peak_per_s")
    is_count = isinstance(measured, int) and not isinstance(measured, bool) and measured >= 0
    _demand(is_count, "measured", "a whole number, none negative", measured)
    _demand(peak is None or (_is_number(peak) and peak > 0), "known_peak_per_s", "a number above zero or null", peak)
    between = values.get("between_runs", 0.0)
    _demand(_is_number(between) and between >= 0, "between_runs", "a number, not negative", between)
    details = given.get("details", {})
    _demand(isinstance(details, Mapping), "details", "an object", details)
    held = details.get("calibrated_on", {})
    _demand(isinstance(held, Mapping), "calibrated_on", "an object", held)
    _demand(isinstance(held.get("files", {}), Mapping), "files of calibrated_on", "an object", held.get("files"))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def _demand(met: bool, name: str, wanted: str, value: object) -> None:
    if not met:
        raise ValueError(f"{name} must be {wanted}, not {value!r:.40}")


def check_numbers(fit: Calibration) -> None:
    """ValueError where what was read cannot be a fit's: another kind of load, draws of another shape, no numbers."""
    if fit.load_kind not in LOADS:
        raise ValueError(f"load_kind {fit.load_kind!r} is unknown")
    if not 0 < fit.level < 1:
        raise ValueError(f"level {fit.level:g} does not lie between 0 and 1")
    _check_table(fit)
    _check_points(fit)
    with np.errstate(all="ignore"):
        curve = fit.curve_model.curve(fit.table.values, np.array([min(fit.used, default=1.0)]))
    if not all(np.isfinite(one).all() and (one > 0).all() for one in curve):
        raise ValueError("invalid rows: every throughput and response time must be above zero")
    for name, told in (fit.told or {}).items():
        bounds = [end for end in (told.low, told.estimate, told.high) if end is not None]
        if not all(map(isfinite, bounds)) or bounds != sorted(bounds):
            raise ValueError(f"{name} {told.estimate} does not lie in its interval ({told.low} to {told.high})")
    if lost := [name for name in fit.curve_model.report(fit.table.values[:1]) if name not in (fit.told or {})]:
        raise ValueError(f"parameters lacks {', '.join(lost)}")


def _check_table(fit: Calibration) -> None:
    columns = [getattr(fit.table, name) for name in TABLE]
    values, misfit, weight, directions = columns
    if values.ndim != 2 or directions.shape[:2] != values.shape or not misfit.shape == weight.shape == values.shape[:1]:
        raise ValueError(f"a table with columns of shapes {', '.join(str(c.shape) for c in columns)}")
    scale = fit.table.scale
    if scale is not None and not (type(scale) is int and 0 <= scale < values.shape[1] and directions.shape[2] == 1):
        raise ValueError(f"invalid scale {scale!r}: expected a column of a table with one direction")
    if not values.size or not all(np.isfinite(c).all() for c in columns):
        raise ValueError("the table must hold finite numbers, and not none")
    if (misfit < 0).any() or (weight < 0).any() or not weight.sum() > 0:
        raise ValueError("misfit and weight must not be negative")
    if np.abs(values).max() > _LARGEST or max(np.abs(directions).max(), misfit.max()) > _LARGEST_LOG:
        raise ValueError("the table holds numbers that no device has")


def _check_points(fit: Calibration) -> None:
    if any(len(getattr(fit, name)) != len(fit.used) for name in USED):
        raise ValueError(f"{', '.join(USED)} must be numbers, as many of each")
    if not all(1 / _LARGEST <= v <= _LARGEST for v in (*fit.used_throughput_per_s, *fit.used_response_s)):
        raise ValueError("used_throughput_per_s and used_response_s must be above zero")
    noise = (*fit.used_noise, *fit.used_response_noise)
    if not all(0 <= v <= _LARGEST for v in fit.used) or not all(0 <= v <= _LARGEST_LOG for v in noise):
        raise ValueError("used, used_noise and used_response_noise must not be negative")
    if fit.used and not fit.table.misfit.min() > 0 and not min(fit.used_noise) > 0:
        raise ValueError("misfit must be above zero where used_noise is not")
