"""What differs between two fitted devices, and by how much: ratios of their parameters, with intervals.

Each fit's table of weights stands for some devices, independently of the other's. So every device of the one over
every device of the other is one value of their ratio, and its quantiles are the interval. A difference lies beyond the
intervals where that of the ratio does not hold 1. The intervals know the points of each fit and their repeats, and
nothing of another day, another temperature or another drive of the same make: to compare makes, measure several of
each.

Servers, service and delay (c, S, Z) have intervals alone: the logarithms of their ratio's ends add in squares.
They have no ratio where either device leaves them open.

At a level of 90 % one ratio in ten lies beyond its interval by chance, even between a device and itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction, predict
from calibrate.inference.parameters import Array, Estimate
from measure.errors import DataError

WORDS = {
    "R1": ("{} slower alone", "{} faster alone"),
    "L0": ("{} slower when idle", "{} faster when idle"),
    "Xmax": ("a peak {} higher", "a peak {} lower"),
    "B": ("a peak {} higher", "a peak {} lower"),
    "N*": ("queueing {} later", "queueing {} earlier"),
    "knee": ("a knee {} higher", "a knee {} lower"),
}
"""What a ratio above and one below 1 mean, of the quantities that people ask for; the tables have the others."""
MOST_PERCENT = 1.5
"""A ratio beyond this is said as a factor."""


@dataclass(frozen=True)
class ParameterDifference:
    """``ratio`` of one quantity, ``other`` device over the ``first``, with the ends of its interval.

    ``beyond`` is whether 1 lies outside them; ``first_value`` and ``other_value`` are in ``unit``.

    >>> from calibrate import differences, from_datasheet
    >>> old, new = from_datasheet(80e-6, 300e3), from_datasheet(80e-6, 600e3)
    >>> [(one.quantity, round(one.ratio, 2)) for one in differences(old, new, ("old", "new"))][:2]
    [('R1', 1.0), ('Xmax', 2.0)]
    """

    quantity: str
    unit: str
    first: str
    other: str
    first_value: float
    other_value: float
    ratio: float
    low: float
    high: float
    level: float

    @property
    def beyond(self) -> bool:
        """Whether the two differ by more than the intervals allow."""
        return not self.low <= 1 <= self.high

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "beyond": self.beyond}

    def sentence(self) -> str:
        """In words, without the names of the devices: percent up to half as much again, beyond it the factor.

        >>> ParameterDifference("R1", "s", "a", "b", 1e-4, 2.8e-4, 2.8, 1.6, 4.5, 0.9).sentence()
        '2.8 times slower alone (1.6 to 4.5)'
        >>> ParameterDifference("Xmax", "1/s", "a", "b", 1e5, 9e4, 0.9, 0.85, 0.95, 0.9).sentence()
        'a peak 10 % lower (5 to 15 %)'
        """
        more, less = WORDS[self.quantity]
        ends = (self.ratio, self.low, self.high)
        if self.ratio < 1 / MOST_PERCENT:
            ratio, high, low = (1 / v for v in ends)
            return f"{less.format(f'{_factor(ratio)} times')} ({_factor(low)} to {_factor(high)})"
        if self.ratio > MOST_PERCENT:
            return f"{more.format(f'{_factor(self.ratio)} times')} ({_factor(self.low)} to {_factor(self.high)})"
        sign = 1 if self.ratio >= 1 else -1
        percent, *pair = (100 * sign * (v - 1) for v in ends)
        return f"{(more if sign > 0 else less).format(f'{percent:.0f} %')} ({min(pair):.0f} to {max(pair):.0f} %)"


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


@dataclass(frozen=True)
class Unmatched:
    """A quantity that has no ratio of the ``other`` device over the ``first``, and why."""

    quantity: str
    first: str
    other: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True)
class Ratio:
    """The ``ratio`` (m,) of two curves at ``load`` (m,), with the ends of its band.

    >>> from calibrate import from_datasheet, ratio_of_curves
    >>> old, new = from_datasheet(80e-6, 300e3), from_datasheet(80e-6, 600e3)
    >>> ratio_of_curves(old, new, [1, 256], ("old", "new")).ratio.round(1).tolist()
    [1.0, 2.0]
    """

    load: Array
    ratio: Array
    low: Array
    high: Array
    level: float


def differences(first: Fit, other: Fit, names: tuple[str, str]) -> tuple[ParameterDifference, ...]:
    """Every parameter that both fits have, and the knee, ``other`` over ``first``; ``names`` are the devices'.

    What has no ratio is left out (``unmatched``). Raises DataError where the fits are of different kinds of load, whose
    parameters mean different things.

    >>> from calibrate import from_datasheet
    >>> old, new = from_datasheet(80e-6, 300e3), from_datasheet(80e-6, 600e3)
    >>> [one.quantity for one in differences(old, new, ("old", "new"))]
    ['R1', 'Xmax', 'N*', 'p']
    """
    check_same_kind(first, other, names)
    level = min(first.level, other.level)
    of_first, of_second = (f.curve_model.report(f.table.spread()[0]) for f in (first, other))
    found = [
        _difference(
            name,
            unit,
            names,
            (first.parameters[name].estimate, other.parameters[name].estimate),
            values,
            of_second[name][1],
            level,
        )
        for name, (unit, values) in of_first.items()
        if name in of_second
    ]
    found += [_by_intervals(n, first.parameters[n], other.parameters[n], names, level) for n in _undrawn(first, other)]
    if "N*" not in of_first:  # which is the knee itself
        found.append(_knee(first, other, names, level))
    return tuple(d for d in found if d is not None)


def unmatched(first: Fit, other: Fit, names: tuple[str, str]) -> tuple[Unmatched, ...]:
    """Every parameter of either fit that ``differences`` leaves out, with the reason."""
    listed = {d.quantity for d in differences(first, other, names)}
    of_first, of_second = first.parameters, other.parameters
    left = [n for n in dict.fromkeys((*of_first, *of_second)) if n not in listed]
    return tuple(Unmatched(n, *names, _why(n, (of_first.get(n), of_second.get(n)), names)) for n in left)


def _why(name: str, estimates: tuple[Estimate | None, Estimate | None], names: tuple[str, str]) -> str:
    lacking = [device for device, e in zip(names, estimates, strict=True) if e is None]
    if lacking:
        return f"the model of {lacking[0]} has no {name}"
    opened = [device for device, e in zip(names, estimates, strict=True) if e is not None and not e.identified]
    return f"not identifiable on {' and '.join(opened)}" if opened else "it may be zero, and then has no ratio"


def _undrawn(first: Fit, other: Fit) -> list[str]:
    """Parameters that both fits have in addition to those of their models: c, S and Z."""
    drawn = {*first.curve_model.report(first.table.values[:1]), *other.curve_model.report(other.table.values[:1])}
    return [name for name in first.parameters if name in other.parameters and name not in drawn]


def _by_intervals(
    quantity: str, first: Estimate, other: Estimate, names: tuple[str, str], level: float
) -> ParameterDifference | None:
    """The ratio of two estimates; None where either is open or has an end that is not positive."""
    ends = (first.low, first.estimate, first.high, other.low, other.estimate, other.high)
    if not (first.identified and other.identified) or any(v is None or v <= 0 for v in ends):
        return None
    logs = np.log(np.array(ends, dtype=float).reshape(2, 3))
    ratio, low, high = map(float, _in_squares(*logs))
    of_first, of_second = np.exp(logs[:, 1]).tolist()
    return ParameterDifference(quantity, first.unit, *names, of_first, of_second, ratio, low, high, level)


def _in_squares(first: Array, other: Array) -> tuple[Array, Array, Array]:
    """The ratio and its ends, of logarithms (3, ...) of low end, middle and high end: widths add in squares."""
    (low_1, mid_1, high_1), (low_2, mid_2, high_2) = first, other
    below, above = np.hypot(mid_2 - low_2, high_1 - mid_1), np.hypot(high_2 - mid_2, mid_1 - low_1)
    return np.exp(mid_2 - mid_1), np.exp(mid_2 - mid_1 - below), np.exp(mid_2 - mid_1 + above)


def check_same_kind(first: Fit, other: Fit, names: tuple[str, str]) -> None:
    """DataError where the loads of two fits are of different kinds or units."""
    if (first.load_kind, first.load_type.unit) != (other.load_kind, other.load_type.unit):
        raise DataError(
            f"{names[0]} varies the {first.load_name} and {names[1]} the {other.load_name}: their parameters mean "
            "different things and are not compared"
        )


def ratio_of_curves(
    first: Fit, other: Fit, loads: Sequence[float] | Array, names: tuple[str, str], what: Literal["x", "r"] = "x"
) -> Ratio:
    """Throughput ("x") or response time ("r") of ``other`` over ``first`` at ``loads`` (m,), predicted.

    The band is that of one new measurement of each device: the widths of their two bands add in squares, in logarithms.
    Raises DataError as ``differences`` does.

    >>> from calibrate import from_datasheet
    >>> old, new = from_datasheet(80e-6, 300e3), from_datasheet(80e-6, 600e3)
    >>> ratio_of_curves(old, new, [1, 256], ("old", "new")).ratio.round(1).tolist()
    [1.0, 2.0]
    """
    check_same_kind(first, other, names)
    at = np.asarray(loads, dtype=float)
    ends = _in_squares(*(_logs(predict(f, at), what) for f in (first, other)))
    return Ratio(at, *ends, min(first.level, other.level))


def _logs(curve: Prediction, what: Literal["x", "r"]) -> Array:
    """Logarithms (3, m) of the lower end, the prediction, and the upper end."""
    if what == "x":
        return np.log([curve.throughput_low_per_s, curve.throughput_per_s, curve.throughput_high_per_s])
    return np.log([curve.response_time_low_s, curve.response_time_s, curve.response_time_high_s])


def _knee(first: Fit, other: Fit, names: tuple[str, str], level: float) -> ParameterDifference | None:
    """The knee's load; of delays, whose knee is a throughput, that throughput."""
    by_load = not first.load_type.is_delay
    values = [f.knee.load if by_load else f.knee.throughput_per_s for f in (first, other)]
    rows = [(f.curve_model, f.table.spread()[0]) for f in (first, other)]
    of_first, of_second = (m.knee_load(v) if by_load else m.knee(v).throughput for m, v in rows)
    return _difference("knee", first.load_type.knee_unit, names, (values[0], values[1]), of_first, of_second, level)


def _difference(
    quantity: str,
    unit: str,
    names: tuple[str, str],
    values: tuple[float | None, float | None],
    first: Array,
    other: Array,
    level: float,
) -> ParameterDifference | None:
    """The ratio of independent devices; None where either has no estimate, or is not positive in all of them."""
    of_first, of_second = values
    if of_first is None or of_second is None or not all(np.isfinite(v).all() and (v > 0).all() for v in (first, other)):
        return None
    low, high = np.percentile(other[:, None] / first[None, :], [50 * (1 - level), 50 * (1 + level)])
    return ParameterDifference(
        quantity,
        unit,
        *names,
        float(of_first),
        float(of_second),
        float(of_second / of_first),
        float(low),
        float(high),
        level,
    )
