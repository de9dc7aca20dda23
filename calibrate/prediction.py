"""Predicted curves: throughput and response time at given loads, each with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.discrepancy import beyond_the_points, together
from calibrate.fitted import Fit
from calibrate.mixtures import quantiles
from calibrate.past_the_peak import DECLINE_FROM, Declining
from calibrate.points import GIVEN
from calibrate.posterior import Array
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Curve:
    """Predictions at ``load`` (m,): medians and the ends of the band for a single new measurement.

    The band covers the parameters' uncertainty and the model's own relative error with probability ``level``. All three
    are quantiles of the same distribution: an estimate lies in its band.
    """

    load: Array
    throughput_per_s: Array
    throughput_low_per_s: Array
    throughput_high_per_s: Array
    response_time_s: Array
    response_time_low_s: Array
    response_time_high_s: Array
    level: float
    load_name: str
    notes: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """One row per load, columns as the attributes."""
        import pandas as pd

        columns = [f for f in self.__dataclass_fields__ if f not in ("level", "load_name", "notes")]
        return pd.DataFrame({c: getattr(self, c) for c in columns})

    def to_dicts(self) -> list[dict[str, float]]:
        """JSON-ready rows, SI units."""
        return [{str(k): float(v) for k, v in row.items()} for row in self.table().to_dict("records")]

    def __str__(self) -> str:
        percent = f"{100 * self.level:g} %"
        lines = [f"{self.load_name:>26}  {'throughput':>12}  {f'[{percent} band]':>24}  "
                 f"{'response':>10}  {f'[{percent} band]':>22}"]  # fmt: skip
        for row in self.to_dicts():
            x = f"[{format_rate(row['throughput_low_per_s'])}, {format_rate(row['throughput_high_per_s'])}]"
            r = f"[{format_duration(row['response_time_low_s'])}, {format_duration(row['response_time_high_s'])}]"
            lines.append(
                f"{row['load']:>26g}  {format_rate(row['throughput_per_s']):>12}  {x:>24}  "
                f"{format_duration(row['response_time_s']):>10}  {r:>22}"
            )
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])


def predict(fit: Fit, at: Sequence[float] | Array) -> Curve:
    """Throughput and response time at the loads ``at``, with bands, by a fitted (or data-sheet) model.

    ``at``: loads in the unit of the fit (outstanding requests; injected delay). Raises ValueError for a load that is
    not positive (zero is allowed for an injected delay) or not finite.
    """
    loads = np.atleast_1d(np.asarray(at, dtype=float))
    allows_zero = fit.load_kind == "injected_delay"
    bad = ~np.isfinite(loads) | ((loads < 0) if allows_zero else (loads <= 0))
    if loads.size == 0 or bad.any():
        what = f"{loads[bad][0]:g}" if loads.size else "an empty list"
        least = "zero or more" if allows_zero else "greater than zero"
        raise ValueError(f"cannot predict at load {what}: every load must be {least}")
    x_draws, r_draws = fit.curve_model.curve(fit.draws, loads)
    drift, spread = _missed(fit, fit.draws, fit.error_draws, loads)
    if fit.load_kind in GIVEN:  # what arrives leaves, but for a peak below it
        x, x_low, x_high = _band(x_draws, np.zeros_like(drift), np.zeros_like(spread), fit.level)
    else:
        x, x_low, x_high = _band(x_draws, drift, spread, fit.level)
    if fit.load_kind == "queue_depth":
        r, r_low, r_high = loads / x, loads / x_high, loads / x_low  # N = X R
    else:
        r, r_low, r_high = _band(r_draws, *_missed_response(fit, fit.draws, fit.error_draws, loads), fit.level)
    return Curve(
        load=loads,
        throughput_per_s=x, throughput_low_per_s=x_low, throughput_high_per_s=x_high,
        response_time_s=r, response_time_low_s=r_low, response_time_high_s=r_high,
        level=fit.level, load_name=fit.load_name,
        notes=_not_covered(fit, loads),
    )  # fmt: skip


def _band(draws: Array, drift: Array, spread: Array, level: float) -> Array:
    """The median and the ends of the band (3, m) of what is measured next, from curves (w, m) and what they miss."""
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level))
    wide = np.broadcast_to(draws, drift.shape)
    return np.exp(quantiles(np.log(wide) + drift, spread, shares))


def _not_covered(fit: Fit, loads: Array) -> tuple[str, ...]:
    """A word on depths where throughput may decline, and nothing was measured."""
    covered = max((*fit.used, DECLINE_FROM - 1))
    if fit.load_kind != "queue_depth" or isinstance(fit.curve_model, Declining) or loads.max() <= covered:
        return ()
    return (
        f"not covered beyond N = {covered:g}: many drives lose throughput there, which no shallower point foretells; "
        f"measure depth {loads.max():g}, and the decline is fitted",
    )


def expected(fit: Fit, at: Array) -> tuple[Array, Array]:
    """What the fit expects of measurements at ``at`` (m,): log throughput of each draw (w, m), and what comes on top.

    The latter is the covariance (m, m) of what no curve of the model draws.
    """
    shift, _ = _missed(fit, fit.draws, fit.error_draws, at)
    scatter = together(fit.curve_model.discrepancy, np.array(fit.used), np.array(fit.used_noise), fit.error_draws, at)
    return np.log(fit.curve_model.curve(fit.draws, at)[0]) + shift, scatter


def _missed(fit: Fit, values: Array, error: Array, loads: Array) -> tuple[Array, Array]:
    """How much curves of ``values`` (w, d) miss throughputs at ``loads``, in logarithms: mean, deviation (w, m)."""
    return _missed_of(fit, 0, np.array(fit.used_throughput_per_s), np.array(fit.used_noise), values, error, loads)


def _missed_response(fit: Fit, values: Array, error: Array, loads: Array) -> tuple[Array, Array]:
    """By how much they miss response times that do not follow from the throughputs."""
    return _missed_of(fit, 1, np.array(fit.used_response_s), np.array(fit.used_response_noise), values, error, loads)


def _missed_of(
    fit: Fit, which: int, observed: Array, noise: Array, values: Array, error: Array, loads: Array
) -> tuple[Array, Array]:
    used = np.array(fit.used)
    misses = np.zeros((len(values), len(used)))
    if fit.curve_model.discrepancy is not None and len(used):
        misses = np.log(observed) - np.log(fit.curve_model.curve(values, used)[which])
    return beyond_the_points(fit.curve_model.discrepancy, used, noise, misses, error, loads)


def grid(low: float, high: float, points: int = 120) -> Array:
    """Loads for a smooth curve: logarithmic, or linear-logarithmic from zero where ``low`` is zero."""
    if low <= 0:
        return np.concatenate([[0.0], np.geomspace(max(high / 1e4, 1e-3), high, points - 1)])
    return np.geomspace(low, high, points)
