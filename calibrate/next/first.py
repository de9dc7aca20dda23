"""Which loads to begin with, and which to calibrate on where others are held out: one recommendation for every command.

Of queue depths 1 and 32, and with three 1, 8 and 64, or the nearest that were measured. Over 554 public sweeps, mean
errors over the whole curve from 1 to 64 are 10.0 % from the pair and 5.7 % from the three, and N* is within a factor
1.41 of its value from all points on 92 and on 98 % of them. Of other loads: the two ends, and the middle.

Of a memory a fourth point follows, where the fit to three predicts 85 % of the peak: near the bend three points leave
most open. Over published memories a fourth one where they predict 80 to 90 % of the highest bandwidth takes more from
the error than any change of the model (``examples/accuracy/accuracy_memory.py``).

>>> recommended([1.0, 2, 4, 8, 16, 32, 64, 128], 3)
[1.0, 8.0, 64.0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.fitting.curve_fit import fit_points
from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import Array
from calibrate.models.closed import DECLINE_FROM
from calibrate.models.names import model_for
from calibrate.points import Points
from measure.loads import LOADS, LoadKind
from measure.units import CACHE_LINE_BYTES

PAIR: tuple[float, ...] = (1.0, 32.0)
TRIPLE: tuple[float, ...] = LOADS["queue_depth"].default_points

ENOUGH = 6
"""From six measured loads on three are calibrated on, and three are left to compare with; from fewer, two."""

MIDDLE = 0.65
"""The share of the highest bandwidth to measure between the ends: about where the steady climb shows best."""


def recommended(depths: Sequence[float], count: int) -> list[float]:
    """Of the measured ``depths``, those nearest (by ratio) to the recommended two or three, ascending.

    Depths where throughput may fall again are taken only where there is nothing else.
    """
    shallow = [n for n in depths if n < DECLINE_FROM]
    kept = np.array(sorted(shallow if len(shallow) > 1 else depths), dtype=float)
    wanted = PAIR if count < len(TRIPLE) else TRIPLE
    return sorted({float(kept[np.argmin(np.abs(np.log(kept / n)))]) for n in wanted})


def to_calibrate_on(points: Points) -> list[float]:
    """The loads of ``points`` to calibrate on where the others are held out: two of few depths, three of many."""
    if points.load_type.is_closed:
        return to_begin_with(points.load_kind, points.load.tolist())
    poisson = np.ones(len(points), dtype=bool) if points.not_poisson is None else ~points.not_poisson
    load = points.load[poisson] if poisson.sum() > 1 else points.load
    inner = load[1:-1]
    if not len(inner):
        return sorted({float(load[0]), float(load[-1])})
    if points.load_type.is_delay:
        rates = np.log(points.throughput_per_s)
        middle = inner[np.argmin(np.abs(rates[1:-1] - 0.5 * (rates[0] + rates[-1])))]
    elif points.load_type.is_bandwidth:
        middle = inner[np.argmin(np.abs(inner - MIDDLE * load[-1]))]
    else:
        middle = inner[np.argmin(np.abs(inner - 0.5 * (load[0] + load[-1])))]
    return sorted({float(load[0]), float(middle), float(load[-1])})


def to_begin_with(kind: LoadKind, loads: Sequence[float]) -> list[float]:
    """Of the ``loads`` that can be measured, those to measure first, ascending: a plan has no throughputs yet.

    >>> to_begin_with("queue_depth", [1, 2, 4, 8, 16, 32, 64]), to_begin_with("queue_depth", [1, 8, 32, 64])
    ([1.0, 8.0, 64.0], [1.0, 32.0])
    """
    if LOADS[kind].is_closed:
        return recommended(loads, 2 if len(loads) < ENOUGH else 3)
    wanted = LOADS[kind].default_points or (min(loads), 0.5 * (min(loads) + max(loads)), max(loads))
    found = sorted({float(min(loads, key=lambda n, at=at: (abs(n - at), n))) for at in wanted})  # type: ignore[misc]
    if len(found) < len(wanted) <= len(loads):  # two of them are nearest to one: the ends and the middle
        ordered = sorted(float(n) for n in loads)
        return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
    return found


SHARE = 0.85
"""Of the peak: where the fourth point lies."""

WITHIN = (0.6, 0.97)
"""A load whose predicted share of the peak is outside of these tells little of the bend."""

NEW = 0.05
"""How far, relatively, a load must be from those that were measured; a memory's delay also by ``NEW_DELAY`` units."""

