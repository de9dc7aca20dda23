"""A surface measured at its most informative places: its corners, half of them twice, then groups of chosen places.

Short runs are noisy, and a single one does not show how much. So every second corner is measured twice: the difference
of these repeats is the noise of every single run. Each group is chosen without new measurements: after each of
its places the covariance is conditioned on a measurement there (Chaloner and Verdinelli, Statistical Science 1995).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.points import Z90
from calibrate.surface.design import corners, distances, shallow
from calibrate.surface.places import Places, SurfacePoints, surface_points
from calibrate.surface.surface_fit import Row, Surface, SurfacePrediction, Tabled, fit_surface
from measure.fio.fio_command import FioJob
from measure.fio.fio_sweep import plan_workloads, run_fio
from measure.fio.plan import FioPlan, FioSettings
from measure.machine.own_file import remove_leftover
from measure.repeats import first_highest
from measure.units import format_duration, format_percent, format_rate

RUNTIME_S, RAMP_S = 1.4, 0.3
SIZE_BYTES = 256 * 2**20
BLOCKS, SHARES, DEPTHS = (4096, 16384, 65536, 262144), (0.0, 0.25, 0.5, 0.75, 1.0), (1, 2, 4, 8, 16, 32, 64)
GROUP = 8  # places measured together, by one process
WIDE = 2.0  # a place is unknown where the ends of its band differ by more than this factor

Measure = Callable[[Sequence[int]], SurfacePoints]
"""Measures the places of these indices, and returns all points so far."""


@dataclass(frozen=True, repr=False)
class ExploredSurface(Tabled):
    """The measured points, the surface through them, and the prediction for one more run at each place (m,).

    ``known`` (m,) are the measured places, ``span`` (m,) the upper end of the mean's interval over the lower; ``noise``
    is the relative standard deviation of one run.
    """

    points: SurfacePoints
    surface: Surface
    predicted: SurfacePrediction
    known: Mask
    span: Array
    noise: float
    seconds: float

    def rows(self) -> list[Row]:
        """One row per place: predicted with its band, and whether it was measured."""
        uses = np.where(self.known, "measured", np.where(self.span > WIDE, "unknown", ""))
        return [{**row, "use": str(use)} for row, use in zip(self.predicted.rows(), uses, strict=True)]

    def plot(self) -> object:
        """A plotly Figure: the predicted throughput with its bands."""
        return self.predicted.plot()

    def answer(self) -> list[str]:
        """The answer in lines: places measured, places known and unknown, and the place with the largest error."""
        places, p, points = self.predicted.places, self.predicted, self.points
        half = float(np.sqrt(np.median(self.span)) - 1)
        residual = self.surface.left_out()[0]
        missed, worst = np.abs(np.expm1(residual)), int(np.abs(residual).argmax())
        unknown, widest = self.span > WIDE, int(self.span.argmax())
        seen = float(points.throughput_per_s[worst])
        return [
            f"{int(self.known.sum())} of {len(places)} places measured in {format_duration(self.seconds, 2)}; "
            f"the others are known to ±{format_percent(100 * half)} at the median",
            f"MISSED  each measured place, from the others: {format_percent(100 * float(np.median(missed)))} at the "
            f"median; one run differs from the next by {format_percent(100 * self.noise)}",
            f"UNKNOWN {int(unknown.sum())} of {len(places)} places, by more than a factor of {WIDE:g}; the widest "
            f"{places.text(widest)}: {_band(p, widest)}",
            f"WORST   {points.places.text(worst)}: {format_rate(seen, 2)} measured, "
            f"{format_rate(seen * float(np.exp(-residual[worst])), 2)} by the others",
        ]

    def map_text(self) -> str:
        """A row for each block and share of reads, a character for each depth: # measured, ? unknown, . predicted."""
        places = self.predicted.places
        marks = np.where(self.known, "#", np.where(self.span > WIDE, "?", "."))
        depths = places.values("outstanding")
        rows = np.unique(np.column_stack([places.block_bytes, places.read_fraction]), axis=0)
        lines = []
        for block, share in rows:
            here = (places.block_bytes == block) & (places.read_fraction == share)
            cells = [marks[here & (places.outstanding == n)] for n in depths]
            name = places.at(here).text(0).rpartition(",")[0]
            lines.append(f"{name:<22}{'  '.join(cell[0] if len(cell) else ' ' for cell in cells)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return "\n".join(self.answer())


def _band(p: SurfacePrediction, i: int) -> str:
    ends = (p.throughput_per_s[i], p.throughput_low_per_s[i], p.throughput_high_per_s[i])
    middle, low, high = (format_rate(float(x), 2) for x in ends)
    return f"{middle} ({low} to {high})"


def explore(
    measure: Measure,
    places: Places,
    budget_s: float,
    seconds_each: float,
    *,
    on_group: Callable[[ExploredSurface], object] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> ExploredSurface:
    """Measure the corners of ``places``, half of them twice, then those that narrow the bands most, in ``budget_s``.

    A place takes ``seconds_each``. ``on_group`` is called with the surface after each group.
    """
    started = clock()
    ends = np.flatnonzero(corners(places))
    points = measure([*ends, *ends[::2]])
    while True:
        found = _explored(points, places, clock() - started)
        if on_group is not None:
            on_group(found)
        count = min(GROUP, int((budget_s - (clock() - started)) / seconds_each), int((~found.known).sum()))
        if count < 1:
            return found
        points = measure(_asked_together(found.surface, places, found.known, count))


def _explored(points: SurfacePoints, places: Places, seconds: float) -> ExploredSurface:
    repeated = np.isfinite(points.spread)
    freedom = points.repeats[repeated] - 1
    noise = float(np.sqrt((freedom * points.spread[repeated] ** 2).sum() / freedom.sum())) if repeated.any() else 0.0
    every = np.ones(len(points), dtype=bool)
    surface = fit_surface(points, every, doubt=noise / np.sqrt(points.repeats))
    same = np.isclose(places.as_rows()[:, None, :], points.places.as_rows()[None, :, :], rtol=1e-3).all(axis=2)
    known = np.any(same, axis=1)
    mean = surface.predict(places)
    span = np.asarray(mean.throughput_high_per_s / mean.throughput_low_per_s)
    return ExploredSurface(points, surface, _of_one_run(mean, noise), known, span, noise, seconds)


def _of_one_run(predicted: SurfacePrediction, noise: float) -> SurfacePrediction:
    """The prediction with bands for a single run of this ``noise``."""
    middle = np.log(predicted.throughput_per_s)
    low, high = (
        np.exp(middle + sign * np.hypot(np.log(end) - middle, Z90 * noise))
        for sign, end in ((-1, predicted.throughput_low_per_s), (1, predicted.throughput_high_per_s))
    )
    return replace(predicted, throughput_low_per_s=low, throughput_high_per_s=high)


def _asked_together(surface: Surface, places: Places, known: Mask, count: int) -> list[int]:
    """The indices of ``count`` places that together narrow the bands most, each away from measured ones."""
    covariance, used, judged = surface.predictive(places).covariance.copy(), known.copy(), shallow(places)
    chosen: list[int] = []
    for _ in range(count):
        variance = np.maximum(covariance.diagonal(), 1e-12)
        worth = (covariance[:, judged] ** 2).sum(axis=1) / variance * distances(places, places.at(used)).min(axis=1)
        best = first_highest(np.where(used, -np.inf, worth))
        chosen.append(best)
        used[best] = True
        covariance -= np.outer(covariance[:, best], covariance[best]) / variance[best]
    return chosen


def usual_places() -> Places:
    """The places that are predicted where none are named."""
    block, share, depth = (axis.ravel() for axis in np.meshgrid(BLOCKS, SHARES, DEPTHS, indexing="ij"))
    return Places(block.astype(float), share, depth.astype(float), np.ones(len(depth)))


class SurfaceRuns:
    """Groups of places, each measured by one fio process into one sweep directory.

    ``consent`` is that to an existing target, as keyword arguments of :class:`FioSettings`; a file is made without.
    """

    def __init__(self, target: str, places: Places, directory: Path, consent: Mapping[str, Any]) -> None:
        rows = places.as_rows()
        self.target, self.consent, self.directory, self.places = target, consent, directory, places
        self.jobs = [
            FioJob(round(n / jobs), round(jobs), round(block), round(100 * share), "random")
            for block, share, n, jobs in rows
        ]
        self.measured: Counter[int] = Counter()
        self.plan = self._plan()

    def least_seconds(self) -> float:
        """The corners, half of them twice."""
        return 1.5 * int(corners(self.places).sum()) * (RUNTIME_S + RAMP_S)

    def measure(self, chosen: Sequence[int]) -> SurfacePoints:
        """Measure the places of these indices; returns all points so far."""
        points = []
        for place in map(int, chosen):
            points.append(self.plan.point(self.jobs[place], self.measured[place]))
            self.measured[place] += 1
        sweep = run_fio(replace(self.plan, points=tuple(points)), self.directory, together=True)
        self.plan = self._plan()
        return surface_points(sweep)

    def tidy(self) -> None:
        """Remove the test file."""
        if self.plan.file is not None:
            remove_leftover(self.plan.file)

    def _plan(self) -> FioPlan:
        settings = FioSettings(
            runtime_s=RUNTIME_S,
            ramp_s=RAMP_S,
            size_bytes=None if any(self.consent.values()) else SIZE_BYTES,
            keep=True,
            **self.consent,
        )
        return plan_workloads(self.target, self.jobs, settings)
