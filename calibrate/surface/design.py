"""Which points to calibrate a surface on: its corners, then where a measurement tells most, then what surprised again.

The corners are the ends of what varies, at most two block sizes x two shares of reads x two depths. The point after
them is the one whose measurement is expected to take most from the variance of the log throughputs at all places:
V(n, i)^2 / V(i, i) of each place n (Chaloner and Verdinelli, Bayesian experimental design, Statistical Science 1995).
Where mixes are in play, or runs drift, the model is trusted less and this is multiplied by the distance to what was
measured. A point far outside its band is either news or a disturbed run; a second measurement tells which. A finished
table has none, so its nearest neighbour is taken instead.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.models.past_the_peak import DECLINE_FROM
from calibrate.surface.fit import Surface, fit_surface
from calibrate.surface.model import NEAR
from calibrate.surface.places import Places, SurfacePoints

FAR, FEWEST = 0.002, 4
"""A single run is measured again where such a share of the distribution that all others give it lies beyond it, on its
side; below so many points, all others say too little."""

MOST_CANDIDATES = 400
NINE_IN_TEN = 1.645


@dataclass(frozen=True)
class NextPlace:
    """The place to measure next, and the median half width of the bands (relative) now and then.

    ``again`` is true where it was measured and surprises, ``corner`` where the ends of the surface come first.
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
        one = (self.block_bytes, self.read_fraction, self.outstanding, self.jobs)
        return Places(*(np.array([v]) for v in one))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    def __str__(self) -> str:
        where = self.places.text(0)
        if self.again:
            return f"Measure {where} again: it surprises, and one run cannot tell news from a disturbance"
        now, then = (f"±{100 * width:.0f} %" for width in (self.half_width_now, self.half_width_then))
        why = "a corner of the surface: " if self.corner else ""
        stay = f"bands stay near {now} with any one place"
        change = stay if now == then else f"bands narrow from about {now} to {then}"
        return f"Measure {where}: {why}{change}"


def corners(places: Places) -> Mask:
    """True (m,) for the corners; where one was not measured, the ends of each column at one place at least.

    They are taken with the number of jobs that most places have.
    """
    usual_jobs = np.isclose(places.jobs, _most_frequent(places))
    usual = places.at(usual_jobs)
    ends = {
        "block_bytes": usual.values("block_bytes")[[0, -1]],
        "read_fraction": usual.values("read_fraction")[[0, -1]],
        "outstanding": np.array(_depths(usual)),
    }
    at_end = {name: places.matching({name: values.tolist()}) for name, values in ends.items()}
    found = np.logical_and.reduce(list(at_end.values())) & usual_jobs
    for name, values in ends.items():
        for value in np.unique(values):
            here = places.matching({name: [float(value)]}) & usual_jobs
            if not (here & found).any() and here.any():
                others = np.sum([m for n, m in at_end.items() if n != name], axis=0)
                found[int(np.argmax(np.where(here, others, -1)))] = True
    return np.asarray(found)


def asked(surface: Surface, places: Places, used: Mask, *, drifting: bool = False) -> int | None:
    """The index of the place to measure next; None where all of those that could be are used.

    Depths where throughput may decline are not asked for: they say little of the others.
    """
    fresh = ~used & _shallow(places)
    if not fresh.any():
        return None
    told = _told(surface.predictive(places).covariance)
    if drifting or _mixes(places):
        told = told * _apart(places, places.at(used)).min(axis=1)
    return int(np.argmax(np.where(fresh, told, -np.inf)))


def neighbour(places: Places, of: int, used: Mask) -> int | None:
    """The index of the place nearest to another that is not used; None where there is none."""
    apart = np.where(~used & _shallow(places), _apart(places, places.at(np.array([of])))[:, 0], np.inf)
    return int(np.argmin(apart)) if np.isfinite(apart).any() else None


def next_place(surface: Surface, points: SurfacePoints, *, drifting: bool = False) -> NextPlace | None:
    """What to measure after all of ``points``, which ``surface`` is fitted to; None where nothing is left to tell.

    First what surprises, again; then corners that were not measured; then any place between.
    """
    places, candidates = points.places, _candidates(points.places)
    everywhere = Places(*np.vstack([places.as_rows(), candidates.as_rows()]).T)
    covariance = surface.predictive(everywhere).covariance
    variance, told = covariance.diagonal(), _told(covariance)
    used = np.arange(len(everywhere)) < len(places)
    again = corner = False
    off = int((np.abs(surface.left_out()[1]) * (points.repeats == 1)).argmax())
    if points.repeats[off] == 1 and len(points) > FEWEST and _surprises(points, off):
        best, again = off, True
    elif not len(candidates):
        return None
    else:
        ends = corners(everywhere) & ~used
        corner = bool(ends.any())
        if drifting or _mixes(places):
            told = told * _apart(everywhere, places).min(axis=1)
        best = int(np.argmax(np.where(ends if corner else ~used, told, -np.inf)))
    taken = _told(covariance)[best]
    now, then = (np.sqrt(max(v, 0.0) / len(everywhere)) for v in (variance.sum(), variance.sum() - taken))
    widths = (float(np.expm1(NINE_IN_TEN * now)), float(np.expm1(NINE_IN_TEN * then)))
    block, share, outstanding, jobs = (float(v) for v in everywhere.as_rows()[best])
    return NextPlace(block, share, outstanding, jobs, *widths, again, corner)


def _surprises(points: SurfacePoints, which: int) -> bool:
    """Whether a point lies far outside the band that all others give it."""
    others = np.arange(len(points)) != which
    told = fit_surface(points, others).predictive(points.places.at(~others))
    low, high = told.quantiles((FAR, 1 - FAR))[:, 0]
    return not low <= points.throughput_per_s[which] <= high


def _told(covariance: Array) -> Array:
    """What a measurement at each place is expected to take from the variance at all, (m,)."""
    return np.asarray((covariance**2).sum(axis=1) / covariance.diagonal())


def _apart(some: Places, others: Places) -> Array:
    """Distances (m, k) in the lengths of the misfit."""
    here, there = NEAR.place(some.as_rows()), NEAR.place(others.as_rows())
    return np.asarray(np.sqrt(((here[:, None, :] - there[None, :, :]) ** 2).sum(axis=2)))


def _mixes(places: Places) -> bool:
    return bool(((places.read_fraction > 0) & (places.read_fraction < 1)).any())


def _shallow(places: Places) -> Mask:
    """Where throughput does not decline; everywhere where all depths are as deep."""
    shallow = places.outstanding < DECLINE_FROM
    return np.asarray(shallow if shallow.any() else ~shallow)


def _candidates(places: Places) -> Places:
    """Places that were not measured, inside the box of those that were: doublings of sizes and depths, halved mixes."""
    low, high = _depths(places)
    shares = places.values("read_fraction")
    columns = [
        _doublings(places.values("block_bytes")), np.union1d(shares, (shares[1:] + shares[:-1]) / 2)[:9],
        _doublings(np.array([low, high])), places.values("jobs")[[0, -1]],
    ]  # fmt: skip
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


def _depths(places: Places) -> tuple[float, float]:
    """The shallowest depth, and the deepest below those where throughput may decline."""
    depths = places.values("outstanding")
    shallow = depths[depths < DECLINE_FROM]
    below = shallow if len(shallow) > 1 else depths
    return float(below[0]), float(below[-1])


def _most_frequent(places: Places) -> float:
    """The number of jobs that most places have."""
    values, counts = np.unique(places.jobs, return_counts=True)
    return float(values[np.argmax(counts)])
