"""A write cache as a time series shows it: fast until it is full, then at the rate of the disk behind it.

The series has the rate `before` up to a time, and `after` from there on: three numbers by least squares, over all
times. They say how many writes the cache holds, places = (before - after) full_at, and with it when it is full at any
other rate (:mod:`qsim.analytic.devices.write_cache`). A constant rate and a straight line (a drive that warms up or
drifts) are fitted to the same series, and the cache is believed where the Bayesian information criterion prefers it
to both by MARGIN, and the rate falls by a fifth at least. Neighbouring intervals are alike, so that only every so
many of them counts as one (von Storch & Zwiers 1999, Statistical Analysis in Climate Research, section 6.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array
from measure.errors import DataError
from qsim import FluidCache

MARGIN = 10.0
"""Twice the logarithm of the odds by which the cache must win: very strong evidence (Kass & Raftery 1995)."""
LEAST_FALL = 0.2
FEWEST_EACH = 3
"""Intervals before it is full and after."""


@dataclass(frozen=True)
class WriteCacheFit:
    """Writes a second ``before`` the cache is full, at ``full_at_s``, and ``after``; it holds ``places`` writes.

    >>> WriteCacheFit(before=50.0, after=10.0, full_at_s=4.0).at_rate(30.0).full_at
    8.0
    """

    before: float
    after: float
    full_at_s: float

    @property
    def places(self) -> float:
        """Writes that wait in the full cache."""
        return (self.before - self.after) * self.full_at_s

    def at_rate(self, offered: float) -> FluidCache:
        """What becomes of writes offered at this rate; no more than ``before`` are taken."""
        return FluidCache.of_rates(float(min(offered, self.before)), self.after, self.places)


def fit_write_cache(end_s: Sequence[float] | Array, throughput_per_s: Sequence[float] | Array) -> WriteCacheFit | None:
    """The cache that a series of rates shows, by the ends of its intervals; None where it shows none.

    Raises DataError for a series that is no series.

    >>> fit_write_cache([1, 2, 3, 4, 5, 6, 7, 8], [50, 49, 51, 50, 10, 11, 9, 10]).full_at_s
    4.0
    >>> fit_write_cache([1, 2, 3, 4, 5, 6, 7, 8], [50, 49, 51, 50, 51, 52, 50, 49]) is None
    True
    """
    ends, rates = np.asarray(end_s, float), np.asarray(throughput_per_s, float)
    if ends.shape != rates.shape or ends.ndim != 1 or not np.isfinite([ends, rates]).all():
        raise DataError("a series needs one finite rate for each end of an interval")
    edges = np.concatenate([[0.0], ends])
    if (np.diff(edges) <= 0).any() or (rates < 0).any():
        raise DataError("a series needs ends that rise from 0 and rates that are not negative")
    if len(rates) < 2 * FEWEST_EACH + 1:
        return None
    tried = [_two_rates(edges, rates, at) for at in range(FEWEST_EACH, len(rates) - FEWEST_EACH + 1)]
    best, left = min(tried, key=lambda one: float(one[1] @ one[1]))
    middle = edges[1:] - np.diff(edges) / 2
    others = [rates - rates.mean(), rates - np.polyval(np.polyfit(middle, rates, 1), middle)]
    count = len(rates) / _alike(left)
    scores = [_criterion(left, 3, count), *(_criterion(o, k, count) for k, o in enumerate(others, start=1))]
    believed = scores[0] + MARGIN < min(scores[1:]) and best.after < (1 - LEAST_FALL) * best.before
    return best if believed else None


def _two_rates(edges: Array, rates: Array, at: int) -> tuple[WriteCacheFit, Array]:
    """The best fit that is full within interval ``at`` - 1 or at its end, and what it leaves."""
    before, after = rates[: at - 1].mean(), rates[at:].mean()
    share = np.clip((rates[at - 1] - after) / (before - after), 0.0, 1.0) if before > after else 1.0
    full = float(edges[at - 1] + share * (edges[at] - edges[at - 1]))
    expected = np.where(np.arange(len(rates)) < at - 1, before, after)
    expected[at - 1] = after + share * (before - after)
    return WriteCacheFit(float(before), float(after), full), rates - expected


def _alike(left: Array) -> float:
    """How many neighbours say as much as one, by the correlation of the first order."""
    square = float(left @ left)
    r = float(left[1:] @ left[:-1]) / square if square > 0 else 0.0
    return (1 + r) / (1 - r) if 0 < r < 1 else 1.0


def _criterion(left: Array, parameters: int, count: float) -> float:
    """The Bayesian information criterion, up to a constant; rates are known to a billionth of themselves at best."""
    return count * float(np.log(max(float(left @ left), 1e-300) / len(left))) + parameters * float(np.log(count))
