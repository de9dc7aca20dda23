"""Baselines over surfaces: a bilinear fit in logarithms, and a Gaussian process that knows nothing of queues.

Both take the same arguments and return throughputs a second, positive and finite, (m,)::

    baseline(places, throughput_per_s, at) -> throughput_per_s

``places`` (k of them, with ``throughput_per_s`` (k,)) and ``at`` (m) are :class:`calibrate.surface.Places`, or anything
with the arrays ``block_bytes``, ``read_fraction``, ``outstanding`` and ``jobs``. One place is enough, repeats are
allowed, the order does not matter. ValueError where there is no place, the numbers differ, or a value is not possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrate.prediction.baseline_errors import BaselineError, error_of

if TYPE_CHECKING:
    from calibrate.surface.places import SurfacePoints

Array = NDArray[np.float64]

LENGTHS = np.array([1.5, 0.5, 2.5, 2.0])
"""How far throughputs go together in ln block, share of reads, ln outstanding and ln jobs."""

STRETCHES, DEVIATIONS, NOISES = (0.5, 1.0, 2.0), (0.1, 0.2, 0.4, 0.8, 1.6), (0.001, 0.02, 0.1)
"""The grid of the likelihood: factors of ``LENGTHS``, and standard deviations of ln X around the trend and its noise.
"""

LARGEST = 600.0
"""The largest |ln X| over the points' mean: a plane that is extended beyond floats ends there."""


class PlacesLike(Protocol):
    """Places of a surface, (m,) each."""

    @property
    def block_bytes(self) -> Array: ...
    @property
    def read_fraction(self) -> Array: ...
    @property
    def outstanding(self) -> Array: ...
    @property
    def jobs(self) -> Array: ...


SurfaceBaseline = Callable[[PlacesLike, ArrayLike, PlacesLike], Array]


def bilinear(places: PlacesLike, throughput: ArrayLike, at: PlacesLike) -> Array:
    """ln X is linear in ln block, share of reads, ln outstanding and ln jobs, and in the product of any two.

    Least squares. Products are left out where there are too few different places for them; where there are too few for
    the plain terms too, the nearest place answers (in units of ``LENGTHS``).
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


def plain_gaussian_process(places: PlacesLike, throughput: ArrayLike, at: PlacesLike) -> Array:
    """ln X is a plane (least squares) plus a Gaussian process of mean zero and kernel exp(-d² / 2), d in ``LENGTHS``.

    The process's size, noise and stretch of the lengths are the most likely of a small grid. Source: Rasmussen and
    Williams 2006, "Gaussian Processes for Machine Learning", equations 2.23 and 2.30.
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


def surface_baseline_errors(
    points: SurfacePoints, used: NDArray[np.bool_], judged: NDArray[np.bool_]
) -> tuple[BaselineError, ...]:
    """What each baseline, calibrated on the points ``used`` (m,), misses at the points ``judged`` (m,).

    Response times are N / X. Empty where no point is used or judged.
    """
    if not used.any() or not judged.any():
        return ()
    known, unseen = points.at(used), points.at(judged)
    found = {n: f(known.places, known.throughput_per_s, unseen.places) for n, f in SURFACE_BASELINES.items()}
    return tuple(
        error_of(name, (x, unseen.places.outstanding / x), unseen.throughput_per_s, unseen.response_time_s)
        for name, x in found.items()
    )


def _coordinates(places: PlacesLike, throughput: ArrayLike, at: PlacesLike) -> tuple[Array, Array, Array]:
    """Places around the middle of the known ones, in units of ``LENGTHS``, and ln X; the known ones in one order."""
    known, wanted = _columns(places), _columns(at)
    x = np.atleast_1d(np.asarray(throughput, dtype=float))
    if not len(x) or x.shape != known.shape[:1]:
        raise ValueError(f"{len(known)} places and {x.size} throughputs: expected as many, and 1 or more")
    if not (np.isfinite(x) & (x > 0)).all():
        raise ValueError("every throughput must be positive and finite")
    order = np.lexsort(np.column_stack([x, known]).T)
    middle = known[order].mean(axis=0)
    return (known[order] - middle) / LENGTHS, np.log(x[order]), (wanted - middle) / LENGTHS


def _columns(places: PlacesLike) -> Array:
    """ln block (0 where it is not known), share, ln outstanding and ln jobs, (m, 4)."""
    blocks, share, outstanding, jobs = (
        np.atleast_1d(np.asarray(c, dtype=float))
        for c in (places.block_bytes, places.read_fraction, places.outstanding, places.jobs)
    )
    table = np.column_stack([blocks, share, outstanding, jobs])
    if not np.isfinite(table).all() or (table[:, :2] < 0).any() or (table[:, 2:] <= 0).any():
        raise ValueError("a place must be finite, with a block and a share of 0 or more and requests and jobs above 0")
    return np.column_stack([np.log(np.maximum(blocks, 1)), share, np.log(outstanding), np.log(jobs)])


def _terms(coordinates: Array, degree: int) -> Array:
    """1, every coordinate, and with a ``degree`` of 2 the product of any two, (m, c)."""
    products = [a * b for a, b in combinations(coordinates.T, 2)] if degree == 2 else []
    return np.column_stack([np.ones(len(coordinates)), coordinates, *products])


def _kernel(left: Array, right: Array, stretch: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2) / stretch**2))


def _positive(log_x: Array, mean: float) -> Array:
    """exp, held within what a float can be."""
    return np.exp(np.clip(mean + np.clip(log_x, -LARGEST, LARGEST), -LARGEST, LARGEST))
