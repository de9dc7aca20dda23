"""The likelihood of a family given counts in bins, its maximum, and how well the times determine the law.

Where the likelihood rises for ever (a weight to zero, a shape without end) it has no maximum. So every θ has a weak
prior, normal about zero with a standard deviation of ``WIDE``: it weighs a thousandth of a request, and makes the
maximum one point, which rounding moves by no more than rounding.

Standard errors and 90 % intervals at the maximum: Fisher's information of the counts gives the covariance of θ, and the
slope of whatever is asked for carries it on (the delta method): in logarithms of times and shapes, in log-odds of
shares. It holds if the law does: a law that misses the times has intervals that are too narrow.

Source: Davison, *Statistical Models* (2003), 4.4; what a true law would miss by, its parameters fitted: Durbin,
*Weak convergence of the sample distribution function when parameters are estimated*, Ann. Statist. 1 (1973).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from calibrate.inference.parameters import Array, Estimate
from calibrate.service.families import NEAR, Candidate
from calibrate.service.observed_times import Times
from qsim import Distribution

IntArray = npt.NDArray[np.int64]

LEAST_SHARE = 1e-300
"""The probability used for a bin that is impossible under a law."""
WIDE = 30.0
"""Standard deviation of θ before the data: a factor of e^30 in a time or a shape."""
SEARCH_STEPS, NEWTON_STEPS = 1000, 30
LEAST_SLOPE = 1e-8
"""The slope of the loss, nats a request for each unit of θ, at which a search has ended."""
NEARLY = 1e-6
"""The slope at which the search leaves the rest to Newton's steps."""
APART = 1e-3
"""The step between two slopes whose difference gives the curvature."""
LOOSE = 1e-3
"""The least curvature that the search begins with."""


@dataclass(frozen=True)
class Binned:
    """Times in units of their median, for the optimiser: every edge once."""

    edges: Array
    cells: IntArray
    counts: Array
    unit_s: float

    @classmethod
    def of(cls, times: Times, unit_s: float | None = None) -> Binned:
        """The bins of ``times`` in a unit, by default their median."""
        unit = times.quantile(0.5) if unit_s is None else unit_s
        return cls(times.edges_s / unit, times.cells, times.counts, unit)

    @property
    def inside(self) -> Array:
        """A time inside each bin (m,): its middle, and half as much again as its edge where it has no end."""
        low, high = self.edges[self.cells], self.edges[self.cells + 1]
        return np.maximum(np.where(np.isfinite(high), (low + high) / 2, 1.5 * low), 1e-6)

    @property
    def latest_shift(self) -> float:
        """The largest possible shift: where the first bin begins, or its end where that is zero.

        Inside the bin a shift has no effect of its own, and the likelihood has an edge.
        """
        first = self.cells[0]
        return float(self.edges[first] or self.edges[first + 1])

    def log_shares(self, candidate: Candidate, theta: Array) -> Array:
        """log P(a time lies in the bin) (m,), from the tail that loses no digits; at least log ``LEAST_SHARE``."""
        try:
            with np.errstate(all="ignore"):
                below, above = candidate.tails(candidate.natural(theta), self.edges)
        except (ValueError, ArithmeticError):  # a step of the optimiser to invalid parameters
            return np.full(len(self.cells), np.log(LEAST_SHARE))
        return np.asarray(np.log(self._shares(below, above)))

    def _shares(self, below: Array, above: Array) -> Array:
        low, high = self.cells, self.cells + 1
        shares = np.where(below[low] > 0.5, above[low] - above[high], below[high] - below[low])
        return np.asarray(np.fmax(shares, LEAST_SHARE))

    def slopes(self, candidate: Candidate, theta: Array) -> tuple[Array, Array]:
        """``log_shares`` (m,) and their derivatives by θ (m, d), which are zero where the share is the least."""
        try:
            with np.errstate(all="ignore"):
                below, above, by_theta = candidate.slopes(theta, self.edges)
        except (ValueError, ArithmeticError):
            return np.full(len(self.cells), np.log(LEAST_SHARE)), np.zeros((len(self.cells), len(theta)))
        shares = self._shares(below, above)
        by_theta = np.where(np.isfinite(by_theta), by_theta, 0.0)  # nothing changes where a tail is empty
        change = by_theta[self.cells + 1] - by_theta[self.cells]
        return np.log(shares), np.where(shares > LEAST_SHARE, 1 / shares, 0.0)[:, np.newaxis] * change

    def log_likelihood(self, candidate: Candidate, theta: Array) -> float:
        """Σ count · log P(bin)."""
        return float(self.counts @ self.log_shares(candidate, theta))


