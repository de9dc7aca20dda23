"""Baselines over surfaces: a bilinear fit in logarithms, and a Gaussian process without queueing theory.

Both take the same arguments and return throughputs a second, positive and finite, (m,)::

    baseline(places, throughput_per_s, at) -> throughput_per_s

``places`` are k :class:`calibrate.surface.Places` with ``throughput_per_s`` (k,), positive and finite, and ``at`` are m
others. One place is enough, repeats are allowed, the order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from calibrate.inference.parameters import Array
from calibrate.surface.model import NEAR
from calibrate.surface.places import Places

STRETCHES, DEVIATIONS, NOISES = (0.5, 1.0, 2.0), (0.1, 0.2, 0.4, 0.8, 1.6), (0.001, 0.02, 0.1)
"""The grid of the likelihood: factors of the lengths, standard deviations of ln X around the plane, and its noise."""

LARGEST = 600.0
"""The largest |ln X| around the points' mean, to avoid overflow."""


SurfaceBaseline = Callable[[Places, ArrayLike, Places], Array]


def bilinear(places: Places, throughput: ArrayLike, at: Places) -> Array:
    """ln X is linear in ln block, share of reads, ln outstanding and ln jobs, and in the product of any two.

    Least squares. Products are left out where there are too few different places for them; where there are too few for
    the plain terms too, the value of the nearest place is used (in the units of ``NEAR``).
    """
    known, log_x, wanted = _coordinates(places, throughput, at)
    different = len(np.unique(known, axis=0))
    varying = np.flatnonzero(np.ptp(known, axis=0) > 0)
    for degree in (2, 1):
        rows, asked = (_terms(u[:, varying], degree) for u in (known, wanted))
        if rows.shape[1] <= different:
            return _positive(asked @ np.linalg.lstsq(rows, log_x - log_x.mean(), rcond=None)[0], log_x.mean())
    nearest = np.argmin(((wanted[:, None, :] - known[None, :, :]) ** 2).sum(axis=2), axis=1)
    return np.asarray(np.exp(log_x[nearest]))


def plain_gaussian_process(places: Places, throughput: ArrayLike, at: Places) -> Array:
    """ln X is a plane (least squares) plus a Gaussian process of mean zero and kernel exp(-d² / 2).

    d is the distance of ``NEAR``; the process's size, noise and stretch of the lengths are the most likely of a small
    grid. Source: Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", equations 2.23 and 2.30.
    """
    known, log_x, wanted = _coordinates(places, throughput, at)
    rows, asked = _terms(known, 1), _terms(wanted, 1)
    plane = np.linalg.lstsq(rows, log_x - log_x.mean(), rcond=None)[0]
    rest = log_x - log_x.mean() - rows @ plane
    size, noise = (g.ravel()[:, None] for g in np.meshgrid(np.square(DEVIATIONS), np.square(NOISES)))
    best, weights, length = -np.inf, np.zeros_like(rest), 1.0
    for stretch in STRETCHES:
        values, vectors = np.linalg.eigh(_kernel(known, known, stretch))
        variance, rotated = size * np.maximum(values, 0) + noise, vectors.T @ rest  # of each node of the grid, (g, k)
        likelihood = -0.5 * (np.log(variance) + rotated**2 / variance).sum(axis=1)
        if likelihood.max() > best:
            node = int(np.argmax(likelihood))
            best, length = likelihood[node], stretch
            weights = size[node] * (vectors @ (rotated / variance[node]))
    return _positive(asked @ plane + _kernel(wanted, known, length) @ weights, log_x.mean())


SURFACE_BASELINES: Mapping[str, SurfaceBaseline] = {
    "bilinear in logarithms": bilinear,
    "plain Gaussian process": plain_gaussian_process,
}
"""{name: function}."""


def _coordinates(places: Places, throughput: ArrayLike, at: Places) -> tuple[Array, Array, Array]:
    """Places around the middle of the known ones, in the units of ``NEAR``, and ln X; the known ones in one order."""
    tables, x = (places.as_rows(), at.as_rows()), np.atleast_1d(np.asarray(throughput, dtype=float))
    known, wanted = (NEAR.place(t) for t in tables)
    order = np.lexsort(np.column_stack([x, known]).T)
    middle = known[order].mean(axis=0)
    return known[order] - middle, np.log(x[order]), wanted - middle


def _terms(coordinates: Array, degree: int) -> Array:
    """1, every coordinate, and with a ``degree`` of 2 the product of any two, (m, c)."""
    products = [a * b for a, b in combinations(coordinates.T, 2)] if degree == 2 else []
    return np.column_stack([np.ones(len(coordinates)), coordinates, *products])


def _kernel(left: Array, right: Array, stretch: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2) / stretch**2))


def _positive(log_x: Array, mean: float) -> Array:
    """The exponential, limited to the range of floats."""
    return np.exp(np.clip(mean + np.clip(log_x, -LARGEST, LARGEST), -LARGEST, LARGEST))
