"""Values that should be equal: repeats of a point, their mean and its interval, outliers, and ties.

Interval.  Student's t over the repeats. The mean latency is weighted by the completed requests, so that N = X R
survives the averaging: it is a ratio of two means, and its interval comes from the deviations X_i R_i - R X_i of its
numerator (the delta method; Cochran (1977), Sampling Techniques, section 6.3).

Outliers among repeats.  A repeat is one where it lies off the median of its point by more than 5 % and

- of five repeats and more: by more than 3.5 scaled median absolute deviations (Iglewicz and Hoaglin (1993), How to
  Detect and Handle Outliers), of all points of the curve if that is larger;
- of three or four: by more than 4 standard deviations of the repeats of the curve's other points, and by more than 3
  times the range of the other repeats. Where the curve has no other point, fewer than five repeats have no outlier.

Outliers along a curve.  Over depths the throughput of a closed sweep rises, stays, or falls for good, and N / X, the
latency by Little's law, falls (idle states), stays, or rises for good. A point is an outlier where the throughput has
fallen by more than 10 % (and by more than 4 standard errors) and comes back, or N / X has risen so and comes back. The
outlier is the point without which the curve keeps its course, or comes closest to it; of several such points, the one
without which it bends least. Where it takes more than one point in five, the curve is noisy or the drive changed, and
no point is called an outlier.

Flagged points are not left out: every mean is of all repeats. Of values that are equal within ``TIE`` the first is the
highest, as the last bit differs between processors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from measure.findings import Finding
from measure.loads import ClosedLoad, Load
from measure.origin import judged, rows_to_judge
from measure.units import format_rate

LEVEL = 0.95
MATTERS = 0.05
MODIFIED_Z = 3.5
POOLED_SD = 4.0
RANGES = 3.0
MAD_TO_SD = 1.4826
FEWEST_ALONE = 5
VALLEY = 0.10
FEWEST_POINTS = 5

LIMITS = ("throughput_low", "throughput_high", "latency_low", "latency_high")
"""Of the mean throughput and the mean latency of a point."""

Floats = NDArray[np.float64]


def each_series(points: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The name and the rows of each curve, in the order in which they first appear."""
    for rows in rows_of_each(points["series"]):
        group = points if len(rows) == len(points) else points.iloc[rows]
        yield str(group["series"].iloc[0]), group


def half_width(deviations: ArrayLike, level: float = LEVEL) -> float:
    """Half width of the interval of a mean, from the deviations (n,); NaN for fewer than two."""
    d = np.asarray(deviations, float)
    n = len(d)
    if n < 2:
        return math.nan
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(float(d @ d) / (n - 1) / n)


def intervals(throughput_per_s: ArrayLike, latency_s: ArrayLike, level: float = LEVEL) -> dict[str, float]:
    """The limits of the mean throughput and of the mean latency of one point's repeats (n,); NaN for one repeat.

    The keys are ``LIMITS``; no limit is below zero.
    """
    x, r = np.asarray(throughput_per_s, float), np.asarray(latency_s, float)
    if len(x) < 2:
        return dict.fromkeys(LIMITS, math.nan)
    mean_x, mean_r = float(x.mean()), float((x * r).mean() / x.mean())
    of_x, of_r = half_width(x - mean_x, level), half_width((x * r - mean_r * x) / mean_x, level)
    return {
        "throughput_low": max(0.0, mean_x - of_x),
        "throughput_high": mean_x + of_x,
        "latency_low": max(0.0, mean_r - of_r),
        "latency_high": mean_r + of_r,
    }


def outlying_repeats(values: ArrayLike, others_sd: float = math.nan) -> NDArray[np.bool_]:
    """Which of one point's repeats (n,) are outliers; ``others_sd`` is the relative deviation at the other points."""
    v = np.asarray(values, float)
    none = np.zeros(len(v), bool)
    if len(v) < 3:
        return none
    middle = float(np.median(v))
    off = np.abs(v / middle - 1)
    if len(v) >= FEWEST_ALONE:
        own = MAD_TO_SD * float(np.median(off))
        return (off > MATTERS) & (off > MODIFIED_Z * max(own, others_sd if math.isfinite(others_sd) else 0.0))
    if not math.isfinite(others_sd):
        return none
    i = int(np.argmax(off))
    none[i] = off[i] > max(MATTERS, POOLED_SD * others_sd, RANGES * float(np.ptp(np.delete(v, i))) / middle)
    return none


