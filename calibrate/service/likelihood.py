"""The likelihood of a family given counts in bins, its maximum, and how far the bins pin the family's mean.

Where the likelihood rises for ever (a weight to zero, a shape without end) it has no maximum. So every θ has a weak
prior, normal about zero with a standard deviation of ``WIDE``: it weighs a thousandth of a request, and makes the
maximum one point, which rounding moves by no more than rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate
from calibrate.service.times import Times

IntArray = npt.NDArray[np.int64]

LEAST_SHARE = 1e-300
"""The probability used for a bin that is impossible under a law."""
WIDE = 30.0
"""Standard deviation of θ before the data: a factor of e^30 in a time or a shape."""
SEARCH_STEPS, NEWTON_STEPS = 1000, 30
LEAST_SLOPE = 1e-8
"""The slope of the loss, nats a request for each unit of θ, at which a search has ended."""
NEAR = 1e-3
"""The step of a finite difference in θ."""


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
        except (ValueError, OverflowError):  # a step of the optimiser to invalid parameters
            return np.full(len(self.cells), np.log(LEAST_SHARE))
        low, high = self.cells, self.cells + 1
        shares = np.where(below[low] > 0.5, above[low] - above[high], below[high] - below[low])
        return np.asarray(np.log(np.fmax(shares, LEAST_SHARE)))

    def log_likelihood(self, candidate: Candidate, theta: Array) -> float:
        """Σ count · log P(bin)."""
        return float(self.counts @ self.log_shares(candidate, theta))

    def loss(self, candidate: Candidate) -> Callable[[Array], float]:
        """-log of likelihood and prior, a request, as a function of θ."""
        total = float(self.counts.sum())

        def of(theta: Array) -> float:
            return -(self.log_likelihood(candidate, theta) - float(theta @ theta) / WIDE**2 / 2) / total

        return of


def climb(binned: Binned, candidate: Candidate, start: Array) -> Array | None:
    """θ of the maximum near ``start``: a search by BFGS, then Newton's steps until the slope is that of rounding.

    None where the search ends before the slope is below ``LEAST_SLOPE``.
    """
    loss = binned.loss(candidate)
    # Not L-BFGS-B, whose calls of LAPACK wait for threads where the machine is busy.
    found = minimize(
        loss, start, method="BFGS", jac=partial(_quick_gradient, loss), options={"maxiter": SEARCH_STEPS, "gtol": 1e-7}
    )
    theta = np.asarray(found.x)
    slope = gradient(loss, theta)
    for _ in range(NEWTON_STEPS):
        following = theta - np.linalg.solve(_curvature(loss, theta), slope)
        slope_there = gradient(loss, following)
        if not np.linalg.norm(slope_there) < np.linalg.norm(slope):
            break
        theta, slope = following, slope_there
    return theta if np.linalg.norm(slope) < LEAST_SLOPE else None


def log_mean_error(binned: Binned, candidate: Candidate, theta: Array) -> float:
    """The standard error of the logarithm of the mean at the maximum ``theta``, by the curvature there.

    Infinite where the law has no mean, or the likelihood no maximum.
    """
    curvature = _curvature(binned.loss(candidate), theta) * float(binned.counts.sum())

    def log_mean(theta: Array) -> float:
        return float(np.log(candidate.law(candidate.natural(theta)).mean))

    try:
        slope = gradient(log_mean, theta)
        square = float(slope @ np.linalg.solve(curvature, slope))
    except (ValueError, OverflowError):  # a law of no mean is none of qsim's
        return np.inf
    return float(np.sqrt(square)) if square >= 0 else np.inf


def _quick_gradient(function: Callable[[Array], float], theta: Array) -> Array:
    """The slope of ``function`` (d,), by central differences."""
    steps = NEAR / 10 * np.eye(len(theta))
    return np.array([(function(theta + s) - function(theta - s)) / (NEAR / 5) for s in steps])


def gradient(function: Callable[[Array], float], theta: Array) -> Array:
    """The slope of ``function`` (d,), by differences of the fourth order."""
    steps = NEAR * np.eye(len(theta))
    return np.array(
        [
            (8 * (function(theta + s) - function(theta - s)) - function(theta + 2 * s) + function(theta - 2 * s))
            / (12 * NEAR)
            for s in steps
        ]
    )


def _curvature(function: Callable[[Array], float], theta: Array) -> Array:
    """The second derivatives of ``function`` (d, d), by differences."""
    steps, here, size = NEAR * np.eye(len(theta)), function(theta), len(theta)
    up, down = (np.array([function(theta + sign * s) for s in steps]) for sign in (1, -1))
    found = np.diag(up + down - 2 * here)
    for i in range(size):
        for j in range(i):
            both = function(theta + steps[i] + steps[j]) + function(theta - steps[i] - steps[j])
            found[i, j] = found[j, i] = (both - up[i] - down[i] - up[j] - down[j] + 2 * here) / 2
    return np.asarray(found / NEAR**2)
