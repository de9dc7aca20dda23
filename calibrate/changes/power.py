"""The loss that a comparison would have shown, by injection, and what to measure to show a smaller one.

Sweeps like the compared ones are drawn with the noise that was found. A loss is put into the new one, and judged as the
command judges. It "would have been seen" where nine of ten such comparisons call that load slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from calibrate.changes.noise import Noise
from calibrate.inference.parameters import Array

POWER = 0.9
"""The probability with which a loss "would have been seen"."""
DRAWS = 300
STEPS, CLOSE = 30, 1.01
"""The most steps to a loss that is seen, and the ratio of two steps at which it is found."""
NOTHING_LEFT = math.log(100)
"""A loss of 99 %, beyond which none is named."""
TELLING = 3
"""The least number of old sweeps whose spread is taken as the truth; below it, the assumption counts too."""
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
