"""What every distribution of times can do.

A family supplies ``mean``, ``scv``, ``fill``, ``cdf`` and ``scaled``; the rest follows here.  Families that
know more (raw moments, Laplace transform, phases) say so by overriding.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import ComplexArray, FloatArray
from qsim.errors import InvalidParameterError

Phases: TypeAlias = tuple[FloatArray, FloatArray]
"""A phase-type law (α, T): the phase it starts in, and the rates between phases until it is over."""


STRATA = 500
ATOM = 1e-2
"""A stratum with more of the probability than this, and most of it at one place, is an atom: a time that many take."""


class SizeStrata(NamedTuple):
    """Thin strata of times, shortest first: the share of each, its mean, and how wide it is (0: an atom)."""

    share: FloatArray
    mean: FloatArray
    width: FloatArray


class Distribution:
    """A distribution of non-negative times.

    >>> from qsim import Exponential
    >>> time = Exponential(mean=2)
    >>> isinstance(time, Distribution), time.mean, time.scv
    (True, 2.0, 1.0)
    """

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
    def letter(self) -> str:
        """Kendall's letter for this family: M, D, E2, H2, or G."""
        return "G"

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Overwrite ``out`` with independent draws."""
        raise NotImplementedError(f"{type(self).__name__} must define fill(rng, out)")

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """P(T <= x), elementwise."""
        raise NotImplementedError(f"{type(self).__name__} must define cdf(x)")

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        """The density at x, elementwise; ValueError where times are atoms, as constant ones."""
        raise ValueError(f"{type(self).__name__} has no density: use cdf(x)")

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> Distribution:
        """The member of this family with this mean and scv; ValueError where there is none.

        >>> from qsim import Erlang, LogNormal, Weibull
        >>> Erlang.from_moments(mean=2, scv=0.25), LogNormal.from_moments(2, 3)
        (Erlang(k=4, mean=2.0), LogNormal(mean=2.0, scv=3.0))
        >>> round(Weibull.from_moments(mean=1, scv=5).shape, 6)
        0.5
        """
        raise ValueError(f"a mean and an scv determine no {cls.__name__}: take Gamma, LogNormal or PhaseType")

    def __add__(self, other: Distribution | float) -> Distribution:
        """The sum of independent times; a number is a constant time."""
        from qsim.distributions.sums import Sum

        return Sum((self, other))

    def __radd__(self, other: float) -> Distribution:
        """A number plus this time; 0 + T is T, so that sum() works."""
        return self if isinstance(other, int | float) and other == 0 else self + other

    def moment(self, k: int) -> float:
        """The raw moment E[Tᵏ], k >= 0; here by integrating k·tᵏ⁻¹·P(T > t) over log t (trapezoid rule)."""
        k = _check.count("k", k, minimum=0)
        if k <= 2:
            return (1.0, self.mean, self.variance + self.mean**2)[k]
        log_t = np.linspace(-30.0, 60.0, 9001) + math.log(self.mean)
        t = np.exp(log_t)
        return float(k * np.trapezoid(t**k * (1 - self.cdf(t)), log_t))

    def transform(self, s: float) -> float:
        """The Laplace transform E[e^(-sT)] at a real s >= 0; here by integrating e^(-x)·P(T <= x/s) over log x."""
        s = _check.non_negative("s", s)
        if s == 0:
            return 1.0
        log_x = np.linspace(-60.0, 6.7, 6671)
        x = np.exp(log_x)
        return float(np.trapezoid(x * np.exp(-x) * self.cdf(x / s), log_x))

    def laplace(self, s: ComplexArray) -> ComplexArray:
        """E[e^(-sT)] at complex s with Re s >= 0, shape (k,); here exact from phases, or from thin strata of times."""
        known = self.phases()
        if known is not None:
            alpha, T = known
            ends, still = -T.sum(axis=1)[:, np.newaxis], np.eye(alpha.size)
            return np.asarray(np.linalg.solve(np.multiply.outer(s, still) - T, ends)[:, :, 0] @ alpha)
        return laplace_of_strata(self.strata, s)

    @cached_property
    def strata(self) -> SizeStrata:
        """The law cut into strata, evenly in the logarithm of time but for the shortest."""
        low, high = max(self.quantile(1e-5), 1e-9 * self.mean), self.quantile(1 - 1e-12)
        edges = np.append(0.0, np.geomspace(low * (1 - 1e-9), max(low, high) * (1 + 1e-9), STRATA))
        below, limited = self.cdf(edges), self.limited_mean(edges)
        share = np.diff(below)
        work = np.maximum(np.diff(limited - edges * (1 - below)), 0.0)
        some = share > 1e-15
        share, work, left, right = share[some], work[some], edges[:-1][some], edges[1:][some]
        share, mean = share / share.sum(), np.clip(work / share, left, right)
        mean *= self.mean / (share @ mean)
        width = np.minimum(right - left, 2 * mean)  # no time is negative
        middle = self.cdf(mean + width / 8) - self.cdf(mean - width / 8)
        return SizeStrata(share, mean, np.where((share > ATOM) & (middle > share / 2), 0.0, width))

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        """E[min(T, x)], the integral of P(T > t) up to x, elementwise; here by the trapezoid rule between the x."""
        wanted = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        edges = np.unique(np.append(wanted.ravel(), 0.0))
        share = np.arange(16) / 16
        fine = np.append((edges[:-1, np.newaxis] + np.diff(edges)[:, np.newaxis] * share).ravel(), edges[-1])
        height = 1 - self.cdf(fine)
        area = np.concatenate(([0.0], np.cumsum(np.diff(fine) * (height[1:] + height[:-1]) / 2)))
        return np.asarray(np.minimum(area[::16][np.searchsorted(edges, wanted)], self.mean))

    def phases(self) -> Phases | None:
        """(α, T) of a phase-type law: α of shape (m,) adds up to 1, T of shape (m, m); None for any other law."""
        return None

    def scaled(self, factor: float) -> Distribution:
        """The same shape with every time multiplied by ``factor`` (> 0)."""
        raise NotImplementedError(f"{type(self).__name__} must define scaled(factor)")

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


def laplace_of_strata(strata: SizeStrata, s: ComplexArray) -> ComplexArray:
    """The transform at s, shape (k,): times lie evenly across each stratum."""
    half = np.multiply.outer(s, strata.width / 2)
    large = np.abs(half) > 300  # where e^-st is nothing
    spread = np.sinh(np.where(large, 0.0, half)) / np.where(large | (half == 0), 1.0, half)
    spread = np.where(half == 0, 1.0, spread)
    return np.asarray((np.exp(-np.multiply.outer(s, strata.mean)) * spread) @ strata.share)


def gamma_density(x: npt.ArrayLike, shape: float, scale: float) -> FloatArray:
    """The density of a gamma time; in logarithms, as shapes may be thousands."""
    from scipy.special import gammaln, xlogy

    t = np.asarray(x, dtype=np.float64)
    y = np.maximum(t, 0.0) / scale
    with np.errstate(divide="ignore"):
        logs = xlogy(shape - 1, y) - y - gammaln(shape) - math.log(scale)
    return np.asarray(np.where(t < 0, 0.0, np.exp(logs)))


def only_scv(family: str, scv: float, *known: float) -> None:
    """ValueError unless the scv is one that the family has."""
    if not any(math.isclose(scv, value, rel_tol=1e-9, abs_tol=1e-12) for value in known):
        raise InvalidParameterError(
            "scv",
            f"of {family} must be {' or '.join(f'{v:g}' for v in known)}, not {scv!r}",
            "take Gamma, LogNormal or PhaseType, which have any",
            scv,
        )


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
