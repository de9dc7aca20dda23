"""Distributions built from others: mixtures (several modes) and shifts (a constant part)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions.base import Distribution, OfVariance, Phases, ramp
from qsim.errors import InvalidParameterError


def _require_component(name: str, value: object) -> Distribution:
    if not isinstance(value, Distribution) or not math.isfinite(value.mean):
        raise InvalidParameterError(name, f"must be a Distribution with a finite mean, not {value!r}", value=value)
    return value


@dataclass(frozen=True)
class Mixture(OfVariance):
    """With probability ``weights[i]`` a time from ``components[i]``.

    >>> from qsim import Deterministic
    >>> Mixture((Deterministic(1), Deterministic(9)), weights=(0.75, 0.25)).mean
    3.0
    """

    components: tuple[Distribution, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        parts = tuple(
            _require_component(f"components[{i}]", c)
            for i, c in enumerate(_check.sequence("components", self.components))
        )
        _check.keep(self, components=parts, weights=_check.weights("weights", self.weights))
        _check.as_many("weights", self.weights, "components", len(parts))

    @property
    def support(self) -> tuple[float, float]:
        shortest, longest = zip(
            *(c.support for c, w in zip(self.components, self.weights, strict=True) if w), strict=True
        )
        return min(shortest), max(longest)

    @property
    def mean(self) -> float:
        return math.fsum(w * c.mean for w, c in zip(self.weights, self.components, strict=True))

    @property
    def variance(self) -> float:
        """Law of total variance: the mean of the variances plus the variance of the means."""
        pairs = list(zip(self.weights, self.components, strict=True))
        return math.fsum(w * (c.variance + (c.mean - self.mean) ** 2) for w, c in pairs)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        choice = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(out.size), side="right")
        for index, component in enumerate(self.components):
            chosen = np.flatnonzero(choice == index)
            out[chosen] = component.sample(rng, chosen.size)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        parts = [w * c.cdf(x) for w, c in zip(self.weights, self.components, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        parts = [w * c.survival(x) for w, c in zip(self.weights, self.components, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def moment(self, k: int) -> float:
        return math.fsum(w * c.moment(k) for w, c in zip(self.weights, self.components, strict=True))

    def transform(self, s: float) -> float:
        return math.fsum(w * c.transform(s) for w, c in zip(self.weights, self.components, strict=True))

    def residual(self, s: float) -> float:
        pairs = zip(self.weights, self.components, strict=True)
        return math.fsum(w * c.mean / self.mean * c.residual(s) for w, c in pairs if c.mean > 0)

    def phases(self) -> Phases | None:
        from scipy.linalg import block_diag

        parts = [c.phases() for c in self.components]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        starts = [w * alpha for w, (alpha, _) in zip(self.weights, known, strict=True)]
        return np.concatenate(starts), block_diag(*(T for _, T in known))

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        parts = [w * c.limited_mean(x) for w, c in zip(self.weights, self.components, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    def scaled(self, factor: float) -> Mixture:
        return Mixture(tuple(c.scaled(factor) for c in self.components), self.weights)


@dataclass(frozen=True)
class Shifted(OfVariance):
    """A constant ``shift`` (>= 0) plus a time from ``base``: a fixed overhead before a random part.

    >>> from qsim import Exponential
    >>> Shifted(Exponential(mean=2), shift=1).mean
    3.0
    """

    base: Distribution
    shift: float

    def __post_init__(self) -> None:
        _require_component("base", self.base)
        _check.keep(self, shift=_check.non_negative("shift", self.shift))

    @property
    def support(self) -> tuple[float, float]:
        shortest, longest = self.base.support
        return shortest + self.shift, longest + self.shift

    @property
    def mean(self) -> float:
        return self.base.mean + self.shift

    @property
    def variance(self) -> float:
        return self.base.variance

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        self.base.fill(rng, out)
        out += self.shift

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        # Below the shift the base would get a negative time.
        late = np.asarray(x, dtype=np.float64) - self.shift
        return np.asarray(np.where(late >= 0, self.base.cdf(np.maximum(late, 0.0)), 0.0))

    def survival(self, x: npt.ArrayLike) -> FloatArray:
        late = np.asarray(x, dtype=np.float64) - self.shift
        return np.asarray(np.where(late >= 0, self.base.survival(np.maximum(late, 0.0)), 1.0))

    def quantile(self, q: float) -> float:
        return self.base.quantile(q) + self.shift

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return math.fsum(math.comb(k, j) * self.shift ** (k - j) * self.base.moment(j) for j in range(k + 1))

    def transform(self, s: float) -> float:
        return math.exp(-s * self.shift) * self.base.transform(s)

    def residual(self, s: float) -> float:
        late = math.exp(-s * self.shift) * self.base.mean * self.base.residual(s) if self.base.mean > 0 else 0.0
        return (self.shift * ramp(s * self.shift) + late) / self.mean

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        return np.asarray(np.minimum(t, self.shift) + self.base.limited_mean(np.maximum(t - self.shift, 0.0)))

    def scaled(self, factor: float) -> Shifted:
        return Shifted(self.base.scaled(factor), self.shift * factor)
