"""How far two measurements of one device differ by noise alone, from the runs of both sweeps.

Three parts, as variances of the logarithm of a ratio new / old:

*runs*: repeats of a load scatter. Three repeats hardly tell a variance, so that of each load is drawn towards the
others' by as much as they agree (Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 2004).
*rounds*: what slows all loads of one round together slows whole sweeps at least as much, and no number of loads
averages it out. It is the variance between rounds beyond that of runs (one-way random effects).
*rest*: local drives at rest still differ by 1 % or more from one sweep to the next (``AT_REST``).

Where nothing was repeated, a ratio that is smooth over the load stands for repeats: the variance of its second
differences is six times that of one ratio. Rounds are then taken to vary as much as runs; so they are where the audit
doubts the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import polygamma, psi
from scipy.stats import t

from calibrate.inference.parameters import Array

AT_REST = 0.01
"""Standard deviation of the ratio of two sweeps of a drive at rest: public repeats of a test differ by 1 to 5 %."""
LEAST_COMMON = 4
"""Common loads without repeats that give a variance at least."""
EXACT = 1e-6
"""The least relative standard deviation of a run; repeats that agree to the last digit are copies."""


@dataclass(frozen=True)
class Noise:
    """Variances of the log ratios: ``runs`` (m,) of each load and ``shared`` by all loads, with degrees of freedom."""

    runs: Array
    runs_freedom: Array
    shared: float
    shared_freedom: float
    run_sd: float
    """The relative standard deviation of one run, for people; infinite where nothing tells it."""

    def half_widths(self, tail: float) -> Array:
        """Half the widths (m,) of the intervals of the log ratios that leave ``tail`` on each side."""
        return _half_width(self.runs, self.runs_freedom, self.shared, self.shared_freedom, tail)

    def weights(self) -> Array:
        """The inverse variances (m,); equal ones where these are unknown."""
        return 1 / self.runs if np.isfinite(self.runs).all() else np.ones(len(self.runs))

    def of_mean(self, tail: float) -> float:
        """Half the width of the interval of the mean over all loads, by these weights."""
        weights = self.weights() / self.weights().sum()
        parts = weights**2 * self.runs
        whole = parts.sum()
        freedom = whole**2 / (parts**2 / self.runs_freedom).sum() if np.isfinite(whole) else 1.0
        return float(_half_width(np.array([whole]), np.array([freedom]), self.shared, self.shared_freedom, tail)[0])

    def with_repeats(self, now: float, often: int) -> Noise:
        """The noise if each load were measured ``often`` in both sweeps, not ``now``."""
        freedom = np.full(len(self.runs), 2.0 * len(self.runs) * (often - 1))
        shared = self.shared if now > 1 else 0.0
        return Noise(self.runs * now / often, freedom, shared, max(2.0 * (often - 1), 1.0), self.run_sd)


def _half_width(runs: Array, freedom: Array, shared: float, shared_freedom: float, tail: float) -> Array:
    whole = runs + shared + AT_REST**2
    with np.errstate(divide="ignore", invalid="ignore"):  # Satterthwaite's degrees of freedom
        together = whole**2 / (runs**2 / freedom + shared**2 / shared_freedom)
    known = np.isfinite(whole)
    return np.where(known, t.isf(tail, np.where(known, np.maximum(together, 1.0), 1.0)) * np.sqrt(whole), np.inf)


def noise_of(old: Array, new: Array, ratio: Array, *, wary: bool) -> Noise:
    """The noise of ``ratio`` (m,), the logarithms of new / old at m common loads.

    ``old`` (r, m) and ``new`` (q, m) are the logarithms of the runs, a row a round, NaN where a run is missing.
    """
    counts = [np.isfinite(runs).sum(axis=0) for runs in (old, new)]
    share, freedom = 1 / counts[0] + 1 / counts[1], np.asarray(counts[0] + counts[1] - 2, dtype=float)
    rounds, rounds_freedom = None, 0.0
    if freedom.sum() > 0:
        squares = sum(np.nansum((runs - np.nanmean(runs, axis=0)) ** 2, axis=0) for runs in (old, new))
        variance, known = moderated(np.maximum(squares, EXACT**2 * freedom), freedom)
        rounds, rounds_freedom = _rounds((old, new))
    else:
        variance, known = _smooth(ratio)
    typical = float(np.median(variance))
    if rounds is None or wary:
        rounds_freedom = float(np.median(known)) if rounds is None else rounds_freedom
        rounds = max(rounds or 0.0, typical)
    return Noise(variance * share, known, 2 * rounds, max(rounds_freedom, 1.0), math.sqrt(typical))


def moderated(squares: Array, freedom: Array) -> tuple[Array, Array]:
    """Variances (m,) from sums of squares with their degrees of freedom, each drawn towards the others', and theirs.

    Smyth (2004), section 6.2. Variances that differ no more than chance allows are pooled.

    >>> variance, freedom = moderated(np.array([4.0, 4.0, 8.0]), np.array([4.0, 4.0, 4.0]))
    >>> variance.round(2).tolist(), freedom.tolist()
    ([1.33, 1.33, 1.33], [12.0, 12.0, 12.0])
    """
    some = freedom > 0
    pooled, whole = squares.sum() / freedom.sum(), freedom.sum()
    own = np.log(squares[some] / freedom[some]) - psi(freedom[some] / 2) + np.log(freedom[some] / 2)
    excess = 0.0
    if len(own) > 2:
        excess = float(own.var(ddof=1) - polygamma(1, freedom[some] / 2).mean())
    if excess <= 0:
        return np.full(len(squares), pooled), np.full(len(squares), whole)
    prior = 2 * _inverse_trigamma(excess)
    centre = np.exp(own.mean() + psi(prior / 2) - np.log(prior / 2))
    return (prior * centre + squares) / (prior + freedom), np.minimum(prior + freedom, whole)


def _inverse_trigamma(value: float) -> float:
    """The x whose trigamma is ``value``, by Newton's method (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        x += float(polygamma(1, x) * (1 - polygamma(1, x) / value) / polygamma(2, x))
    return x


def _rounds(sweeps: Sequence[Array]) -> tuple[float | None, float]:
    """The variance that whole rounds have beyond their runs', and its degrees of freedom; None for single rounds."""
    excess, freedom = 0.0, 0
    for runs in sweeps:
        whole = runs[np.isfinite(runs).all(axis=1)]
        rounds, loads = whole.shape
        if rounds < 2 or loads < 2:
            continue
        away = whole - whole.mean(axis=0)
        between = away.mean(axis=1)
        of_runs = float(((away - between[:, None]) ** 2).sum()) / ((rounds - 1) * (loads - 1))
        excess += float((between**2).sum()) - (rounds - 1) * of_runs / loads
        freedom += rounds - 1
    return (max(0.0, excess / freedom), float(freedom)) if freedom else (None, 0.0)


def _smooth(ratio: Array) -> tuple[Array, Array]:
    """The variance of one run from the second differences of a ratio of two runs; infinite for too few loads."""
    if len(ratio) < LEAST_COMMON:
        return np.full(len(ratio), np.inf), np.ones(len(ratio))
    variance = max(float((np.diff(ratio, 2) ** 2).mean()) / 12, EXACT**2)
    return np.full(len(ratio), variance), np.full(len(ratio), len(ratio) - 2.0)
