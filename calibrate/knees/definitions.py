"""Knees by every definition: the same fit, asked several questions.

``asymptotes``  N* = R1 Xpeak of a closed system (Denning and Buzen 1978), and
``tangent``     rho* of maximal power of an open latency curve: these two are the fit's own knee (``knee``)
``power``       the load at which throughput over response time X / R is largest (Kleinrock, ICC 1979). Of
                X = [(N/R1)^-p + Xmax^-p]^(-1/p) that is N* itself, whatever p; of an open curve it is the tangent
``ninety``      the first load with 90 % of the peak throughput: where throughput is had (``peak_share``)
``share``       the same for a share that the user names
``objective``   the largest load whose predicted mean response time is within an objective (``mean_objective``)
``kneedle``     where the curve, scaled to the unit square, is furthest from the diagonal (Satopaa, Albrecht, Irwin and
                Raghavan, ICDCS workshops 2011). Of a smooth curve with one bend this is the whole of their algorithm,
                whose smoothing and threshold are for noisy points. It depends on where the curve is cut off: of a
                straight line it is that end, as the bend lies beyond it

Each but the first and the objective is computed for some devices that stand for the fit's table of weights; the
estimate is their median, and further quantiles are the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.estimates import quantity
from calibrate.inference.parameters import Array
from calibrate.knees.curve_places import FLAT, CurvePaths, highest, scaled
from calibrate.knees.knee import Knee
from calibrate.knees.mean_objective import objective_knee
from calibrate.knees.peak_share import USUAL, knee_at, share_knee, share_of_peak
from calibrate.load_text import knee_text, throughput_text
from measure.units import format_duration
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from calibrate.fitting.fitted import Fit
    from measure.loads import LoadKind

DEFINITIONS: Mapping[str, str] = {
    "power": "maximal power X / R (Kleinrock)",
    "ninety": "90 % of the peak throughput",
    "kneedle": "Kneedle, furthest from the diagonal",
}


@dataclass(frozen=True)
class NamedKnee:
    """A knee by one definition.

    ``asked`` is what an objective or a share asks for, to begin a sentence with; empty for the other definitions.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> from calibrate import named_knees
    >>> [one.name for one in named_knees(drive)]
    ['asymptotes', 'power', 'ninety', 'kneedle']
    """

    name: str
    knee: Knee
    asked: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {"name": self.name, **self.knee.to_dict()}


def named_knees(
    fit: Fit, *, objective_s: float | None = None, share: float | None = None, deepest: float | None = None
) -> tuple[NamedKnee, ...]:
    """The knees of ``fit`` by every definition, each with its interval.

    ``objective_s`` is the response time in seconds that is still good enough, ``share`` the part of the peak that is
    wanted; without them these two are left out.
    ``deepest`` is the load at which Kneedle cuts the curve off (default: the heaviest calibrated on, or four times the
    knee). Raises ValueError for an objective that is not positive or a share that is not between 0 and 1.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> [one.name for one in named_knees(drive, objective_s=200e-6)]
    ['asymptotes', 'power', 'ninety', 'objective', 'kneedle']
    """
    if objective_s is not None and not (np.isfinite(objective_s) and objective_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {objective_s!r}", value=objective_s)
    best = fit.paths
    cut = _cut(fit, best.load, deepest)
    named = [NamedKnee("asymptotes" if best.is_closed else "tangent", fit.knee)]
    for name in ("power", "ninety", "kneedle"):
        if name == "power" and not best.is_closed:
            continue  # the tangent is it
        named.append(NamedKnee(name, knee_at(fit, best, DEFINITIONS[name], _index(name, best, cut))))
    if objective_s is not None:
        asked = f"Under {format_duration(objective_s)}"
        named.insert(-1, NamedKnee("objective", objective_knee(fit, best.load, objective_s), asked=asked))
    if share is not None:
        reached = share_knee(fit, best, share)
        named.insert(-1, NamedKnee("share", reached, asked=reached.definition))
    return tuple(named)


def _cut(fit: Fit, loads: Array, deepest: float | None) -> int:
    """How many of ``loads`` Kneedle looks at."""
    if fit.load_type.is_delay:
        return len(loads)
    heaviest = deepest or (max(fit.used) if fit.used else 4 * (fit.knee.load or float(loads[-1])))
    return int(np.clip(np.searchsorted(loads, heaviest * (1 + 1e-9), side="right"), 8, len(loads)))


def _index(name: str, path: CurvePaths, cut: int) -> Array:
    """Where along the path (w,), between the steps; NaN: before its beginning; infinity: beyond its end."""
    if name == "power":
        at = highest(np.log(path.throughput) - np.log(path.response))
        return np.where(at >= path.throughput.shape[1] - 1, np.inf, at)
    if name == "ninety":
        return share_of_peak(path, USUAL)
    x, y = (path.load[None, :], path.throughput) if path.is_closed else (path.throughput, path.response)
    x, y = (scaled(np.broadcast_to(v, path.throughput.shape)[:, :cut]) for v in (x, y))
    return highest(y - (1 - FLAT) * x if path.is_closed else x - (1 - FLAT) * y)


def knee_rows(found: Sequence[NamedKnee], kind: LoadKind) -> list[tuple[str, ...]]:
    """Lines of a table: definition, load, interval, throughput, response time, a remark."""

    def ends(low: float | None, high: float | None) -> str:
        if low is None and high is None:
            return ""
        return f"[{'0' if low is None else knee_text(kind, low)}, {'...' if high is None else knee_text(kind, high)}]"

    rows: list[tuple[str, ...]] = []
    show = throughput_text(kind)
    for one in found:
        k = one.knee
        remark = k.note if k.load is None or k.identified else f"rough{f'; {k.note}' if k.note else ''}"
        rows.append(
            (
                k.definition,
                "" if k.load is None else knee_text(kind, k.load),
                ends(k.low, k.high),
                show(k.throughput_per_s) if np.isfinite(k.throughput_per_s) else "",
                quantity(k.response_time_s, "s") if np.isfinite(k.response_time_s) else "",
                remark or k.note,
            )
        )
    return rows
