"""Differences between two fitted devices: ratios of their parameters, with intervals.

The devices of one fit's table of weights are independent of the other's. So every device of the one over every device
of the other is one value of the ratio, whose quantiles are the interval. A difference is significant where the interval
does not contain 1. The intervals cover the noise of the points and repeats of each fit, but not another day, another
temperature or another drive of the same make: to compare makes, measure several of each.
:mod:`calibrate.changes.change` tests whether one device changed between two sweeps, load by load.

At a level of 90 % one ratio in ten lies beyond its interval by chance, even between a device and itself.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import Array
from measure.loads import InjectedDelay

WORDS = {
    "R1": ("{} slower alone", "{} faster alone"),
    "L0": ("{} slower when idle", "{} faster when idle"),
    "Xmax": ("a peak {} higher", "a peak {} lower"),
    "B": ("a peak {} higher", "a peak {} lower"),
    "N*": ("queueing {} later", "queueing {} earlier"),
    "knee": ("a knee {} higher", "a knee {} lower"),
}
"""Quantity -> words for a ratio above 1 and for one below 1."""
MOST_PERCENT = 1.5
"""A ratio beyond this is written as a factor."""


@dataclass(frozen=True)
class ParameterDifference:
    """``ratio`` of one quantity, ``other`` device over the ``first``, with the ends of its interval.

    ``beyond`` is whether 1 lies outside them.
    """

    quantity: str
    first: str
    other: str
    ratio: float
    low: float
    high: float

    @property
    def beyond(self) -> bool:
        """Whether the two differ by more than the intervals allow."""
        return not self.low <= 1 <= self.high

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "beyond": self.beyond}

    def sentence(self) -> str:
        """The difference in words, without the devices' names: percent, or a factor beyond ``MOST_PERCENT``.

        >>> ParameterDifference("R1", "a", "b", 2.8, 1.6, 4.5).sentence()
        '2.8 times slower alone (1.6 to 4.5)'
        >>> ParameterDifference("Xmax", "a", "b", 0.9, 0.85, 0.95).sentence()
        'a peak 10 % lower (5 to 15 %)'
        """
        sign = 1 if self.ratio >= 1 else -1
        words, ends = WORDS[self.quantity][sign < 0], (self.ratio, self.low, self.high)
        if not 1 / MOST_PERCENT <= self.ratio <= MOST_PERCENT:
            ratio, *pair = ends if sign > 0 else (1 / v for v in ends)
            return f"{words.format(f'{_factor(ratio)} times')} ({_factor(min(pair))} to {_factor(max(pair))})"
        percent, *pair = (100 * sign * (v - 1) for v in ends)
        return f"{words.format(f'{percent:.0f} %')} ({min(pair):.0f} to {max(pair):.0f} %)"


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def differences(first: Fit, other: Fit, names: tuple[str, str]) -> tuple[ParameterDifference, ...]:
    """Each quantity of ``WORDS`` that both fits know, ``other`` over ``first``; ``names`` are the devices'.

    Both fits must have the same kind of load. A quantity that may be zero or infinite has no ratio.

    >>> from calibrate import from_datasheet
    >>> old, new = from_datasheet(80e-6, 300e3), from_datasheet(80e-6, 600e3)
    >>> [(one.quantity, round(one.ratio, 2)) for one in differences(old, new, ("old", "new"))]
    [('R1', 1.0), ('Xmax', 2.0), ('N*', 2.0)]
    """
    level = min(first.level, other.level)
    of_first, of_other = _quantities(first), _quantities(other)
    found = []
    for name in WORDS:
        if name not in of_first or name not in of_other:
            continue
        (value, rows), (other_value, other_rows) = of_first[name], of_other[name]
        known = all(np.isfinite(v).all() and (v > 0).all() for v in (rows, other_rows))
        if value is None or other_value is None or not known:
            continue
        ratios = other_rows[:, None] / rows[None, :]
        low, high = np.percentile(ratios, [50 * (1 - level), 50 * (1 + level)]).tolist()
        found.append(ParameterDifference(name, *names, other_value / value, low, high))
    return tuple(found)


def _quantities(fit: Fit) -> dict[str, tuple[float | None, Array]]:
    """The estimate and the values in all rows (n,) of each parameter, and of the knee, over delays its throughput."""
    rows = fit.table.spread()[0]
    report = fit.curve_model.report(rows)
    found = {name: (fit.parameters[name].estimate, values) for name, (_, values) in report.items()}
    if "N*" in found:  # which is the knee itself
        return found
    value, of_rows = fit.knee.load, fit.curve_model.knee_load(rows)
    if isinstance(fit.load_type, InjectedDelay):
        value, of_rows = fit.knee.throughput_per_s, fit.curve_model.knee(rows).throughput
    return {**found, "knee": (value, of_rows)}
