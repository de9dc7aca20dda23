"""Mixtures by expectation and maximisation on bins: lognormal parts, and Erlang parts (exponential with one stage).

Each step gives every bin to the parts in proportion to how likely they put a time there, then refits each part to its
share, with the mean of what lies inside a bin under that part (Dempster, Laird and Rubin 1977; for grouped data
McLachlan and Jones 1988, Biometrics 44). The likelihood never falls, but where the stages of an Erlang part change,
which are chosen by the middles of the bins (compare Thümmler, Buchholz and Telek 2006, IEEE TDSC 3). Whole stages would
hold it fast, as a step seldom reaches the next one: they are real numbers first, and rounded at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from calibrate.inference.parameters import Array
from calibrate.service.families import Candidate, erlangs, lognormals, mixture_theta
from calibrate.service.likelihood import LEAST, Binned

MOST_STAGES = 400
FIRST_STEPS, MOST_STEPS = 25, 150
SMALL_GAIN = 0.01
"""Gain of the log likelihood in one step below which a mixture is left to the last climb."""
_ROOT = np.sqrt(2 * np.pi)


@dataclass(frozen=True)
class Parts:
    """A mixture on its way: weights (j,), then medians and sigmas, or means and stages."""

    weight: Array
    first: Array
    second: Array


def fit_lognormals(binned: Binned, parts: int, shift: float = 0.0) -> tuple[Candidate, Array]:
    """The mixture of ``parts`` lognormals (all after ``shift``) that the bins are likeliest under, and its θ."""
    best = _best_of(_Lognormals(binned, shift), parts)
    return lognormals(parts), mixture_theta(best.weight, best.first, best.second)


def fit_erlangs(binned: Binned, parts: int, *, stages: bool, shift: float = 0.0) -> tuple[Candidate, Array]:
    """The mixture of ``parts`` Erlang laws, with as many ``stages`` as suit them or one (hyperexponential)."""
    best = _best_of(_Erlangs(binned, shift, stages), parts)
    if stages:
        whole = Parts(best.weight, best.first, np.rint(best.second))
        best = _run(_Erlangs(binned, shift, False), whole, FIRST_STEPS)[0]
    return erlangs([int(k) for k in best.second]), mixture_theta(best.weight, best.first)


class _Cells:
    """Edges of the bins that hold anything, after ``shift``."""

    def __init__(self, binned: Binned, shift: float) -> None:
        self.counts = binned.counts
        self.edges = np.maximum(binned.edges - shift, 0.0)
        self.cells = np.asarray(binned.cells, dtype=np.int64)
        low, high = self.edges[self.cells], self.edges[self.cells + 1]
        self.middle = np.where(np.isfinite(high), (low + high) / 2, 1.5 * low)

    def shares(self, below: Array, above: Array) -> Array:
        """P(bin) under each part (m, j), from either tail at the edges (e, j)."""
        low, high = self.cells, self.cells + 1
        return np.asarray(np.where(below[low] > 0.5, above[low] - above[high], below[high] - below[low]))

    def responsibilities(self, shares: Array, weight: Array) -> tuple[Array, float]:
        """Requests of each bin given to each part (m, j), and the log likelihood."""
        joint = np.maximum(shares, LEAST) * weight
        together = joint.sum(axis=1)
        return joint / together[:, np.newaxis] * self.counts[:, np.newaxis], float(self.counts @ np.log(together))

    def groups(self, cuts: Array) -> Iterator[tuple[float, float, float]]:
        """(weight, mean, standard deviation) of the times between shares ``cuts`` of all."""
        reached = np.cumsum(self.counts) / self.counts.sum()
        for low, high in pairwise(cuts):
            inside = (reached > low) & (reached <= high)
            count = np.where(inside, self.counts, 0.0)
            if not count.any():  # one bin reaches over the whole group
                count[min(int(np.searchsorted(reached, high)), len(count) - 1)] = 1.0
            mean = float(count @ self.middle / count.sum())
            yield high - low, mean, float(np.sqrt(count @ (self.middle - mean) ** 2 / count.sum()))


class _Lognormals(_Cells):
    def __init__(self, binned: Binned, shift: float) -> None:
        super().__init__(binned, shift)
        with np.errstate(divide="ignore"):
            self.log_edges = np.log(self.edges)[:, np.newaxis]
        low, high = self.log_edges[self.cells], self.log_edges[self.cells + 1]
        bounded = np.isfinite(high) & np.isfinite(low)
        self.narrowest = 0.25 * float(np.min((high - low)[bounded])) if bounded.any() else 1e-3
        # Where an end is open, a bin is as wide as anything in it can matter.
        self.low = np.where(np.isfinite(low), low, high - 50)
        self.high = np.where(np.isfinite(high), high, low + 50)

    def start(self, cuts: Array) -> Parts:
        weight, mean, sd = np.array(list(self.groups(cuts))).T
        sigma = np.sqrt(np.log1p((sd / mean) ** 2))
        return Parts(weight, mean, np.maximum(sigma, max(0.02, self.narrowest)))

    def step(self, at: Parts) -> tuple[Parts, float]:
        mu, sigma = np.log(at.first), at.second
        z = (self.log_edges - mu) / sigma
        shares = self.shares(special.ndtr(z), special.ndtr(-z))
        given, gained = self.responsibilities(shares, at.weight)
        # Mean and second moment of the logarithm inside a bin: a truncated normal.
        density = np.exp(-(z**2) / 2) / _ROOT
        slope = np.where(np.isfinite(z), z, 0.0) * density
        low, high = self.cells, self.cells + 1
        safe = np.maximum(shares, LEAST)
        inside = np.clip(mu + sigma * (density[low] - density[high]) / safe, self.low, self.high)
        width = self.high - self.low
        lack = 1 + (slope[low] - slope[high]) / safe - ((density[low] - density[high]) / safe) ** 2
        variance = np.clip(sigma**2 * lack, 0.0, width**2 / 4)
        narrow = (width < 0.05 * sigma) | (shares < 1e-200)
        inside = np.where(narrow, (self.low + self.high) / 2, inside)
        variance = np.where(narrow, np.minimum(width**2 / 12, sigma**2), variance)
        weight = np.maximum(given.sum(axis=0), 1e-12)
        centre = (given * inside).sum(axis=0) / weight
        spread = (given * (variance + (inside - centre) ** 2)).sum(axis=0) / weight
        return Parts(weight / weight.sum(), np.exp(centre), np.maximum(np.sqrt(spread), self.narrowest)), gained


class _Erlangs(_Cells):
    """Erlang parts whose stages are found as any number from 1 on (gamma parts), or are those it starts with."""

    def __init__(self, binned: Binned, shift: float, stages: bool) -> None:
        super().__init__(binned, shift)
        self.may_have_stages = stages
        self.log_middle = np.log(np.maximum(self.middle, LEAST))

    def start(self, cuts: Array) -> Parts:
        weight, mean, sd = np.array(list(self.groups(cuts))).T
        mean = np.maximum(mean, 1e-9)
        if not self.may_have_stages:
            return Parts(weight, mean, np.ones(len(mean)))
        wanted = (mean / np.maximum(sd, 1e-3 * mean)) ** 2
        return Parts(weight, mean, np.clip(np.rint(wanted), 1, MOST_STAGES))

    def step(self, at: Parts) -> tuple[Parts, float]:
        stages = at.second
        x = self.edges[:, np.newaxis] * (stages / at.first)
        below, above = special.gammainc(stages, x), special.gammaincc(stages, x)
        shares = self.shares(below, above)
        given, gained = self.responsibilities(shares, at.weight)
        # The mean inside a bin is that of the law times the share that one stage more would have in the bin.
        with np.errstate(divide="ignore", invalid="ignore"):
            drop = np.where(np.isfinite(x) & (x > 0), np.exp(stages * np.log(x) - x - special.gammaln(stages + 1)), 0.0)
        more = self.shares(below - drop, above + drop)
        low, high = self.edges[self.cells, np.newaxis], self.edges[self.cells + 1, np.newaxis]
        inside = np.clip(at.first * more / np.maximum(shares, LEAST), low, high)
        inside = np.where(shares < 1e-200, self.middle[:, np.newaxis], inside)
        weight = np.maximum(given.sum(axis=0), 1e-12)
        mean = np.maximum((given * inside).sum(axis=0) / weight, 1e-12)
        if self.may_have_stages:
            log_mean = (given * self.log_middle[:, np.newaxis]).sum(axis=0) / weight
            stages = _stages(np.log(mean) - log_mean)
        return Parts(weight / weight.sum(), mean, stages), gained


def _stages(gap: Array) -> Array:
    """The likeliest shape of a gamma law whose log mean exceeds the mean logarithm by ``gap`` (j,): log k - ψ(k) = gap.

    Two steps of Minka (2002) from that paper's first estimate: exact to nine digits.
    """
    gap = np.maximum(gap, 0.5 / MOST_STAGES)
    k = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(2):
        k = 1 / (1 / k + (np.log(k) - special.digamma(k) - gap) / (k - k**2 * special.polygamma(1, k)))
    return np.asarray(np.clip(k, 1, MOST_STAGES))


def _best_of(model: _Lognormals | _Erlangs, parts: int) -> Parts:
    """The better of two starts after a few steps, taken to where steps gain little."""
    even = np.linspace(0, 1, parts + 1)
    tail = np.concatenate(([0.0], 1 - 0.5 * 0.12 ** np.arange(parts - 1), [1.0])) if parts > 1 else even
    tries = [_run(model, model.start(cuts), FIRST_STEPS) for cuts in (even, tail)]
    best = max(tries, key=lambda found: found[1])[0]
    return _run(model, best, MOST_STEPS)[0]


def _run(model: _Lognormals | _Erlangs, parts: Parts, steps: int) -> tuple[Parts, float]:
    """At most ``steps`` steps: the best parts seen, with the log likelihood that they have."""
    best, before = parts, -np.inf
    for _ in range(steps):
        following, likelihood = model.step(parts)  # the likelihood is that of ``parts``
        if likelihood < before + SMALL_GAIN:
            return (parts, likelihood) if likelihood > before else (best, before)
        best, before, parts = parts, likelihood, following
    return best, before
