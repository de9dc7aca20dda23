"""The exponential and its relatives: the usual distributions of queueing theory.

An exponential time has no memory.  Sums of k of them (Erlang) vary less, scv = 1/k, down to a constant;
random choices between them (hyperexponential) vary more, scv > 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions.base import Distribution, GammaTimes, Phases, ramp
from qsim.errors import InvalidParameterError


@dataclass(frozen=True, init=False)
class Exponential(Distribution):
    """Exponential with the given mean, or ``rate`` = 1/mean; as times between arrivals it gives a Poisson process.

    A mean of infinity stands for the Poisson process of rate zero, without any arrival.

    >>> Exponential(mean=2).scv, Exponential(rate=4).mean
    (1.0, 0.25)
    """

    mean: float

    def __init__(self, mean: float | None = None, *, rate: float | None = None) -> None:
        if (mean is None) == (rate is None):
            raise InvalidParameterError("mean", "or rate must be given, and not both", "write Exponential(mean=2)")
        if rate is not None:
            mean = _check.mean_of("rate", rate)
        value = _check.number("mean", mean)
        if value <= 0:
            raise InvalidParameterError(
                "mean", f"must be positive, not {_check.shown(mean)}", "the mean of an exponential time", value=mean
            )
        _check.keep(self, mean=value if value == math.inf else _check.positive("mean", value))

    @property
    def rate(self) -> float:
        """1/mean."""
        return 1 / self.mean

    @property
    def scv(self) -> float:
        return 1.0

    @property
    def letter(self) -> str:
        return "M"

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)
        out *= self.mean

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(-np.expm1(-np.maximum(x, 0.0) / self.mean))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.exp(-np.maximum(x, 0.0) / self.mean))

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(self.mean * self.cdf(x))

    def quantile(self, q: float) -> float:
        return -self.mean * math.log1p(-_check.fraction("q", q))

    def moment(self, k: int) -> float:
        return math.factorial(_check.count("k", k, minimum=0)) * self.mean**k

    def transform(self, s: float) -> float:
        return 1 / (1 + s * self.mean)

    def residual(self, s: float) -> float:
        return 1 / (1 + s * self.mean)

    def phases(self) -> Phases:
        return np.ones(1), np.array([[-1 / self.mean]])


@dataclass(frozen=True)
class Deterministic(Distribution):
    """Always the same time; zero is allowed, for think times.

    >>> Deterministic(2).mean, Deterministic(2).scv
    (2.0, 0.0)
    """

    times = ("value",)
    value: float

    def __post_init__(self) -> None:
        _check.keep(self, value=_check.non_negative("value", self.value))

    @property
    def mean(self) -> float:
        return self.value

    @property
    def scv(self) -> float:
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        return self.value, self.value

    @property
    def letter(self) -> str:
        return "D"

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        out.fill(self.value)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.asarray(x) >= self.value, dtype=np.float64)

    def quantile(self, q: float) -> float:
        _check.fraction("q", q)
        return self.value

    def moment(self, k: int) -> float:
        return self.value ** _check.count("k", k, minimum=0)

    def transform(self, s: float) -> float:
        return math.exp(-s * self.value)

    def residual(self, s: float) -> float:
        return ramp(s * self.value)

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.clip(np.asarray(x, dtype=np.float64), 0.0, self.value))


@dataclass(frozen=True)
class Erlang(GammaTimes):
    """Sum of ``k`` equal exponential stages, with the given mean in all; scv = 1/k.

    >>> Erlang(k=4, mean=2).scv
    0.25
    """

    k: int
    mean: float

    def __post_init__(self) -> None:
        _check.keep(self, k=_check.count("k", self.k), mean=_check.positive("mean", self.mean))

    @property
    def scv(self) -> float:
        return 1 / self.k

    @property
    def letter(self) -> str:
        return f"E{self.k}"

    def phases(self) -> Phases:
        rate = self.k / self.mean
        return np.eye(1, self.k)[0], rate * (np.eye(self.k, k=1) - np.eye(self.k))


@dataclass(frozen=True)
class HyperExponential(Distribution):
    """With probability ``probabilities[i]`` an exponential time of mean ``means[i]``; scv >= 1.

    >>> time = HyperExponential((0.9, 0.1), (1, 11))
    >>> time.mean, round(time.scv, 2)
    (2.0, 5.5)
    """

    times = ("means",)
    probabilities: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        _check.keep(self, probabilities=_check.weights("probabilities", self.probabilities))
        means = tuple(_check.positive(f"means[{i}]", m) for i, m in enumerate(_check.sequence("means", self.means)))
        _check.as_many("means", means, "probabilities", len(self.probabilities))
        _check.keep(self, means=means)

    @classmethod
    def from_three_moments(cls, first: float, second: float, third: float) -> HyperExponential | None:
        """Two phases with these moments E[X], E[X²], E[X³]; None where two phases cannot (scv <= 1, or light tails).

        Source: Whitt (1982), "Approximating a point process by a renewal process", Oper. Res. 30, eq. 3.5.

        >>> HyperExponential.from_three_moments(0.875, 2.375, 12.5625)
        HyperExponential(probabilities=(0.25, 0.75), means=(2.0, 0.5))
        """
        m, a, b = first, second / 2, third / 6  # of an exponential of mean x: x, x², x³
        spread = a - m * m
        if not (spread > 0 and math.isfinite(b) and b * m > a * a):
            return None
        half, product = (b - m * a) / (2 * spread), (m * b - a * a) / spread  # of the two means
        slow = half + math.sqrt(half * half - product)
        fast = product / slow
        share = (m - fast) / (slow - fast)
        return cls((share, 1 - share), (slow, fast)) if 0 < share < 1 else None

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> HyperExponential:
        """Two phases with balanced means, p1·m1 = p2·m2, for a mean and an scv of 1 or more.

        Source: Whitt (1982), "Approximating a point process by a renewal process", Oper. Res. 30, eq. 3.7.
        """
        mean, scv = _check.positive("mean", mean), _check.positive("scv", scv)
        if scv < 1:
            raise InvalidParameterError(
                "scv", f"of a hyperexponential must be at least 1, not {scv!r}: below 1 use Erlang or Gamma", value=scv
            )
        rare = 1 / (scv + 1) / (1 + math.sqrt((scv - 1) / (scv + 1)))  # (1 - √((scv-1)/(scv+1)))/2, which would cancel
        return cls((1 - rare, rare), (mean / (2 * (1 - rare)), mean / (2 * rare)))

    @property
    def mean(self) -> float:
        return self.moment(1)

    @property
    def scv(self) -> float:
        return self.moment(2) / self.mean**2 - 1

    def _over_means(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.maximum(np.asarray(x), 0.0)[..., np.newaxis] / np.asarray(self.means))

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(-np.expm1(-self._over_means(x)) @ np.asarray(self.probabilities))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(np.exp(-self._over_means(x)) @ np.asarray(self.probabilities))

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        return np.asarray(-np.expm1(-self._over_means(x)) @ np.multiply(self.probabilities, self.means))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return math.factorial(k) * math.fsum(p * m**k for p, m in zip(self.probabilities, self.means, strict=True))

    def transform(self, s: float) -> float:
        return math.fsum(p / (1 + s * m) for p, m in zip(self.probabilities, self.means, strict=True))

    @property
    def letter(self) -> str:
        return f"H{len(self.means)}"

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        phase = np.searchsorted(np.cumsum(self.probabilities)[:-1], rng.random(out.size), side="right")
        rng.standard_exponential(out=out)
        out *= np.asarray(self.means)[phase]

    def phases(self) -> Phases:
        return np.asarray(self.probabilities), np.diag(-1 / np.asarray(self.means))
