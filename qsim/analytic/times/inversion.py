"""Distributions of times from their Laplace transforms, inverted numerically.

With F(s) = E[e^(-sT)] the survival function P(T > t) has the transform f(s) = (1 - F(s))/s, and

    P(T > t) = e^(A/2)/(2t)·Re f(A/(2t)) + e^(A/2)/t·sum over k >= 1 of (-1)^k·Re f((A + 2πik)/(2t)),

up to an error of e^-A; the alternating sum is taken by Euler's method, a binomial mean of its last partial sums.
Where the law is smooth the result is right to about 1e-9, absolutely; beside a jump, as constant services make
them, to 1e-2 or less, so a constant service is taken out before (the response is then the wait, shifted).

Source: Abate & Whitt (1995), "Numerical inversion of Laplace transforms of probability distributions", ORSA J.
Comput. 7.

>>> from qsim import Exponential
>>> round(survival_at(Exponential(mean=2.0).laplace, 1.0), 9)
0.60653066
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qsim._types import ComplexArray, FloatArray
from qsim.analytic import invert as _invert
from qsim.distributions import Deterministic, Distribution
from qsim.metrics import ExactTimes

Transform: TypeAlias = Callable[[ComplexArray], ComplexArray]

ACCURACY = 21.0
"""A: the discretisation error is e^-A, and rounding grows with e^(A/2)."""

TERMS, AVERAGED = 28, 12
STEP, POINTS = 4e-3, 6
NOISE = 1e-9
"""A survival below this is taken as zero."""


def _weights() -> FloatArray:
    """Of the terms k = 0, ..., TERMS + AVERAGED: alternating signs, fading out binomially."""
    binomial = np.array([math.comb(AVERAGED, j) for j in range(AVERAGED + 1)]) / 2.0**AVERAGED
    fading = np.append(np.ones(TERMS), np.cumsum(binomial[::-1])[::-1])
    return np.asarray(fading * (-1.0) ** np.arange(TERMS + AVERAGED + 1) * np.append(0.5, np.ones(TERMS + AVERAGED)))


_WEIGHTS = _weights()
_PLACES: ComplexArray = np.asarray((ACCURACY + 2j * np.pi * np.arange(TERMS + AVERAGED + 1)) / 2, dtype=np.complex128)


def survival_at(transform: Transform, t: float) -> float:
    """P(T > t) for t > 0 from E[e^(-sT)]."""
    s = _PLACES / t
    value = math.exp(ACCURACY / 2) / t * float(((1 - transform(s)) / s).real @ _WEIGHTS)
    return min(1.0, value) if value > NOISE else 0.0


def mean_and_variance(transform: Transform, scale: float) -> tuple[float, float]:
    """From (1 - F(s))/s = E[T] - s·E[T²]/2 + ..., drawn through points near zero; right to about 0.1 %.

    ``scale`` is a typical time.
    """
    first, second = scale, scale**2
    for _ in range(2):  # the second time with steps that suit the moments
        step = STEP * first / second
        s = step * np.arange(1, POINTS + 1)
        height = ((1 - transform(s.astype(np.complex128))) / s).real
        series = np.linalg.solve(np.vander(np.arange(1.0, POINTS + 1), increasing=True), height)
        first, second = float(series[0]), -2 * float(series[1]) / step
    return first, second - first**2


@dataclass(frozen=True)
class InvertedTimes(ExactTimes):
    """W and Wq from their transforms; ``scale`` is a typical time, ``p_wait`` P(Wq > 0).

    Where a response is a wait and then an independent ``service``, its transform follows; otherwise ``response`` is
    given.
    """

    waiting: Transform | None
    p_wait: float
    scale: float
    service: Distribution | None = None
    response: Transform | None = None
    heavy: bool = False
    """Whether the variance of the wait is infinite."""

    def survival(self, t: float, of: str) -> float:
        if t < 0:
            return 1.0
        if of == "Wq":
            return survival_at(self._waiting, t) if t > 0 else self.p_wait
        if isinstance(self.service, Deterministic):
            return self.survival(t - self.service.value, "Wq")
        return survival_at(self._response, t) if t > 0 else 1.0

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.scale)

    def variance(self, of: str) -> float:
        return self.mean_and_variance(of)[1]

    def mean_and_variance(self, of: str) -> tuple[float, float]:
        """Of W or Wq."""
        if of == "W" and self.service is not None:
            mean, variance = self.mean_and_variance("Wq")
            return mean + self.service.mean, variance + self.service.variance
        mean, variance = mean_and_variance(self._waiting if of == "Wq" else self._response, self.scale)
        return mean, math.inf if self.heavy else variance

    @property
    def _waiting(self) -> Transform:
        if self.waiting is None:
            raise ValueError("the law of Wq is not known for a whole cycle: that of W is")
        return self.waiting

    def _response(self, s: ComplexArray) -> ComplexArray:
        if self.response is not None:
            return self.response(s)
        assert self.service is not None  # noqa: S101
        return np.asarray(self._waiting(s) * self.service.laplace(s))


@dataclass(frozen=True)
class MixedTimes(ExactTimes):
    """A customer is of part i with a share: pairs (share, times)."""

    parts: tuple[tuple[float, InvertedTimes], ...]

    def variance(self, of: str) -> float:
        found = [(share, *times.mean_and_variance(of)) for share, times in self.parts]
        mean = math.fsum(share * m for share, m, _ in found)
        return math.fsum(share * (v + (m - mean) ** 2) for share, m, v in found)

    def survival(self, t: float, of: str) -> float:
        return math.fsum(share * times.survival(t, of) for share, times in self.parts)

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.parts[0][1].quantile(0.5, "W"))