NEW_DELAY = 5.0

SENSIBLE = np.outer([1.0, 10.0, 100.0, 1000.0, 10_000.0], [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]).ravel()
"""Delays to measure, in a tool's units."""


def loads_to_calibrate_on(points: Points, peak_per_s: float | None = None) -> list[float]:
    """``to_calibrate_on``, and of a memory of which ``ENOUGH`` loads were measured the fourth."""
    three = to_calibrate_on(points)
    if not points.load_type.is_memory or len(points) < ENOUGH or len(three) < 3:
        return three
    chosen = points.choose(three)
    fourth = fourth_point(fit_points(chosen, model_for(chosen, None), peak_per_s=peak_per_s), points.load.tolist())
    return three if fourth is None else sorted([*three, fourth])


def fourth_point(fit: Fit, loads: Sequence[float] | None = None, *, measured: Sequence[float] = ()) -> float | None:
    """The delay or bandwidth to measure next to the three or more of ``fit``; never one that was measured.

    ``loads`` are those to choose from, None any sensible one; ``measured`` are loads that were measured besides those
    that ``fit`` was calibrated on. None where the fit is of another kind of load, or no load is near that share.
    """
    if not fit.load_type.is_memory or not fit.used:
        return None
    candidates = _sensible(fit) if loads is None else np.array(sorted(set(loads)), dtype=float)
    fresh = unmeasured(candidates, np.array([*fit.used, *measured]), NEW_DELAY if fit.load_type.is_delay else 0.0)
    shares = _shares_of_peak(fit, fresh)
    useful = (WITHIN[0] <= shares) & (shares <= WITHIN[1])
    return float(fresh[useful][np.argmin(np.abs(shares[useful] - SHARE))]) if useful.any() else None


def unmeasured(loads: Array, measured: Array, least: float = 0.0) -> Array:
    """Those of ``loads`` (m,) that are near none of ``measured`` (k,): further than ``NEW``, and than ``least``.

    >>> unmeasured(np.array([1.0, 8.0, 64.0]), np.array([8.2])).tolist()
    [1.0, 64.0]
    """
    apart = np.abs(loads[:, None] - measured[None, :])
    far = apart > np.maximum(NEW * np.maximum(loads[:, None], measured[None, :]), least)
    return np.asarray(loads[far.all(axis=1)])


def _sensible(fit: Fit) -> Array:
    """Loads that may be measured between those that were."""
    most = max(fit.used)
    if fit.load_type.is_delay:
        return SENSIBLE[SENSIBLE < most]
    return np.array([float(f"{SHARE * _peak(fit):.2g}")])


def _peak(fit: Fit) -> float:
    """The highest bandwidth, measured or known, in the unit of the load: just below the wall of the latency curve."""
    return max(*fit.used, (fit.known_peak_per_s or 0.0) * CACHE_LINE_BYTES)


def _shares_of_peak(fit: Fit, loads: Array) -> Array:
    """The bandwidth predicted at ``loads`` (m,) over the highest, which over delays is that of the shortest."""
    if fit.load_type.is_bandwidth:
        return loads / _peak(fit)
    values = fit.table.most_probable[None, :]
    throughput = fit.curve_model.curve(values, np.append(loads, min(fit.used)))[0][0]
    return np.asarray(throughput[:-1] / throughput[-1])
