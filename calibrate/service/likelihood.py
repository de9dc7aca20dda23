"""The likelihood of counts in bins, and its maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate
from calibrate.service.times import Times

IntArray = npt.NDArray[np.int64]

LEAST = 1e-300
"""What a bin counts for that a law deems impossible."""


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
