"""What a posterior says of one quantity: the middle of its draws, an interval, and whether the points pin it.

The estimate is the median and the ends are quantiles of the same draws, so that it lies between them whatever the
posterior looks like. The most probable parameters need not: of a lopsided posterior the peak may lie in its tail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibrate.curve_models import CurveModel
from calibrate.posterior import Array
from measure.cache_line import CACHE_LINE_BYTES
from measure.units import format_bandwidth, format_duration, format_rate

LEVEL = 0.9


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
        return f"{_said(self, self.estimate):>10}{ends}"


def _said(estimate: Estimate, value: float | None) -> str:
    return quantity(value, estimate.unit)


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
    base, per, rest = unit.partition(" per ")
    return format_duration(value) + per + rest if base == "s" else f"{value:.3g} {unit}".strip()


LEAST = {"N*": 1.0}
"""What a parameter cannot be below, whatever the device."""


def reaching(low: float, high: float, least: float, level: float) -> float:
    """The lower end of an interval, or ``least`` where the draws pile up at that bound.

    An interval between two quantiles never holds the bound itself, though a device of one server is there (N* = c = 1).
    Where the lower quantile is no further from the bound than that of a uniform density would be, the density does not
    fall towards the bound, and nothing speaks against the bound.
    """
    tail = (1 - level) / 2
    return least if low - least <= tail / (1 - tail) * (high - least) else low


def bounded(name: str, low: float, high: float, level: float) -> float:
    """The lower end of parameter ``name``'s interval, or the least that it can be where the draws pile up there.

    Judged in logarithms, over which the prior is flat: what spreads from 110 to 5,000 is nowhere near 1.
    """
    if name not in LEAST:
        return low
    least = LEAST[name]
    return least if reaching(float(np.log(low / least)), float(np.log(high / least)), 0.0, level) == 0 else low


def middle(draws: Array, level: float) -> tuple[float, float, float]:
    """The median of ``draws`` (w,) and the ends of their interval at ``level``: estimate, low, high."""
    estimate, low, high = (float(v) for v in np.percentile(draws, [50, 50 * (1 - level), 50 * (1 + level)]))
    return estimate, low, high


def estimates(
    model: CurveModel, draws: Array, prior_spread: Mapping[str, float | None], level: float
) -> dict[str, Estimate]:
    """The parameters of ``model`` as people name them, from ``draws`` (w, d).

    ``prior_spread``: the standard deviation of the logarithm before any data, of those with a prior.
    """
    told: dict[str, Estimate] = {}
    for name, (unit, values) in model.report(draws).items():
        estimate, low, high = middle(values, level)
        identified, note = _identified(values, unit, prior_spread.get(name))
        low = bounded(name, low, high, level)
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        told[name] = Estimate(estimate, low, high, identified, unit, note)
    return told


def _identified(draws: Array, unit: str, prior_spread: float | None) -> tuple[bool, str]:
    """Whether the points pin a parameter: narrower than a factor of two over 90 %, and narrower than its prior."""
    logs = np.log(draws)
    if prior_spread is not None and logs.std() > 0.6 * prior_spread:
        return False, f"mostly its prior (a factor of {np.exp(prior_spread):.2g} either way), not these points"
    low, high = np.percentile(draws, [5, 95])
    if high / low > 2:
        return False, f"anything from {quantity(float(low), unit)} to {quantity(float(high), unit)} fits these points"
    return True, ""
