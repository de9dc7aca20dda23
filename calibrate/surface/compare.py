"""A surface calibrated on a few of the measured points, held against all the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.past_the_peak import DECLINE_FROM
from calibrate.surface.design import asked, corners
from calibrate.surface.fit import LEVEL, Surface, SurfacePrediction, fit_surface
from calibrate.surface.places import WORDS, Places, SurfacePoints
from measure.errors import DataError


@dataclass(frozen=True)
class SurfaceSummary:
    """Over the held-out points below the depths where throughput may decline; None where there are none.

    Medians of |predicted / measured - 1| in percent, the share inside the band, and the noise of one repeat.
    """

    held_out_points: int
    held_out_mdape_throughput_pct: float | None
    held_out_mdape_response_pct: float | None
    inside_band_pct: float | None
    repeat_noise_pct: float | None


@dataclass(frozen=True)
class SurfaceComparison:
    """``surface`` and what it predicts at all of ``points`` (m,): those ``used`` (m,), some of them ``asked`` for."""

    points: SurfacePoints
    surface: Surface
    predicted: SurfacePrediction
    used: Mask
    asked: tuple[int, ...]

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

    @property
    def summary(self) -> SurfaceSummary:
        """The figures."""
        judged, noise = self.judged, self.points.repeat_noise_pct()
        if not judged.any():
            return SurfaceSummary(0, None, None, None, noise)
        return SurfaceSummary(
            int(judged.sum()), float(np.median(np.abs(self.error_pct[judged]))),
            float(np.median(np.abs(self.response_error_pct[judged]))), float(100 * self.inside[judged].mean()), noise,
        )  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """What to mind."""
        notes = list(self.points.notes)
        if not self.surface.settled:
            notes.append("the sampler has not settled on these points: the intervals are rough")
        if (self.points.places.outstanding >= DECLINE_FROM).any():
            notes.append(f"depths of {DECLINE_FROM} and more are predicted without a decline, and not judged")
        return tuple(notes)

    def rows(self) -> list[dict[str, Any]]:
        """One row per point, SI units, ready for a table."""
        predicted = rows_of(self.predicted)
        how = np.where(self.used, "calibrated on", "held out")
        how[list(self.asked)] = "asked for"
        measured = {
            "throughput_per_s": self.points.throughput_per_s, "response_time_s": self.points.response_time_s,
            "error_pct": self.error_pct, "inside_band": self.inside,
        }  # fmt: skip
        return [
            {**row, "use": str(how[i]), **{k: v[i].item() for k, v in measured.items()}}
            for i, row in enumerate(predicted)
        ]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {
            "source": self.points.source, "pattern": self.points.pattern, "level": self.surface.level,
            "parameters": {name: asdict(e) for name, e in self.surface.parameters().items()},
            "knees": knees(self.surface, self.points.places), "points": self.rows(),
            "summary": asdict(self.summary), "notes": list(self.notes),
        }  # fmt: skip


def rows_of(predicted: SurfacePrediction) -> list[dict[str, Any]]:
    """A prediction as rows, SI units in the names."""
    places = predicted.places
    columns = {
        **{name: getattr(places, name) for name in WORDS},
        "predicted_throughput_per_s": predicted.throughput_per_s,
        "predicted_throughput_low_per_s": predicted.throughput_low_per_s,
        "predicted_throughput_high_per_s": predicted.throughput_high_per_s,
        "predicted_response_time_s": predicted.response_time_s,
        "predicted_response_time_low_s": predicted.response_time_low_s,
        "predicted_response_time_high_s": predicted.response_time_high_s,
        "extrapolated": predicted.extrapolated,
    }
    return [{name: values[i].item() for name, values in columns.items()} for i in range(len(places))]


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
    points: SurfacePoints,
    use: Mapping[str, Sequence[float]] | None = None,
    *,
    ask: int = 1,
    level: float = LEVEL,
    seed: int = 0,
    progress: Callable[[float], None] = lambda share: None,
) -> SurfaceComparison:
    """Calibrate on the points that match ``use`` (None: the corners) and ``ask`` more that the fit asks for.

    ``use`` maps columns of :class:`Places` to the values to calibrate on; ``progress`` is told the share done. Raises
    DataError where no point or too few match, or all that match are alike in what others differ in, and ValueError
    where ``ask`` is below zero.
    """
    if ask < 0:
        raise ValueError(f"ask is {ask}; it must be zero or more")
    used = corners(points.places) if use is None else points.places.matching(use)
    if not used.any():
        raise DataError(
            f"{points.source or 'the surface'} has no point at the places named; it has: {points.places.ranges()}"
        )
    chosen: list[int] = []
    surface = fit_surface(points, used, level=level, seed=seed)
    surface.check(points.places)
    for done in range(ask):
        progress((done + 1) / (ask + 1))
        one = asked(surface, points.places, used)
        if one is None:
            break
        chosen.append(one)
        used = used.copy()
        used[one] = True
        surface = fit_surface(points, used, level=level, seed=seed)
    return SurfaceComparison(points, surface, surface.predict(points.places), used, tuple(chosen))