def outlying_points(load: ArrayLike, throughput_per_s: ArrayLike, error: ArrayLike = 0.0) -> NDArray[np.bool_]:
    """Which points (m,) of a closed curve, by rising load, are outliers; ``error`` are relative standard errors.

    Of two of which either leaves a smooth curve when taken out, it is the slow one where the others then neither lose
    throughput nor gain response time: other programs slow a run, and never speed it up.

    Depth 16 is too fast, and not depth 8 too slow:

    >>> outlying_points([1, 2, 4, 8, 16, 32], [1e4, 2e4, 39e3, 66e3, 390e3, 80e3]).tolist()
    [False, False, False, False, True, False]
    """
    n, x = np.log(np.asarray(load, float)), np.log(np.asarray(throughput_per_s, float))
    noise = float(np.nan_to_num(np.max(np.asarray(error, float)), nan=0.0))
    tolerance = max(-math.log1p(-VALLEY), 4 * noise)
    left, most = np.arange(len(x)), len(x) // FEWEST_POINTS
    while _leaves_course(n[left], x[left]) > tolerance:
        if len(x) - len(left) == most:
            return np.zeros(len(x), bool)
        slow = _below_both_sides(x[left]) > tolerance
        without = [np.delete(left, i) for i in range(len(left))]
        found = [_left_by(n[rest], x[rest], tolerance, slow=bool(was)) for rest, was in zip(without, slow, strict=True)]
        left = without[min(range(len(left)), key=found.__getitem__)]
    return ~np.isin(np.arange(len(x)), left)


def _left_by(n: Floats, x: Floats, tolerance: float, *, slow: bool) -> tuple[float, bool, float]:
    """What the points (m,) leave unexplained without one that was ``slow``, or not: the least is of the outlier."""
    steady = max(_falls(x), _falls(n - x)) <= tolerance
    bends = float((np.diff(np.diff(x) / np.diff(n)) ** 2).sum())
    return max(_leaves_course(n, x), tolerance), not (slow and steady), bends


def _falls(x: Floats) -> float:
    """How far a value (m,) lies below one before it."""
    return float((np.maximum.accumulate(x) - x).max())


def _leaves_course(n: Floats, x: Floats) -> float:
    """How far log throughput ``x`` (m,) falls and comes back over log loads ``n``, or N / X rises and comes back."""
    return float(max(_below_both_sides(x).max(), _below_both_sides(x - n).max()))


def _below_both_sides(x: Floats) -> Floats:
    """How far each value (m,) lies below both something before it and something after it."""
    before, after = np.maximum.accumulate(x), np.maximum.accumulate(x[::-1])[::-1]
    return np.asarray(np.minimum(before, after) - x)


def flag_outliers(points: pd.DataFrame, *, closed: bool = True) -> pd.Series[str]:
    """For each row of a sweep's table "repeat" (an outlier among its repeats), "curve" (along its curve), or "".

    Curves are checked where the load is a depth (``closed``), from five points on. All repeats of a point that is
    off its curve are flagged; none is whose throughput was computed.
    """
    flags = np.full(len(points), "", dtype=object)
    measured = rows_to_judge(points, ["throughput_per_s"])
    placed = rows_to_judge(points, ["load", "throughput_per_s"])
    load, x = (points[c].to_numpy(float) for c in ("load", "throughput_per_s"))
    for every in rows_of_each(points["series"]):
        rows = every[measured[every]]
        if not len(rows):
            continue
        loads, place = np.unique(load[rows], return_inverse=True)
        several = len(loads) < len(rows)
        repeats = [rows[place == i] for i in range(len(loads))] if several else list(rows[np.argsort(place), None])
        spread = [_relative_sd(x[own]) for own in repeats]
        for i, own in enumerate(repeats):
            if len(own) > 1:
                flags[own[outlying_repeats(x[own], _pooled(spread[:i] + spread[i + 1 :]))]] = "repeat"
        if closed and len(loads) >= FEWEST_POINTS and loads[0] > 0 and placed[rows].all():
            medians = [float(np.median(x[own])) for own in repeats]
            errors = [sd / math.sqrt(len(own)) for (sd, _), own in zip(spread, repeats, strict=True)]
            flags[rows[outlying_points(loads, medians, errors)[place]]] = "curve"
    return pd.Series(flags, index=points.index)


