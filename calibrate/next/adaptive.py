"""Which load an adaptive sweep measures next, so that the knee becomes known in few points.

It takes the load that narrows the knee most (:mod:`calibrate.next.load`). That trusts the model, so every third choice
does not: it goes to the middle of the widest stretch where nothing was measured. And where the points leave room for a
knee near the deepest of them, the peak has not been seen, and the next one lies deeper.

Where the model misses more than models do, the point that it misses most is measured again, once, which tells noise
from misfit. From then on a repeat is chosen where it narrows the knee more than any new load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrate.default_loads import PAIR
from calibrate.fitting.curve_fit import Fit
from calibrate.inference.parameters import Array, Mask
from calibrate.next.load import knee_shares
from calibrate.points import Points

Why = Literal["start", "deeper", "knee", "check", "repeat", "there"]

REACH = 4.0
"""How many times deeper than before the next point may lie. Past the peak throughput can fall, so that a point far
too deep says little of the peak."""

SATURATED = 2.0
"""The deepest point must lie this many times above whatever knee is still possible."""

CHECK_EVERY = 3
SURPRISING = 2.0
"""How many times the error that is expected of a model counts as a surprise."""


@dataclass(frozen=True)
class LoadChoice:
    """A load to measure, and why; ``reason`` is a sentence for people."""

    load: float
    why: Why
    reason: str


def first_choices(loads: Sequence[float]) -> tuple[LoadChoice, LoadChoice]:
    """Where to begin: a lone request (or the least load there is) and the first deep load (or the last)."""
    ordered = sorted(loads)
    deep = next((n for n in ordered if n >= PAIR[1]), ordered[-1])
    return (
        LoadChoice(
            ordered[0], "start", "the latency of a lone request" if ordered[0] == 1 else "the least load there is"
        ),
        LoadChoice(deep, "start", "a deep queue, for the peak"),
    )


def next_choice(fit: Fit, points: Points, loads: Sequence[float], chosen: int) -> LoadChoice | None:
    """The load among ``loads`` to measure next; None where nothing is left that would tell anything.

    ``points`` are what ``fit`` was calibrated on, ``chosen`` how many choices have been made since the beginning.
    """
    deepest = points.load[-1]
    fresh = np.array([n for n in sorted(loads) if not np.any(np.isclose(points.load, n)) and n <= REACH * deepest])
    deeper = fresh[fresh > deepest]
    possible = fit.knee.high if fit.knee.high is not None else np.inf
    if len(deeper) and possible > deepest / SATURATED:
        reason = f"the knee may lie as high as {possible:.3g}, so that {deepest:g} need not have reached the peak"
        return LoadChoice(float(deeper[-1]), "deeper", reason)
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


def _check(measured: Array, fresh: Array) -> LoadChoice:
    gap = np.abs(np.log(fresh[:, None] / measured[None, :])).min(axis=1)
    load = float(fresh[np.argmax(gap)])
    below, above = measured[measured < load], measured[measured > load]
    where = f"between {below[-1]:g} and {above[0]:g}" if len(above) else f"above {below[-1]:g}"
    return LoadChoice(load, "check", f"a check of the model {where}, where nothing was measured")


def _surprise(fit: Fit, points: Points, allowed: Mask) -> LoadChoice | None:
    """The point that the model misses most, where it misses more than expected and nobody knows the noise."""
    expected = SURPRISING * fit.curve_model.misfit.median
    few = fit.table.values.shape[1]
    if len(points) <= few or pooled_noise(points) is not None or fit.table.typical_misfit() < expected:
        return None
    curves = np.log(fit.curve_model.curve(fit.table.values, points.load)[0])
    missed = np.abs(np.expm1(fit.table.weight @ curves - np.log(points.throughput_per_s)))
    worst = int(np.argmax(np.where(allowed, missed, 0.0)))
    reason = f"again, as the model misses it by {100 * missed[worst]:.2g} %: noise, or the model?"
    return LoadChoice(float(points.load[worst]), "repeat", reason) if allowed[worst] else None


def _most_telling(fit: Fit, points: Points, allowed: Mask, fresh: Array) -> LoadChoice | None:
    """The load that narrows the knee most, a new one or, where the noise is known, a repeat."""
    noise = pooled_noise(points)
    again = points.load[allowed] if noise else np.array([])
    loads = np.concatenate([fresh, again])
    if not len(loads):
        return None
    share = knee_shares(fit, loads)
    best, now = int(np.argmax(share)), half_width(fit)
    then = np.expm1(np.log1p(now) * np.sqrt(max(0.0, 1 - share[best])))
    narrower = f"should narrow the knee from ±{100 * now:.2g} % to ±{100 * then:.2g} %"
    if best < len(fresh):
        return LoadChoice(float(loads[best]), "knee", narrower)
    return LoadChoice(
        float(loads[best]), "repeat", f"again, as repeats differ by {100 * (noise or 0):.2g} %; {narrower}"
    )
