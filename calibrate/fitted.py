"""A calibrated device model: what was fitted to which points, and what is needed to predict with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cached_property, partial
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from calibrate.curve_models import CurveModel
from calibrate.estimates import LEVEL, Estimate, bounded, middle
from calibrate.knee import Knee
from calibrate.load_text import knee_text, load_text, loads_text, throughput_text
from calibrate.model_names import model_named
from calibrate.points import Points
from calibrate.posterior import Array, Mask
from measure.dataset import LOAD_NAMES, LoadKind
from measure.errors import DataError

SCHEMA = "qsim-fit/2"
USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
KEPT_DRAWS = 1000


@dataclass(frozen=True)
class Fit:
    """A calibrated device model: parameters with intervals, the knee, and what is needed to predict.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are the points it was fitted to (empty for a data
    sheet), ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown).
    ``draws`` (w, d) and ``error_draws`` (w,) are the posterior, of which the estimates are medians; ``mode`` (d,) is
    most probable, where profiles and what-ifs begin. It prints itself as a table.
    """

    model: str
    assumption: str
    load_kind: LoadKind
    load_unit: str
    series: str
    used: tuple[float, ...]
    used_throughput_per_s: tuple[float, ...]
    used_noise: tuple[float, ...]
    used_response_s: tuple[float, ...]
    used_response_noise: tuple[float, ...]
    parameters: Mapping[str, Estimate]
    mode: Array
    draws: Array
    error_draws: Array
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def curve_model(self) -> CurveModel:
        """The model that draws the curve."""
        return model_named(self.model)

    @property
    def load_name(self) -> str:
        """What the load is, with its unit."""
        name = LOAD_NAMES[self.load_kind]
        return name if self.load_kind == "queue_depth" else f"{name} ({self.load_unit})"

    @cached_property
    def knee(self) -> Knee:
        """The knee by the model's definition, with its interval."""
        drawn = self.curve_model.knee(self.draws)
        tails = [50 * (1 - self.level), 50 * (1 + self.level)]
        throughput, x_low, x_high = middle(drawn.throughput, self.level)
        reached = np.isfinite(drawn.load)
        load, low, high, note = None, None, None, ""
        if reached.mean() > 1 - self.level:
            load, low, high = middle(drawn.load[reached], self.level)
            if self.load_kind == "queue_depth":
                low = bounded("N*", low, high, self.level)
        if load is None or reached.mean() < 0.5:
            load, note = None, "the loaders of this sweep do not reach the knee"
        elif self.used and self.load_kind != "injected_delay" and load > max(self.used):
            end, more = (
                ("deepest calibrated point", "deeper")
                if self.load_kind == "queue_depth"
                else ("highest calibrated load", "at higher loads")
            )
            told = load_text(self.load_kind, max(self.used))
            note = f"beyond the {end} ({told}): an extrapolation; measure {more} to pin it"
        spread = drawn.throughput if self.load_kind == "injected_delay" else drawn.load
        inner = (
            np.percentile(spread[np.isfinite(spread)], tails) if np.isfinite(spread).any() else np.array([1.0, np.inf])
        )
        return Knee(
            load=load, low=low, high=high,
            throughput_per_s=throughput, response_time_s=float(np.median(drawn.response)),
            definition=self.curve_model.knee_definition, load_name=self.load_name,
            identified=bool(inner[1] / inner[0] < 2), note=note,
            throughput_low_per_s=x_low, throughput_high_per_s=x_high,
        )  # fmt: skip

    def was_used(self, points: Points) -> Mask:
        """True (m,) for those of ``points`` that this fit was calibrated on: the same load and the same throughput."""
        pairs = list(zip(self.used, self.used_throughput_per_s, strict=True))
        measured = zip(points.load, points.throughput_per_s, strict=True)
        return np.array([any(np.isclose(n, u) and np.isclose(x, v) for u, v in pairs) for n, x in measured], dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the draws, so that ``from_dict`` predicts the same bands."""
        plain = {k: v for k, v in asdict(self).items() if k not in ("mode", "draws", "error_draws", "parameters")}
        return {
            "schema": SCHEMA,
            **plain,
            "parameters": {k: asdict(v) for k, v in self.parameters.items()},
            "knee": self.knee.to_dict(),
            "mode": self.mode.tolist(),
            "draws": self.draws.tolist(),
            "error_draws": self.error_draws.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fit:
        """The inverse of ``to_dict``. Raises DataError for another schema or a missing or damaged field."""
        if values.get("schema") != SCHEMA:
            raise DataError(f"this is no fit of schema {SCHEMA}; write one with: qsim fit DATA --out fit.json")
        try:
            _check_fields(values)
            kept = {k: values[k] for k in cls.__dataclass_fields__ if k in values}
            kept["parameters"] = {k: Estimate(**v) for k, v in values["parameters"].items()}
            kept["mode"] = np.asarray(values["mode"], dtype=float)
            kept["draws"] = np.asarray(values["draws"], dtype=float)
            kept["error_draws"] = np.asarray(values["error_draws"], dtype=float)
            kept.update({k: tuple(values[k]) for k in (*USED, "notes")})
            fit = cls(**kept)
            model_named(fit.model)
            _check_numbers(fit)
        except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
            raise DataError(
                f"the fit is damaged ({error}); make it again with: qsim fit DATA --out fit.json"
            ) from error
        return fit

    @property
    def calibrated_on(self) -> tuple[float, ...]:
        """``used``, where it was measured; nothing where the curve is of a device that nobody has."""
        return self.used if self.curve_model.measurable else ()

    def __str__(self) -> str:
        none = "a fit to other drives" if self.used else "no measurement (data sheet)"
        used = loads_text(self.load_kind, self.calibrated_on) or none
        lines = [f"{self.series or 'device'}: {self.model} from {used}", f"  assumes: {self.assumption}"]
        for name, e in self.parameters.items():
            lines.append(f"  {name:<6} {e}{'' if e.identified else '   not identifiable'}")
            if e.note:
                lines.append(f"         {e.note}")
        k = self.knee
        if k.load is None:
            lines.append(f"  knee   {k.note} (throughput {throughput_text(self.load_kind)(k.throughput_per_s)})")
        else:
            told = partial(knee_text, self.load_kind, digits=4)
            interval = f"  [{told(k.low)}, {told(k.high)}]" if k.low is not None and k.high is not None else ""
            open_end = "" if k.identified else "   not identifiable"
            lines.append(
                f"  knee   {told(k.load)}{interval}{open_end}   {k.definition}{f' ({k.note})' if k.note else ''}"
            )
        lines += [f"  note: {n}" for n in self.notes]
        return "\n".join(lines)


def _check_fields(values: Mapping[str, Any]) -> None:
    """ValueError where a field of what was read is missing, or is not of the kind that it must be."""
    needed = [f.name for f in fields(Fit) if f.default is MISSING and f.default_factory is MISSING]
    if lost := [name for name in needed if name not in values]:
        raise ValueError(f"it lacks {', '.join(lost)}")
    given = {name: values[name] for name in (*needed, "level", "notes", "source", "details") if name in values}
    for name in {"model", "assumption", "load_kind", "load_unit", "series", "source"} & given.keys():
        _demand(isinstance(given[name], str), name, "text", given[name])
    for name in {*USED, "notes", "mode", "draws", "error_draws"} & given.keys():
        _demand(isinstance(given[name], (list, tuple)), name, "a list", given[name])
    for note in given.get("notes", ()):
        _demand(isinstance(note, str), "a note", "text", note)
    for name in USED:
        for value in given[name]:
            _demand(_is_number(value) and value >= 0, name, "numbers, none negative", value)
    _demand(_is_number(given.get("level", LEVEL)), "level", "a number", given.get("level"))
    _demand(isinstance(given["parameters"], Mapping), "parameters", "an object", given["parameters"])
    for name, estimate in given["parameters"].items():
        _demand(isinstance(estimate, Mapping), f"parameter {name}", "an object", estimate)
        for key in ("estimate", "low", "high"):
            value = estimate.get(key)
            _demand(value is None or _is_number(value), f"{key} of parameter {name}", "a number or null", value)
        for key, kind, wanted in (("identified", bool, "true or false"), ("unit", str, "text"), ("note", str, "text")):
            value = estimate.get(key, kind())
            _demand(isinstance(value, kind), f"{key} of parameter {name}", wanted, value)
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


def _check_numbers(fit: Fit) -> None:
    """ValueError where what was read cannot be a fit's: another kind of load, draws of another shape, no numbers."""
    if fit.load_kind not in LOAD_NAMES:
        raise ValueError(f"load_kind {fit.load_kind!r} is unknown")
    if not 0 < fit.level < 1:
        raise ValueError(f"level {fit.level:g} does not lie between 0 and 1")
    mode, draws, error = fit.mode, fit.draws, fit.error_draws
    if mode.ndim != 1 or draws.ndim != 2 or draws.shape[1:] != mode.shape or error.shape != draws.shape[:1]:
        raise ValueError(f"mode, draws and error_draws of shapes {mode.shape}, {draws.shape}, {error.shape}")
    if not (draws.size and np.isfinite(mode).all() and np.isfinite(draws).all() and np.isfinite(error).all()):
        raise ValueError("mode, draws and error_draws must be finite numbers, and not none")
    if (error < 0).any():
        raise ValueError("error_draws must not be negative")
    if any(len(getattr(fit, name)) != len(fit.used) for name in USED):
        raise ValueError(f"{', '.join(USED)} must be numbers, as many of each")
    if not all(v > 0 for v in (*fit.used_throughput_per_s, *fit.used_response_s)):
        raise ValueError("used_throughput_per_s and used_response_s must be above zero")
    with np.errstate(all="ignore"):
        curve = fit.curve_model.curve(np.vstack([mode, draws]), np.array([min(fit.used, default=1.0)]))
    if not all(np.isfinite(one).all() and (one > 0).all() for one in curve):
        raise ValueError("draws that are no device: every throughput and response time must be above zero")
    if lost := [name for name in fit.curve_model.report(draws[:1]) if name not in fit.parameters]:
        raise ValueError(f"parameters lacks {', '.join(lost)}")
