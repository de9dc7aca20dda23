"""The waiting time of M/G/1 for any service law, as a geometric sum.

The work an arrival finds is a geometric number of independent pieces, each distributed as what is left of a
service in the middle of it,

    P(Wq <= t) = sum over n of (1 - ρ)·ρⁿ·(Gₑ convolved n times)(t),   Gₑ(t) = 1/E[S]·integral of P(S > u), u = 0..t.

On a lattice of times this is the power series (1 - ρ)/(1 - ρ·g(z)), inverted by Newton's method with Fourier
transforms.  Rounding every piece down to the lattice, and then up, encloses the answer: both are computed, their
mean is given as the value and the two as its interval.

Source: Takács (1962), Introduction to the Theory of Queues, chapter 1 (the sum, after Pollaczek and Khinchine);
enclosing by rounding: Dickson & Waters (1991), ASTIN Bulletin 21; the inversion: Brent & Kung (1978), J. ACM 25.
"""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.metrics import Interval

POINTS = 2**15


def reciprocal(series: FloatArray) -> FloatArray:
    """The first coefficients of 1/series, for a series starting with a number that is not zero."""
    from scipy.signal import fftconvolve

    size, result = 1, np.array([1 / series[0]])
    while size < series.size:
        size = min(2 * size, series.size)
        correction = -fftconvolve(series[:size], result)[:size]
        correction[0] += 2
        result = fftconvolve(result, correction)[:size]
    return result


class CompoundTimes:
    """The distributions of W and Wq, enclosed from both sides."""

    def __init__(self, service: Distribution, rho: float, mean_waiting: float) -> None:
        self._service = service
        self._rho = rho
        self._mean = mean_waiting + service.mean
        self._tables: dict[float, tuple[FloatArray, dict[str, tuple[FloatArray, FloatArray]]]] = {}

    def quantile(self, q: float, of: str) -> float:
        low, high = self.quantile_interval(q, of)
        return (low + high) / 2

    def quantile_interval(self, q: float, of: str) -> Interval:
        if of == "Wq" and q <= 1 - self._rho:
            return (0.0, 0.0)
        reach = 4 * self._mean
        while True:
            times, survival = self._lattice(reach)
            early, late = survival[of]
            if late[-1] < 1 - q:
                break
            reach *= 4
        # The lattice nearest to the quantile serves best.
        shorter = 1.3 * float(times[int(np.argmax(late < 1 - q))])
        if shorter < reach / 2 and shorter > self._mean / 100:
            times, survival = self._lattice(shorter)
            early, late = survival[of]
        return self._first_below(times, early, 1 - q), self._first_below(times, late, 1 - q)

    def survival(self, t: float, of: str) -> float:
        low, high = self.survival_interval(t, of)
        return (low + high) / 2

    def survival_interval(self, t: float, of: str) -> Interval:
        """Bounds on P(Wq > t) or P(W > t)."""
        reach = max(2 * t, self._mean)
        times, survival = self._lattice(reach)
        early, late = survival[of]
        return float(np.interp(t, times, early)), float(np.interp(t, times, late))

    @staticmethod
    def _first_below(times: FloatArray, survival: FloatArray, target: float) -> float:
        """Where a falling table passes the target, straight between its points."""
        index = int(np.argmax(survival <= target))
        if index == 0:
            return 0.0
        above, below = float(survival[index - 1]), float(survival[index])
        share = (above - target) / (above - below) if above > below else 1.0
        return float(times[index - 1] + share * (times[index] - times[index - 1]))

    def _lattice(self, reach: float) -> tuple[FloatArray, dict[str, tuple[FloatArray, FloatArray]]]:
        """Times 0, h, 2h, ... up to ``reach`` and P(T > time), rounded down and rounded up."""
        if reach not in self._tables:
            self._tables[reach] = self._computed(reach)
        return self._tables[reach]

    def _computed(self, reach: float) -> tuple[FloatArray, dict[str, tuple[FloatArray, FloatArray]]]:
        from scipy.signal import fftconvolve

        h = reach / POINTS
        times = np.asarray(h * np.arange(POINTS), dtype=np.float64)
        # Of a residual service ending in each cell.
        piece = np.diff(self._service.limited_mean(h * np.arange(POINTS + 1))) / self._service.mean
        service = np.diff(self._service.cdf(h * np.arange(POINTS + 1)), prepend=0.0)  # at 0, then in each cell
        survival: dict[str, tuple[FloatArray, FloatArray]] = {}
        waiting, responding = [], []
        for down in (True, False):
            pieces = piece if down else np.concatenate(([0.0], piece[:-1]))
            series = -self._rho * pieces
            series[0] += 1
            mass = np.maximum((1 - self._rho) * reciprocal(series), 0.0)
            services = np.concatenate(([service[0] + service[1]], service[2:])) if down else service[:-1]
            total = fftconvolve(mass, services)[:POINTS]
            waiting.append(np.maximum.accumulate(1 - np.cumsum(mass)[::-1])[::-1])
            responding.append(np.maximum.accumulate((1 - np.cumsum(total))[::-1])[::-1])
        survival["Wq"] = (waiting[0], waiting[1])
        survival["W"] = (responding[0], responding[1])
        return times, survival
