"""The noise between sweeps of one device, from the runs of all of them, and the loss that would have been seen.

The logarithm of a ratio new / old varies by two parts, as variances:

*runs*: repeats of a load scatter. Each load has a variance of its own. Three repeats hardly determine it, so it is
shrunk towards the others' as far as these agree (Smyth, Linear models and empirical Bayes methods, Stat. Appl. Genet.
Mol. Biol. 2004).
*sweeps*: what moves a whole sweep, or one load of it, against the next sweep. Repeats of one sweep do not show it. It
is assumed to be that of the kind of device (:mod:`calibrate.points`), and at least what moves the rounds of one sweep
(one-way random effects). The spread of several sweeps of the old state measures it; the assumption then has the weight
of ``ASSUMED_WEIGHT`` more. The intervals hold their share for every number of sweeps where the device
varies as assumed, or less.

Without repeats the smoothness of the ratio over the load replaces them: the variance of its second differences is six
times that of one ratio. A loss at some loads alone is not noise: where one block of neighbouring loads explains more of
the scatter than in 98 of 100 ratios of pure noise, the rest of the scatter is the noise. Sweeps are then taken to vary
by as much as runs do, as where the audit doubts the runs. Repeats that were measured one after another show less than
what moves the next load: those of a load count as one run, and sweeps too are taken to vary as much.

Arrays of runs are (..., rounds, m): a row a round, NaN where a run is missing. Further axes are further experiments.

The loss that would have been seen, by injection: sweeps like the compared ones are drawn with the noise that was found.
A loss is put into the new one, and judged as the command judges. It "would have been seen" where nine of ten such
comparisons call that load slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import chdtri, ndtr, ndtri, polygamma, psi, stdtrit, zeta

from calibrate.inference.parameters import Array, Mask

ASSUMED_WEIGHT = 1.0
"""The weight of the assumed variance between sweeps, in degrees of freedom: as much as two old sweeps say of it."""
LEAST_COMMON = 4  # the least number of common loads that gives a variance without repeats
TELLS_APART = 6  # the least number of old sweeps of single runs that gives each load a variance of its own
EXACT = 1e-6  # the least relative standard deviation of a run
BLOCK_LEVEL, BLOCK_DRAWS = 0.02, 4000
"""The probability that pure noise is taken for a changed block of loads, and the number of simulated ratios."""
WIDENED = 30  # the steps of Newton's method, enough for one tail in a million
_SHARES = (np.arange(400) + 0.5) / 400


@dataclass(frozen=True)
class Noise:
    """Variances of logarithms at m loads, and how many runs and sweeps a ratio stands on."""

    run: Array
    """(..., m) of one run, infinite where unknown."""
    run_freedom: Array
    """(..., m) its degrees of freedom."""
    rounds: Array
    """(..., m) of a sweep, as its rounds or doubts about its runs show."""
    rounds_freedom: Array
    assumed: float
    """Of a sweep of such a device."""
    spread: Array
    """(..., m) of the old sweeps beyond their runs."""
    spread_of_mean: Array
    """(...,) the same of their means over all loads."""
    share: Array
    """(m,) how much of the variance of one run a ratio has: 1 / old runs + 1 / new runs."""
    sweeps: int
    """The number of old sweeps."""
    of_ratio: bool = False
    """Whether the ratio's smoothness gave the variance of runs, for want of repeats."""

    def half_widths(self, tail: float, at: int | slice = slice(None)) -> Array:
        """Half widths (..., m), or those ``at`` some loads, of intervals of log ratios with ``tail`` on each side."""
        parts = self.run * self.share, self.run_freedom, self.rounds, self.rounds_freedom, self.spread
        return self._half_width(*(part[..., at] for part in parts), tail=tail)

    def weights(self) -> Array:
        """The inverse variances (..., m) of the loads' runs, of sum 1; equal ones where these are unknown."""
        inverse = 1 / (np.where(np.isfinite(self.run), self.run, 1.0) * self.share)
        return np.asarray(inverse / inverse.sum(axis=-1, keepdims=True))

    def of_mean(self, tail: float) -> Array:
        """Half width (...,) of the interval of the weighted mean over all loads."""
        weights = self.weights()
        parts = weights**2 * self.run * self.share
        whole = parts.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            freedom = np.where(np.isfinite(whole), whole**2 / (parts**2 / self.run_freedom).sum(axis=-1), 1.0)
        rounds = (weights * np.sqrt(self.rounds)).sum(axis=-1) ** 2  # they move all loads together
        return self._half_width(
            whole, freedom, rounds, self.rounds_freedom.min(axis=-1), self.spread_of_mean, tail=tail
        )

    def of_sweeps(self, rounds: Array, spread: Array) -> Array:
        """The variance between sweeps, of one sweep: what is assumed and what the old sweeps show, by their weights."""
        seen = self.sweeps - 1
        return np.asarray((ASSUMED_WEIGHT * (self.assumed + rounds) + seen * spread) / (ASSUMED_WEIGHT + seen))

    def planned(self, sweeps: int, repeats: float, spread: float | None = None) -> Noise:
        """The noise with so many old sweeps and repeats of each load; ``spread`` is what their variance will be."""
        loads = self.run.shape[-1]
        of_mean = self.spread_of_mean if spread is None else np.array(spread)
        freedom = loads * (sweeps + 1) * (repeats - 1) if repeats > 1 else (loads - 1) * (sweeps - 1)
        return replace(
            self,
            run_freedom=np.full(loads, max(freedom, 1.0)),
            rounds=np.where((self.rounds < self.run) & (repeats > 1), self.rounds, 0.0),  # else they stood for repeats
            spread=self.spread if spread is None else np.full(loads, spread),
            spread_of_mean=of_mean,
            share=np.full(loads, (1 + 1 / sweeps) / repeats),
            sweeps=sweeps,
        )

    def _half_width(
        self, runs: Array, freedom: Array, rounds: Array, of_rounds: Array, spread: Array, *, tail: float
    ) -> Array:
        """Satterthwaite's interval: the variance between sweeps is known but for its factor of ``_widening``."""
        both, seen = 1 + 1 / self.sweeps, self.sweeps - 1
        part = both * ASSUMED_WEIGHT / (ASSUMED_WEIGHT + seen) * rounds
        rest = both * self.of_sweeps(np.zeros_like(spread), spread)
        whole = runs + part + rest * _widening(tail, self.sweeps) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            together = whole**2 / (runs**2 / freedom + part**2 / of_rounds)
        known = np.isfinite(whole)
        quantile = -stdtrit(np.where(known, np.maximum(together, 1.0), 1.0), tail)
        return np.where(known, quantile * np.sqrt(whole), np.inf)


