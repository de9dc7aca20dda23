"""How well the times determine a law: standard errors and 90 % intervals at the maximum likelihood, and its fit.

Fisher's information of the counts gives the covariance of θ, and the slope of whatever is asked for carries
it on (the delta method): in logarithms of times and shapes, in log-odds of shares. It holds if the law does: a law
that misses the times has intervals that are too narrow.

Source: Davison, *Statistical Models* (2003), 4.4; what a true law would miss by, its parameters fitted: Durbin,
*Weak convergence of the sample distribution function when parameters are estimated*, Ann. Statist. 1 (1973).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrate.inference.parameters import Array, Estimate
from calibrate.service.families import Candidate
from calibrate.service.likelihood import APART, LEAST_SHARE
from calibrate.service.observed_times import Times
from qsim import Distribution

WITHIN = 1.6448536269514722
"""Standard errors on either side of the middle of a normal law that hold 90 % of it."""
SAMPLES, SEED = 1000, 1
"""Samples of a true law, and where their random numbers begin."""
IN_TWENTY = 0.95
"""The share of samples of a true law that miss by less."""
LEAST_PINNED = 1e-9
"""The least curvature, relative to the largest, that determines a direction of θ."""


@dataclass(frozen=True)
class Precision:
    """What is known of a law at its maximum likelihood ``theta``; times in ``theta`` are in ``unit_s``."""

    candidate: Candidate
    theta: Array
    unit_s: float
    times: Times

    @cached_property
    def cells(self) -> tuple[Array, Array]:
        """P(a time lies in a cell between two edges) (e - 1,), and its derivatives by θ (e - 1, d)."""
        with np.errstate(all="ignore"):
            below, _, by_theta = self.candidate.slopes(self.theta, self.times.edges_s / self.unit_s)
        return np.maximum(np.diff(below), 0.0), np.diff(np.where(np.isfinite(by_theta), by_theta, 0.0), axis=0)

    @cached_property
    def covariance(self) -> Array | None:
        """The covariance of θ (d, d), by Fisher's information; None where a direction of θ is not determined."""
        shares, by_theta = self.cells
        held = shares > LEAST_SHARE
        information = self.times.total * by_theta[held].T @ (by_theta[held] / shares[held, np.newaxis])
        pinned = np.linalg.eigvalsh(information)
        return np.asarray(np.linalg.inv(information)) if pinned[0] > LEAST_PINNED * pinned[-1] else None

    def interval(self, of: Callable[[Array], float], unit: str = "", most: float = np.inf) -> Estimate:
        """``of(θ)``, above zero and below ``most``, with its 90 % interval."""
        middle = float(of(self.theta))
        if self.covariance is None:
            return Estimate(middle, None, None, False, unit, "the times do not determine it")

        def odds(theta: Array) -> Array:
            value = of(theta)
            return np.log([value / (1 - value / most)])

        slope = _slope(self.theta, odds)[0]
        factor = np.exp(WITHIN * np.sqrt(slope @ self.covariance @ slope) * np.array([-1.0, 1.0]))
        low, high = middle * factor / (1 + middle / most * (factor - 1))
        return Estimate(middle, float(low), float(high), True, unit)

    def parameters(self) -> dict[str, Estimate]:
        """Every parameter with its interval; times in seconds. A shift has none: there the likelihood has an edge."""
        found = {}
        for index, (name, sort) in enumerate(self.candidate.values):
            unit, value = "s" if sort == "time" else "", self._value(index)
            if name == "shift":
                found[name] = Estimate(value(self.theta), None, None, False, unit, "its likelihood has an edge")
            else:
                found[name] = self.interval(value, unit, 1.0 if sort == "share" else np.inf)
        return found

    def mean(self) -> Estimate:
        """The mean of the law, seconds."""
        return self.interval(lambda theta: self._law(theta).mean * self.unit_s, "s")

    def quantile(self, q: float) -> Estimate:
        """The time below which a share ``q`` of the law lies, seconds."""
        return self.interval(lambda theta: self._law(theta).quantile(q) * self.unit_s, "s")

    def below(self, times_s: Array) -> tuple[Array, Array, Array]:
        """The share of the law below each time (m,), and its 90 % interval."""
        with np.errstate(all="ignore"):
            below, _, by_theta = self.candidate.slopes(self.theta, times_s / self.unit_s)
        if self.covariance is None:
            return below, below, below
        variance = np.sum(by_theta @ self.covariance * by_theta, axis=1)
        error = WITHIN * np.sqrt(np.where(np.isfinite(variance), np.maximum(variance, 0.0), 0.0))
        return below, np.maximum(below - error, 0.0), np.minimum(below + error, 1.0)

    def true_law_misses(self) -> float:
        """``ks`` that 19 in 20 samples as large as this one stay below, where the law is true and fitted to each.

        A sample's counts scatter as a multinomial's (here by its normal limit); they move θ by one step of Newton's,
        and the law's distribution function with it.
        """
        shares, by_theta = self.cells
        scatter = np.sqrt(shares) * np.random.default_rng(SEED).standard_normal((SAMPLES, len(shares)))
        scatter = (scatter - shares * scatter.sum(axis=1, keepdims=True)) / np.sqrt(self.times.total)
        ahead = np.cumsum(scatter, axis=1)
        if self.covariance is not None:
            per_share = by_theta / np.where(shares > LEAST_SHARE, shares, np.inf)[:, np.newaxis]
            ahead -= self.times.total * scatter @ per_share @ self.covariance @ np.cumsum(by_theta, axis=0).T
        return float(np.quantile(np.abs(ahead).max(axis=1), IN_TWENTY))

    def _law(self, theta: Array) -> Distribution:
        return self.candidate.law(self.candidate.natural(theta))

    def _value(self, index: int) -> Callable[[Array], float]:
        return lambda theta: float(self.candidate.in_units(self.candidate.natural(theta), self.unit_s)[index])


def _slope(theta: Array, of: Callable[[Array], Array]) -> Array:
    """The derivatives (m, d) of m values by θ."""
    from statsmodels.tools.numdiff import approx_fprime

    return np.reshape(approx_fprime(theta, of, epsilon=APART, centered=True), (-1, len(theta)))
