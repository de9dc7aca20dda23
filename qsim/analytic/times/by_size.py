"""Waiting and response times of M/G/1 served by size: SJF and PSJF.

Of a job of size x the shorter ones go first, so that it is a priority class of its own
(:mod:`qsim.analytic.times.delay_cycles`): with a the jobs below x, b those above, and σ of a,

    SJF    held up by  [(1 - ρ)σ + λ(b)(1 - B(b)(σ))] / s,
    PSJF   held up by  (1 - ρ(a))·σ/s · e^(-(σ - s)x).

These are inverted at each of some sizes, and P(W > t) = P(S > t) + the integral of P(held up > t - x) over sizes x up
to t.  Right to about 1e-4.

Source: Conway, Maxwell & Miller (1967), Theory of Scheduling, sections 8.5-8.7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import ComplexArray
from qsim.analytic import invert as _invert
from qsim.analytic.times.delay_cycles import delay
from qsim.analytic.times.inversion import survival_at
from qsim.distributions import Distribution
from qsim.distributions.base import SizeStrata, laplace_of_strata
from qsim.metrics import ExactTimes

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
TAILS = (0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-6)
"""The shares of longer jobs at which the integral over sizes is cut; and where many jobs have one size."""


@dataclass(frozen=True)
class SizeTimes(ExactTimes):
    """W, and what others hold up of it as Wq, under SJF or (``preemptive``) PSJF; ρ < 1."""

    arrival_rate: float
    service: Distribution
    preemptive: bool

    def survival(self, t: float, of: str) -> float:
        """P(W > t), or P(Wq > t)."""
        within = float(self.service.cdf(t)) if of == "W" else 1.0
        if within == 0:
            return 1.0
        strata = self.service.strata
        atoms, upto = strata.width == 0, np.cumsum(strata.share)
        cuts = np.concatenate(([0.0, within], 1 - np.array(TAILS), upto[atoms], (upto - strata.share)[atoms]))
        cuts = np.unique(cuts[(cuts >= 0) & (cuts <= within)])
        places = (cuts[:-1, np.newaxis] + np.diff(cuts)[:, np.newaxis] * (NODES + 1) / 2).ravel()
        weights = np.outer(np.diff(cuts), WEIGHTS / 2).ravel()
        sizes, which = np.unique([self.service.quantile(q) for q in places.tolist()], return_inverse=True)
        late = [self._held_up(size, t - size if of == "W" else t) for size in sizes.tolist()]
        return 1 - within + float(np.bincount(which, weights) @ late)

    def quantile(self, q: float, of: str) -> float:
        scale = self.service.mean / (1 - self.arrival_rate * self.service.mean)
        return _invert.quantile(lambda t: self.survival(t, of), q, scale, 1e-5)

    def _held_up(self, size: float, t: float) -> float:
        """P(a job of this size is held up for longer than t)."""
        strata = self.service.strata
        whole = np.where(strata.width == 0, 1.0, strata.width)
        below = np.clip((size - strata.mean) / whole + 0.5, 0.0, 1.0)
        equal = (strata.width == 0) & np.isclose(strata.mean, size, rtol=1e-6, atol=0.0)
        below = np.where(strata.width == 0, strata.mean < size, below) * ~equal
        shorter, alike, longer = (
            SizeStrata((strata.share * part)[part > 0], strata.mean[part > 0], strata.width[part > 0])
            for part in (below, equal, 1 - below - equal)
        )
        lam = self.arrival_rate

        def load(part: SizeStrata) -> float:
            return lam * float(part.share @ part.mean)

        share = float(shorter.share.sum())
        idle = 1 - load(shorter) - load(alike) - (0.0 if self.preemptive else load(longer))
        if t <= 0:
            return 1 - idle * (math.exp(-lam * share * size) if self.preemptive else 1.0)

        def transform(s: ComplexArray) -> ComplexArray:
            sigma = delay(lam * share, lambda z: laplace_of_strata(shorter, z) / share, s) if share > 0 else s
            first = idle * sigma
            if not self.preemptive:
                first = first + lam * (longer.share.sum() - laplace_of_strata(longer, sigma))
            ahead = s - lam * (alike.share.sum() - laplace_of_strata(alike, sigma))
            return np.asarray(first / ahead * (np.exp(-(sigma - s) * size) if self.preemptive else 1.0))

        return survival_at(transform, t)
