"""``qsim surface TARGET --budget 60s``: measures a surface, and shows a map of its progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibrate.cli.console import CommandResult, complain
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import Consent, keeping, target
from calibrate.cli.options import Page
from calibrate.surface import Places, SurfacePoints, corners, surface_points
from measure.fio.fio_command import FioJob
from measure.fio.fio_sweep import plan_workloads, run_fio
from measure.fio.plan import FioSettings
from measure.machine.own_file import remove_leftover
from measure.units import counted, format_duration

if TYPE_CHECKING:
    from calibrate.report.view import Section
    from calibrate.surface.explored import ExploredSurface
    from measure.fio.plan import FioPlan

RUNTIME_S, RAMP_S = 1.4, 0.3
SIZE_BYTES = 256 * 2**20
BLOCKS, SHARES, DEPTHS = (4096, 16384, 65536, 262144), (0.0, 0.25, 0.5, 0.75, 1.0), (1, 2, 4, 8, 16, 32, 64)


def measured_surface(
    data: Sequence[str],
    budget_s: float,
    at: Mapping[str, Sequence[float]] | None,
    out: Path | None,
    allow: Consent,
    page: Page,
    *,
    details: bool,
) -> CommandResult:
    """Measure, and print what is predicted everywhere, what is still unknown, and the worst place."""
    from calibrate.surface.explored import explore

    if len(data) != 1:
        raise wrong_usage("--budget measures one target; name a directory on the drive, or one device")
    where, places = target(data[0]), usual_places() if at is None else usual_places().combined(at)
    with keeping(out) as directory:
        run = SurfaceRuns(where, places, allow, directory)
        least = run.least_seconds()
        if budget_s < least:
            raise wrong_usage(
                f"--budget {format_duration(budget_s)} is too short; the corners take {np.ceil(least):.0f}s"
            )
        try:
            found = explore(run.measure, places, budget_s, RUNTIME_S + RAMP_S, on_group=_show)
        finally:
            run.tidy()
    kept = f"saved in {out}; next: qsim surface {out}" if out is not None else "--out DIR: keep the points"
    return CommandResult(
        lambda: "\n\n".join(
            [
                "\n".join(found.answer()),
                found.map_text() + "\n\n# measured   . predicted   ? unknown",
                *([found.table()] if details else []),
                f"MORE    --details: every place;   {kept}",
            ]
        ),
        lambda: {
            "source": where,
            "predictions": found.rows(),
            "measured": int(found.known.sum()),
            "noise_pct": 100 * found.noise,
            "seconds": found.seconds,
            "directory": None if out is None else str(out),
        },
        page.write(lambda: _sections(found, where)),
    )


def usual_places() -> Places:
    """The places that are predicted where none are named."""
    block, share, depth = (axis.ravel() for axis in np.meshgrid(BLOCKS, SHARES, DEPTHS, indexing="ij"))
    return Places(block.astype(float), share, depth.astype(float), np.ones(len(depth)))


class SurfaceRuns:
    """Groups of places, each measured by one fio process into one sweep directory."""

    def __init__(self, target: str, places: Places, allow: Consent, directory: Path) -> None:
        rows = places.as_rows()
        self.target, self.allow, self.directory, self.places = target, allow, directory, places
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
            size_bytes=SIZE_BYTES if self.allow == Consent() else None,
            keep=True,
            **self.allow.settings(),
        )
        return plan_workloads(self.target, self.jobs, settings)


def _sections(found: ExploredSurface, where: str) -> list[Section]:
    from calibrate.report.surface_section import explored_section

    return [explored_section(found, where)]


def _show(found: ExploredSurface) -> None:
    """The map after a group, on stderr."""
    complain(f"{counted(int(found.known.sum()), 'place')} measured, {format_duration(found.seconds, 2)}")
    for line in found.map_text().splitlines():
        complain(line)
