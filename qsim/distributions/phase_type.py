"""Phase-type times: how long a Markov chain takes to leave its phases.

The exponential, Erlang and hyperexponential are special cases, and mixtures and sums of phase-type times are
phase-type again.  They can come as close as one likes to any distribution, and queues made of them are Markov
chains, which can be solved exactly.

Source: Neuts (1981), Matrix-Geometric Solutions in Stochastic Models, chapter 2.

>>> two_stages = PhaseType(initial=(1, 0), generator=((-3, 3), (0, -3)))  # Erlang with k = 2, mean 2/3
>>> round(two_stages.mean, 9), round(two_stages.scv, 9)
(0.666666667, 0.5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray
from qsim.distributions.base import Distribution, Phases, require_phases
from qsim.distributions.exponential import Erlang, HyperExponential
from qsim.errors import InvalidParameterError

BADLY_CONDITIONED = 1e4
"""Condition of the eigenvectors beyond which a sum of exponentials would lose digits."""


@dataclass(frozen=True)
class PhaseType(Distribution):
    """It starts in phase i with probability ``initial[i]`` and moves at the rates ``generator``, a matrix T.

    T has non-negative entries off the diagonal, and rows adding up to zero or less: what is missing to zero
    is the rate at which the time is over.  Every phase must lead to the end, or the time would be infinite.

    >>> PhaseType(initial=(1, 0), generator=((-2, 2), (0, -2))).scv
    0.5
    """

    initial: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", _check.weights("initial", self.initial))
        rows = tuple(
            tuple(_check.number(f"generator[{i}][{j}]", v) for j, v in enumerate(_check.sequence(f"generator[{i}]", r)))
            for i, r in enumerate(_check.sequence("generator", self.generator))
        )
        m = len(self.initial)
        if len(rows) != m or any(len(row) != m for row in rows):
            raise InvalidParameterError("generator", f"must be {m} rows of {m} rates, as many as initial has phases")
        for i, row in enumerate(rows):
            for j, rate in enumerate(row):
                if not math.isfinite(rate) or (i != j and rate < 0):
                    raise ValueError(
                        f"generator[{i}][{j}] must be a finite rate, zero or more off the diagonal, not {rate!r}"
                    )
            if math.fsum(row) > 1e-9 * abs(row[i]):
                raise InvalidParameterError(
                    f"generator[{i}]",
                    f"must add up to zero or less, not {math.fsum(row)!r}",
                    "the diagonal is minus the total rate out of the phase",
                    math.fsum(row),
                )
        object.__setattr__(self, "generator", rows)
        if not self._ends():
            raise InvalidParameterError(
                "generator", "must lead from every phase to the end", "some row on every way must not be zero"
            )

    @classmethod
    def from_moments(cls, mean: float, scv: float) -> PhaseType:
        """A phase-type time with this mean and scv > 0, of as few phases as the scv allows.

        scv >= 1: two exponentials with balanced means (Whitt 1982).  scv < 1: a mixture of Erlang k - 1 and k
        with equal rates, 1/k <= scv <= 1/(k - 1).  Source: Tijms (1994), Stochastic Models, p. 358.
        """
        mean, scv = _check.positive("mean", mean), _check.positive("scv", scv, "for scv 0 use Deterministic")
        k = math.ceil(1 / scv - 1e-9)
        if k > 1000:
            raise InvalidParameterError(
                "scv", f"must be at least 0.001, not {scv!r}", "below that take Deterministic or Gamma", value=scv
            )
        if scv >= 1:
            return cls.of(HyperExponential.from_moments(mean, scv))
        if abs(k * scv - 1) < 1e-9:
            return cls.of(Erlang(k, mean))
        p = (k * scv - math.sqrt(max(0.0, k * (1 + scv) - k * k * scv))) / (1 + scv)
        stage = mean / (k - p)
        start = np.zeros(k)
        start[:2] = 1 - p, p  # the shorter one skips the first stage
        return cls(tuple(start), tuple(map(tuple, (np.eye(k, k=1) - np.eye(k)) / stage)))

    @classmethod
    def of(cls, distribution: Distribution) -> PhaseType:
        """The phases of an exponential, Erlang, hyperexponential or mixture of them; ValueError for others."""
        alpha, T = require_phases(distribution)
        return cls(tuple(alpha.tolist()), tuple(map(tuple, T.tolist())))

    @classmethod
    def matching(cls, distribution: Distribution) -> PhaseType:
        """The phases of a law, or of a phase-type one that shares its mean and scv, and with scv > 1 the third moment.

        Raises ValueError for an scv below 0.001 (see :meth:`from_moments`).

        >>> from qsim import LogNormal
        >>> found = PhaseType.matching(LogNormal(mean=1, scv=2))
        >>> len(found.initial), round(found.moment(3), 9) == round(LogNormal(mean=1, scv=2).moment(3), 9)
        (2, True)
        """
        if distribution.phases() is not None:
            return cls.of(distribution)
        mean, scv = distribution.mean, distribution.scv
        if scv > 1:
            found = HyperExponential.from_three_moments(mean, distribution.moment(2), distribution.moment(3))
            if found is not None:
                return cls.of(found)
        return cls.from_moments(mean, scv)

    def _ends(self) -> bool:
        T = self._matrix
        # Phases that lead out directly, then those that lead to them, and so on.
        reached = -T.sum(axis=1) > 1e-12 * np.abs(np.diag(T))
        for _ in range(len(self.initial)):
            reached = reached | (np.maximum(T, 0)[:, reached].sum(axis=1) > 0)
        return bool(reached.all())

    @cached_property
    def _matrix(self) -> FloatArray:
        return np.asarray(self.generator, dtype=np.float64)

    @cached_property
    def _alpha(self) -> FloatArray:
        return np.asarray(self.initial)

    @cached_property
    def mean(self) -> float:
        return self.moment(1)

    @cached_property
    def scv(self) -> float:
        return self.moment(2) / self.mean**2 - 1

    @property
    def letter(self) -> str:
        return "PH"

    def moment(self, k: int) -> float:
        """E[Tᵏ] = k!·α·(-T)⁻ᵏ·1."""
        remaining: FloatArray = np.ones(len(self.initial))
        for _ in range(_check.count("k", k, minimum=0)):
            remaining = np.asarray(np.linalg.solve(-self._matrix, remaining), dtype=np.float64)
        return math.factorial(k) * float(self._alpha @ remaining)

    def transform(self, s: float) -> float:
        exit_rates = -self._matrix.sum(axis=1)
        return float(self._alpha @ np.linalg.solve(s * np.eye(len(self.initial)) - self._matrix, exit_rates))

    def phases(self) -> Phases:
        return self._alpha, self._matrix

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """1 - α·e^(Tx)·1: a sum of exponentials where T has well separated eigenvalues, otherwise (Erlang stages) a
        Poisson mixture of powers of a substochastic matrix, positive terms only."""
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        if self._spectrum is not None:
            rates, weights = self._spectrum
            survival = sum(w * np.exp(rate * t) for rate, w in zip(rates, weights, strict=True))
            return np.asarray(np.clip(1 - np.real(survival), 0.0, 1.0))
        return self._stepwise_cdf(t)

    @cached_property
    def _spectrum(self) -> tuple[npt.NDArray[np.complex128], npt.NDArray[np.complex128]] | None:
        """Eigenvalues of T and the weight of each exponential; None where they are not well separated."""
        values, vectors = np.linalg.eig(self._matrix)
        if np.linalg.cond(vectors) > BADLY_CONDITIONED:
            return None
        weights = (self._alpha @ vectors) * np.linalg.solve(vectors, np.ones(values.size))
        return np.asarray(values, dtype=np.complex128), np.asarray(weights, dtype=np.complex128)

    def _stepwise_cdf(self, t: FloatArray) -> FloatArray:
        from scipy.special import pdtr

        pace = float(np.abs(np.diag(self._matrix)).max())
        steps = self._matrix / pace + np.eye(len(self.initial))
        most = float(t.max(initial=0.0)) * pace
        over, alive, state, n = np.zeros(t.shape), 1.0, self._alpha, 0
        # P(over by t) is the sum over n of P(it ends at step n + 1)·P(at least n + 1 steps by t).
        while alive > 1e-16 and n <= most + 40 + 12 * math.sqrt(most):
            state = state @ steps
            left = float(state.sum())
            over += (alive - left) * (1 - pdtr(n, pace * t))
            alive, n = left, n + 1
        return np.asarray(np.clip(over, 0.0, 1.0))

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """All draws walk through their phases together."""
        m = len(self.initial)
        leave = -np.diag(self._matrix)
        ways = np.column_stack(
            [np.maximum(self._matrix, 0) * (1 - np.eye(m)), np.maximum(-self._matrix.sum(axis=1), 0)]
        )
        ways = np.cumsum(ways, axis=1)
        ways /= ways[:, -1:]
        phase = np.searchsorted(np.cumsum(self._alpha)[:-1], rng.random(out.size), side="right")
        out[:] = 0.0
        walking = np.arange(out.size)
        while walking.size:
            out[walking] += rng.standard_exponential(walking.size) / leave[phase]
            phase = (rng.random(walking.size)[:, np.newaxis] >= ways[phase]).sum(axis=1)
            stays = phase < m
            walking, phase = walking[stays], phase[stays]

    def limited_mean(self, x: npt.ArrayLike) -> FloatArray:
        """What is left of such a time is phase-type too, with the same rates."""
        start = np.maximum(np.linalg.solve(-self._matrix.T, self._alpha) / self.mean, 0.0)
        return np.asarray(self.mean * PhaseType(tuple((start / start.sum()).tolist()), self.generator).cdf(x))

    def scaled(self, factor: float) -> PhaseType:
        factor = _check.positive("factor", factor)
        return PhaseType(self.initial, tuple(tuple(rate / factor for rate in row) for row in self.generator))
