"""Which load to measure next, so that the knee becomes known in few points.

Every draw from the posterior is a device that the points allow: a knee and a whole curve. Over the draws, the
throughput at some loads goes along with the knee, and at others it does not. A measurement at load N, whose relative
error is s, is expected to take from the variance of the log knee

    cov(log N*, log X(N))^2 / (var log X(N) + s^2),

the share that a linear regression on one new observation explains. That is Bayesian experimental design in its
linear-Gaussian form (Lindley 1956; Chaloner and Verdinelli, Statistical Science 1995). The load with the largest share
is the one where the model is least certain about the knee, as far as a measurement there can tell.

That trusts the model, so every third choice does not: it goes to the middle of the widest stretch where nothing was
measured. And where the points leave room for a knee near the deepest of them, the peak has not been seen, and the next
one lies deeper.

The model's error at a load is the same in every repeat, so a repeat only lessens the noise. Where the model misses
more than models do, the point that it misses most is measured again, once, which tells noise from misfit. From then on
a repeat is chosen where it tells more than any new load: where noise dominates and no neighbour can take the place of
the point, which is at a lone request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrate.fitting import Fit
from calibrate.points import Points
from calibrate.posterior import Array, Mask
from calibrate.prediction import expected

Why = Literal["start", "deeper", "knee", "check", "repeat", "there"]

DEEP = 32
"""What counts as deep at the start: the depth that the default calibration takes, too."""

REACH = 4.0
"""How many times deeper than before the next point may lie. Past the peak throughput can fall, so that a point far
too deep says little of the peak."""

SATURATED = 2.0
"""The deepest point must lie this many times above whatever knee is still possible."""

CHECK_EVERY = 3
SURPRISING = 2.0
"""How many times the error that is expected of a model counts as a surprise."""

LEAST_ERROR = 0.01


@dataclass(frozen=True)
class Choice:
    """A load to measure, and why; ``reason`` is a sentence for people."""

    load: float
    why: Why
    reason: str


def first_choices(loads: Sequence[float]) -> tuple[Choice, Choice]:
    """Where to begin: a lone request (or the least load there is) and the first deep load (or the last)."""
    ordered = sorted(loads)
    deep = next((n for n in ordered if n >= DEEP), ordered[-1])
    return (
        Choice(ordered[0], "start", "the latency of a lone request" if ordered[0] == 1 else "the least load there is"),
        Choice(deep, "start", "a deep queue, for the peak"),
    )


def next_choice(fit: Fit, points: Points, loads: Sequence[float], chosen: int) -> Choice | None:
    """The load among ``loads`` to measure next; None where nothing is left that would tell anything.

    ``points`` are what ``fit`` was calibrated on, ``chosen`` how many choices have been made since the beginning.
    """
    deepest = points.load[-1]
    fresh = np.array([n for n in sorted(loads) if not np.any(np.isclose(points.load, n)) and n <= REACH * deepest])
    deeper = fresh[fresh > deepest]
    possible = fit.knee.high if fit.knee.high is not None else np.inf
    if len(deeper) and possible > deepest / SATURATED:
        reason = f"the knee may lie as high as {possible:.3g}, so that {deepest:g} need not have reached the peak"
        return Choice(float(deeper[-1]), "deeper", reason)
    if len(fresh) and chosen % CHECK_EVERY == 0:
        return _check(points.load, fresh)
    allowed = np.isin(points.load, loads)
    return _surprise(fit, points, allowed) or _most_telling(fit, points, allowed, fresh)


def half_width(fit: Fit) -> float:
    """Half the width of the knee's interval, relative: 0.1 for about 10 % either way; infinite where it is open."""
    knee = fit.knee
    return float(np.sqrt(knee.high / knee.low) - 1) if knee.low is not None and knee.high is not None else np.inf


