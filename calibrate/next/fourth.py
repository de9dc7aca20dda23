"""The fourth point of a memory's curve: where the fit to three predicts 85 % of the peak.

Near the bend three points leave most open. Over published memories a fourth one where they predict 80 to 90 % of the
highest bandwidth takes more from the error than any change of the model (``examples/accuracy/accuracy_memory.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrate.default_loads import ENOUGH, to_calibrate_on
from calibrate.fitting.curve_fit import fit_points
from calibrate.inference.parameters import Array
from calibrate.models.names import model_for
from measure.units import CACHE_LINE_BYTES

if TYPE_CHECKING:
    from calibrate.fitting.fitted import Fit
    from calibrate.points import Points

SHARE = 0.85
"""Of the peak: where the fourth point lies."""

WITHIN = (0.6, 0.97)
"""A load whose predicted share of the peak is outside of these tells little of the bend."""

NEW = 0.05
"""How far, relatively, a load must be from those that were measured; a memory's delay also by ``NEW_DELAY`` units."""

NEW_DELAY = 5.0

SENSIBLE = np.outer([1.0, 10.0, 100.0, 1000.0, 10_000.0], [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]).ravel()
"""Delays to measure, in a tool's units."""


def loads_with_fourth(points: Points, peak_per_s: float | None = None) -> list[float]:
    """The loads of a memory's points to calibrate on: three and, where ``ENOUGH`` were measured, the fourth point."""
    three = to_calibrate_on(points)
    if len(points) < ENOUGH or len(three) < 3:
        return three
    chosen = points.choose(three)
    fourth = fourth_point(fit_points(chosen, model_for(chosen, None), peak_per_s=peak_per_s), points.load.tolist())
    return three if fourth is None else sorted([*three, fourth])


def fourth_point(fit: Fit, loads: Sequence[float] | None = None, *, measured: Sequence[float] = ()) -> float | None:
    """The delay or bandwidth to measure beside the three or more of ``fit``; never one that was measured.

    ``loads`` are those to choose from, None any sensible one; ``measured`` are loads that were measured beside those
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
