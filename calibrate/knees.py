"""Knees by every definition: the same fit, asked several questions.

``asymptotes``  N* = R Xmax of a closed system (Denning and Buzen 1978), and
``tangent``     rho* of maximal power of an open latency curve: these two are the fit's own knee (:mod:`calibrate.knee`)
``power``       the load at which throughput over response time X / R is largest (Kleinrock, ICC 1979). Of
                X = [(N/R1)^-p + Xmax^-p]^(-1/p) that is N* itself, whatever p; of an open curve it is the tangent
``ninety``      the first load with 90 % of the peak throughput, a rule of thumb
``objective``   the largest load whose predicted mean response time is within an objective
``kneedle``     where the curve, scaled to the unit square, is furthest from the diagonal (Satopaa, Albrecht, Irwin and
                Raghavan, ICDCS workshops 2011). Of a smooth curve with one bend this is the whole of their algorithm,
                whose smoothing and threshold are for noisy points. It depends on where the curve is cut off

Each is computed for every draw from the posterior; the estimate is the median, and further quantiles are the
interval; ``bootstrapped`` repeats it over resampled repeats instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrate.curve_models import CurveModel, DelayMMc
from calibrate.fitting import Fit, mode_of, quantity
from calibrate.knee import Knee
from calibrate.points import points_of
from calibrate.posterior import Array
from calibrate.prediction import expected, predict
from measure.dataset import CACHE_LINE_BYTES, Sweep
from measure.errors import DataError
from measure.units import format_duration, format_rate

STEPS = 240
REACH = 64.0
"""How far beyond the knee, or the deepest point, the curve is followed."""

SLOW_DRAWS = 60
"""Draws of a model whose curve is a loop and no formula."""

RESAMPLES = 200
PEAKS = ("Xmax", "B")

DEFINITIONS: Mapping[str, str] = {
    "power": "maximal power X / R (Kleinrock)",
    "ninety": "90 % of the peak throughput",
    "objective": "mean response time within",
    "kneedle": "Kneedle, furthest from the diagonal",
}


@dataclass(frozen=True)
class NamedKnee:
    """A knee by one definition. ``bootstrap``: its interval over resampled repeats, None where nobody asked for one."""

    name: str
    knee: Knee
    bootstrap: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        interval = None if self.bootstrap is None else {"low": self.bootstrap[0], "high": self.bootstrap[1]}
        return {"name": self.name, **self.knee.to_dict(), "bootstrap": interval}


@dataclass(frozen=True)
class _Path:
    """Curves from light load to heavy: ``load`` (m,), throughput and response (w, m), the peak (w,)."""

    load: Array
    throughput: Array
    response: Array
    peak: Array
    is_closed: bool

    def repeated(self, times: int) -> _Path:
        """The first curve, so often."""
        curve, response, peak = (np.repeat(v[:1], times, axis=0) for v in (self.throughput, self.response, self.peak))
        return _Path(self.load, curve, response, peak, self.is_closed)


def named_knees(fit: Fit, *, objective_s: float | None = None, deepest: float | None = None) -> tuple[NamedKnee, ...]:
    """The knees of ``fit`` by every definition, each with the interval that its posterior gives.

    ``objective_s`` is the response time in seconds that is still good enough; without it that knee is left out.
    ``deepest`` is the load at which Kneedle cuts the curve off (default: the heaviest calibrated on, or four times the
    knee). Raises ValueError for an objective that is not positive.
    """
    if objective_s is not None and not (np.isfinite(objective_s) and objective_s > 0):
        raise ValueError(f"slo must be a positive time, not {objective_s!r}")
    best = _path(fit, fit.curve_model, fit.mode[None, :])
    draws = fit.draws
    if isinstance(fit.curve_model, DelayMMc):
        draws = draws[np.linspace(0, len(draws) - 1, SLOW_DRAWS).astype(int)]
    drawn = _path(fit, fit.curve_model, draws, best.load)
    cut = _cut(fit, best.load, deepest)
    named = [NamedKnee("asymptotes" if best.is_closed else "tangent", fit.knee)]
    for name in ("power", "ninety", "kneedle"):
        if name == "power" and not best.is_closed:
            continue  # the tangent is it
        named.append(NamedKnee(name, _knee(fit, drawn, DEFINITIONS[name], _index(name, drawn, cut))))
    if objective_s is not None:
        found = _objective(fit, best, objective_s)
        named.insert(-1, NamedKnee("objective", found))
    return tuple(named)


def bootstrapped(
    fit: Fit,
    sweep: Sweep,
    found: Sequence[NamedKnee],
    *,
    deepest: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[NamedKnee, ...]:
    """``found`` with a second interval: that over resampled repeats of the points the fit was calibrated on.

    The repeats of each load are drawn with replacement, the deviations of their mean stretched by sqrt(r / (r - 1)),
    since r repeats seem to differ less than they do (Hesterberg, The American Statistician 2015), and the model is
    fitted anew. It says what the noise of the points does to the knee, and nothing of a model that is wrong. Raises
    DataError where a load was measured once only. The objective's knee gets none: its curve is not the model's alone.
    """
    rows = sweep.select(fit.series).points
    points = points_of(sweep, fit.series).choose(list(fit.used))
    if (points.repeats < 2).any():
        raise DataError(
            f"{fit.series}: {', '.join(f'{n:g}' for n in points.load[points.repeats < 2])} was measured once, so there "
            "are no repeats to resample; measure again with --repeats 5"
        )
    rng = np.random.default_rng(seed)
    means = [_resampled(rows[np.isclose(rows["load"], n)], resamples, rng) for n in points.load]
    modes = np.array([
        mode_of(replace(points, throughput_per_s=np.array([x[i] for x, _ in means]),
                        response_time_s=np.array([r[i] for _, r in means])), fit.curve_model)
        for i in range(resamples)
    ])  # fmt: skip
    best = _path(fit, fit.curve_model, fit.mode[None, :])
    drawn = _path(fit, fit.curve_model, modes, best.load)
    cut = _cut(fit, best.load, deepest)
    with_intervals = []
    for one in found:
        if one.name == "objective":
            with_intervals.append(one)
            continue
        own = one.name in ("asymptotes", "tangent")
        loads = fit.curve_model.knee(modes).load if own else _load_at(best, _index(one.name, drawn, cut))
        low, high = _ends(np.where(np.isnan(loads), np.inf, loads), fit.level)
        interval = None if low is None or high is None else (low, high)
        with_intervals.append(replace(one, bootstrap=interval))
    return tuple(with_intervals)


def _resampled(rows: Any, resamples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Mean throughput and response (resamples,) of drawn repeats; Little's law holds in every mean."""
    x, r = rows["throughput_per_s"].to_numpy(float), rows["latency_s"].to_numpy(float)
    chosen = rng.integers(0, len(x), (resamples, len(x)))
    stretch = np.sqrt(len(x) / (len(x) - 1))
    in_flight = (x * r).mean()
    drawn = x.mean() * np.exp(stretch * np.log(x[chosen].mean(axis=1) / x.mean()))
    latency = (x * r)[chosen].mean(axis=1) / x[chosen].mean(axis=1)
    centre = in_flight / x.mean()
    return drawn, centre * np.exp(stretch * np.log(latency / centre))


