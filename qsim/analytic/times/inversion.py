"""Distributions of times from their Laplace transforms, inverted numerically.

With F(s) = E[e^(-sT)] the survival function P(T > t) has the transform f(s) = (1 - F(s))/s, and

    P(T > t) = e^(A/2)/(2t)·Re f(A/(2t)) + e^(A/2)/t·sum over k >= 1 of (-1)^k·Re f((A + 2πik)/(2t)),

up to an error of e^-A; the alternating sum is taken by Euler's method, a binomial mean of its last partial sums.
Where the law is smooth the result is right to about 1e-8, absolutely; next to a corner to 1e-3, next to a jump to 1e-1.
So the jumps of a service that follows a wait are split off before; what corners are left makes the result an
approximation (:func:`is_smooth`).  Means and variances come from formulas.

Source: Abate & Whitt (1995), "Numerical inversion of Laplace transforms of probability distributions", ORSA J.
Comput. 7.

>>> from qsim import Exponential
>>> round(survival_at(Exponential(mean=2.0).laplace, 1.0), 8)
0.60653066
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qsim._types import ComplexArray, FloatArray
from qsim.analytic import invert as _invert
from qsim.distributions import Distribution
from qsim.metrics import ExactTimes, TimeDistribution

Transform: TypeAlias = Callable[[ComplexArray], ComplexArray]

ACCURACY = 21.0
"""A: the discretisation error is e^-A, and rounding grows with e^(A/2)."""

TERMS, AVERAGED = 28, 12
NOISE = 1e-9
"""A survival below this is taken as zero."""

APPROXIMATE = (
    "the percentiles are approximate: services have jumps or corners, and an inverted transform misses P(T > t) "
    "by up to 0.1 next to a jump and 0.001 next to a corner"
)


def is_smooth(laws: Iterable[Distribution]) -> bool:
    """Whether none of these services has jumps or corners."""
    return all(law.smooth for law in laws)


def _weights() -> FloatArray:
    """Of the terms k = 0, ..., TERMS + AVERAGED: alternating signs, fading out binomially."""
    binomial = np.array([math.comb(AVERAGED, j) for j in range(AVERAGED + 1)]) / 2.0**AVERAGED
    fading = np.append(np.ones(TERMS), np.cumsum(binomial[::-1])[::-1])
    return np.asarray(fading * (-1.0) ** np.arange(TERMS + AVERAGED + 1) * np.append(0.5, np.ones(TERMS + AVERAGED)))


_WEIGHTS = _weights()
_PLACES: ComplexArray = np.asarray((ACCURACY + 2j * np.pi * np.arange(TERMS + AVERAGED + 1)) / 2, dtype=np.complex128)


def survival_at(transform: Transform, t: float, share: float = 1.0) -> float:
    """P(T > t) for t > 0 from E[e^(-sT)]; ``share`` is the probability of a T that has the transform."""
    s = _PLACES / t
    value = math.exp(ACCURACY / 2) / t * float(((share - transform(s)) / s).real @ _WEIGHTS)
    return min(share, value) if value > NOISE else 0.0


def _late(transform: Transform, positive: float, t: float) -> float:
    """P(T > t) of a T that is zero with probability 1 - ``positive``."""
    return 1.0 if t < 0 else survival_at(transform, t) if t > 0 else positive


@dataclass(frozen=True)
class InvertedTimes(ExactTimes):
    """W and Wq from their transforms; ``scale`` is a typical time, ``p_wait`` P(Wq > 0).

    A customer of a given service is held up for a time and done after that service.  ``held_up`` gives, for a service
    time, the transform of the first and the probability that it is not zero; where it is left out, that is ``waiting``
    whatever the service.  ``response`` is the transform of W, where it is not that of Wq and an independent service.
    ``variances`` are those of "W" and "Wq", where they are known.
    """

    waiting: Transform | None
    p_wait: float
    scale: float
    service: Distribution | None = None
    response: Transform | None = None
    held_up: Callable[[float], tuple[Transform, float]] | None = None
    variances: Mapping[str, float] | None = None

    def survival(self, t: float, of: str) -> float:
        if t < 0:
            return 1.0
        if of == "W":
            return self._response_survival(t)
        if self.waiting is None:
            raise ValueError("the law of Wq is not known for a whole cycle: that of W is")
        return _late(self.waiting, self.p_wait, t)

    def _response_survival(self, t: float) -> float:
        """P(W > t): the jumps of the service one by one, the rest inverted."""
        places, shares = self.service.atoms() if self.service is not None else ((), ())
        held = [self._held_up(x) for x in places]
        late = math.fsum(p * _late(*law, t - x) for x, p, law in zip(places, shares, held, strict=True))
        rest = 1 - math.fsum(shares)
        if rest < 1e-12:
            return late

        def dense(s: ComplexArray) -> ComplexArray:
            jumps = [p * np.exp(-s * x) * law(s) for x, p, (law, _) in zip(places, shares, held, strict=True)]
            return np.asarray(self._response(s) - np.sum(jumps, axis=0) if jumps else self._response(s))

        return late + (survival_at(dense, t, rest) if t > 0 else rest)

    def _held_up(self, service_time: float) -> tuple[Transform, float]:
        assert self.waiting is not None  # noqa: S101
        return self.held_up(service_time) if self.held_up else (self.waiting, self.p_wait)

    def _response(self, s: ComplexArray) -> ComplexArray:
        if self.response is not None:
            return self.response(s)
        assert self.waiting is not None  # noqa: S101
        assert self.service is not None  # noqa: S101
        return np.asarray(self.waiting(s) * self.service.laplace(s))

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.scale)

    def variance(self, of: str) -> float:
        return self.variances[of] if self.variances is not None else super().variance(of)


@dataclass(frozen=True)
class MixedPart:
    """Customers of one class: their share, their times, and the means of these."""

    share: float
    times: TimeDistribution
    means: Mapping[str, float]


@dataclass(frozen=True)
class MixedTimes(ExactTimes):
    """A customer is of one class or another."""

    parts: tuple[MixedPart, ...]

    def variance(self, of: str) -> float:
        mean = math.fsum(part.share * part.means[of] for part in self.parts)
        return math.fsum(p.share * (p.times.variance(of) + (p.means[of] - mean) ** 2) for p in self.parts)

    def survival(self, t: float, of: str) -> float:
        return math.fsum(part.share * part.times.survival(t, of) for part in self.parts)

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.parts[0].times.quantile(0.5, "W"))
