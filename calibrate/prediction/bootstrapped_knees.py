"""A knee's second interval: over resampled repeats of the points the fit was calibrated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrate.fitting.curve_fit import Fit, fit_points
from calibrate.inference.parameters import Array
from calibrate.knees.curve_places import FEW, ends_of
from calibrate.knees.definitions import NamedKnee, estimated_knees
from calibrate.load_text import loads_text
from calibrate.points import points_of
from measure.errors import DataError
from measure.sweep import Sweep

RESAMPLES = 60
"""How often repeats are drawn."""


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
    refitted. It says what the noise of the points does to the knee, and nothing of a model that is wrong. Raises
    DataError where a load was measured once only. An objective and a named share of the peak get none.

    >>> import pandas as pd
    >>> from calibrate import fit, named_knees
    >>> from measure import Sweep
    >>> iops = [12e3, 11e3, 92e3, 89e3, 590e3, 600e3]
    >>> points = pd.DataFrame({"load": [1, 1, 8, 8, 64, 64], "throughput_per_s": iops, "repeat": [0, 1] * 3})
    >>> points = points.assign(latency_s=points["load"] / points["throughput_per_s"], series="4 KiB read")
    >>> made = fit(sweep := Sweep(points))
    >>> knee = bootstrapped(made, sweep, named_knees(made), resamples=10)[0]
    >>> low, high = knee.bootstrap
    >>> low < high
    True
    """
    rows = sweep.select(fit.series).points
    points = points_of(sweep, fit.series).choose(list(fit.used))
    if (points.repeats < 2).any():
        raise DataError(
            f"{fit.series}: {loads_text(points.load_kind, points.load[points.repeats < 2])} was measured once, so "
            "there are no repeats to resample; measure again with --repeats 5"
        )
    rng = np.random.default_rng(seed)
    means = [_resampled(rows[np.isclose(rows["load"], n)], resamples, rng) for n in points.load]
    found_again = []
    for i in range(resamples):
        x, r = (np.array([each[which][i] for each in means]) for which in (0, 1))
        again = fit_points(replace(points, throughput_per_s=x, response_time_s=r), fit.curve_model, level=fit.level)
        found_again.append(estimated_knees(again, deepest, FEW))
    with_intervals = []
    for one in found:
        loads = np.array([again.get(one.name, np.inf) for again in found_again])
        low, high = ends_of(np.where(np.isnan(loads), np.inf, loads), fit.level)
        if one.name in ("objective", "share") or low is None or high is None:
            with_intervals.append(one)
        else:
            with_intervals.append(replace(one, bootstrap=(low, high)))
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
