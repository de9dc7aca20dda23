"""The distribution of measured times: a list of values, or a histogram.

Drawing uses the alias method (Walker 1977; Vose 1991, IEEE Trans. Softw. Eng. 17), whose cost does not depend
on the number of values or bins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.distributions.base import OfVariance
from qsim.errors import InvalidParameterError


@dataclass(frozen=True)
class Empirical(OfVariance):
    """Times ``values[i]`` with relative ``weights[i]`` (equal when left out).

    With ``widths`` each value is the lower edge of a bin in which times are spread evenly: a histogram
    (see :meth:`from_histogram`).

    >>> Empirical((1, 3), weights=(3, 1)).mean
    1.5
    """

    times = ("values", "widths")
    values: tuple[float, ...]
    weights: tuple[float, ...] = ()
    widths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        values = _check.non_negatives("values", self.values)
        if not values:
            raise InvalidParameterError("values", "must not be empty", "give the measured times")
        weights, widths = _check.non_negatives("weights", self.weights), _check.non_negatives("widths", self.widths)
        for name, given in (("weights", weights), ("widths", widths)):
            if given and len(given) != len(values):
                raise InvalidParameterError(
                    name,
                    f"must have one entry for each of the {len(values)} values, not {len(given)}",
                    value=len(given),
                )
        if weights and math.fsum(weights) <= 0:
            raise InvalidParameterError("weights", "must not all be zero", "give how often each value was seen")
        _check.keep(self, values=values, weights=weights, widths=widths)

    @classmethod
    def from_histogram(cls, edges: Sequence[float], counts: Sequence[float]) -> Empirical:
        """A histogram: ``counts[i]`` times between ``edges[i]`` and ``edges[i + 1]``; edges must increase."""
        ends, seen = _check.non_negatives("edges", edges), _check.non_negatives("counts", counts)
        if len(ends) != len(seen) + 1:
            raise InvalidParameterError(
                "edges", f"must have one entry more than counts ({len(seen)}), not {len(ends)}", value=len(ends)
            )
        widths = tuple(b - a for a, b in pairwise(ends))
        if any(width <= 0 for width in widths):
            raise InvalidParameterError("edges", "must increase from bin to bin", "sort them and drop repeated ones")
        return cls(ends[:-1], seen, widths)

    @cached_property
    def lower(self) -> FloatArray:
        """The values, where bins begin."""
        return np.asarray(self.values, dtype=np.float64)

    @cached_property
    def width(self) -> FloatArray:
        """The width of each bin, 0 for a single time."""
        return np.asarray(self.widths or (0.0,) * len(self.values), dtype=np.float64)

    @cached_property
    def probability(self) -> FloatArray:
        """The probability of each bin."""
        raw = np.asarray(self.weights or (1.0,) * len(self.values), dtype=np.float64)
        return np.asarray(raw / raw.sum())

    @cached_property
    def mean(self) -> float:
        return float(self.probability @ (self.lower + self.width / 2))

    @cached_property
    def variance(self) -> float:
        centre = self.lower + self.width / 2
        return float(self.probability @ ((centre - self.mean) ** 2 + self.width**2 / 12))

    @property
    def support(self) -> tuple[float, float]:
        values, weights = np.array(self.values), np.array(self.weights or [1.0] * len(self.values))
        ends = values + np.array(self.widths) if self.widths else values
        return float(values[weights > 0].min()), float(ends[weights > 0].max())

    @cached_property
    def _alias_table(self) -> tuple[FloatArray, IntArray]:
        """For each column: the share it keeps, and the value that takes the rest."""
        n = len(self.values)
        share = list(self.probability * n)
        alias = list(range(n))
        small = [i for i, s in enumerate(share) if s < 1]
        large = [i for i, s in enumerate(share) if s >= 1]
        while small and large:
            poor, rich = small.pop(), large[-1]
            alias[poor] = rich
            share[rich] -= 1 - share[poor]
            if share[rich] < 1:
                small.append(large.pop())
        for rest in (*small, *large):  # left over by rounding
            share[rest] = 1.0
        return np.asarray(share, dtype=np.float64), np.asarray(alias, dtype=np.int64)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        share, alias = self._alias_table
        rng.random(out=out)
        out *= len(share)
        column = out.astype(np.int64)
        out -= column
        index = np.where(out < share[column], column, alias[column])
        out[:] = self.lower[index]
        if self.widths:
            out += self.width[index] * rng.random(out.size)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        t = np.asarray(x, dtype=np.float64)
        order = np.argsort(self.lower, kind="stable")
        lower, width, probability = self.lower[order], self.width[order], self.probability[order]
        before = np.concatenate(([0.0], np.cumsum(probability)))
        started = np.searchsorted(lower, t, side="right")  # bins whose lower edge is at or below t
        last = np.maximum(started - 1, 0)
        inside = np.where(width[last] > 0, (t - lower[last]) / np.where(width[last] > 0, width[last], 1.0), 1.0)
        whole = before[last] + probability[last] * np.clip(inside, 0.0, 1.0)
        return np.asarray(np.where(started > 0, whole, 0.0))

    def moment(self, k: int) -> float:
        k = _check.count("k", k, minimum=0)
        # The mean of x^k over a bin [l, l + w] is the mean of l^(k-j)·(l + w)^j over j = 0..k: no cancellation.
        upper = self.lower + self.width
        inside = sum(self.lower ** (k - j) * upper**j for j in range(k + 1)) / (k + 1)
        return float(self.probability @ inside)

    def transform(self, s: float) -> float:
        spread = np.where(s * self.width > 1e-12, s * self.width, 1.0)
        inside = np.where(s * self.width > 1e-12, -np.expm1(-spread) / spread, 1.0)
        return float(self.probability @ (np.exp(-s * self.lower) * inside))

    def residual(self, s: float) -> float:
        """Exact: a time in a bin is its lower edge plus a uniform part."""
        x, y = s * self.lower, s * self.width
        on = self.lower * np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1.0), 1.0)
        return float(self.probability @ (on + np.exp(-x) * self.width / 2 * _triangle(y))) / self.mean

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        order = np.argsort(self.lower, kind="stable")
        lower, width, probability = self.lower[order], self.width[order], self.probability[order]
        # Bins above t count as t; bins below it count with their centres, less the part above t.
        centre = np.concatenate(([0.0], np.cumsum(probability * (lower + width / 2))))
        share = np.concatenate(([0.0], np.cumsum(probability)))
        started = np.searchsorted(lower, t, side="right")
        result = centre[started] + (1 - share[started]) * t
        for low, wide, p in zip(lower[width > 0], width[width > 0], probability[width > 0], strict=True):
            out = np.clip(low + wide - t, 0.0, wide)
            result -= np.where(t >= low, p * out**2 / (2 * wide), 0.0)
        return np.asarray(result)


def _triangle(x: FloatArray) -> FloatArray:
    """2(x - 1 + e^-x)/x²: the transform of the residual of a uniform time between 0 and 1, at x."""
    series = 1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7))))
    y = np.where(x < 1e-2, 1.0, x)
    return np.asarray(np.where(x < 1e-2, series, 2 * (y + np.expm1(-y)) / y**2))
