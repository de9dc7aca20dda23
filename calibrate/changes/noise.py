"""The noise between two measurements of one device, from the runs of both sweeps.

Three parts, as variances of the logarithm of a ratio new / old:

*runs*: repeats of a load scatter. Three repeats hardly determine a variance, so that of each load is shrunk towards the
others' (Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet. Mol. Biol. 2004).
*rounds*: an effect on all loads of a round is at least as large between whole sweeps, and no number of loads averages
it out. It is the variance between rounds beyond that of runs (one-way random effects).
*rest*: variation between sweeps. Repeats in different rounds show most of it, and 1 % is left (``AT_REST``). Single
runs show none of it: it is then that of the kind of device (:mod:`calibrate.points`).

Without repeats the smoothness of the ratio over the load replaces them: the variance of its second differences is six
times that of one ratio. A loss at some loads alone is not noise: where one block of neighbouring loads explains more of
the scatter than in 98 of 100 ratios of pure noise, the rest of the scatter is the noise. The variance of rounds is then
assumed equal to that of runs, as it is where the audit doubts the runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import polygamma, psi, stdtrit, zeta

from calibrate.inference.parameters import Array

AT_REST = 0.01
"""Standard deviation of the ratio of two sweeps of a drive at rest that were repeated in rounds."""
LEAST_COMMON = 4
"""The least number of common loads that gives a variance without repeats."""
EXACT = 1e-6
"""The least relative standard deviation of a run; repeats that agree to the last digit are copies."""
BLOCK_LEVEL, BLOCK_DRAWS = 0.02, 4000
"""The probability that pure noise is taken for a changed block of loads, and the number of simulated ratios."""


@dataclass(frozen=True)
class Noise:
    """Variances of the log ratios: ``runs`` (m,) of each load and ``shared`` by all loads, with degrees of freedom."""

    runs: Array
    runs_freedom: Array
    shared: float
    shared_freedom: float
    run_sd: float
    """The relative standard deviation of one run, for display; infinite where unknown."""
    rest: float = AT_REST**2
    """The variance of every log ratio between sweeps, as known."""

    def half_widths(self, tail: float) -> Array:
        """Half widths (m,) of the intervals of the log ratios that leave ``tail`` on each side."""
        return self._half_width(self.runs, self.runs_freedom, tail)

    def weights(self) -> Array:
        """The inverse variances (m,); equal ones where these are unknown."""
        return 1 / self.runs if np.isfinite(self.runs).all() else np.ones(len(self.runs))

    def of_mean(self, tail: float) -> float:
        """Half width of the interval of the weighted mean over all loads."""
        weights = self.weights() / self.weights().sum()
        parts = weights**2 * self.runs
        whole = parts.sum()
        freedom = whole**2 / (parts**2 / self.runs_freedom).sum() if np.isfinite(whole) else 1.0
        return float(self._half_width(np.array([whole]), np.array([freedom]), tail)[0])

    def with_repeats(self, now: float, often: int) -> Noise:
        """The noise if each load were measured ``often`` in both sweeps, not ``now``."""
        freedom = np.full(len(self.runs), 2.0 * len(self.runs) * (often - 1))
        shared = self.shared if now > 1 else 0.0
        return Noise(self.runs * now / often, freedom, shared, max(2.0 * (often - 1), 1.0), self.run_sd)

    def _half_width(self, runs: Array, freedom: Array, tail: float) -> Array:
        whole = runs + self.shared + self.rest
        with np.errstate(divide="ignore", invalid="ignore"):  # Satterthwaite's degrees of freedom
            together = whole**2 / (runs**2 / freedom + self.shared**2 / self.shared_freedom)
        known = np.isfinite(whole)
        quantile = -stdtrit(np.where(known, np.maximum(together, 1.0), 1.0), tail)
        return np.where(known, quantile * np.sqrt(whole), np.inf)


def noise_of(old: Array, new: Array, ratio: Array, *, wary: bool, between: float = AT_REST) -> Noise:
    """The noise of ``ratio`` (m,), the logarithms of new / old at m common loads.

    ``old`` (r, m) and ``new`` (q, m) are the logarithms of the runs, a row a round, NaN where a run is missing;
    ``between`` is the standard deviation of a ratio between sweeps of single runs.
    """
    counts = [np.isfinite(runs).sum(axis=0) for runs in (old, new)]
    share, freedom = 1 / counts[0] + 1 / counts[1], np.asarray(counts[0] + counts[1] - 2, dtype=float)
    rounds, rounds_freedom, rest = None, 0.0, max(between, AT_REST)
    if freedom.sum() > 0:
        squares = sum(np.nansum((runs - np.nanmean(runs, axis=0)) ** 2, axis=0) for runs in (old, new))
        variance, known = moderated(np.maximum(squares, EXACT**2 * freedom), freedom)
        rounds, rounds_freedom = _rounds((old, new))
        rest = AT_REST
    else:
        variance, known = _single(ratio)
    typical = float(np.median(variance))
    if rounds is None or wary:
        rounds_freedom = float(np.median(known)) if rounds is None else rounds_freedom
        rounds = max(rounds or 0.0, typical)
    return Noise(variance * share, known, 2 * rounds, max(rounds_freedom, 1.0), math.sqrt(typical), rest**2)


def moderated(squares: Array, freedom: Array) -> tuple[Array, Array]:
    """Variances (m,) from sums of squares, each shrunk towards the others', and their degrees of freedom.

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
        trigamma = float(zeta(2, x))  # its derivative is -2 zeta(3, x)
        step = trigamma * (1 - trigamma / value) / float(zeta(3, x)) / 2
        x -= step
        if abs(step) < 1e-12 * x:
            break
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


def _single(ratio: Array) -> tuple[Array, Array]:
    """The variance of one run from a ratio of two runs, and its degrees of freedom; infinite for too few loads."""
    loads = len(ratio)
    if loads < LEAST_COMMON:
        return np.full(loads, np.inf), np.ones(loads)
    variance, freedom = float((np.diff(ratio, 2) ** 2).mean()) / 12, loads - 2.0
    whole, left = _scatter(ratio[None, :])
    least, expected, of_left = _mere_noise(loads)
    if whole[0] > least * left[0] and left[0] / expected / 2 < variance:
        variance, freedom = left[0] / expected / 2, of_left
    return np.full(loads, max(variance, EXACT**2)), np.full(loads, freedom)


def _scatter(ratios: Array) -> tuple[Array, Array]:
    """The sums of squares (d,) of ratios (d, m) around their mean, and those left by the best block of neighbours."""
    loads = ratios.shape[1]
    steps = np.tri(loads, dtype=float)[:-1]  # the first k of m loads
    blocks = np.concatenate([steps, *(steps[k + 1 :] - steps[k] for k in range(loads - 2))])
    blocks -= blocks.mean(axis=1, keepdims=True)
    blocks /= np.linalg.norm(blocks, axis=1, keepdims=True)
    whole = ((ratios - ratios.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return whole, np.maximum(whole - ((ratios @ blocks.T) ** 2).max(axis=1), 0.0)


@cache
def _mere_noise(loads: int) -> tuple[float, float, float]:
    """For ratios of pure noise of variance 1: the factor by which the best block lowers the scatter in ``BLOCK_LEVEL``
    of cases, the mean of the rest, and its degrees of freedom (by its variance)."""
    whole, left = _scatter(np.random.default_rng(loads).standard_normal((BLOCK_DRAWS, loads)))
    return (
        float(np.quantile(whole / left, 1 - BLOCK_LEVEL)),
        float(left.mean()),
        float(2 * left.mean() ** 2 / left.var()),
    )
