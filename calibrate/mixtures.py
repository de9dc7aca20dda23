"""Quantiles of a mixture: each draw from a posterior expects its own normal, and the truth is one of the draws'.

Estimates and the ends of bands are quantiles of one and the same mixture, so that an estimate lies in its band.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.posterior import Array

HALVINGS = 32
"""The ends of what the draws span are halved so often: 1e-9 of it is left."""

REACH = 6.0
"""In standard deviations: beyond, nothing is looked for."""

LEAST = 1e-12


def quantiles(mean: Array, deviation: Array, shares: Sequence[float]) -> Array:
    """Quantiles (k, m) at ``shares`` (k,) of equal mixtures of normals, each of ``mean`` and ``deviation`` (w, m)."""
    from scipy.special import ndtr

    spread = np.maximum(deviation, LEAST)
    lowest, highest = (mean - REACH * spread).min(axis=0), (mean + REACH * spread).max(axis=0)
    found = []
    for share in shares:
        low, high = lowest, highest
        for _ in range(HALVINGS):
            at = 0.5 * (low + high)
            below = ndtr((at - mean) / spread).mean(axis=0) < share
            low, high = np.where(below, at, low), np.where(below, high, at)
        found.append(0.5 * (low + high))
    return np.array(found)
