"""A surface calibrated on a few of the measured points, held against all the others.

A point that was asked for and lies outside the band that it had before is a surprise: news, or a disturbed run. A
finished table holds no second measurement of it, so its nearest neighbour is asked for next. Until then the point
counts, since most surprises are news; where the others including that neighbour speak against it, it counts as one
whose error is as large as what it misses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.models.past_the_peak import DECLINE_FROM
from calibrate.surface.baselines import surface_baseline_errors
from calibrate.surface.design import NextPlace, asked, corners, neighbour, next_place
from calibrate.surface.fit import LEVEL, Surface, SurfacePrediction, fit_surface
from calibrate.surface.places import Places, SurfacePoints
from calibrate.surface.results import PLACES, Compared, quantity, table_of
from measure.errors import DataError

DEFAULT_ASKED = 2
BAND = (0.05, 0.95)
CONTRADICTED = 2.0
"""A surprise so many standard deviations from what all others say, its neighbour among them, is doubted."""

ENOUGH = 400
"""Of so many points none is worth another."""

UNCONFIRMED = "nothing near it was measured since: measure it again"
VERDICTS = {True: "its neighbours speak against it, and it counts little", False: "its neighbours confirm it"}


@dataclass(frozen=True, repr=False)
class SurfaceComparison(Compared):
    """``surface`` and what it predicts at all of ``points`` (m,): those ``used`` (m,), some of them ``asked`` for.

    ``surprises`` are sentences on points that lay outside their bands; ``next`` is what to measure next.
    """

    points: SurfacePoints
    surface: Surface
    predicted: SurfacePrediction
    used: Mask
    asked: tuple[int, ...]
    surprises: tuple[str, ...] = ()
    drifting: bool = False

    @property
    def error_pct(self) -> Array:
        """100 (predicted / measured throughput - 1), (m,)."""
        return np.asarray(100 * (self.predicted.throughput_per_s / self.points.throughput_per_s - 1))

    @property
    def response_error_pct(self) -> Array:
        """The same of the mean response time."""
        return np.asarray(100 * (self.predicted.response_time_s / self.points.response_time_s - 1))

    @property
    def inside(self) -> Mask:
        """Whether the measured throughput lies inside the band, (m,)."""
        x = self.points.throughput_per_s
        return np.asarray((self.predicted.throughput_low_per_s <= x) & (x <= self.predicted.throughput_high_per_s))

    @property
    def judged(self) -> Mask:
        """The held-out points that the summary counts."""
        return np.asarray(~self.used & (self.points.places.outstanding < DECLINE_FROM))

    def baselines(self) -> dict[str, float]:
        found = surface_baseline_errors(self.points, self.used, self.judged)
        return {e.name: e.throughput_median_pct for e in found if e.throughput_median_pct is not None}

    def next(self) -> NextPlace | None:
        """What to measure after all of the points; None where nothing is left to tell, or there are hundreds."""
        if len(self.points) > ENOUGH:
            return None
        everything = fit_surface(self.points, np.ones(len(self.points), dtype=bool), level=self.surface.level)
        return next_place(everything, self.points, drifting=self.drifting)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to mind."""
        notes = [*self.points.notes, *self.surface.guesses(self.points.places), *self.surprises]
        if (self.points.places.outstanding >= DECLINE_FROM).any():
            notes.append(f"depths of {DECLINE_FROM} and more are predicted without a decline, and not judged")
        return tuple(notes)

    def rows(self) -> list[dict[str, Any]]:
        """One row per point, SI units, ready for a table."""
        how = np.where(self.used, "calibrated on", np.where(self.judged, "held out", "not judged"))
        how[list(self.asked)] = "asked for"
        measured = {
            "throughput_per_s": self.points.throughput_per_s, "response_time_s": self.points.response_time_s,
            "error_pct": self.error_pct, "response_error_pct": self.response_error_pct, "inside_band": self.inside,
        }  # fmt: skip
        return [
            {**row, "use": str(how[i]), **{k: v[i].item() for k, v in measured.items()}}
            for i, row in enumerate(self.predicted.rows())
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        following = self.next()
        return {
            "source": self.points.source, "pattern": self.points.pattern, "level": self.surface.level,
            "parameters": {name: asdict(e) for name, e in self.surface.parameters().items()},
            "knees": knees(self.surface, self.points.places), "points": self.rows(), "summary": asdict(self.summary),
            "baselines": self.baselines(), "next": None if following is None else following.to_dict(),
            "notes": list(self.notes),
        }  # fmt: skip

    def details(self) -> list[tuple[str, str]]:
        """Headings and tables of the parameters and the knees."""
        found = [
            {"parameter": name, "estimate": quantity(e.estimate, e.unit), "sure": "" if e.identified else "rough",
             "interval": f"{quantity(e.low, e.unit)} to {quantity(e.high, e.unit)}"}
            for name, e in self.surface.parameters().items()
        ]  # fmt: skip
        bends = knees(self.surface, self.points.places)
        return [("Parameters", table_of(found)), *([("Knees", table_of(bends))] if bends else [])]

    def level_pct(self) -> float:
        return 100 * self.surface.level

    def noise_pct(self) -> float | None:
        return self.points.repeat_noise_pct()

    def place_text(self, row: dict[str, Any]) -> str:
        return Places(*(np.array([row[name]]) for name in PLACES)).text(0)

    def next_text(self) -> str | None:
        following = self.next()
        return None if following is None else str(following)

    def used_text(self) -> str:
        added = f", {len(self.asked)} of them asked for" if self.asked else ""
        return f"{self.points.source or 'The surface'}: {int(self.used.sum())} of {len(self.points)} points used{added}"


def knees(surface: Surface, places: Places) -> list[dict[str, float]]:
    """The knee N* of every block size and share of reads among ``places``, with intervals; none without two depths."""
    pairs = np.unique(np.column_stack([places.block_bytes, places.read_fraction]), axis=0)
    ones = np.ones(len(pairs))
    found = surface.knee(Places(pairs[:, 0], pairs[:, 1], ones, ones))
    if found is None:
        return []
    names = ("block_bytes", "read_fraction", "knee", "low", "high")
    return [dict(zip(names, map(float, row), strict=True)) for row in np.column_stack([pairs, *found])]


def compare_surface(
    points: SurfacePoints, use: Mapping[str, Sequence[float]] | None = None, *, ask: int = DEFAULT_ASKED,
    level: float = LEVEL, drifting: bool = False,
) -> SurfaceComparison:  # fmt: skip
    """Calibrate on the points that match ``use`` (None: the corners) and ``ask`` more that the fit asks for.

    ``use`` maps columns of :class:`Places` to the values to calibrate on; ``drifting`` says that runs were not steady.
    Raises DataError where no point matches, and ValueError where ``ask`` is below zero.
    """
    if ask < 0:
        raise ValueError(f"ask is {ask}; it must be zero or more")
    used = corners(points.places) if use is None else points.places.matching(use)
    if not used.any():
        raise DataError(
            f"{points.source or 'the surface'} has no point at the places named; it has: {points.places.ranges()}"
        )
    found: dict[int, str] = {}
    chosen: list[int] = []
    waiting: int | None = None
    surface = fit_surface(points, used, level=level)
    for _ in range(ask):
        near = None if waiting is None else neighbour(points.places, waiting, used)
        one = near if near is not None else asked(surface, points.places, used, drifting=drifting)
        if one is None:
            break
        low, high = surface.predictive(points.places.at(np.array([one]))).quantiles(BAND)[:, 0]
        chosen.append(one)
        used = used | (np.arange(len(points)) == one)
        waiting = None
        if points.repeats[one] == 1 and not low <= points.throughput_per_s[one] <= high:
            end = low if points.throughput_per_s[one] < low else high
            found[one] = f"{points.throughput_per_s[one] / end:.2g} times the {'lower' if end == low else 'upper'} end"
            waiting = one
        surface, contradicted = _fit_doubting(points, used, [i for i in found if i != waiting], level)
    told = [
        f"{points.places.text(i)} surprised, at {how} of its band: "
        f"{UNCONFIRMED if i == waiting else VERDICTS[i in contradicted]}"
        for i, how in found.items()
    ]
    return SurfaceComparison(
        points, surface, surface.predict(points.places), used, tuple(chosen), tuple(told), drifting
    )  # fmt: skip


def size_lines(
    points: SurfacePoints, use: Sequence[float] | None = None, *, level: float = LEVEL
) -> list[SurfaceComparison]:
    """A line over the block size for each share of reads, depth and number of jobs with two sizes or more.

    ``use``: the sizes in bytes to calibrate on; None the smallest and the largest.
    """
    others = points.places.as_rows()[:, 1:]
    found = []
    for group in np.unique(others, axis=0):
        line = points.at((others == group).all(axis=1))
        sizes = line.places.values("block_bytes")
        wanted = sizes[[0, -1]] if use is None else np.asarray(use, dtype=float)
        if len(sizes) > 1 and np.isclose(wanted[:, None], sizes[None, :], rtol=1e-3).any(axis=1).all():
            found.append(compare_surface(line, {"block_bytes": wanted.tolist()}, ask=0, level=level))
    return found


def _fit_doubting(points: SurfacePoints, used: Mask, surprising: list[int], level: float) -> tuple[Surface, set[int]]:
    """A fit in which the ``surprising`` points that the others contradict count little, and which these are."""
    surface = fit_surface(points, used, level=level)
    missed, deviations = surface.left_out()
    row = {int(i): k for k, i in enumerate(np.flatnonzero(used))}
    doubted = {i: abs(float(missed[row[i]])) for i in surprising if abs(deviations[row[i]]) > CONTRADICTED}
    return (fit_surface(points, used, level=level, doubted=doubted) if doubted else surface), set(doubted)
