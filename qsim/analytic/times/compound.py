"""The waiting time of M/G/1 for any service law, as a geometric sum.

The work an arrival finds is a geometric number of independent pieces, each distributed as what is left of a
service in the middle of it,

    P(Wq <= t) = sum over n of (1 - ρ)·ρⁿ·(Gₑ convolved n times)(t),   Gₑ(t) = 1/E[S]·integral of P(S > u), u = 0..t.

On a lattice of times this is the power series (1 - ρ)/(1 - ρ·g(z)), inverted by Newton's method with Fourier
transforms.  Rounding every piece, and the service that follows, down to the lattice and then up encloses the answer:
both are computed, their mean is given as the value and the two as its interval.

Source: Takács (1962), Introduction to the Theory of Queues, chapter 1 (the sum, after Pollaczek and Khinchine);
enclosing by rounding: Dickson & Waters (1991), ASTIN Bulletin 21; the inversion: Brent & Kung (1978), J. ACM 25.
"""

from __future__ import annotations

import math

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.metrics import Interval

POINTS = 2**15
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


class CompoundTimes:
    """The distributions of W and Wq, enclosed from both sides.

    ``service`` is that of the customers waited for, ``own`` that of the customer itself where it is another.
    """

    def __init__(self, service: Distribution, rho: float, mean_waiting: float, own: Distribution | None = None) -> None:
        self._service, self._rho, self._own = service, rho, own or service
        self._mean = mean_waiting + self._own.mean
        self._at_zero = {"Wq": 1 - rho, "W": (1 - rho) * float(self._own.cdf(0.0))}
        self._tables: dict[float, dict[str, tuple[FloatArray, FloatArray]]] = {}

    def quantile(self, q: float, of: str) -> float:
        """Where the middle of both bounds passes 1 - q, straight between the points of the lattice."""
        if q <= self._at_zero[of] + ROUNDING:
            return 0.0
        step, early, late = self._holding(q, of)
        middle = (early + late) / 2
        after = int(np.argmax(middle <= 1 - q))
        above, below = middle[max(after - 1, 0)], middle[after]
        return step * (after - (1 - q - below) / (above - below) if above > below else after)

    def quantile_interval(self, q: float, of: str) -> Interval:
        if q <= self._at_zero[of] + ROUNDING:
            return (0.0, 0.0)
        step, early, late = self._holding(q, of)
        return step * int(np.argmax(early <= 1 - q)), step * int(np.argmax(late <= 1 - q))

    def survival(self, t: float, of: str) -> float:
        if t == 0:
            return 1 - self._at_zero[of]
        place, early, late = self._around(t, of)
        return float(np.interp(place, np.arange(POINTS), (early + late) / 2))

    def survival_interval(self, t: float, of: str) -> Interval:
        """Bounds on P(Wq > t) or P(W > t)."""
        place, early, late = self._around(t, of)
        return float(early[math.ceil(place)]), float(late[math.floor(place)])

    def _around(self, t: float, of: str) -> tuple[float, FloatArray, FloatArray]:
        """Where t lies on a lattice, and the bounds there."""
        reach = self._mean * 2.0 ** math.ceil(math.log2(max(2 * t / self._mean, 1e-9)))
        early, late = self._lattice(reach)[of]
        return t / reach * POINTS, early, late

    def _holding(self, q: float, of: str) -> tuple[float, FloatArray, FloatArray]:
        """The step and the bounds of a lattice that is not much longer than the quantile."""
        reach = 4 * self._mean
        while self._lattice(reach)[of][1][-1] > 1 - q:
            reach *= 4
            if reach > MOST_MEANS * self._mean:
                raise ValueError(f"the quantile {q:g} is beyond {MOST_MEANS:g} times the mean: simulate() estimates it")
        while True:
            early, late = self._lattice(reach)[of]
            first = int(np.argmax(late <= 1 - q))
            if first > POINTS // 8 or first == 0:
                return reach / POINTS, early, late
            reach /= max(1.5, POINTS / (2 * (first + 1)))

    def _lattice(self, reach: float) -> dict[str, tuple[FloatArray, FloatArray]]:
        """P(T > time) at times 0, h, 2h, ... up to ``reach``, rounded down and rounded up."""
        from scipy.signal import fftconvolve

        if reach in self._tables:
            return self._tables[reach]
        times = reach / POINTS * np.arange(POINTS + 1)
        # Of a residual service ending in each cell; of a service at 0, then in each cell.
        piece = np.diff(self._service.limited_mean(times)) / self._service.mean
        own = np.diff(self._own.cdf(times), prepend=0.0)
        waiting, responding = [], []
        for down in (True, False):
            series = -self._rho * (piece if down else np.concatenate(([0.0], piece[:-1])))
            series[0] += 1
            mass = np.maximum((1 - self._rho) * reciprocal(series), 0.0)
            services = np.concatenate(([own[0] + own[1]], own[2:])) if down else own[:-1]
            waiting.append(_beyond(mass))
            responding.append(_beyond(fftconvolve(mass, services)[:POINTS]))
        self._tables[reach] = {"Wq": (waiting[0], waiting[1]), "W": (responding[0], responding[1])}
        return self._tables[reach]


def _beyond(mass: FloatArray) -> FloatArray:
    """1 less the sum so far, falling."""
    return np.asarray(np.minimum.accumulate(np.maximum(1 - np.cumsum(mass), 0.0)))
