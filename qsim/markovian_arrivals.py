"""Markovian arrival processes: gaps of any spread that depend on each other, and a fit of one to recorded gaps.

A hidden Markov chain moves at the rates D0 without an arrival, and at the rates D1 with one.  Poisson arrivals,
phase-type gaps and Markov-modulated arrivals are all of this kind.  With P = (-D0)⁻¹·D1 the moves from arrival to
arrival, α their long-run law and M = (-D0)⁻¹, gaps have E[X] = α·M·1, E[X²] = 2·α·M²·1 and E[X(0)·X(k)] = α·M·Pᵏ·M·1.

The fit keeps the mean m, the scv c² and the correlation r of neighbouring gaps.  Each gap is exponential with one of
two means; the next one keeps the mean with probability γ and else draws it again, so the gaps are hyperexponential
and the correlation at lag k is γᵏ·(1 - 1/c²)/2.  Possible for c² > 1 and r < (1 - 1/c²)/2; a negative r only as
far as γ leaves every probability positive.

Source: Neuts (1979), J. Appl. Prob. 16, "A versatile Markovian point process"; Lucantoni, Meier-Hellstern & Neuts
(1990), Advances Appl. Prob. 22; fit: Heindl (2004), ICST, "Inverse characterization of hyperexponential MAP(2)s".

>>> from qsim import Exponential, Open, solve
>>> bursts = MAP.from_moments(mean=1.25, scv=4.0, lag1=0.2)
>>> round(bursts.mean, 9), round(bursts.scv, 9), round(bursts.correlation(1), 9), round(bursts.correlation(2), 9)
(1.25, 4.0, 0.2, 0.106666667)
>>> [round(solve(Open(arrivals, Exponential(1.0))).W, 2) for arrivals in (Exponential(1.25), bursts)]
[5.0, 16.87]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.arrivals import HiddenMarkov
from qsim.distributions import HyperExponential
from qsim.errors import InvalidParameterError

FEWEST_GAPS = 100


@dataclass(frozen=True)
class MAP(HiddenMarkov):
    """A Markovian arrival process: rates ``D0[i][j]`` without an arrival, ``D1[i][j]`` with one.

    Off the diagonal of ``D0`` and in ``D1`` no rate is negative, and each row of D0 + D1 adds up to zero.

    >>> MAP(D0=[[-3.0, 1.0], [0.0, -1.0]], D1=[[2.0, 0.0], [1.0, 0.0]]).arrival_rate
    1.5
    """

    D0: Sequence[Sequence[float]]
    D1: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        for name in ("D0", "D1"):
            rows = tuple(
                tuple(_check.number(f"{name}[{i}][{j}]", x) for j, x in enumerate(_check.sequence(f"{name}[{i}]", row)))
                for i, row in enumerate(_check.sequence(name, getattr(self, name)))
            )
            object.__setattr__(self, name, rows)
        size = len(self.D0)
        if size == 0 or len(self.D1) != size or any(len(row) != size for row in (*self.D0, *self.D1)):
            raise InvalidParameterError("D0", f"and D1 must be square and alike, not of {size} and {len(self.D1)} rows")
        for i in range(size):
            rates = [*self.D0[i][:i], *self.D0[i][i + 1 :], *self.D1[i]]
            if min(rates) < 0:
                raise InvalidParameterError(
                    f"row {i} of D0 and D1", f"must have no negative rate but D0[{i}][{i}], not {min(rates)!r}"
                )
            total = math.fsum(rates) + self.D0[i][i]
            if not abs(total) <= 1e-9 * max(math.fsum(rates), 1e-300):
                raise InvalidParameterError(
                    f"row {i} of D0 + D1",
                    f"must add up to 0, not {total!r}",
                    f"set D0[{i}][{i}] to {-math.fsum(rates)!r}",
                )
        if not np.any(self.matrices[1]):
            raise InvalidParameterError("D1", "must not be all zero", "nobody would ever come")
        self._require_one_class("D0 + D1")

    @classmethod
    def from_moments(cls, mean: float, scv: float, lag1: float) -> MAP:
        """Two states with this mean and scv of the gaps and this correlation of neighbouring ones.

        Raises ValueError with the correlations that are possible.
        """
        m, spread, r = _check.positive("mean", mean), _check.positive("scv", scv), _check.number("lag1", lag1)
        if spread <= 1:
            raise InvalidParameterError(
                "scv", f"must be above 1, not {scv!r}", "gaps that vary less: use Erlang or Gamma, without correlation"
            )
        gaps = HyperExponential.from_moments(m, spread)
        p, rates = np.asarray(gaps.probabilities), 1 / np.asarray(gaps.means)
        most = (1 - 1 / spread) / 2
        least = -most * float((p / (1 - p)).min())
        if not least <= r < most:
            raise InvalidParameterError(
                "lag1", f"must be from {least:.3g} to below {most:.3g} with scv {spread:.4g}, not {lag1!r}", value=lag1
            )
        keep = r / most
        stays = (1 - keep) * np.tile(p, (2, 1)) + keep * np.eye(2)
        return cls((-np.diag(rates)).tolist(), (rates[:, np.newaxis] * np.maximum(stays, 0.0)).tolist())

    @classmethod
    def fit(cls, gaps: Sequence[float] | FloatArray) -> MAP:
        """:meth:`from_moments` of recorded gaps; ValueError for fewer than 100 or moments that are not possible.

        >>> rng = np.random.default_rng(1)
        >>> slow = np.repeat(rng.random(2000) < 0.3, 50)
        >>> round(MAP.fit(rng.exponential(np.where(slow, 3.0, 0.5))).correlation(1), 2)
        0.31
        """
        x = np.asarray(_check.non_negatives("gaps", gaps))
        if x.size < FEWEST_GAPS:
            raise InvalidParameterError("gaps", f"must be at least {FEWEST_GAPS}, not {x.size}", "record more")
        mean = float(x.mean())
        if x.var() == 0:
            raise InvalidParameterError("gaps", "must not all be alike", "use Deterministic")
        centred = x - mean
        return cls.from_moments(mean, float(x.var()) / mean**2, float(centred[1:] @ centred[:-1] / (centred @ centred)))

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.D0), np.asarray(self.D1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of the gaps."""
        start, mean = self._after_arrival, self._mean_by_state
        return float(2 * start @ self._unseen @ mean / (start @ mean) ** 2) - 1

    def correlation(self, lag: int) -> float:
        """Correlation of a gap with the one ``lag`` later."""
        start, mean = self._after_arrival, self._mean_by_state
        moves = np.linalg.matrix_power(self._unseen @ self.matrices[1], _check.count("lag", lag, 0))
        if lag == 0:
            return 1.0
        product = float(start @ self._unseen @ moves @ mean)
        return (product / float(start @ mean) ** 2 - 1) / self.scv

    @property
    def _unseen(self) -> FloatArray:
        return np.asarray(np.linalg.inv(-self.matrices[0]))

    @property
    def _mean_by_state(self) -> FloatArray:
        return np.asarray(self._unseen.sum(axis=1))

    @property
    def _after_arrival(self) -> FloatArray:
        """Probabilities of the states just after an arrival."""
        flow = np.asarray(self.state_probabilities) @ self.matrices[1]
        return np.asarray(flow / flow.sum())

    @property
    def letter(self) -> str:
        return "MAP"