@cache
def _widening(tail: float, sweeps: int) -> float:
    """How much further than a normal deviate an interval reaches, as ``sweeps`` correct the assumed variance.

    The mean over the correction's law of the normal tail beyond it is ``tail``, where the assumption is right.

    >>> [round(_widening(0.0125, sweeps), 2) for sweeps in (1, 2, 5, 20)]
    [1.0, 1.2, 1.24, 1.08]
    """
    if sweeps == 1:
        return 1.0
    found = np.sqrt((ASSUMED_WEIGHT + chdtri(sweeps - 1, 1 - _SHARES)) / (ASSUMED_WEIGHT + sweeps - 1))
    reach, factor = -ndtri(tail) * found, 1.0
    for _ in range(WIDENED):  # by Newton's method, from below: the mean is convex
        slope = (reach * np.exp(-((factor * reach) ** 2) / 2)).mean() / math.sqrt(2 * math.pi)
        factor += float((ndtr(-factor * reach).mean() - tail) / slope)
    return factor


def noise_of(
    old: Sequence[Array], new: Array, *, assumed: float, doubted: Mask | bool = False, adjacent: bool = False
) -> Noise:
    """The noise of the logarithms of new / old, from the logarithms of the runs of each sweep.

    ``assumed`` is the relative standard deviation between sweeps; ``doubted`` (m,) marks loads whose runs may agree too
    well; ``adjacent`` says that the repeats of a load were measured one after another.
    """
    every, sweeps, loads = [*old, new], len(old), new.shape[-1]
    counts = np.array([np.isfinite(runs).sum(axis=-2).reshape(-1, loads)[0] for runs in every], dtype=float)
    repeated = bool((counts > 1).any())
    averaged = np.ones_like(counts) if adjacent else counts
    share = 1 / averaged[-1] + (1 / averaged[:-1]).sum(axis=0) / sweeps**2
    doubted = np.asarray(doubted) | adjacent
    means = np.stack([np.nanmean(runs, axis=-2) for runs in every], axis=-2)
    before = means[..., :-1, :]
    away, ratio = before - before.mean(axis=-2, keepdims=True), means[..., -1, :] - before.mean(axis=-2)
    rounds: Array | None = None
    known = 1.0
    if repeated:
        run, run_freedom = _of_repeats(every, counts)
        rounds, known = _rounds(every, run)
    elif sweeps > 1:
        run, run_freedom = _of_single_sweeps(away)
        rounds = np.zeros_like(run)
    else:
        run, run_freedom = (np.broadcast_to(value[..., None], ratio.shape) for value in _single(ratio))
    rounds_freedom = run_freedom if rounds is None else np.full(run.shape, known)
    rounds = run if rounds is None else np.broadcast_to(rounds, run.shape)
    spread, spread_of_mean = _between(away, run / averaged[:-1].mean(axis=0), repeated=repeated)
    return Noise(
        run,
        run_freedom,
        np.where(doubted, np.maximum(rounds, run), rounds),
        rounds_freedom,
        assumed**2,
        spread,
        spread_of_mean,
        share,
        sweeps,
        of_ratio=not repeated and sweeps == 1,
    )


