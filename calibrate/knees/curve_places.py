"""Curves of many devices along the load, and places on them.

A place is a position along the steps of a path, between two of them as a rule: NaN before its beginning, infinity
beyond its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.inference.weights import SPREAD
from calibrate.models.curves import CurveModel, Tabulated
from measure.units import CACHE_LINE_BYTES

if TYPE_CHECKING:
    from calibrate.fitting.calibration import Calibration

STEPS = 240
REACH = 64.0
"""How far beyond the knee, or the deepest point, the curve is followed."""

FLAT = 1e-6
"""A curve that rises by no more than this share of its height is as good as flat."""

PEAKS = ("Xmax", "B")

FEW = 64
"""Devices that stand for the table of a resampled fit, or of a model whose curve is a loop and no formula."""


@dataclass(frozen=True)
class CurvePaths:
    """Curves from light load to heavy: ``load`` (m,), throughput and response (w, m), the peak (w,)."""

    load: Array
    throughput: Array
    response: Array
    peak: Array
    is_closed: bool


def paths(fit: Calibration, knee: float | None, count: int | None = None) -> CurvePaths:
    """The curves of devices that stand for the fit, far enough beyond the load of its ``knee``."""
    values, _ = fit.table.spread(count or (FEW if isinstance(fit.curve_model, Tabulated) else SPREAD))
    return path_of(fit, fit.curve_model, values, knee)


def path_of(
    fit: Calibration, model: CurveModel, values: Array, knee: float | None, loads: Array | None = None
) -> CurvePaths:
    """The curves of ``values`` (w, d) along ``loads``, or along those that reach far enough for this fit."""
    named = model.report(values)
    peak = next((named[name][1] for name in PEAKS if name in named), None)
    loads = _loads(fit, peak, knee) if loads is None else loads
    throughput, response = model.curve(values, loads)
    reached = throughput.max(axis=1) if peak is None else peak
    if fit.load_type.is_bandwidth and peak is not None:
        reached = peak / CACHE_LINE_BYTES  # throughputs of a memory are lines a second
    return CurvePaths(loads, throughput, np.broadcast_to(response, throughput.shape), reached, fit.load_type.is_closed)


def _loads(fit: Calibration, peak: Array | None, knee: float | None) -> Array:
    """From light to heavy: depths and rates rise, delays fall."""
    used = max(fit.used) if fit.used else 1.0
    if fit.load_type.is_throughput:  # the load is what gets through
        top = float(np.median(peak)) if peak is not None else 2 * used
        return np.linspace(0.002, 0.999, STEPS) * top
    if fit.load_type.is_delay:
        return np.append(np.geomspace(max(used, 1.0) * 4, 1e-3, STEPS - 1), 0.0)
    crossing = knee or 1.0
    most = min(crossing * REACH, 4096.0) if isinstance(fit.curve_model, Tabulated) else crossing * REACH
    return np.geomspace(1.0, max(most, 2 * used, 64.0), STEPS)


def scaled(values: Array) -> Array:
    """Rows between 0 and 1; one that is flat stays flat, as what it rises by may be rounding.

    >>> scaled(np.array([[2.0, 3.0, 4.0], [1.0, 1.0 + 1e-15, 1.0]])).round(3).tolist()
    [[0.0, 0.5, 1.0], [0.0, 0.0, 0.0]]
    """
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.asarray((values - low) / np.maximum(high - low, FLAT * high))


def highest(score: Array) -> Array:
    """The place (w,) of the largest of each row, by a parabola through it and its neighbours; else an end.

    >>> highest(np.array([[1.0, 3.0, 2.0, 0.0], [0.0, 1.0, 2.0, 4.0]])).round(3).tolist()
    [1.167, 3.0]
    """
    top = np.clip(score.argmax(axis=1), 1, score.shape[1] - 2)
    rows = np.arange(len(score))
    left, middle, right = (score[rows, top + i] for i in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.divide(0.5 * (left - right), bend, out=np.sign(right - left), where=bend < 0)
    return np.asarray(top + np.clip(shift, -1, 1))


def first_reaching(ratio: Array) -> Array:
    """The place (w,) where each row first reaches 1, log-linear between steps; NaN before, infinity beyond."""
    reached = ratio >= 1
    at = reached.argmax(axis=1)
    rows, before = np.arange(len(ratio)), np.maximum(at - 1, 0)
    low, high = np.log(ratio[rows, before]), np.log(ratio[rows, at])
    part = np.divide(-low, high - low, out=np.zeros_like(low), where=high > low)
    place = np.where(at == 0, np.nan, before + part)
    return np.asarray(np.where(reached.any(axis=1), place, np.inf))


def load_at(load: Array, index: Array) -> Array:
    """The loads (w,) at places along ``load`` (m,); 0 before its beginning, infinity beyond its end."""
    steps = np.arange(len(load))
    inside = np.isfinite(index)
    safe = np.where(inside, index, 0.0)
    positive = load > 0
    logs = np.log(np.where(positive, load, load[positive].min()))
    loads = np.exp(np.interp(safe, steps, logs))
    return np.asarray(np.where(np.isnan(index), 0.0, np.where(inside, loads, np.inf)))


def along(values: Array, index: Array) -> Array:
    """Values (w, m) along the path at the places (w,) where there is one."""
    inside = np.isfinite(index)
    place, rows = index[inside], values[inside]
    before = np.clip(place.astype(int), 0, values.shape[1] - 2)
    every = np.arange(len(rows))
    step = rows[every, before + 1] - rows[every, before]
    return np.asarray(rows[every, before] + (place - before) * step)


def middle_of(loads: Array) -> float:
    """The median of loads of which some may be 0 or infinite."""
    return float(np.percentile(loads, 50, method="nearest"))


def ends_of(loads: Array, level: float) -> tuple[float | None, float | None]:
    """The quantiles of loads of which some may be 0 or infinite; None for an end that is."""
    tails = [50 * (1 - level), 50 * (1 + level)]
    low, high = (float(v) for v in np.percentile(loads, tails, method="nearest"))
    return (low if 0 < low < np.inf else None), (high if 0 < high < np.inf else None)
