"""One-mode families with a free scv: gamma, lognormal, Weibull, Burr XII.

Device service times have several modes; these are for theory, and for seeing how far one mode carries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import ComplexArray, FloatArray
from qsim.distributions.base import Distribution, gamma_density
from qsim.errors import InvalidParameterError

SMALLEST_SHAPE = 0.02


@dataclass(frozen=True)
class Gamma(Distribution):
    """Gamma with the given mean and scv; the shape is 1/scv.

    >>> Gamma(mean=2, scv=0.5).variance
    2.0
    """

    mean: float
    scv: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _check.positive("mean", self.mean))
        object.__setattr__(self, "scv", _check.positive("scv", self.scv, "for scv 0 use Deterministic"))

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> Gamma:
        return cls(mean, scv)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        return gamma_density(x, 1 / self.scv, self.mean * self.scv)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_gamma(1 / self.scv, out=out)
        out *= self.mean * self.scv

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import gammainc

        return np.asarray(gammainc(1 / self.scv, np.maximum(x, 0.0) / (self.mean * self.scv)))

    def moment(self, k: int) -> float:
        steps = range(_check.count("k", k, minimum=0))
        return math.prod(self.mean * (1 + j * self.scv) for j in steps)

    def transform(self, s: float) -> float:
        return math.exp(-math.log1p(s * self.mean * self.scv) / self.scv)

    def laplace(self, s: ComplexArray) -> ComplexArray:
        return np.asarray((1 + s * self.mean * self.scv) ** (-1 / self.scv))

    def scaled(self, factor: float) -> Gamma:
        return Gamma(self.mean * _check.positive("factor", factor), self.scv)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """Lognormal with the given mean and scv (of the time itself, not of its logarithm).

    >>> LogNormal(mean=2, scv=3).variance
    12.0
    """

    mean: float
    scv: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _check.positive("mean", self.mean))
        object.__setattr__(self, "scv", _check.positive("scv", self.scv, "for scv 0 use Deterministic"))

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> LogNormal:
        return cls(mean, scv)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        positive = np.where(t > 0, t, 1.0)
        z = (np.log(positive) - self.mu) / self.sigma
        height = np.exp(-(z**2) / 2) / (positive * self.sigma * math.sqrt(2 * math.pi))
        return np.asarray(np.where(t > 0, height, 0.0))

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(math.log1p(self.scv))

    @property
    def mu(self) -> float:
        """Mean of the logarithm."""
        return math.log(self.mean) - self.sigma**2 / 2

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_normal(out=out)
        out *= self.sigma
        out += self.mu
        np.exp(out, out=out)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(ndtr((np.log(np.maximum(x, 0.0)) - self.mu) / self.sigma))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return float(self.mean**k * (1 + self.scv) ** (k * (k - 1) / 2))

    def scaled(self, factor: float) -> LogNormal:
        return LogNormal(self.mean * _check.positive("factor", factor), self.scv)


@dataclass(frozen=True)
class Weibull(Distribution):
    """Weibull with the given shape and mean; shape below 1 has a heavy tail, 1 is the exponential.

    The shape is at least 0.02: below that the mean comes from times too rare and too long for floats.

    >>> Weibull(shape=1, mean=2).scv, round(Weibull(shape=0.5, mean=2).scv, 6)
    (1.0, 5.0)
    """

    shape: float
    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _check.positive("shape", self.shape))
        object.__setattr__(self, "mean", _check.positive("mean", self.mean))
        if self.shape < SMALLEST_SHAPE:
            raise InvalidParameterError(
                "shape",
                f"must be at least {SMALLEST_SHAPE}, not {self.shape!r}",
                "no time has so long a tail",
                self.shape,
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> Weibull:
        from scipy.optimize import brentq

        scv = _check.positive("scv", scv, "for scv 0 use Deterministic")

        def gap(log_shape: float) -> float:
            inverse = math.exp(-log_shape)
            return math.lgamma(1 + 2 * inverse) - 2 * math.lgamma(1 + inverse) - math.log1p(scv)

        low, high = math.log(SMALLEST_SHAPE), math.log(1e4)
        if gap(low) < 0 or gap(high) > 0:
            raise InvalidParameterError("scv", f"of a Weibull time must not be as far from 1 as {scv!r}", value=scv)
        return cls(math.exp(brentq(gap, low, high, xtol=1e-13)), mean)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        y = np.maximum(t, 0.0) / self.scale
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            height = self.shape / self.scale * y ** (self.shape - 1) * np.exp(-(y**self.shape))
        return np.asarray(np.where(t < 0, 0.0, np.nan_to_num(height, nan=0.0, posinf=math.inf)))

    @property
    def scale(self) -> float:
        """The time by which a share 1 - 1/e is over."""
        return self.mean / math.gamma(1 + 1 / self.shape)

    @property
    def scv(self) -> float:
        return math.gamma(1 + 2 / self.shape) / math.gamma(1 + 1 / self.shape) ** 2 - 1

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)
        np.power(out, 1 / self.shape, out=out)
        out *= self.scale

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):  # an infinite hazard is a sure end
            return np.asarray(-np.expm1(-((np.maximum(x, 0.0) / self.scale) ** self.shape)))

    def quantile(self, q: float) -> float:
        return float(self.scale * (-math.log1p(-_check.fraction("q", q))) ** (1 / self.shape))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return math.exp(k * math.log(self.scale) + math.lgamma(1 + k / self.shape))

    def scaled(self, factor: float) -> Weibull:
        return Weibull(self.shape, self.mean * _check.positive("factor", factor))


@dataclass(frozen=True)
class BurrXII(Distribution):
    """Burr's twelfth law with shapes ``c`` and ``k`` and the given mean: P(T > t) = (1 + (t/scale)^c)^-k.

    Its tail falls as t^-ck, slower than any exponential: ck must exceed 1, or there is no mean, and with ck of 2 or
    less the scv is infinite.  c = 1 is Lomax, k = 1 the log-logistic.  Source: Burr (1942), Ann. Math. Statist. 13.

    >>> burr = BurrXII(c=2, k=2, mean=1)
    >>> burr.mean, round(burr.scv, 2)
    (1.0, 0.62)
    """

    c: float
    k: float
    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", _check.positive("c", self.c))
        object.__setattr__(self, "k", _check.positive("k", self.k))
        object.__setattr__(self, "mean", _check.positive("mean", self.mean))
        if self.c * self.k <= 1:
            raise InvalidParameterError(
                "c",
                f"times k must exceed 1, not {self.c * self.k!r}: with a tail so heavy there is no mean",
                value=self.c * self.k,
            )
        if self._raw(1) < 1e-150:
            raise InvalidParameterError(
                "c", f"must not be as small as {self.c!r} with k = {self.k!r}", "times would pass all floats"
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> BurrXII:
        """With k = 1, the log-logistic, whose scv may be anything above 0."""
        from scipy.optimize import brentq

        scv = _check.positive("scv", scv, "for scv 0 use Deterministic")

        def gap(c: float) -> float:  # E[T²]/E[T]² = tan(π/c)/(π/c), for a finite scv c > 2
            return math.log(math.tan(math.pi / c) * c / math.pi) - math.log1p(scv)

        return cls(brentq(gap, 2 + 1e-12, 1e6, xtol=1e-13), 1.0, mean)

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        y = np.where(t > 0, t, 1.0) / self.scale
        power = self.c * np.log(y)
        logs = math.log(self.c * self.k / self.scale) + power - np.log(y) - (self.k + 1) * np.logaddexp(0.0, power)
        return np.asarray(np.where(t > 0, np.exp(logs), 0.0))

    @property
    def scale(self) -> float:
        """The time t at which P(T > t) = 2^-k."""
        return self.mean / self._raw(1)

    @property
    def scv(self) -> float:
        return self._raw(2) / self._raw(1) ** 2 - 1

    def _raw(self, r: int) -> float:
        """E[(T/scale)^r] = k·B(k - r/c, 1 + r/c); infinite from r = ck on."""
        if r >= self.c * self.k:
            return math.inf
        a, b = self.k - r / self.c, 1 + r / self.c
        return self.k * math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)  # -log of a uniform survival
        out /= self.k
        out += np.log(-np.expm1(-out))  # log(e^h - 1), for h that no exponential of can be represented too
        out /= self.c
        np.exp(out, out=out)
        out *= self.scale

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            power = self.c * np.log(np.maximum(x, 0.0) / self.scale)  # in logarithms: c may be hundreds
        return np.asarray(-np.expm1(-self.k * np.logaddexp(0.0, power)))

    def quantile(self, q: float) -> float:
        hazard = -math.log1p(-_check.fraction("q", q)) / self.k
        return float(self.scale * math.exp((hazard + math.log(-math.expm1(-hazard))) / self.c))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return self.scale**k * self._raw(k)

    def scaled(self, factor: float) -> BurrXII:
        return BurrXII(self.c, self.k, self.mean * _check.positive("factor", factor))
