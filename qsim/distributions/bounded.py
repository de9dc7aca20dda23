"""Uniform times, and normal ones cut off at zero."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import ComplexArray, FloatArray
from qsim.distributions.base import Distribution
from qsim.errors import InvalidParameterError


@dataclass(frozen=True)
class Uniform(Distribution):
    """Anything between ``low`` and ``high``, alike.

    >>> Uniform(1, 3).mean, round(Uniform(0, 2).scv, 6)
    (2.0, 0.333333)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _check.non_negative("low", self.low))
        object.__setattr__(self, "high", _check.positive("high", self.high))
        if self.low >= self.high:
            raise InvalidParameterError(
                "high",
                f"must be above low ({self.low:g}), not {self.high:g}",
                "for one time alone use Deterministic",
                self.high,
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> Uniform:
        mean, scv = _check.positive("mean", mean), _check.positive("scv", scv, "for scv 0 use Deterministic")
        if scv > 1 / 3 + 1e-12:
            raise InvalidParameterError(
                "scv", f"of a uniform time must be at most 1/3, not {scv!r}", "else it would reach below zero", scv
            )
        half = mean * math.sqrt(3 * scv)
        return cls(max(0.0, mean - half), mean + half)

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    @property
    def scv(self) -> float:
        return (self.high - self.low) ** 2 / 12 / self.mean**2

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.random(out=out)
        out *= self.high - self.low
        out += self.low

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.clip((np.asarray(x, dtype=np.float64) - self.low) / (self.high - self.low), 0.0, 1.0))

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        return np.asarray(np.where((t >= self.low) & (t <= self.high), 1 / (self.high - self.low), 0.0))

    def quantile(self, q: float) -> float:
        return self.low + (self.high - self.low) * _check.fraction("q", q)

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return sum(self.low ** (k - j) * self.high**j for j in range(k + 1)) / (k + 1)

    def transform(self, s: float) -> float:
        width = s * (self.high - self.low)
        return math.exp(-s * self.low) * (-math.expm1(-width) / width if width > 0 else 1.0)

    def laplace(self, s: ComplexArray) -> ComplexArray:
        width = s * (self.high - self.low)
        small = np.abs(width) < 1e-12
        return np.asarray(np.exp(-s * self.low) * np.where(small, 1.0, -np.expm1(-width) / np.where(small, 1.0, width)))

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        beyond = np.clip(t, self.low, self.high) - self.low
        return np.asarray(np.minimum(t, self.low) + beyond - beyond**2 / (2 * (self.high - self.low)))

    def scaled(self, factor: float) -> Uniform:
        factor = _check.positive("factor", factor)
        return Uniform(self.low * factor, self.high * factor)


@dataclass(frozen=True)
class TruncatedNormal(Distribution):
    """Normal of ``location`` and ``deviation``, without the times below zero; its own mean is above the location.

    ``from_moments`` takes the mean and scv that the times have.  Source: Johnson, Kotz & Balakrishnan (1994),
    Continuous Univariate Distributions I, section 13.10.

    >>> TruncatedNormal(location=10, deviation=1).mean
    10.0
    >>> round(TruncatedNormal.from_moments(mean=2, scv=0.25).mean, 9)
    2.0
    """

    location: float
    deviation: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", _check.number("location", self.location))
        object.__setattr__(self, "deviation", _check.positive("deviation", self.deviation))
        if not -6 <= self.location / self.deviation < math.inf:
            raise InvalidParameterError(
                "location",
                f"must be at least -6 deviations, not {self.location:g}",
                "what is left of it is as good as exponential",
                self.location,
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> TruncatedNormal:
        from scipy.optimize import brentq

        mean, scv = _check.positive("mean", mean), _check.positive("scv", scv, "for scv 0 use Deterministic")
        most = cls(-6.0, 1.0).scv
        if scv > most:
            raise InvalidParameterError(
                "scv", f"of a normal time above zero must be at most {most:.3g}, not {scv!r}", "1 is exponential", scv
            )
        ratio = float(brentq(lambda h: cls(h, 1.0).scv - scv, -6.0, 2 / math.sqrt(scv) + 2, xtol=1e-13))
        unit = cls(ratio, 1.0)
        return cls(ratio * mean / unit.mean, mean / unit.mean)

    @property
    def _cut(self) -> tuple[float, float]:
        """-location/deviation, and the density of the normal there over the share above it."""
        from scipy.special import log_ndtr

        z = -self.location / self.deviation
        return z, math.exp(-z * z / 2 - float(log_ndtr(-z))) / math.sqrt(2 * math.pi)

    @property
    def mean(self) -> float:
        return self.location + self.deviation * self._cut[1]

    @property
    def variance(self) -> float:
        z, hazard = self._cut
        return self.deviation**2 * (1 + z * hazard - hazard**2)

    @property
    def scv(self) -> float:
        return self.variance / self.mean**2

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        from scipy.special import ndtr, ndtri

        rng.random(out=out)
        np.subtract(1.0, out, out=out)  # never zero
        out[:] = self.location - self.deviation * ndtri(out * ndtr(self.location / self.deviation))
        np.maximum(out, 0.0, out=out)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        above = ndtr((self.location - t) / self.deviation) / ndtr(self.location / self.deviation)
        return np.asarray(1 - above)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        t = np.asarray(x, dtype=np.float64)
        z = (t - self.location) / self.deviation
        height = np.exp(-(z**2) / 2) / (math.sqrt(2 * math.pi) * self.deviation * ndtr(self.location / self.deviation))
        return np.asarray(np.where(t < 0, 0.0, height))

    def scaled(self, factor: float) -> TruncatedNormal:
        factor = _check.positive("factor", factor)
        return TruncatedNormal(self.location * factor, self.deviation * factor)
