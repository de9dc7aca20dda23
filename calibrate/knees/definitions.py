"""Knees by every definition: the same fit, asked several questions.

``asymptotes``  N* = R1 Xpeak of a closed system, and ``tangent`` of an open latency curve: the fit's own knee
``power``       the load at which throughput over response time X / R is largest (Kleinrock, ICC 1979). Of
                X = [(N/R1)^-p + Xmax^-p]^(-1/p) that is N* itself, whatever p; of an open curve it is the tangent
``ninety``      the first load with 90 % of the peak throughput: where throughput is had
``objective``   the largest load whose predicted mean response time is within an objective
``kneedle``     where the curve, scaled to the unit square, is furthest from the diagonal (Satopaa, Albrecht, Irwin and
                Raghavan, ICDCS workshops 2011). Of a smooth curve with one bend this is the whole of their algorithm,
                whose smoothing and threshold are for noisy points. It depends on where the curve is cut off: of a
                straight line it is that end, as the bend lies beyond it

Each but the first and the objective is computed for some devices that stand for the fit's table of weights; the
estimate is their median, and further quantiles are the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import ROUGH, Array, quantity
from calibrate.knees.knee import CurvePaths, Knee, ends_of, first_reaching, knee_at, load_at
from measure.loads import LOADS
from measure.units import format_duration, interval_text
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit

FLAT = 1e-6
"""A curve that rises by no more than this share of its height is as good as flat."""


@dataclass(frozen=True)
class NamedKnee:
    """A knee by one definition; ``asked`` is what an objective asks for, to begin a sentence with.

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


def named_knees(fit: Fit, *, objective_s: float | None = None, deepest: float | None = None) -> tuple[NamedKnee, ...]:
    """The knees of ``fit`` by every definition, each with its interval.

    ``objective_s`` is the response time in seconds that is still good enough; without it there is no ``objective``.
    ``deepest`` is the load at which Kneedle cuts the curve off (default: the heaviest calibrated on, or four times the
    knee). Raises ValueError for an objective that is not positive.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> [one.name for one in named_knees(drive, objective_s=200e-6)]
    ['asymptotes', 'power', 'ninety', 'objective', 'kneedle']
    """
    if objective_s is not None and not (np.isfinite(objective_s) and objective_s > 0):
        raise InvalidParameterError("slo", f"must be a positive time, not {objective_s!r}", value=objective_s)
    path = fit.paths
    named = [NamedKnee("asymptotes" if path.is_closed else "tangent", fit.knee)]
    if path.is_closed:  # else the tangent is it
        named.append(NamedKnee("power", knee_at(fit, path, "maximal power X / R (Kleinrock)", _of_power(path))))
    named.append(NamedKnee("ninety", fit.ninety))
    if objective_s is not None:
        asked = f"Under {format_duration(objective_s)}"
        named.append(NamedKnee("objective", objective_knee(fit, path.load, objective_s), asked=asked))
    furthest = _of_diagonal(path, _cut(fit, path.load, deepest))
    return (*named, NamedKnee("kneedle", knee_at(fit, path, "Kneedle, furthest from the diagonal", furthest)))


def _cut(fit: Fit, loads: Array, deepest: float | None) -> int:
    """How many of ``loads`` Kneedle looks at."""
    if fit.load_type.is_delay:
        return len(loads)
    heaviest = deepest or (max(fit.used) if fit.used else 4 * (fit.knee.load or float(loads[-1])))
    return int(np.clip(np.searchsorted(loads, heaviest * (1 + 1e-9), side="right"), 8, len(loads)))


def _of_power(path: CurvePaths) -> Array:
    """The places (w,) of maximal power."""
    at = highest(np.log(path.throughput) - np.log(path.response))
    return np.where(at >= path.throughput.shape[1] - 1, np.inf, at)


def _of_diagonal(path: CurvePaths, cut: int) -> Array:
    """The places (w,) furthest from the diagonal of the first ``cut`` steps."""
    x, y = (path.load[None, :], path.throughput) if path.is_closed else (path.throughput, path.response)
    x, y = (scaled(np.broadcast_to(v, path.throughput.shape)[:, :cut]) for v in (x, y))
    return highest(y - (1 - FLAT) * x if path.is_closed else x - (1 - FLAT) * y)


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


def objective_knee(fit: Fit, loads: Array, objective_s: float) -> Knee:
    """The heaviest load whose predicted mean response time stays within a time; ``loads`` (m,) go from light to heavy.

    It is where the predicted curve, with what it is expected to miss, meets the time; its interval is that of the same
    crossing on curves that the device may turn out to have. Its load is None where nothing meets it.
    """
    definition = f"mean response time within {format_duration(objective_s)}"
    closed = fit.load_type.is_closed
    logs, _ = fit.drawn(loads, "throughput" if closed else "response")
    responses = loads / np.exp(logs) if closed else np.exp(logs)
    low, high = ends_of(load_at(loads, first_reaching(responses / objective_s)), fit.level)
    times = fit.predict(loads).response_time_s
    beyond = np.flatnonzero(times > objective_s)
    if not len(beyond) or beyond[0] == 0:
        lightest = f"even at load {loads[0]:.3g} the response takes {format_duration(times[0])}"
        note = lightest if len(beyond) else "met at every load"
        return Knee(None, low, high, np.nan, np.nan, definition, fit.load_name, False, note)
    load = _crossing(fit, float(loads[beyond[0] - 1]), float(loads[beyond[0]]), objective_s)
    there = fit.predict([load])
    note = ""
    if fit.used and not fit.load_type.is_delay and load > max(fit.used):
        note = f"beyond the heaviest load calibrated on ({max(fit.used):g})"
    low, high = None if low is None else min(low, load), None if high is None else max(high, load)
    known = low is not None and high is not None and high / low < ROUGH
    at = float(there.throughput_per_s[0]), float(there.response_time_s[0])
    return Knee(load, low, high, *at, definition, fit.load_name, known, note)


def _crossing(fit: Fit, within: float, beyond: float, objective_s: float) -> float:
    """The load between these two at which the predicted response time is ``objective_s``."""
    from scipy.optimize import brentq

    def over(load: float) -> float:
        return float(np.log(fit.predict([load]).response_time_s[0] / objective_s))

    return float(brentq(over, within, beyond, rtol=1e-6))


def knee_rows(found: Sequence[NamedKnee], fit: Fit) -> list[tuple[str, ...]]:
    """Lines of a table: definition, load, interval, throughput, response time, a remark."""
    rows: list[tuple[str, ...]] = []
    kind = fit.load_kind
    show = LOADS[kind].throughput_figure
    for k in (one.knee for one in found):
        word = "" if k.load is None else fit.sureness(k.identified, k.low, k.high)
        rows.append(
            (
                k.definition,
                "" if k.load is None else LOADS[kind].estimated_text(k.load),
                interval_text(*(None if end is None else LOADS[kind].estimated_text(end) for end in (k.low, k.high))),
                show(k.throughput_per_s) if np.isfinite(k.throughput_per_s) else "",
                quantity(k.response_time_s, "s") if np.isfinite(k.response_time_s) else "",
                "; ".join(filter(None, ("" if word == "sure" else word, k.note))),
            )
        )
    return rows