def _path(fit: Fit, model: CurveModel, values: Array, loads: Array | None = None) -> _Path:
    """The curves of ``values`` (w, d) along ``loads``, or along those that reach far enough for this fit."""
    named = model.report(values)
    peak = next((named[name][1] for name in PEAKS if name in named), None)
    loads = _loads(fit, None if peak is None else peak) if loads is None else loads
    throughput, response = model.curve(values, loads)
    reached = throughput.max(axis=1) if peak is None else peak
    if fit.load_kind == "bandwidth" and peak is not None:
        reached = peak / CACHE_LINE_BYTES  # throughputs of a memory are lines a second
    return _Path(
        loads, throughput, np.broadcast_to(response, throughput.shape), reached, fit.load_kind == "queue_depth"
    )


def _loads(fit: Fit, peak: Array | None) -> Array:
    """From light to heavy: depths and rates rise, delays fall."""
    used = max(fit.used) if fit.used else 1.0
    if fit.load_kind in ("arrival_rate", "bandwidth"):  # the load is what gets through
        top = float(peak[0]) if peak is not None else 2 * used
        return np.linspace(0.002, 0.999, STEPS) * top
    if fit.load_kind == "injected_delay":
        return np.append(np.geomspace(max(used, 1.0) * 4, 1e-3, STEPS - 1), 0.0)
    crossing = fit.knee.load or 1.0
    most = min(crossing * REACH, 4096.0) if isinstance(fit.curve_model, DelayMMc) else crossing * REACH
    return np.geomspace(1.0, max(most, 2 * used, 64.0), STEPS)