def moderated(squares: Array, freedom: Array) -> tuple[Array, Array]:
    """Variances (..., m) from sums of squares (..., m), each shrunk towards the others', and their degrees of freedom.

    Smyth (2004), section 6.2. Variances that differ no more than chance allows are pooled.

    >>> variance, freedom = moderated(np.array([4.0, 4.0, 8.0]), np.array([4.0, 4.0, 4.0]))
    >>> variance.round(2).tolist(), freedom.tolist()
    ([1.33, 1.33, 1.33], [12.0, 12.0, 12.0])
    """
    some, whole = freedom > 0, freedom.sum()
    known = freedom[some]
    own = np.log(squares[..., some] / known) - psi(known / 2) + np.log(known / 2)
    excess = own.var(axis=-1, ddof=1) - polygamma(1, known / 2).mean() if len(known) > 2 else np.zeros(own.shape[:-1])
    excess = np.asarray(excess)[..., None]
    prior = 2 * _inverse_trigamma(np.where(excess > 0, excess, 1.0))
    centre = np.exp(own.mean(axis=-1, keepdims=True) + psi(prior / 2) - np.log(prior / 2))
    pooled = squares.sum(axis=-1, keepdims=True) / whole
    variance = np.where(excess > 0, (prior * centre + squares) / (prior + freedom), pooled)
    return variance, np.where(excess > 0, np.minimum(prior + freedom, whole), whole) + np.zeros_like(squares)


def _inverse_trigamma(value: Array) -> Array:
    """The x whose trigamma is ``value``, by Newton's method (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(8):
        trigamma = zeta(2, x)  # its derivative is -2 zeta(3, x)
        x = x - trigamma * (1 - trigamma / value) / zeta(3, x) / 2
    return np.asarray(x)


def _of_repeats(sweeps: Sequence[Array], counts: Array) -> tuple[Array, Array]:
    """The variance (..., m) of one run from repeats of each load, and its degrees of freedom."""
    squares = sum(np.nansum((runs - np.nanmean(runs, axis=-2, keepdims=True)) ** 2, axis=-2) for runs in sweeps)
    freedom = counts.sum(axis=0) - len(sweeps)
    return moderated(np.maximum(squares, EXACT**2 * freedom), freedom)


def _of_single_sweeps(away: Array) -> tuple[Array, Array]:
    """The same from what single runs (..., sweeps, m) differ beyond what moves their sweeps as a whole."""
    sweeps, loads = away.shape[-2:]
    run, freedom = moderated(np.maximum((away**2).sum(axis=-2), EXACT**2), np.full(loads, sweeps - 1.0))
    if loads < 2:
        return run, freedom
    together = _weighted(away, run) if sweeps >= TELLS_APART else away.mean(axis=-1)
    squares = np.maximum(((away - together[..., None]) ** 2).sum(axis=-2), EXACT**2)
    if sweeps >= TELLS_APART:
        return moderated(squares, np.full(loads, (sweeps - 1) * (loads - 1) / loads))
    known = float((sweeps - 1) * (loads - 1))
    pooled = squares.sum(axis=-1, keepdims=True) / known
    return np.repeat(pooled, loads, axis=-1), np.full(squares.shape, known)


def _weighted(away: Array, run: Array) -> Array:
    """The mean over the loads of each row of ``away`` (..., rows, m); noisy loads count less."""
    weights = 1 / run[..., None, :]
    return np.asarray((away * weights).sum(axis=-1) / weights.sum(axis=-1))


def _common(away: Array, run: Array) -> Array:
    """The sum of the squares (...,) of what rows (..., rows, m) have in common at all loads, beyond their runs."""
    rows, loads = away.shape[-2:]
    common, inverse = _weighted(away, run), 1 / run
    left = ((away - common[..., None]) ** 2 * inverse[..., None, :]).sum(axis=(-2, -1))
    scale = left / ((rows - 1) * (loads - 1)) if loads > 1 else 1.0
    return np.asarray((common**2).sum(axis=-1) - (rows - 1) * scale / inverse.sum(axis=-1))


def _rounds(sweeps: Sequence[Array], run: Array) -> tuple[Array | None, float]:
    """The variance (..., 1) that whole rounds have beyond their runs', and its degrees of freedom; None without any."""
    excess, freedom = np.zeros(run.shape[:-1]), 0
    for runs in sweeps:
        whole = np.isfinite(runs).all(axis=-1).reshape(-1, runs.shape[-2])[0]
        if whole.sum() < 2 or runs.shape[-1] < 2:
            continue
        rounds = runs[..., whole, :]
        excess = excess + _common(rounds - rounds.mean(axis=-2, keepdims=True), run)
        freedom += int(whole.sum()) - 1
    return (np.maximum(excess / freedom, 0.0)[..., None], float(freedom)) if freedom else (None, 1.0)


