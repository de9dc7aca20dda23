"""Chooses the points to calibrate a surface on: its corners, then the most informative places, then surprises again.

The corners are the ends of what varies, at most two block sizes x two shares of reads x two depths. The next point is
the one whose measurement is expected to reduce the variance of the log throughputs at all places most:
V(n, i)^2 / V(i, i) of each place n (Chaloner and Verdinelli, Bayesian experimental design, Statistical Science 1995).
Depths where throughput may decline are not predicted, and do not count.
With mixes, or where runs drift, the model is less reliable, and this is multiplied by the distance to measured places.
A point far outside its band is either a real effect or a disturbed run; a second measurement decides. A finished table
has none, so its nearest neighbour is used instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.models.curves import DECLINE_FROM
from calibrate.points import Z90
from calibrate.surface.model import NEAR
from calibrate.surface.places import Places, SurfacePoints
from calibrate.surface.surface_fit import Surface, fit_surface
from measure.repeats import first_highest, first_lowest

FAR, FEWEST = 0.002, 4
"""A single run is measured again where less than this share of the others' predictive distribution lies beyond it, if
there are at least this number of points."""

MOST_CANDIDATES = 400


@dataclass(frozen=True)
class NextPlace:
    """The place to measure next, and the median half width of the bands (relative) before and after.

    ``again`` is true for a surprise that is measured again, ``corner`` for a corner that is missing.
    """

    block_bytes: float
    read_fraction: float
    outstanding: float
    jobs: float
    half_width_now: float
    half_width_then: float
    again: bool = False
    corner: bool = False

    @property
    def places(self) -> Places:
        """The place, as one of a surface."""
        return Places(*np.array([[self.block_bytes], [self.read_fraction], [self.outstanding], [self.jobs]]))

    def __str__(self) -> str:
        where = self.places.text(0)
        if self.again:
            return f"Measure {where} again: it surprises, and one run cannot tell news from a disturbance"
        now, then = (f"±{100 * width:.0f} %" for width in (self.half_width_now, self.half_width_then))
        why = "a corner of the surface: " if self.corner else ""
        if now == then:
            return f"No single point narrows the bands of a fit to all points, about {now}; {why}{where} comes nearest"
        return (
            f"Measure {where}: {why}a fit to all points then has bands of about {then}, not {now}, at a typical place"
        )


def corners(places: Places) -> Mask:
    """True (m,) for the corners; where one was not measured, for at least one place at each end of each column.

    They have the most common number of jobs.
    """
    jobs, counts = np.unique(places.jobs, return_counts=True)
    usual = np.isclose(places.jobs, jobs[np.argmax(counts)])
    here = places.at(usual)
    ends = {name: here.values(name)[[0, -1]] for name in ("block_bytes", "read_fraction")}
    ends["outstanding"] = _depths(here)
    at_end = {name: places.matching({name: values}) for name, values in ends.items()}
    found = np.logical_and.reduce(list(at_end.values())) & usual
    for name, value in [(name, value) for name, values in ends.items() for value in np.unique(values)]:
        there = places.matching({name: [value]}) & usual
        if not (there & found).any() and there.any():
            others = np.sum([m for n, m in at_end.items() if n != name], axis=0)
            found[int(np.argmax(np.where(there, others, -1)))] = True
    return np.asarray(found)


def asked(surface: Surface, places: Places, used: Mask, *, drifting: bool = False) -> int | None:
    """The index of the place to measure next; None where all candidates are used."""
    fresh = ~used & shallow(places)
    worth = _worth(surface, places, places.at(used), drifting=drifting)[0]
    return first_highest(np.where(fresh, worth, -np.inf)) if fresh.any() else None


def _worth(surface: Surface, places: Places, measured: Places, *, drifting: bool) -> tuple[Array, Array, Array]:
    """The worth (m,) of a measurement at each of ``places``; its reduction of the variance (m,); the variance.

    The variance is that of the places that are not deep; the worth is the reduction, times the distance to ``measured``
    places where the model is less reliable.
    """
    covariance, judged = surface.predictive(places).covariance, shallow(places)
    taken = np.asarray((covariance[:, judged] ** 2).sum(axis=1) / covariance.diagonal())
    mixes = ((places.read_fraction > 0) & (places.read_fraction < 1)).any()
    worth = taken * distances(places, measured).min(axis=1) if drifting or mixes else taken
    return worth, taken, covariance.diagonal()[judged]


def neighbour(places: Places, of: int, used: Mask) -> int | None:
    """The index of the place nearest to another that is not used; None where there is none."""
    apart = np.where(~used & shallow(places), distances(places, places.at(np.array([of])))[:, 0], np.inf)
    if not np.isfinite(apart).any():
        return None
    return len(apart) - 1 - int(first_lowest(apart[::-1]))  # of two as near the larger block


def next_place(surface: Surface, points: SurfacePoints, *, drifting: bool = False) -> NextPlace | None:
    """The place to measure after all of ``points``, which ``surface`` is fitted to; None where none would help.

    First surprises, again; then missing corners; then any place between. A decline at depths that are not predicted is
    not a surprise.
    """
    places, candidates = points.places, _candidates(points.places)
    everywhere = Places(*np.vstack([places.as_rows(), candidates.as_rows()]).T)
    worth, taken, variance = _worth(surface, everywhere, places, drifting=drifting)
    used = np.arange(len(everywhere)) < len(places)
    best = first_highest(np.abs(surface.left_out()[1]) * (points.repeats == 1) * shallow(places))
    everything = np.ones(len(points), dtype=bool)
    alone = points.repeats[best] == 1 and shallow(places)[best] and len(points) > FEWEST
    again = bool(alone and contradicted(points, best, everything, FAR) > 0)
    ends = corners(everywhere) & ~used
    corner = bool(ends.any()) and not again
    if not again and not len(candidates):
        return None
    if not again:
        best = first_highest(np.where(ends if corner else ~used, worth, -np.inf))
    left = (variance.sum(), max(variance.sum() - taken[best], 0.0))
    now, then = (float(np.expm1(Z90 * np.sqrt(v / len(variance)))) for v in left)
    block, share, outstanding, jobs = everywhere.as_rows()[best].tolist()
    return NextPlace(block, share, outstanding, jobs, now, then, again, corner)


def contradicted(points: SurfacePoints, which: int, others: Mask, beyond: float) -> float:
    """The distance of a point, in ln X, from the prediction of the ``others`` (m,); 0 where they do not contradict it.

    They do where less than the share ``beyond`` of their predictive distribution lies beyond it, on its side.
    """
    alone = np.arange(len(points)) == which
    others_say = fit_surface(points, others & ~alone).predictive(points.places.at(alone))
    low, middle, high = others_say.quantiles((beyond, 0.5, 1 - beyond))[:, 0]
    found = float(points.throughput_per_s[which])
    return 0.0 if low <= found <= high else abs(float(np.log(found / middle)))


def distances(some: Places, others: Places) -> Array:
    """Distances (m, k) in the lengths of the misfit."""
    here, there = NEAR.place(some.as_rows()), NEAR.place(others.as_rows())
    return np.asarray(np.sqrt(((here[:, None, :] - there[None, :, :]) ** 2).sum(axis=2)))


def shallow(places: Places) -> Mask:
    """True (m,) for depths without decline; everywhere if all depths are beyond."""
    shallow = places.outstanding < DECLINE_FROM
    return np.asarray(shallow if shallow.any() else ~shallow)


def _candidates(places: Places) -> Places:
    """Places that were not measured, inside the box of those that were: doublings of sizes and depths, halved mixes."""
    shares = places.values("read_fraction")
    columns = [
        _doublings(places.values("block_bytes")),
        np.union1d(shares, (shares[1:] + shares[:-1]) / 2)[:9],
        _doublings(_depths(places)),
        places.values("jobs")[[0, -1]],
    ]
    rows = np.array(sorted(set(product(*(c.tolist() for c in columns)))))
    rows = rows[rows[:, 2] >= rows[:, 3]]
    measured = np.isclose(rows[:, None, :], places.as_rows()[None, :, :], rtol=1e-3).all(axis=2).any(axis=1)
    rows = rows[~measured]
    return Places(*rows[:: len(rows) // MOST_CANDIDATES + 1].T)


def _doublings(values: Array) -> Array:
    """The lowest and the highest value, and the doublings of the lowest between them."""
    if values[0] <= 0:
        return values
    between = values[0] * 2.0 ** np.arange(0, np.log2(values[-1] / values[0]) + 1e-9)
    return np.unique(np.concatenate([between, values[[-1]]]))


def _depths(places: Places) -> Array:
    """The shallowest depth, and the deepest below those where throughput may decline."""
    depths = places.values("outstanding")
    shallow = depths[depths < DECLINE_FROM]
    return (shallow if len(shallow) > 1 else depths)[[0, -1]]