@dataclass(frozen=True)
class Loss:
    """-log of likelihood and prior, a request, as a function of θ."""

    binned: Binned
    candidate: Candidate

    @property
    def requests(self) -> float:
        """The number of requests."""
        return float(self.binned.counts.sum())

    def with_slope(self, theta: Array) -> tuple[float, Array]:
        """The loss and its derivatives (d,)."""
        logs, slopes = self.binned.slopes(self.candidate, theta)
        counts = self.binned.counts
        loss = -(counts @ logs) + theta @ theta / WIDE**2 / 2
        return float(loss) / self.requests, (theta / WIDE**2 - counts @ slopes) / self.requests

    def slope(self, theta: Array) -> Array:
        """The derivatives (d,)."""
        return self.with_slope(theta)[1]

    def curvature(self, theta: Array) -> Array:
        """The second derivatives (d, d), by differences."""
        rows = [self.slope(theta + step) - self.slope(theta - step) for step in APART * np.eye(len(theta))]
        return np.asarray(rows + np.transpose(rows)) / (4 * APART)

    def scores(self, theta: Array) -> Array:
        """Σ count · slope slopeᵀ, a request (d, d): near the curvature where the law fits, and never below zero."""
        slopes = self.binned.slopes(self.candidate, theta)[1]
        return np.asarray(slopes.T @ (self.binned.counts[:, np.newaxis] * slopes)) / self.requests


def search(loss: Loss, start: Array) -> Array:
    """θ near the maximum near ``start``, by BFGS in coordinates in which the data pin all directions alike."""
    pinned = np.linalg.cholesky(loss.scores(start) + LOOSE * np.eye(len(start)))
    axes = np.linalg.inv(pinned).T

    def along(place: Array) -> tuple[float, Array]:
        value, slope = loss.with_slope(start + axes @ place)
        return value, slope @ axes

    # Not L-BFGS-B, whose calls of LAPACK wait for threads where the machine is busy.
    found = minimize(
        along, np.zeros(len(start)), method="BFGS", jac=True, options={"maxiter": SEARCH_STEPS, "gtol": NEARLY}
    )
    return np.asarray(start + axes @ found.x)


def polish(loss: Loss, theta: Array) -> Array | None:
    """θ of the maximum near ``theta``, by Newton's steps until the slope is that of rounding.

    None where they end before the slope is below ``LEAST_SLOPE``.
    """
    slope = loss.slope(theta)
    steep = float(np.linalg.norm(slope))
    for _ in range(NEWTON_STEPS):
        following = theta - np.linalg.solve(loss.curvature(theta), slope)
        slope_there = loss.slope(following)
        steep_there = float(np.linalg.norm(slope_there))
        # A step along a flat direction may raise the slope for a while, but no further than the search left it.
        if not steep_there < (steep if steep < LEAST_SLOPE else max(steep, NEARLY)):
            break
        theta, slope, steep = following, slope_there, steep_there
    return theta if steep < LEAST_SLOPE else None


def log_mean_error(loss: Loss, theta: Array) -> float:
    """The standard error of the logarithm of the mean at the maximum ``theta``, by the curvature there.

    Infinite where the law has no mean, or the likelihood no maximum.
    """
    candidate = loss.candidate

    def log_mean(theta: Array) -> float:
        return float(np.log(candidate.law(candidate.natural(theta)).mean))

    try:
        slope = np.array([(log_mean(theta + s) - log_mean(theta - s)) / (2 * NEAR) for s in NEAR * np.eye(len(theta))])
        square = float(slope @ np.linalg.solve(loss.curvature(theta), slope)) / loss.requests
    except (ValueError, ArithmeticError):  # a law of no mean is none of qsim's
        return np.inf
    return float(np.sqrt(square)) if square >= 0 else np.inf


# --- how well a law is determined -------------------------------------------------------------------------------------

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
