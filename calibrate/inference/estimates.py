"""What a table of weights says of one quantity: the median, an interval, and whether the points pin it.

The estimate is the median and the ends are quantiles of the same distribution, so that it lies between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.inference.weights import Quantity, Weights
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration, format_rate, plain_number

if TYPE_CHECKING:
    from calibrate.models.curves import CurveModel

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


def estimates(
    model: CurveModel, table: Weights, prior_log_sd: dict[str, float], level: float,
    names: Collection[str] | None = None,
) -> dict[str, Estimate]:  # fmt: skip
    """The parameters of ``model`` as people name them, or those of ``names`` alone.

    ``prior_log_sd`` holds those with a prior that has a say.
    """
    told: dict[str, Estimate] = {}
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level), 0.05, 0.95)
    for name, (unit, _) in model.report(table.values[:1]).items():
        if names is not None and name not in names:
            continue
        moments = table.moments(reported(model, name))
        estimate, low, high, *ninety = (float(v) for v in table.quantiles_of(moments, shares))
        prior = prior_log_sd.get(name)
        why = _not_identified(ninety, unit, prior, 0.0 if prior is None else table.mean_and_sd(moments)[1])
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        told[name] = Estimate(estimate, low, high, not why, unit, why)
    return told


def reported(model: CurveModel, name: str) -> Quantity:
    """The parameter that ``model`` reports by that name."""

    def of(values: Array) -> Array:
        return model.report(values)[name][1]

    return of


def _not_identified(ninety: Sequence[float], unit: str, prior_log_sd: float | None, log_sd: float) -> str:
    """Why the points do not pin a quantity; "" where 90 % span less than a factor of two, and less than its prior."""
    if prior_log_sd is not None and log_sd > ASSUMED * prior_log_sd:
        return f"mostly its prior (a factor of {np.exp(prior_log_sd):.2g} either way), not these points"
    low, high = ninety
    if high / low > ROUGH:
        return f"anything from {quantity(low, unit)} to {quantity(high, unit)} fits these points"
    return ""
