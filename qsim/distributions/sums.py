"""Sums of independent times, one after another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import ComplexArray, FloatArray
from qsim.distributions.base import Distribution, Phases
from qsim.distributions.exponential import Deterministic
from qsim.errors import InvalidParameterError

POINTS = 2**14
"""Of the lattice on which sums are taken that are not of phases; it reaches past all but 1e-9 of each part."""


@dataclass(frozen=True)
class Sum(Distribution):
    """Independent times in turn; a number is a constant time. ``a + b`` writes the same.

    The distribution function is exact for phase-type parts; for others it is taken on a lattice, right to about 1e-4.

    >>> from qsim import Exponential, Uniform
    >>> (Exponential(2) + Uniform(1, 3) + 0.5).mean
    4.5
    """

    parts: tuple[Distribution | float, ...]

    def __post_init__(self) -> None:
        parts: list[Distribution] = []
        for i, part in enumerate(_check.sequence("parts", self.parts)):
            if isinstance(part, Sum):
                parts += part.laws
            elif isinstance(part, Distribution) and math.isfinite(part.mean):
                parts.append(part)
            elif isinstance(part, Distribution):
                raise InvalidParameterError(f"parts[{i}]", f"must have a finite mean, not {part!r}", value=part)
            else:
                parts.append(Deterministic(_check.non_negative(f"parts[{i}]", part)))
        if not parts:
            raise InvalidParameterError("parts", "must not be empty", "give at least one time")
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def laws(self) -> tuple[Distribution, ...]:
        """The parts, numbers being constant times."""
        return tuple(part for part in self.parts if isinstance(part, Distribution))

    @property
    def mean(self) -> float:
        return math.fsum(part.mean for part in self.laws)

    @property
    def variance(self) -> float:
        return math.fsum(part.variance for part in self.laws)

    @property
    def scv(self) -> float:
        return self.variance / self.mean**2

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        total = np.zeros_like(out)
        for part in self.laws:
            part.fill(rng, out)
            total += out
        out[:] = total

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        known = self.phases()
        if known is not None:
            from qsim.distributions.phase_type import PhaseType

            return PhaseType(tuple(known[0].tolist()), tuple(map(tuple, known[1].tolist()))).cdf(x)
        times, shares = self._lattice()
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), times, shares, left=0.0, right=1.0))

    def _lattice(self) -> tuple[FloatArray, FloatArray]:
        from scipy.signal import fftconvolve

        constant = math.fsum(part.mean for part in self.laws if isinstance(part, Deterministic))
        random = [part for part in self.laws if not isinstance(part, Deterministic)]
        h = math.fsum(part.quantile(1 - 1e-9) for part in random) / POINTS if random else 1.0
        mass = np.ones(1)
        for part in random:  # each time to the middle of its cell
            cells = np.diff(part.cdf(h * np.arange(POINTS + 1)), prepend=0.0)
            cells[1] += cells[0]
            mass = fftconvolve(mass, cells[1:])[:POINTS]
        places = constant + h * (np.arange(mass.size + 1) + max(0, len(random) - 1) / 2)
        return np.asarray(places), np.append(0.0, np.minimum(np.maximum.accumulate(np.cumsum(mass)), 1.0))

    def pdf(self, x: npt.ArrayLike) -> FloatArray:
        if all(isinstance(part, Deterministic) for part in self.laws):
            return super().pdf(x)
        step = 1e-3 * math.sqrt(self.variance)
        t = np.asarray(x, dtype=np.float64)
        return np.asarray((self.cdf(t + step) - self.cdf(t - step)) / (2 * step))

    def moment(self, k: int) -> float:
        moments = [1.0, *(0.0 for _ in range(_check.count("k", k, minimum=0)))]
        for part in self.laws:
            own = [part.moment(j) for j in range(k + 1)]
            moments = [math.fsum(math.comb(n, j) * own[j] * moments[n - j] for j in range(n + 1)) for n in range(k + 1)]
        return moments[k]

    def transform(self, s: float) -> float:
        return math.prod(part.transform(s) for part in self.laws)

    def laplace(self, s: ComplexArray) -> ComplexArray:
        return np.asarray(np.prod([part.laplace(s) for part in self.laws], axis=0))

    def phases(self) -> Phases | None:
        """One part after another: the end of one begins the next."""
        alpha, T = np.ones(1), np.zeros((0, 0))
        for part in self.laws:
            known = part.phases()
            if known is None:
                return None
            start, moves = known
            m, ends = T.shape[0], -T.sum(axis=1)
            joined = np.zeros((m + start.size, m + start.size))
            joined[:m, :m], joined[:m, m:], joined[m:, m:] = T, np.outer(ends, start), moves
            alpha = np.append(alpha, np.zeros(start.size)) if m else start
            T = joined
        return alpha, T

    def scaled(self, factor: float) -> Sum:
        return Sum(tuple(part.scaled(factor) if part.mean > 0 else part for part in self.laws))