def _between(away: Array, of_runs: Array, *, repeated: bool) -> tuple[Array, Array]:
    """The variances (..., m) and, of the mean over all loads, (...,) of old sweeps beyond ``of_runs`` (..., m)."""
    sweeps, loads = away.shape[-2:]
    if sweeps < 2:
        return np.zeros(of_runs.shape), np.zeros(of_runs.shape[:-1])
    of_mean = np.maximum(_common(away, of_runs) / (sweeps - 1), 0.0)
    if not repeated:  # what one load alone moved is in its runs
        return np.repeat(of_mean[..., None], loads, axis=-1), of_mean
    squares = np.maximum((away**2).sum(axis=-2), EXACT**2)
    own = moderated(squares, np.full(loads, sweeps - 1.0))[0]
    return np.maximum(own - of_runs, 0.0), of_mean


def _single(ratio: Array) -> tuple[Array, Array]:
    """The variance (...,) of one run from ratios (..., m) of two, and its freedom; infinite for too few loads."""
    loads = ratio.shape[-1]
    if loads < LEAST_COMMON:
        return np.full(ratio.shape[:-1], np.inf), np.ones(ratio.shape[:-1])
    variance = (np.diff(ratio, 2, axis=-1) ** 2).mean(axis=-1) / 12
    whole, left = _scatter(ratio)
    least, expected, of_left = _mere_noise(loads)
    block = (whole > least * left) & (left / expected / 2 < variance)
    variance = np.maximum(np.where(block, left / expected / 2, variance), EXACT**2)
    return variance, np.where(block, of_left, loads - 2.0)


