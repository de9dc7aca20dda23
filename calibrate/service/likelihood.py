"""The likelihood of counts in bins, its maximum, and how sure the parameters are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.optimize import minimize

from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate
from calibrate.service.times import Times

IntArray = npt.NDArray[np.int64]

LEAST = 1e-300
"""What a bin counts for that a law deems impossible."""
STEP = 1e-4


@dataclass(frozen=True)
class Binned:
    """Times in units of their median, as the optimiser wants them: every edge once."""

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
    def first_upper(self) -> float:
        """No time can be shifted by more: the end of the first bin that holds anything."""
        return float(self.edges[self.cells[0] + 1])

    def log_shares(self, candidate: Candidate, theta: Array) -> Array:
        """log P(a time lies in the bin) (m,), from whichever tail loses no digits; next to none beyond all floats."""
        try:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                below, above = candidate.tails(candidate.natural(theta), self.edges)
        except (ValueError, OverflowError):  # a step of the optimiser to what is no law
            return np.full(len(self.cells), np.log(LEAST))
        low, high = self.cells, self.cells + 1
        shares = np.where(below[low] > 0.5, above[low] - above[high], below[high] - below[low])
        return np.asarray(np.log(np.fmax(shares, LEAST)))

    def log_likelihood(self, candidate: Candidate, theta: Array) -> float:
        """Σ count · log P(bin)."""
        return float(self.counts @ self.log_shares(candidate, theta))


def climb(binned: Binned, candidate: Candidate, start: Array, *, steps: int = 60) -> Array:
    """θ of a maximum of the likelihood near ``start``, by BFGS."""
    total = binned.counts.sum()

    def loss(theta: Array) -> float:
        return float(-binned.log_likelihood(candidate, theta) / total)

    # Not L-BFGS-B, whose calls of LAPACK wait for threads where the machine is busy.
    found = minimize(loss, start, method="BFGS", options={"maxiter": steps, "gtol": 1e-6})
    return np.asarray(found.x if found.fun <= loss(start) else start)


def covariance(binned: Binned, candidate: Candidate, theta: Array) -> Array | None:
    """The covariance of θ that holds whether or not the law is the true one; None where the likelihood is flat.

    H⁻¹ B H⁻¹ with H the curvature of the log likelihood and B the spread of its slopes over the requests (Huber 1967;
    White 1982, Econometrica 50, "Maximum likelihood estimation of misspecified models").
    """
    steps = STEP * np.eye(len(theta))

    def slopes(at: Array) -> Array:
        pairs = [(binned.log_shares(candidate, at + h), binned.log_shares(candidate, at - h)) for h in steps]
        return np.array([(up - down) / (2 * STEP) for up, down in pairs])

    here = slopes(theta)
    spread = (here * binned.counts) @ here.T
    curvature = np.array([(slopes(theta + h) - slopes(theta - h)) @ binned.counts / (2 * STEP) for h in steps])
    curvature = -(curvature + curvature.T) / 2
    values = np.linalg.eigvalsh(curvature)
    if not np.all(np.isfinite(values)) or values[0] <= 1e-10 * values[-1]:
        return None
    inverse = np.linalg.inv(curvature)
    return np.asarray(inverse @ spread @ inverse)


def limits(candidate: Candidate, theta: Array, covariance_: Array, level: float) -> tuple[Array, Array]:
    """Ends of the intervals of the natural values (v,), by the delta method on their logarithms (logits of shares)."""
    is_share = np.array([sort == "share" for _, sort in candidate.values])

    def scale(at: Array) -> Array:
        v = candidate.natural(at)
        return np.where(is_share, special.logit(np.where(is_share, v, 0.5)), np.log(np.maximum(v, LEAST)))

    steps = STEP * np.eye(len(theta))
    slope = np.array([(scale(theta + h) - scale(theta - h)) / (2 * STEP) for h in steps])
    half = special.ndtri((1 + level) / 2) * np.sqrt(np.maximum(np.einsum("iv,ij,jv->v", slope, covariance_, slope), 0))
    low, high = scale(theta) - half, scale(theta) + half
    with np.errstate(over="ignore"):
        return (
            np.where(is_share, special.expit(low), np.exp(low)),
            np.where(is_share, special.expit(high), np.exp(high)),
        )