def pooled_noise(points: Points) -> float | None:
    """Relative standard deviation of one repeat, over all loads that were measured more than once; None without any."""
    known = np.isfinite(points.throughput_spread) & (points.repeats > 1)
    if not known.any():
        return None
    freedom = points.repeats[known] - 1
    return float(np.sqrt((freedom * points.throughput_spread[known] ** 2).sum() / freedom.sum()))


def explained(fit: Fit, loads: Array, error: Array) -> Array:
    """The share of the variance of the log knee (m,) that a measurement at each of ``loads`` (m,) would take away.

    ``error`` (m,): the relative standard error of what would be measured.
    """
    knee = np.log(fit.curve_model.knee(fit.draws).load)
    curve, _ = expected(fit, loads)
    together = ((knee - knee.mean())[:, None] * (curve - curve.mean(axis=0))).mean(axis=0)
    taken: Array = together**2 / (curve.var(axis=0) + error**2)
    return taken / max(float(knee.var()), 1e-12)


def _check(measured: Array, fresh: Array) -> Choice:
    gap = np.abs(np.log(fresh[:, None] / measured[None, :])).min(axis=1)
    load = float(fresh[np.argmax(gap)])
    below, above = measured[measured < load], measured[measured > load]
    where = f"between {below[-1]:g} and {above[0]:g}" if len(above) else f"above {below[-1]:g}"
    return Choice(load, "check", f"a check of the model {where}, where nothing was measured")


def _surprise(fit: Fit, points: Points, allowed: Mask) -> Choice | None:
    """The point that the model misses most, where it misses more than expected and nobody knows the noise."""
    expected = SURPRISING * fit.curve_model.error_prior.median
    if len(points) <= len(fit.mode) or pooled_noise(points) is not None or np.median(fit.error_draws) < expected:
        return None
    missed = np.abs(fit.curve_model.curve(fit.mode[None, :], points.load)[0][0] / points.throughput_per_s - 1)
    worst = int(np.argmax(np.where(allowed, missed, 0.0)))
    reason = f"again, as the model misses it by {100 * missed[worst]:.2g} %: noise, or the model?"
    return Choice(float(points.load[worst]), "repeat", reason) if allowed[worst] else None


def _most_telling(fit: Fit, points: Points, allowed: Mask, fresh: Array) -> Choice | None:
    """The load that takes most from the variance of the log knee, a new one or, where the noise is known, a repeat."""
    noise = pooled_noise(points)
    again = allowed if noise else np.zeros_like(allowed)
    loads = np.concatenate([fresh, points.load[again]])
    if not len(loads):
        return None
    share = explained(fit, loads, _errors(fit, points, again, fresh, noise or 0.0))
    best, now = int(np.argmax(share)), half_width(fit)
    then = np.expm1(np.log1p(now) * np.sqrt(max(0.0, 1 - share[best])))
    narrower = f"should narrow the knee from ±{100 * now:.2g} % to ±{100 * then:.2g} %"
    if best < len(fresh):
        return Choice(float(loads[best]), "knee", narrower)
    return Choice(float(loads[best]), "repeat", f"again, as repeats differ by {100 * (noise or 0):.2g} %; {narrower}")


def _errors(fit: Fit, points: Points, again: Mask, fresh: Array, noise: float) -> Array:
    """Relative standard errors of what would be measured at ``fresh`` loads (m,) and, once more, at those of ``again``.

    Where the model's misses go together at neighbouring loads, the points say how much is left of them there. Else the
    miss of a load is its own, the same in every repeat, and a repeat is an observation of what it adds to the mean.
    """
    if fit.curve_model.discrepancy is not None:
        return np.sqrt(np.diag(expected(fit, np.concatenate([fresh, points.load[again]]))[1]))
    own = max(float(np.median(fit.error_draws)) ** 2 - noise**2, LEAST_ERROR**2)
    before, after = (own + noise**2 / (points.repeats[again] + more) for more in (0, 1))
    return np.concatenate([np.full(len(fresh), np.sqrt(own + noise**2)), np.sqrt(1 / (1 / after - 1 / before))])