def rows_of_each(names: pd.Series[Any]) -> list[NDArray[np.intp]]:
    """The row indices of each name, in the order in which the names first appear."""
    code = pd.factorize(names)[0]
    order = np.argsort(code, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(code[order])) + 1) if len(names) else []


def _relative_sd(values: Floats) -> tuple[float, int]:
    """(relative standard deviation, degrees of freedom)."""
    return (float(values.std(ddof=1) / values.mean()), len(values) - 1) if len(values) > 1 else (0.0, 0)


def _pooled(spread: list[tuple[float, int]]) -> float:
    """The relative standard deviation of one repeat, from the median of the points' variances; NaN without points."""
    known = [s**2 / (1 - 2 / (9 * f)) ** 3 for s, f in spread if f > 0]  # median of chi-squared: Wilson and Hilferty
    return math.sqrt(float(np.median(known))) if known else math.nan


def check_outliers(points: pd.DataFrame, load: Load) -> Iterator[Finding]:
    """A finding for each curve and kind of outlier; the same rule as :func:`flag_outliers`."""
    flags = flag_outliers(points, closed=isinstance(load, ClosedLoad))
    if (flags == "").all():
        return
    known = judged(points, ["throughput_per_s"])
    for (series, flag), rows in points[flags != ""].groupby([points["series"], flags], sort=False):
        curve = known[known["series"] == series]
        message = _off_repeats(curve, rows, load) if flag == "repeat" else _off_course(curve, rows, load)
        because = "something else used the device or the processors during that run."
        remedy = "measure again with more --repeats into the same directory, which keeps all."
        at = float(rows["load"].iloc[0]) if rows["load"].nunique() == 1 else None
        yield Finding("outlier", "warning", message, because, remedy, str(series), at)


def _off_repeats(curve: pd.DataFrame, rows: pd.DataFrame, of: Load) -> str:
    """Text on the repeats in ``rows`` against the others of their points."""
    found = []
    for _, row in rows.iterrows():
        others = curve[curve["load"] == row["load"]]["throughput_per_s"].drop(row.name)
        found.append(
            f"repeat {int(row['repeat']) + 1} at {of.at(row['load'])} gives {format_rate(row['throughput_per_s'])} "
            f"where the other {len(others)} give {format_rate(others.min())} to {format_rate(others.max())}"
        )
    return "; ".join(found) + ". The means hold all of them."


def _off_course(curve: pd.DataFrame, rows: pd.DataFrame, of: Load) -> str:
    """Text on the loads in ``rows`` against their neighbours on the curve."""
    medians = curve.groupby("load")["throughput_per_s"].median()
    found = []
    for load in dict.fromkeys(rows["load"]):
        below, above = medians[medians.index < load], medians[medians.index > load]
        around = [f"{format_rate(c.iloc[i])} at {c.index[i]:g}" for c, i in ((below, -1), (above, 0)) if len(c)]
        found.append(f"{format_rate(medians[load])} at {of.at(load)}, between {' and '.join(around)}")
    return "; ".join(found) + ": the curve leaves its course and comes back."


TIE = 1e-9  # values within this relative distance are equal


def first_highest(values: NDArray[np.float64]) -> Any:
    """The index of the first of the highest values along the last axis: an integer, or an array of them.

    >>> first_highest(np.array([90.0, 164.0, 164.00000000000003]))
    1
    """
    highest = values.max(axis=-1, keepdims=True)
    reached = values >= highest - TIE * np.abs(np.where(np.isfinite(highest), highest, 0.0))
    found = reached.argmax(axis=-1)
    return int(found) if found.ndim == 0 else found


def first_lowest(values: NDArray[np.float64]) -> Any:
    """The index of the first of the lowest values along the last axis: an integer, or an array of them."""
    return first_highest(-values)
