"""What a table of weights says of one quantity: the median, an interval, and whether the points pin it.

The estimate is the median and the ends are quantiles of the same distribution, so that it lies between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from calibrate.inference.mixture import quantiles
from calibrate.inference.parameters import Array
from calibrate.inference.weights import Quantity, Weights
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration, format_rate, plain_number

Report = Callable[[Array], Mapping[str, tuple[str, Array]]]
"""The parameters of a model as people name them, {name: (unit, values (n,))}, from rows of fitted ones (n, d)."""

LEVEL = 0.9

ROUGH = 2.0
"""An interval whose ends differ by more than this factor is rough."""

ASSUMED = 0.6
"""A quantity whose logarithm is wider than this share of its prior's width comes mostly from the prior."""


@dataclass(frozen=True)
class Estimate:
    """A parameter [low estimate high]; ``identified`` is False where the points cannot pin it (``note``: why)."""

    estimate: float | None
    low: float | None
    high: float | None
    identified: bool
    unit: str = ""
    note: str = ""

    def __str__(self) -> str:
        ends = "" if self.low is None or self.high is None else f"  [{_said(self, self.low)}, {_said(self, self.high)}]"
        return f"{_said(self, self.estimate)}{ends}"


def _said(estimate: Estimate, value: float | None) -> str:
    return quantity(value, estimate.unit)


def how_sure(identified: bool, low: float | None, high: float | None) -> str:
    """``sure``; ``rough``: the interval spans more than a factor of two; ``assumed``: the number comes from the prior.

    >>> how_sure(True, 2.0, 2.9), how_sure(False, 13, 158), how_sure(False, 29, 38)
    ('sure', 'rough', 'assumed')
    """
    if identified:
        return "sure"
    return "rough" if low is None or high is None or low <= 0 or high / low > ROUGH else "assumed"


def quantity(value: float | None, unit: str) -> str:
    """A parameter's value with its unit, for people, a memory's cache lines as a bandwidth; empty for None."""
    if value is None:
        return ""
    if unit == "1/s":
        return format_rate(value)
    if unit == "lines/s":
        return format_bandwidth(value * CACHE_LINE_BYTES)
    if unit == "B/s":
        return format_bandwidth(value)
    if unit == "B":
        return format_bytes(value, digits=3)
    base, per, rest = unit.partition(" per ")
    return format_duration(value) + per + rest if base == "s" else f"{plain_number(value)} {unit}".strip()


def reaching(low: float, high: float, least: float, level: float) -> float:
    """The lower end of an interval, or ``least`` where the distribution piles up at that bound.

    An interval between two quantiles never holds the bound itself, though a device of one server is there (N* = c = 1).
    Where the lower quantile is no further from the bound than that of a uniform density would be, the density does not
    fall towards the bound, and nothing speaks against the bound.
    """
    tail = (1 - level) / 2
    return least if low - least <= tail / (1 - tail) * (high - least) else low


def middle(table: Weights, quantity_of: Quantity, level: float) -> tuple[float, float, float]:
    """The median of a positive quantity and the ends of its interval at ``level``: estimate, low, high."""
    estimate, low, high = table.quantiles(quantity_of, (0.5, 0.5 * (1 - level), 0.5 * (1 + level)))
    return float(estimate), float(low), float(high)


def widened(low: float, estimate: float, high: float, share: float, level: float) -> tuple[float, float]:
    """The ends of an interval at ``level`` where the figure moves by another ``share`` (a relative standard deviation).

    >>> [round(end, 3) for end in widened(1.0, 1.0, 1.0, 0.1, 0.9)]
    [0.848, 1.179]
    """
    if not share or not 0 < low <= estimate <= high < np.inf:
        return low, high
    more = share * NormalDist().inv_cdf(0.5 * (1 + level))
    below, above = (np.hypot(np.log(ratio), more) for ratio in (estimate / low, high / estimate))
    return float(estimate * np.exp(-below)), float(estimate * np.exp(above))


def estimates(report: Report, table: Weights, prior_log_sd: dict[str, float], level: float) -> dict[str, Estimate]:
    """The parameters that ``report`` names; ``prior_log_sd`` of those with a prior that has a say."""
    made: dict[str, Estimate] = {}
    mean, deviation = table.moments(lambda rows: np.stack([v for _, v in report(rows).values()], axis=1))
    log_sd = np.sqrt(table.weight @ ((mean - table.weight @ mean) ** 2 + deviation**2))
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level), 0.05, 0.95)
    with np.errstate(over="ignore"):  # infinite where no number is as large
        found = np.exp(quantiles(mean, deviation, table.weight, shares)).T.tolist()
    reports = report(table.values[:1]).items()
    for (name, (unit, _)), of_one, width in zip(reports, found, log_sd, strict=True):
        estimate, low, high, least, most = of_one
        identified, note = _identified(least, most, width, unit, prior_log_sd.get(name))
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        made[name] = Estimate(estimate, low, high, identified, unit, note)
    return made


def _identified(low: float, high: float, log_sd: float, unit: str, prior_log_sd: float | None) -> tuple[bool, str]:
    """Whether the points pin a quantity: narrower than a factor of two over 90 %, and narrower than its prior."""
    if prior_log_sd is not None and log_sd > ASSUMED * prior_log_sd:
        return False, f"mostly its prior (a factor of {np.exp(prior_log_sd):.2g} either way), not these points"
    if high / low > ROUGH:
        return False, f"anything from {quantity(low, unit)} to {quantity(high, unit)} fits these points"
    return True, ""
