"""The base class of distributions of times.

A family supplies ``mean``, ``scv``, ``fill``, ``cdf`` and ``limited_mean``; the rest follows here.  Families that
know more (raw moments, transforms, phases) override it.
"""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.errors import InvalidParameterError

Phases: TypeAlias = tuple[FloatArray, FloatArray]
"""A phase-type law (α, T): probabilities of the first phase, and the rates between phases until the end."""

LOG_STEP = 0.02  # step of the integrals over the logarithm of time: exact to rounding for analytic integrands


class Distribution:
    """A distribution of non-negative times.

    >>> from qsim import Exponential
    >>> time = Exponential(mean=2)
    >>> isinstance(time, Distribution), time.mean, time.scv
    (True, 2.0, 1.0)
    """

    times: ClassVar[tuple[str, ...]] = ("mean",)  # the parameters that are times: a change of unit multiplies them

    if TYPE_CHECKING:
        # Only for the type checker: a family may have these as fields, which a property here would shadow.
        @property
        def mean(self) -> float:
            """Mean, in the model's time unit."""

        @property
        def scv(self) -> float:
            """Squared coefficient of variation, variance / mean²; 1 for the exponential, 0 for a constant."""

    @property
    def variance(self) -> float:
        """Variance, in the time unit squared."""
        return self.scv * self.mean**2

    @property
    def support(self) -> tuple[float, float]:
        """The shortest and the longest time there may be."""
        return 0.0, math.inf

    @property
    def letter(self) -> str:
        """Kendall's letter for this family: M, D, E2, H2, or G."""
        return "G"

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Overwrite ``out`` with independent draws."""
        raise NotImplementedError(f"{type(self).__name__} must define fill(rng, out)")

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """P(T <= x), elementwise."""
        raise NotImplementedError(f"{type(self).__name__} must define cdf(x)")

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        """P(T > x), elementwise; families with long tails keep its digits there."""
        return np.asarray(1 - self.cdf(x))

    def moment(self, k: int) -> float:
        """The raw moment E[Tᵏ], k >= 0; here by integrating k·tᵏ⁻¹·P(T > t) over log t (trapezoid rule)."""
        k = _check.count("k", k, minimum=0)
        if k <= 2:
            return (1.0, self.mean, self.variance + self.mean**2)[k]
        log_t = np.linspace(-30.0, 60.0, 9001) + math.log(self.mean)
        t = np.exp(log_t)
        return float(k * np.trapezoid(t**k * self.survival(t), log_t))

    def transform(self, s: float) -> float:
        """The Laplace transform E[e^(-sT)] at a real s >= 0; here by integrating e^(-x)·P(T <= x/s) over log x."""
        s = _check.non_negative("s", s)
        if s == 0:
            return 1.0
        log_x = np.linspace(-60.0, 6.7, 6671)
        x = np.exp(log_x)
        return float(np.trapezoid(x * np.exp(-x) * self.cdf(x / s), log_x))

    def residual(self, s: float) -> float:
        """The transform (1 - E[e^(-sT)])/(s·E[T]) of the residual time, s > 0, without cancellation.

        Here exact from phases, or by integrating P(T > t)·e^(-st) over log t, for laws without corners.
        """
        known = self.phases()
        if known is None:
            t, weight = self._log_grid
            return float(np.exp(-s * t) @ weight)
        alpha, T = known
        start = np.linalg.solve(-T.T, alpha) / self.mean
        return float(np.linalg.solve(s * np.eye(alpha.size) - T, -T.sum(axis=1)) @ start)

    @cached_property
    def _log_grid(self) -> tuple[FloatArray, FloatArray]:
        """Times at even steps of log t, and LOG_STEP·t·P(T > t)/E[T], up to where it is negligible."""
        t = self.mean * np.exp(np.arange(-40.0, 80.0, LOG_STEP))
        weight = LOG_STEP * t * self.survival(t) / self.mean
        some = weight > 1e-18
        return t[some], weight[some]

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        """E[min(T, x)], the integral of P(T > t) up to x, elementwise; exact."""
        raise NotImplementedError(f"{type(self).__name__} must define limited_mean(x)")

    def phases(self) -> Phases | None:
        """(α, T) of a phase-type law: α of shape (m,) adds up to 1, T of shape (m, m); None for any other law."""
        return None

    def scaled(self, factor: float) -> Self:
        """The same shape with every time multiplied by ``factor`` (> 0)."""
        factor = _check.positive("factor", factor)
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return type(self)(**{name: _times(factor, v) if name in self.times else v for name, v in values.items()})

    def sample(self, rng: np.random.Generator, n: int) -> FloatArray:
        """``n`` independent draws."""
        out = np.empty(_check.count("n", n, minimum=0))
        self.fill(rng, out)
        return out

    def quantile(self, q: float) -> float:
        """The smallest time t with P(T <= t) >= q, 0 < q < 1; by bisection, as a cdf may jump."""
        q = _check.fraction("q", q)
        low, high = 0.0, self.mean
        while float(self.cdf(high)) < q:
            low, high = high, 2 * high
        while high - low > 1e-13 * high:
            middle = (low + high) / 2
            if middle in (low, high):
                break
            if float(self.cdf(middle)) < q:
                low = middle
            else:
                high = middle
        return high


class OfVariance(Distribution):
    """A family that supplies its ``variance``, not its scv."""

    @property
    def scv(self) -> float:
        return self.variance / self.mean**2


class LengthBiased(Distribution):
    """A family whose length-biased law is known: it supplies ``biased``."""

    def biased(self, x: npt.ArrayLike) -> FloatArray:
        """E[T; T <= x]/E[T], the share of all time that is in times up to x."""
        raise NotImplementedError(f"{type(self).__name__} must define biased(x)")

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        return np.asarray(self.mean * self.biased(t) + t * self.survival(t))


class GammaTimes(LengthBiased):
    """Gamma and Erlang times: the shape is 1/scv; the length-biased law has a shape larger by one."""

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_gamma(1 / self.scv, out=out)
        out *= self.mean * self.scv

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import gammainc

        return np.asarray(gammainc(1 / self.scv, np.maximum(x, 0.0) / (self.mean * self.scv)))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(1 / self.scv, np.maximum(x, 0.0) / (self.mean * self.scv)))

    def biased(self, x: npt.ArrayLike) -> FloatArray:
        from scipy.special import gammainc

        return np.asarray(gammainc(1 / self.scv + 1, np.maximum(x, 0.0) / (self.mean * self.scv)))

    def moment(self, k: int) -> float:
        return math.prod(self.mean * (1 + j * self.scv) for j in range(_check.count("k", k, minimum=0)))

    def transform(self, s: float) -> float:
        return math.exp(-math.log1p(s * self.mean * self.scv) / self.scv)

    def residual(self, s: float) -> float:
        return -math.expm1(-math.log1p(s * self.mean * self.scv) / self.scv) / (s * self.mean)


def ramp(x: float) -> float:
    """(1 - e^-x)/x: the transform of a uniform time between 0 and 1, at x."""
    return -math.expm1(-x) / x if x > 0 else 1.0


def _times(factor: float, value: Any) -> Any:
    return tuple(factor * v for v in value) if isinstance(value, tuple) else factor * value


def require_phases(law: Distribution) -> Phases:
    """The phases of a law; InvalidParameterError for one that has none."""
    known = law.phases()
    if known is None:
        raise InvalidParameterError(
            "distribution", f"must be phase-type, not {law!r}", "for its mean and scv use from_moments", law
        )
    return known


def require(name: str, value: object) -> Distribution:
    """The value when it is a Distribution with a positive, finite mean; otherwise ValueError."""
    if not isinstance(value, Distribution):
        raise InvalidParameterError(
            name, f"must be a Distribution, not {value!r}", "for a mean of 2 write Exponential(mean=2)", value=value
        )
    if not 0 < value.mean < np.inf:
        raise InvalidParameterError(
            name,
            f"must have a positive, finite mean, not {value.mean!r}",
            "queues fed by it have no steady state",
            value.mean,
        )
    return value