def _scatter(ratios: Array) -> tuple[Array, Array]:
    """The sums of squares (...,) of ratios (..., m) around their mean, and what the best block of neighbours leaves."""
    loads = ratios.shape[-1]
    steps = np.tri(loads, dtype=float)[:-1]  # the first k of m loads
    blocks = np.concatenate([steps, *(steps[k + 1 :] - steps[k] for k in range(loads - 2))])
    blocks -= blocks.mean(axis=1, keepdims=True)
    blocks /= np.linalg.norm(blocks, axis=1, keepdims=True)
    whole = ((ratios - ratios.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return whole, np.maximum(whole - ((ratios @ blocks.T) ** 2).max(axis=-1), 0.0)


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


# --- the loss that would have been seen -------------------------------------------------------------------------------

POWER = 0.9  # the probability with which a loss "would have been seen"
DRAWS = 300
STEPS, CLOSE = 30, 1.01  # the most steps to a loss that is seen, and the ratio of two steps at which it is found
NOTHING_LEFT = math.log(100)  # a loss of 99 %, beyond which none is named
TELLING = 3  # the least number of old sweeps whose spread is taken as the truth; below it, the assumption counts too
AGREEING = 1 / 6
"""How much of what is assumed further sweeps of the old state are taken to vary by, below ``TELLING`` of them."""
MOST_SWEEPS, REPEATS = 20, (1, 3, 5, 10)

Judge = Callable[[Sequence[Array], Array], Noise]
"""The noise from the logarithms of the runs of the old sweeps and of the new one."""


@dataclass(frozen=True)
class Next:
    """So many more sweeps of the old state, each load measured ``repeats`` times, show a loss of ``shows_pct``.

    ``agreeing_pct`` is how well they must agree; None: as those that were compared. ``shows_pct`` None: unknown.
    """

    old_sweeps: int
    repeats: int
    shows_pct: float | None
    agreeing_pct: float | None


def losses_seen(
    judge: Judge, noise: Noise, old: Sequence[Array], new: Array, tail_each: float, tail: float
) -> tuple[Array, float]:
    """The least loss at each load alone (m,), and at all of them, that would have been seen: logarithms, or infinite.

    ``old`` and ``new`` are the logarithms of the runs, and ``tail_each`` and ``tail`` the error probabilities on a side
    of the intervals of a load and of the mean.
    """
    loads = new.shape[-1]
    if not np.isfinite(noise.run).all():
        return np.full(loads, np.inf), math.inf
    random = np.random.default_rng(1)
    freedom = float(np.median(noise.run_freedom))  # the noise is known no better than by so many
    scale = (freedom / random.chisquare(freedom, (DRAWS, 1, 1))) ** 0.5
    *before, after = (_drawn(noise, scale, runs, random) for runs in (*old, new))
    ratio = np.nanmean(after, axis=-2) - np.mean([np.nanmean(runs, axis=-2) for runs in before], axis=0)
    plain = judge(before, after)
    everywhere = (plain.weights() * ratio).sum(axis=-1) + plain.of_mean(tail)
    if not noise.of_ratio:  # the loss leaves the noise as it is
        lost = np.quantile(ratio + plain.half_widths(tail_each), POWER, axis=0)
    else:
        lost = np.array([_least(judge, before, after, ratio[:, i], i, tail_each) for i in range(loads)])
    seen = np.append(lost, np.quantile(everywhere, POWER))
    seen[seen > NOTHING_LEFT] = np.inf
    return seen[:-1], float(seen[-1])


def _drawn(noise: Noise, scale: Array, runs: Array, random: np.random.Generator) -> Array:
    """Runs (``DRAWS``, rounds, m) like those of a sweep (rounds, m); their noise is ``scale`` times what was found."""
    rounds, loads = runs.shape
    known = noise.sweeps >= TELLING
    between = noise.spread if known else noise.of_sweeps(noise.rounds, noise.spread)
    apart = np.sqrt(between) * random.standard_normal((DRAWS, 1, 1))
    away = scale * np.sqrt(noise.rounds) * random.standard_normal((DRAWS, rounds, 1))
    own = scale * np.sqrt(noise.run) * random.standard_normal((DRAWS, rounds, loads))
    return np.asarray(np.where(np.isfinite(runs), apart + (away if rounds > 1 else 0.0) + own, np.nan))


def _least(judge: Judge, old: Sequence[Array], new: Array, ratio: Array, place: int, tail: float) -> float:
    """The least loss at one load that is seen: the first that the noise with it leaves visible."""
    lost = 0.0
    for _ in range(STEPS):
        less = new.copy()
        less[..., place] -= lost
        before, lost = lost, float(np.quantile(ratio + judge(old, less).half_widths(tail, place), POWER))
        if lost <= before * CLOSE:
            return max(lost, before)
        if lost > NOTHING_LEFT:
            break
    return math.inf


def percent_of(log: float) -> float | None:
    """A loss in percent from its logarithm; None where there is none."""
    return -100 * math.expm1(-log) if math.isfinite(log) else None


def next_measurement(noise: Noise, repeats: float, tail: float, margin: float) -> Next:
    """The least to measure so that a loss of ``margin`` is seen at half of the loads or more."""
    if not np.isfinite(noise.run).all():
        return Next(0, REPEATS[1], None, None)
    agreeing = None if noise.sweeps >= TELLING else AGREEING * math.sqrt(noise.assumed)
    spread = float(np.median(noise.spread)) if agreeing is None else agreeing**2
    plans = [
        Next(more, often, _expected(noise.planned(noise.sweeps + more, often, spread), tail), None)
        for often in sorted({max(round(repeats), 1), *(r for r in REPEATS if r > repeats)})
        for more in range(1, MOST_SWEEPS + 1)
    ]
    enough = [plan for plan in plans if plan.shows_pct is not None and plan.shows_pct <= 100 * margin]
    found = min(enough, key=lambda plan: plan.old_sweeps * plan.repeats) if enough else plans[MOST_SWEEPS - 1]
    return replace(found, agreeing_pct=None if agreeing is None else 100 * agreeing)


def _expected(noise: Noise, tail: float) -> float | None:
    """The loss in percent that half of the loads or more would show in ``POWER`` of cases."""
    half = np.sort(noise.half_widths(tail))[(len(noise.share) - 1) // 2]
    return percent_of(float(half) * (1 + ndtri(POWER) / -ndtri(tail)))
