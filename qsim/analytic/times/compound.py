"""The waiting time of M/G/1 for any service law, as a geometric sum.

The work an arrival finds is a geometric number of independent pieces, each distributed as what is left of a
service in the middle of it,

    P(Wq <= t) = sum over n of (1 - ρ)·ρⁿ·(Gₑ convolved n times)(t),   Gₑ(t) = 1/E[S]·integral of P(S > u), u = 0..t.

On a lattice of times this is the power series (1 - ρ)/(1 - ρ·g(z)), inverted by Newton's method with Fourier
transforms.  Rounding every piece, and the service that follows, down to the lattice and then up encloses the answer:
both are computed and given as the interval; for the value each cell is shared between its ends so that its mean stays.

Source: Takács (1962), Introduction to the Theory of Queues, chapter 1 (the sum, after Pollaczek and Khinchine);
enclosing by rounding: Dickson & Waters (1991), ASTIN Bulletin 21; the inversion: Brent & Kung (1978), J. ACM 25.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.errors import NoFormulaError
from qsim.metrics import Interval

POINTS = 2**15
CROWDED, MORE_POINTS = 0.99, 2**17
"""At higher loads a wait adds up more pieces, and the lattice must be finer."""
MOST_MEANS = 1e9
ROUNDING = 1e-12


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


class Bounded(NamedTuple):
    """P(T > time) on a lattice of times: never above, nearly, and never below."""

    low: FloatArray
    value: FloatArray
    high: FloatArray


class CompoundTimes:
    """The distributions of W and Wq, enclosed from both sides.

    ``service`` is that of the customers waited for, ``own`` that of the customer itself where it is another.
    """

    def __init__(self, service: Distribution, rho: float, mean_waiting: float, own: Distribution | None = None) -> None:
        self._service, self._rho, self._own = service, rho, own or service
        self._mean = mean_waiting + self._own.mean
        self._at_zero = {"Wq": 1 - rho, "W": (1 - rho) * float(self._own.cdf(0.0))}
        self._points = POINTS if rho < CROWDED else MORE_POINTS
        self._tables: dict[float, dict[str, Bounded]] = {}

    def quantile(self, q: float, of: str) -> float:
        """Where the value passes 1 - q, straight between the points of the lattice."""
        if q <= self._at_zero[of] + ROUNDING:
            return 0.0
        step, found = self._holding(q, of)
        after = int(np.argmax(found.value <= 1 - q))
        above, below = found.value[max(after - 1, 0)], found.value[after]
        passes = step * (after - (1 - q - below) / (above - below) if above > below else after)
        low, high = self.quantile_interval(q, of)
        return min(max(passes, low), high)

    def quantile_interval(self, q: float, of: str) -> Interval:
        if q <= self._at_zero[of] + ROUNDING:
            return (0.0, 0.0)
        step, found = self._holding(q, of)
        return step * int(np.argmax(found.low <= 1 - q)), step * int(np.argmax(found.high <= 1 - q))

    def survival(self, t: float, of: str) -> float:
        if t == 0:
            return 1 - self._at_zero[of]
        place, found = self._around(t, of)
        low, high = self.survival_interval(t, of)
        before, after = found.value[math.floor(place)], found.value[math.ceil(place)]
        return min(max(float(before + (after - before) * (place % 1)), low), high)

    def survival_interval(self, t: float, of: str) -> Interval:
        """Bounds on P(Wq > t) or P(W > t)."""
        place, found = self._around(t, of)
        return float(found.low[math.ceil(place)]), float(found.high[math.floor(place)])

    def _around(self, t: float, of: str) -> tuple[float, Bounded]:
        """Where t lies on a lattice, and what is known there."""
        reach = self._mean * 4.0 ** math.ceil(math.log(max(2 * t / self._mean, 1e-9), 4))
        return t / reach * self._points, self._lattice(reach)[of]

    def _holding(self, q: float, of: str) -> tuple[float, Bounded]:
        """The step of a lattice that is not much longer than the quantile, and what is known on it."""
        reach = 4 * self._mean
        while self._lattice(reach)[of].high[-1] > 1 - q:
            reach *= 4
            if reach > MOST_MEANS * self._mean:
                beyond = f"it is beyond {MOST_MEANS:g} times the mean, or rho = {self._rho:.9g} is too near 1"
                raise NoFormulaError(f"the quantile {q:g}", beyond)
        while True:
            found = self._lattice(reach)[of]
            first = int(np.argmax(found.high <= 1 - q))
            if first > self._points // 8 or first == 0:
                return reach / self._points, found
            reach /= max(1.5, self._points / (2 * (first + 1)))

    def _lattice(self, reach: float) -> dict[str, Bounded]:
        """What is known at times 0, h, 2h, ... up to ``reach``."""
        from scipy.signal import fftconvolve

        if reach in self._tables:
            return self._tables[reach]
        times: FloatArray = reach / self._points * np.arange(self._points + 1, dtype=np.float64)
        # Of a residual service ending in each cell; of a service at 0, then in each cell.
        piece = np.diff(self._service.limited_mean(times)) / self._service.mean
        own = np.diff(self._own.cdf(times), prepend=0.0)
        down, up = (piece, np.append(own[0] + own[1], own[2:])), (np.append(0.0, piece[:-1]), own[:-1])
        share = self._share_up(times)
        kept = (1 - share) * piece + np.append(0.0, (share * piece)[:-1]), (down[1] + up[1]) / 2
        waiting, responding = [], []
        for pieces, services in (down, kept, up):
            series = -self._rho * pieces
            series[0] += 1
            mass = np.maximum((1 - self._rho) * reciprocal(series), 0.0)
            waiting.append(_beyond(mass))
            responding.append(_beyond(fftconvolve(mass, services)[: self._points]))
        self._tables[reach] = {"Wq": Bounded(*waiting), "W": Bounded(*responding)}
        return self._tables[reach]

    def _share_up(self, times: FloatArray) -> FloatArray:
        """How far into each cell the pieces that end in it lie on average, as a share of the cell."""
        limited, middle = self._service.limited_mean(times), self._service.limited_mean((times[1:] + times[:-1]) / 2)
        h = times[1]
        area = h / 6 * (limited[:-1] + 4 * middle + limited[1:])
        first = h * np.exp(np.linspace(-40.0, 0.0, 4001))
        area[0] = np.trapezoid(first * self._service.limited_mean(first), np.log(first))
        work = np.diff(limited)
        inside = h * limited[1:] - area  # the integral of (u - start)·P(S > u)
        return np.asarray(np.clip(inside / np.where(work > 0, h * work, 1.0), 0.0, 1.0) * (work > 0))


def _beyond(mass: FloatArray) -> FloatArray:
    """1 less the sum so far, falling."""
    return np.asarray(np.minimum.accumulate(np.maximum(1 - np.cumsum(mass), 0.0)))
