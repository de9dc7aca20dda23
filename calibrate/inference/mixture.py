"""Quantiles of a weighted mixture of normal distributions.

The means are spread over a fine grid and smoothed by their own standard deviations in the frequency domain; the
quantiles are read off the cumulative sum. It costs the same for a hundred components and for a hundred thousand. Of a
few components the distribution function itself is solved, which takes a tenth of the time.

>>> quantiles(np.zeros((1, 1)), np.ones((1, 1)), np.ones(1), (0.05, 0.5, 0.95)).round(3).tolist()
[[-1.645], [0.0], [1.645]]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from calibrate.inference.parameters import Array

STEPS = 1024
"""Steps of the grid."""

WIDTHS = 8
"""Standard deviations are shared out between this many classes, so that the variance of each component is exact."""

NARROW = 0.01
"""A component narrower than this share of the widest one is as narrow as that."""

REACH = 6.5
"""In standard deviations: the grid ends so far beyond the outermost component that counts."""

COUNTS = 1e-5
"""Components of less than this share of the heaviest one's weight have no say in where the grid ends."""


TOGETHER = 4
"""So many mixtures are worked out at a time: more would not stay in the processor's cache."""

DAMPING = -0.5 * (2 * np.pi * np.fft.rfftfreq(2 * STEPS)) ** 2
"""What a variance of one squared step takes off the logarithm of each frequency."""

FEW = 4
"""Of this many components the distribution function is solved, which is quicker than the grid: those of memories."""

POINT = 1e-6
"""A component without width is as wide as this share of the distance between the outermost ones."""

MOST_STEPS, CLOSE = 80, 1e-9
"""Steps to a quantile, and how short the last is, in standard deviations of the widest component."""

ERF = np.frompyfunc(math.erf, 1, 1)

EMPTY = 1e-14
"""A class with less than this share of the weight is left out."""


def quantiles(mean: Array, deviation: Array, weight: Array, shares: Sequence[float]) -> Array:
    """Quantiles (k, m) at ``shares`` (k,) of mixtures of normals: ``mean``, ``deviation`` (n, m), ``weight`` (n,)."""
    mean, deviation, weight = mean.T.copy(), np.maximum(deviation, 0.0).T.copy(), weight / weight.sum()
    low, high = _ends(mean - REACH * deviation, mean + REACH * deviation, weight)
    found = np.repeat(low[None, :], len(shares), axis=0)
    spread = np.flatnonzero(high > low)
    if len(weight) <= FEW:
        found[:, spread] = _solved(
            mean[spread], deviation[spread], weight, np.asarray(shares), low[spread], high[spread]
        )
        return found
    for start in range(0, len(spread), TOGETHER):
        some = spread[start : start + TOGETHER]
        step = (high[some] - low[some]) / (STEPS - 1)
        place = np.clip((mean[some] - low[some, None]) / step[:, None], 0, STEPS - 1.000001)
        density = _smoothed(place, deviation[some] / step[:, None], weight)
        cumulative = np.concatenate([np.zeros((len(some), 1)), np.cumsum(density, axis=1)], axis=1)
        at = [np.interp(np.asarray(shares) * sums[-1], sums, np.arange(STEPS + 1) - 0.5) for sums in cumulative]
        found[:, some] = low[some] + np.transpose(at) * step
    return found


def _solved(mean: Array, deviation: Array, weight: Array, shares: Array, low: Array, high: Array) -> Array:
    """Quantiles (k, m) of components (m, n): Newton's steps, or halves of ``low`` to ``high``.

    A half is taken where Newton's step would leave the interval or is more than half of the last move: between two
    parts of a mixture Newton's steps may go to and fro for ever.
    """
    widest = np.maximum(deviation.max(axis=1), POINT * (high - low))[:, None]
    deviation = np.maximum(deviation, NARROW * widest)
    low, high = (np.broadcast_to(end, (len(shares), len(end))) for end in (low, high))
    at, moved = low + (high - low) * shares[:, None], high - low
    for _ in range(MOST_STEPS):
        z = (at[:, :, None] - mean) / deviation
        below = 0.5 * (1 + np.asarray(ERF(z / math.sqrt(2)), dtype=float))
        excess = below @ weight - shares[:, None]
        density = (np.exp(-0.5 * z**2) / (math.sqrt(2 * math.pi) * deviation)) @ weight
        low, high = np.where(excess > 0, low, at), np.where(excess > 0, at, high)
        step = at - excess / np.maximum(density, 1e-300)
        newton = (low <= step) & (step <= high) & (np.abs(step - at) <= 0.5 * moved)
        before, at = at, np.where(newton, step, 0.5 * (low + high))
        moved = np.abs(at - before)
        if (moved <= CLOSE * widest[:, 0]).all():
            break
    return at


def _ends(lowest: Array, highest: Array, weight: Array) -> tuple[Array, Array]:
    """Where the grid of each mixture begins and ends, (m,) each."""
    counts = weight > COUNTS * weight.max()
    return lowest[:, counts].min(axis=1), highest[:, counts].max(axis=1)


def _smoothed(place: Array, deviation: Array, weight: Array) -> Array:
    """The mass (m, STEPS) of each mixture on its grid: components (m, n) at ``place``, of ``deviation``, in steps."""
    variance = deviation**2
    widest = np.maximum(deviation.max(axis=1), 1e-12)
    narrowest = np.maximum(deviation.min(axis=1), np.maximum(NARROW * widest, 1e-12))
    ratio = np.linspace(0.0, 1.0, WIDTHS)
    classes = (narrowest[:, None] * (widest / narrowest)[:, None] ** ratio) ** 2
    above = np.clip([np.searchsorted(c, v) for c, v in zip(classes, variance, strict=True)], 1, WIDTHS - 1)
    above += np.arange(0, classes.size, WIDTHS)[:, None]
    lower, width = classes.ravel()[above - 1], np.maximum(np.diff(classes.ravel(), prepend=0.0), 1e-300)[above]
    upper = ((variance - lower) / width).clip(0.0, 1.0)
    left = place.astype(int)
    right = place - left
    cell = above * STEPS + left
    mass = np.zeros(classes.size * STEPS)
    for row, part in ((-STEPS, 1 - upper), (0, upper)):
        for step, share in ((0, 1 - right), (1, right)):
            mass += np.bincount((cell + (row + step)).ravel(), (weight * part * share).ravel(), len(mass))
    rows = mass.reshape(-1, STEPS)
    held = np.flatnonzero(rows.sum(axis=1) > EMPTY)
    spectrum = np.fft.rfft(rows[held], 2 * STEPS, axis=1)  # twice the steps: no mass comes round the end
    spectrum *= np.exp(classes.ravel()[held, None] * DAMPING)
    first = np.searchsorted(held, np.arange(len(place) + 1) * WIDTHS)
    blurred = np.array([spectrum[a:b].sum(axis=0) for a, b in pairwise(first)])
    return np.maximum(np.fft.irfft(blurred, 2 * STEPS, axis=1)[:, :STEPS], 0.0)