def _cut(fit: Fit, loads: Array, deepest: float | None) -> int:
    """How many of ``loads`` Kneedle looks at."""
    if fit.load_kind == "injected_delay":
        return len(loads)
    heaviest = deepest or (max(fit.used) if fit.used else 4 * (fit.knee.load or float(loads[-1])))
    return int(np.clip(np.searchsorted(loads, heaviest * (1 + 1e-9), side="right"), 8, len(loads)))


def _index(name: str, path: _Path, cut: int) -> Array:
    """Where along the path (w,), between the steps; NaN: before its beginning; infinity: beyond its end."""
    if name == "power":
        at = _highest(np.log(path.throughput / path.response))
        return np.where(at >= path.throughput.shape[1] - 1, np.inf, at)
    if name == "ninety":
        return _first(path.throughput / (0.9 * path.peak[:, None]))
    x, y = (path.load[None, :], path.throughput) if path.is_closed else (path.throughput, path.response)
    x, y = (_scaled(np.broadcast_to(v, path.throughput.shape)[:, :cut]) for v in (x, y))
    return _highest(y - x if path.is_closed else x - y)


def _scaled(values: Array) -> Array:
    """Rows between 0 and 1."""
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.asarray((values - low) / np.maximum(high - low, 1e-300))


def _highest(score: Array) -> Array:
    """The place (w,) of the largest of each row, by a parabola through it and its neighbours."""
    top = np.clip(score.argmax(axis=1), 1, score.shape[1] - 2)
    rows = np.arange(len(score))
    left, middle, right = (score[rows, top + i] for i in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.divide(0.5 * (left - right), bend, out=np.zeros_like(bend), where=np.abs(bend) > 1e-300)
    return np.asarray(top + np.clip(shift, -1, 1))


def _first(ratio: Array) -> Array:
    """The place (w,) where each row first reaches 1, log-linear between steps; NaN before, infinity beyond."""
    reached = ratio >= 1
    at = reached.argmax(axis=1)
    rows, before = np.arange(len(ratio)), np.maximum(at - 1, 0)
    low, high = np.log(ratio[rows, before]), np.log(ratio[rows, at])
    part = np.divide(-low, high - low, out=np.zeros_like(low), where=high > low)
    place = np.where(at == 0, np.nan, before + part)
    return np.asarray(np.where(reached.any(axis=1), place, np.inf))


def _load_at(path: _Path, index: Array) -> Array:
    """The loads (w,) at places along the path; 0 before its beginning, infinity beyond its end."""
    steps = np.arange(len(path.load))
    inside = np.isfinite(index)
    safe = np.where(inside, index, 0.0)
    positive = path.load > 0
    logs = np.log(np.where(positive, path.load, path.load[positive].min()))
    loads = np.exp(np.interp(safe, steps, logs))
    return np.asarray(np.where(np.isnan(index), 0.0, np.where(inside, loads, np.inf)))


def _along(values: Array, index: Array) -> Array:
    """Values (w, m) along the path at the places (w,) where there is one."""
    inside = np.isfinite(index)
    place, rows = index[inside], values[inside]
    before = np.clip(place.astype(int), 0, values.shape[1] - 2)
    every = np.arange(len(rows))
    step = rows[every, before + 1] - rows[every, before]
    return np.asarray(rows[every, before] + (place - before) * step)


def _middle(loads: Array) -> float:
    """The median of loads of which some may be 0 or infinite."""
    return float(np.percentile(loads, 50, method="nearest"))


def _ends(loads: Array, level: float) -> tuple[float | None, float | None]:
    """The quantiles of loads of which some may be 0 or infinite; None for an end that is."""
    tails = [50 * (1 - level), 50 * (1 + level)]
    low, high = (float(v) for v in np.percentile(loads, tails, method="nearest"))
    return (low if 0 < low < np.inf else None), (high if 0 < high < np.inf else None)


def _knee(fit: Fit, drawn: _Path, definition: str, spread: Array, note: str = "") -> Knee:
    """A knee from its places (w,) on the draws' curves: their median, and the interval that they leave."""
    loads = _load_at(drawn, spread)
    load = _middle(loads)
    low, high = _ends(loads, fit.level)
    if (
        fit.load_kind == "injected_delay"
    ):  # there the place is told by the throughput: a delay of 0 is no knee of its own
        note = note or ("" if 0 < load < np.inf else "the loaders of this sweep do not reach it")
    elif not np.isfinite(load):
        note = note or f"beyond {drawn.load[-1]:.3g}"
    if not 0 < load < np.inf:
        return Knee(None, low, high, float("nan"), float("nan"), definition, fit.load_name, False, note)
    throughput, response = (float(np.median(_along(v, spread))) for v in (drawn.throughput, drawn.response))
    if fit.used and fit.load_kind != "injected_delay" and load > max(fit.used):
        note = note or f"beyond the heaviest load calibrated on ({max(fit.used):g})"
    known = low is not None and high is not None and high / low < 2
    return Knee(load, low, high, throughput, response, definition, fit.load_name, known, note)


def _objective(fit: Fit, best: _Path, objective_s: float) -> Knee:
    """The largest load of the predicted curve, with what it is expected to miss, whose response is within."""
    definition = f"{DEFINITIONS['objective']} {format_duration(objective_s)}"
    spread = _first(_responses(fit, best.load) / objective_s)
    middle = _middle(_load_at(best, spread))
    note = "met at every load" if np.isinf(middle) else ""
    if middle == 0:
        lightest = float(predict(fit, best.load[:1]).response_time_s[0])
        note = f"even at load {best.load[0]:.3g} the response takes {format_duration(lightest)}"
    found = _knee(fit, best.repeated(len(spread)), definition, spread, note)
    if found.load is None:
        return found
    there = predict(fit, [found.load])
    return replace(
        found, throughput_per_s=float(there.throughput_per_s[0]), response_time_s=float(there.response_time_s[0])
    )


def _responses(fit: Fit, loads: Array) -> Array:
    """Response times (w, m) that the device may turn out to have: the misses go together along the curve."""
    rng = np.random.default_rng(0)
    if fit.load_kind != "queue_depth" or fit.curve_model.discrepancy is None:
        return np.asarray(
            fit.curve_model.curve(fit.draws, loads)[1]
            * np.exp(fit.error_draws[:, None] * rng.standard_normal((len(fit.draws), 1)))
        )
    logs, scatter = expected(fit, loads)
    own = fit.curve_model.discrepancy.own * float((fit.error_draws**2).mean())
    values, vectors = np.linalg.eigh(scatter - own * np.eye(len(loads)))
    common = (rng.standard_normal((len(logs), len(values))) * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(loads / np.exp(logs + common))


def knee_rows(found: Sequence[NamedKnee]) -> list[tuple[str, ...]]:
    """Lines of a table: definition, load, interval, throughput, response time, the bootstrap's interval, a remark."""

    def ends(low: float | None, high: float | None) -> str:
        if low is None and high is None:
            return ""
        return f"[{'0' if low is None else f'{low:.3g}'}, {'...' if high is None else f'{high:.3g}'}]"

    rows: list[tuple[str, ...]] = []
    for one in found:
        k = one.knee
        remark = k.note if k.load is None or k.identified else f"not identifiable{f'; {k.note}' if k.note else ''}"
        rows.append((
            k.definition, "" if k.load is None else f"{k.load:.3g}", ends(k.low, k.high),
            format_rate(k.throughput_per_s) if np.isfinite(k.throughput_per_s) else "",
            quantity(k.response_time_s, "s") if np.isfinite(k.response_time_s) else "",
            "" if one.bootstrap is None else ends(*one.bootstrap), remark or k.note,
        ))  # fmt: skip
    return rows
