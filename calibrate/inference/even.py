"""Quasi-random points: an additive recurrence of irrational steps (Roberts 2018, the generalised golden ratio).

It fills a cube evenly with any number of points.

>>> even(4, 1).round(3).tolist()
[[0.118], [0.736], [0.354], [0.972]]
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from calibrate.inference.parameters import Array


def even(count: int, dimensions: int, after: int = 0) -> Array:
    """Points (count, dimensions) that fill the unit cube evenly: those of the sequence that follow ``after`` others."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(after + 1, after + count + 1)[:, None] * steps) % 1)


@lru_cache(maxsize=256)
def normal_nodes(count: int, dimensions: int, after: int = 0) -> Array:
    """Standard normal deviates (count, dimensions), evenly spread, that follow ``after`` others of the sequence."""
    normal = NormalDist()  # its inverse is that of scipy.special, which takes a quarter of a second to import
    places = np.clip(even(count, dimensions, after), 1e-9, 1 - 1e-9)
    nodes = np.array([normal.inv_cdf(p) for p in places.ravel().tolist()]).reshape(places.shape)
    nodes.setflags(write=False)
    return nodes
