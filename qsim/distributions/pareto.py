"""Pareto times: a power law from a smallest time on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions.base import Distribution
from qsim.errors import InvalidParameterError


@dataclass(frozen=True)
class Pareto(Distribution):
    """P(T > t) = (smallest/t)^shape for t above the smallest; shape > 1, and above 2 for a finite scv.

    Source: Johnson, Kotz & Balakrishnan (1994), Continuous Univariate Distributions I, chapter 20.

    >>> Pareto(shape=3, smallest=2).mean, round(Pareto(shape=3, smallest=2).scv, 6)
    (3.0, 0.333333)
    """

    shape: float
    smallest: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _check.positive("shape", self.shape))
        object.__setattr__(self, "smallest", _check.positive("smallest", self.smallest))
        if self.shape <= 1:
            raise InvalidParameterError(
                "shape", f"must exceed 1, not {self.shape!r}", "with a tail so heavy there is no mean", self.shape
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> Pareto:
        shape = 1 + math.sqrt(1 + 1 / _check.positive("scv", scv, "for scv 0 use Deterministic"))
        return cls(shape, _check.positive("mean", mean) * (shape - 1) / shape)

    @property
    def mean(self) -> float:
        return self.shape * self.smallest / (self.shape - 1)

    @property
    def scv(self) -> float:
        return 1 / (self.shape * (self.shape - 2)) if self.shape > 2 else math.inf

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.standard_exponential(out=out)
        out /= self.shape
        np.exp(out, out=out)
        out *= self.smallest

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), self.smallest)
        return np.asarray(-np.expm1(self.shape * np.log(self.smallest / t)))

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        above = np.maximum(t, self.smallest)
        height = self.shape / above * (self.smallest / above) ** self.shape
        return np.asarray(np.where(t < self.smallest, 0.0, height))

    def quantile(self, q: float) -> float:
        return self.smallest * math.exp(-math.log1p(-_check.fraction("q", q)) / self.shape)

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        return self.shape * self.smallest**k / (self.shape - k) if k < self.shape else math.inf

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        above = np.maximum(t, self.smallest)
        tail = (self.smallest - above * (self.smallest / above) ** self.shape) / (self.shape - 1)
        return np.asarray(np.minimum(t, self.smallest) + tail)

    def scaled(self, factor: float) -> Pareto:
        return Pareto(self.shape, self.smallest * _check.positive("factor", factor))
