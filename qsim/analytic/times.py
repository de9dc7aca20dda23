"""Times in a queue: quantiles from survival functions, and two methods for the waiting times of M/G/1 and others.

**A waiting room that is a Markov chain**, by uniformisation.  Let steps come at rate θ, at least as fast as anything
happens.  The number of steps by time t is Poisson, whatever the chain does, so

    P(T > t) = sum over n of Poisson(n; θt)·P(T lasts more than n steps),

a sum of positive terms.  P(T lasts more than n steps) is found step by step; a customer that has waited goes through
the phases of a service.  After enough steps each removes the same share 1 - η of what is left, and from there on the
law is exponential: near saturation, the millions of steps that remain are not computed.

**M/G/1 of any service law**, as a geometric sum.  The work an arrival finds is a geometric number of independent
pieces, each distributed as what is left of a service in the middle of it,

    P(Wq <= t) = sum over n of (1 - ρ)·ρⁿ·(Gₑ convolved n times)(t),   Gₑ(t) = 1/E[S]·integral of P(S > u), u = 0..t.

On a lattice of times this is the power series (1 - ρ)/(1 - ρ·g(z)), inverted by Newton's method with Fourier
transforms.  Rounding every piece, and the service that follows, down to the lattice and then up encloses the answer:
both are computed and given as the interval; for the value each cell is shared between its ends so that its mean stays.

Near saturation, where a lattice would need too many points, P(Wq > t)·e^(θt) with the root θ of Lundberg's equation
ρ·E[e^(θGₑ)] = 1 is, beyond the longest service, an average of what it was over the last longest service: what encloses
it there once encloses it from there on.

Source: uniformisation: Jensen (1953), Skand. Aktuarietidskr. 36; Grassmann (1977), Comput. Oper. Res. 4; the sum:
Takács (1962), Introduction to the Theory of Queues, chapter 1 (after Pollaczek and Khinchine); enclosing by rounding:
Dickson & Waters (1991), ASTIN Bulletin 21; the inversion: Brent & Kung (1978), J. ACM 25; the exponential tail:
Asmussen (2003), Applied Probability and Queues, section XIII.5.

>>> from qsim import MG1, Erlang, solve
>>> round(solve(MG1(0.8, Erlang(2, 1.0))).quantile(0.99), 3)
17.206
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.distributions.base import Phases
from qsim.errors import NoFormulaError
from qsim.metrics import ExactTimes, Interval

STEP = 16.0
SHORTEST = 1e-290  # A quantile below this share of the typical time counts as zero
PRECISION, LEAST_RATIO, MOST_ROUNDS = 1e-12, 1e-3, 500
"""Relative tolerance of a quantile, the least ratio of probabilities in its search, and the most steps of it."""


def quantile(survival: Callable[[float], float], q: float, scale: float) -> float:
    """The smallest t >= 0 with P(T > t) <= 1 - q, for a decreasing ``survival``; ``scale`` is a typical time."""
    from scipy.optimize import brentq

    target, survival = 1 - q, cache(survival)
    if survival(0.0) <= target:
        return 0.0
    low = high = scale
    while survival(high) > target:
        low, high = high, STEP * high
    while survival(low) <= target:
        low, high = low / STEP, low
        if low < SHORTEST * scale:
            return 0.0

    def gap(t: float) -> float:  # nearly a line in t
        return math.log(max(survival(t) / target, LEAST_RATIO))

    return float(brentq(gap, low, high, xtol=PRECISION * low, rtol=PRECISION, maxiter=MOST_ROUNDS))


Step: TypeAlias = Callable[[FloatArray], FloatArray]
Weigh: TypeAlias = Callable[[FloatArray], Any]

NEGLIGIBLE = 1e-17
BLOCK = 64
SETTLED, LEAST_CHANGE, STEADY_BLOCKS = 1e-11, 1.6e-17, 6
"""The decay rate is constant when it changes by less than the first (relatively) and second over that many blocks."""
MOST_STEPS = 2_000_000  # steps of a chain: some twenty seconds
LEAST_REACH, DEVIATIONS = 40, 12
"""Poisson probabilities are counted this far from the mean: a number of steps, and of standard deviations."""


def poisson_window(expected: float) -> tuple[int, FloatArray]:
    """The first n whose Poisson(n; ``expected``) is not negligible, and the probabilities from there on.

    >>> first, weights = poisson_window(100.0)
    >>> first, round(float(weights.sum()), 12)
    (0, 1.0)
    """
    from scipy.special import gammaln, xlogy

    reach = LEAST_REACH + DEVIATIONS * math.sqrt(expected)
    first = max(0, int(expected - reach))
    n = np.arange(first, expected + reach)
    return first, np.exp(xlogy(n, expected) - expected - gammaln(n + 1))


class MarkovTimes(ExactTimes):
    """The distributions of W and Wq, by uniformisation of the chain that waiting customers pass through.

    ``start``: state probabilities of waiting customers, any array; ``step``: their change in one step; ``weigh``: their
    total probability; ``service``: the phases of the service that follows; ``pace``: θ.
    """

    def __init__(self, start: FloatArray, step: Step, pace: float, service: Phases, weigh: Weigh = np.sum) -> None:
        self._state, self._step, self._pace, self._weigh = start, step, pace, weigh
        self._initial, generator = service
        self._serve = np.eye(generator.shape[0]) + generator / pace
        waits = float(weigh(start))
        self._in_service = max(0.0, 1 - waits) * self._initial
        self._waiting, self._present = [waits], [1.0]
        self._decay = 0.0

    def quantile(self, q: float, of: str) -> float:
        return quantile(lambda t: self.survival(t, of), q, 1 / self._pace)

    def survival(self, t: float, of: str) -> float:
        """P(W > t), or P(Wq > t)."""
        expected = self._pace * t
        first, weights = poisson_window(expected)
        self._extend(first + weights.size - 1)
        lasting = self._waiting if of == "Wq" else self._present
        known = min(len(lasting), first + weights.size)
        if self._decay and first >= len(lasting):  # all of it in the exponential part
            exponent = expected * -math.expm1(-self._decay) - (len(lasting) - 1) * self._decay
            return min(1.0, lasting[-1] * math.exp(-exponent))
        values = np.asarray(lasting[first:known])
        if self._decay:
            beyond = np.arange(1, first + weights.size - known + 1)
            values = np.append(values, lasting[-1] * np.exp(-self._decay * beyond))
        # Without a decay, almost no probability is left beyond the end of the list.
        return min(1.0, float(values @ weights[: values.size]))

    def _extend(self, steps: int) -> None:
        while len(self._present) <= steps and self._present[-1] > NEGLIGIBLE and not self._decay:
            self._state = self._step(self._state)
            waiting = float(self._weigh(self._state))
            begin = max(0.0, self._waiting[-1] - waiting)
            self._in_service = self._in_service @ self._serve + begin * self._initial
            self._waiting.append(waiting)
            self._present.append(waiting + float(self._in_service.sum()))
            if len(self._present) % BLOCK == 0 and waiting > 0:
                self._settle()
            if len(self._present) > MOST_STEPS:
                raise ValueError("the time is too many steps away: simulate() estimates its percentiles")

    def _settle(self) -> None:
        """Set the decay per step once it is the same over the last blocks of both lists."""
        if len(self._present) > STEADY_BLOCKS * BLOCK:
            back = slice(None, -1 - STEADY_BLOCKS * BLOCK, -BLOCK)
            ends = np.array([self._waiting[back], self._present[back]])
            rates = np.log(ends[:, 1:] / ends[:, :-1]) / BLOCK
            if rates.min() > 0 and np.ptp(rates) <= SETTLED * rates.max() + LEAST_CHANGE:
                self._decay = float(rates[0, 0])


POINTS = 2**15
CROWDED, MORE_POINTS = 0.99, 2**17
"""Above this load a wait is the sum of more pieces, and the lattice has this number of points."""
LEAST_PLACE, LONGER, LEAST_MEANS, MOST_MEANS = 1 / 8, 4.0, 1e-250, 1e9
"""A quantile is beyond this share of its lattice; each lattice is longer than the last by this factor, in this range.
"""
ROUNDING = 1e-12
SERVICES, DOUBLINGS, UNSEEN = 16.0, 8, 1e-15
"""The exponential tail begins after so many of the longest services. A service ends within 2 to this power means, but
for this chance."""
SHORT, FINE = -40.0, 4001
"""Where the integral over the first cell begins, as the logarithm of a share of it, and its number of points."""


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
    """P(T > time) on a lattice of times: a lower bound, the estimate, and an upper bound."""

    low: FloatArray
    value: FloatArray
    high: FloatArray


class ExponentialTail(NamedTuple):
    """P(T > t)·e^(``rate``·t) beyond ``begins``, for W and Wq: a lower bound, the estimate, and an upper bound."""

    begins: float
    rate: float
    factors: dict[str, tuple[float, float, float]]

    def holds(self, left: float, of: str) -> bool:
        """Whether P(T > t) is ``left`` at a time beyond the beginning."""
        return left < self.factors[of][0] * math.exp(-self.rate * self.begins)

    def times(self, left: float, of: str) -> tuple[float, float, float]:
        """The times beyond which ``left`` remains."""
        low, value, high = (math.log(factor / left) / self.rate for factor in self.factors[of])
        return low, value, high


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
        if q <= self._at_zero[of] * (1 + ROUNDING):
            return 0.0
        if self._tail and self._tail.holds(1 - q, of):
            return self._tail.times(1 - q, of)[1]
        step, found = self._holding(q, of)
        passes = step * float(np.interp(q - 1, -found.value, np.arange(found.value.size)))
        low, high = self.quantile_interval(q, of)
        return min(max(passes, low), high)

    def quantile_interval(self, q: float, of: str) -> Interval:
        if q <= self._at_zero[of] * (1 + ROUNDING):
            return (0.0, 0.0)
        if self._tail and self._tail.holds(1 - q, of):
            low, _, high = self._tail.times(1 - q, of)
            return low, high
        step, found = self._holding(q, of)
        return step * int(np.argmax(found.low <= 1 - q)), step * int(np.argmax(found.high <= 1 - q))

    def survival(self, t: float, of: str) -> float:
        if t == 0:
            return 1 - self._at_zero[of]
        if self._tail and t > self._tail.begins:
            return self._tail.factors[of][1] * math.exp(-self._tail.rate * t)
        reach = self._mean * LONGER ** math.ceil(math.log(max(2 * t / self._mean, LEAST_MEANS), LONGER))
        place, found = t / reach * self._points, self._lattice(reach)[of]
        value = np.interp(place, np.arange(found.value.size), found.value)
        return float(min(max(value, found.low[math.ceil(place)]), found.high[math.floor(place)]))

    @cached_property
    def _tail(self) -> ExponentialTail | None:
        """The tail near saturation, for services that end within a hundred means or so; None for others."""
        ends = [_end_of(law) for law in (self._service, self._own)]
        if self._rho < CROWDED or not all(map(math.isfinite, ends)):
            return None
        begins = SERVICES * max(ends)
        table = self._lattice(begins)
        times: FloatArray = begins / self._points * np.arange(self._points + 1, dtype=np.float64)
        rate = self._lundberg(times)
        first = int(self._points * (1 - 1 / SERVICES)) - 1
        grown, factors = np.exp(rate * times[first:-1]), {}
        for of, (low, value, high) in table.items():
            bounds = (low[first + 1 :] * grown[:-1]).min(), value[-1] * grown[-1], (high[first:-1] * grown[1:]).max()
            factors[of] = (float(bounds[0]), float(bounds[1]), float(bounds[2]))
        return ExponentialTail(begins, rate, factors)

    def _lundberg(self, times: FloatArray) -> float:
        """The root of ρ·E[e^(θGₑ)] = 1; as e^x >= 1 + x it is at most (1 - ρ)/(ρ·E[Gₑ])."""
        from scipy.optimize import brentq

        limited = self._service.limited_mean(times)
        piece = np.diff(limited) / self._service.mean
        place = times[:-1] + self._share_up(times, limited) * times[1]
        most = (1 - self._rho) / (self._rho * float(piece @ place))

        def gap(share: float) -> float:  # of e^x - 1, which is small
            return float(piece @ np.expm1(share * most * place)) - (1 / self._rho - 1)

        return most * float(brentq(gap, 0.0, 1.0 + ROUNDING, xtol=ROUNDING))

    def _holding(self, q: float, of: str) -> tuple[float, Bounded]:
        """The step of a lattice not much longer than the quantile, and the bounds on it."""
        reach = LONGER * self._mean
        while self._lattice(reach)[of].high[-1] > 1 - q:
            reach *= LONGER
            if reach > MOST_MEANS * self._mean:
                beyond = f"it is beyond {MOST_MEANS:g} times the mean, or rho = {self._rho:.9g} is too near 1"
                raise NoFormulaError(f"the quantile {q:g}", beyond)
        while True:
            found = self._lattice(reach)[of]
            first = int(np.argmax(found.high <= 1 - q))
            if first > self._points * LEAST_PLACE:
                return reach / self._points, found
            reach *= 2 * (first + 1) / self._points

    def _lattice(self, reach: float) -> dict[str, Bounded]:
        """Bounds on P(Wq > t) and P(W > t) at times 0, h, 2h, ... up to ``reach``."""
        from scipy.signal import fftconvolve

        if reach in self._tables:
            return self._tables[reach]
        times: FloatArray = reach / self._points * np.arange(self._points + 1, dtype=np.float64)
        # Of a residual service ending in each cell; of a service at 0, then in each cell.
        limited = self._service.limited_mean(times)
        piece = np.diff(limited) / self._service.mean
        own = np.diff(self._own.cdf(times), prepend=0.0)
        down, up = (piece, np.append(own[0] + own[1], own[2:])), (np.append(0.0, piece[:-1]), own[:-1])
        share = self._share_up(times, limited)
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

    def _share_up(self, times: FloatArray, limited: FloatArray) -> FloatArray:
        """Mean position within each cell of the pieces that end there, as a share of the cell; ``limited`` means."""
        middle = self._service.limited_mean((times[1:] + times[:-1]) / 2)
        h = times[1]
        area = h / 6 * (limited[:-1] + 4 * middle + limited[1:])
        first = h * np.exp(np.linspace(SHORT, 0.0, FINE))
        area[0] = np.trapezoid(first * self._service.limited_mean(first), np.log(first))
        work = np.diff(limited)
        inside = h * limited[1:] - area  # the integral of (u - start)·P(S > u)
        return np.asarray(np.clip(np.divide(inside, h * work, out=np.zeros_like(work), where=work > 0), 0.0, 1.0))


def _end_of(law: Distribution) -> float:
    """The time by which a service and what is left of one have ended, but for a negligible chance; infinite for long
    tails."""
    longest = law.support[1]
    if math.isfinite(longest):
        return longest
    for end in law.mean * 2.0 ** np.arange(1, DOUBLINGS):
        left = max(1 - float(law.limited_mean(np.array([end]))[0]) / law.mean, 1 - float(law.cdf(end)))
        if left <= UNSEEN:
            return float(end)
    return math.inf


def _beyond(mass: FloatArray) -> FloatArray:
    """1 minus the cumulative sum, never increasing."""
    return np.asarray(np.minimum.accumulate(np.maximum(1 - np.cumsum(mass), 0.0)))
