"""Closed sweeps that others measured, as the figures of accuracy.md take them: a series each, depths below 512."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from calibrate.points import Points, points_of
from measure import load
from measure.errors import MeasureError
from measure.loads import ClosedLoad
from measure.sweep import Sweep

Held = NDArray[np.bool_]
"""For each point of a device, whether it lies in its band (m,)."""

DEEPEST = 512
"""Depths from here on are left out: there throughput falls again, for which a shallow point gives no sign."""

FEW = 4
"""A sweep of fewer depths leaves nothing to hold out."""


@dataclass(frozen=True)
class Device:
    """One closed sweep and its depths below ``DEEPEST``."""

    name: str
    sweep: Sweep
    depths: tuple[float, ...]

    @classmethod
    def of(cls, sweep: Sweep, least: int = FEW) -> list[Device]:
        """Every series of at least so many depths."""
        found = []
        for series in sweep.series if isinstance(sweep.load_type, ClosedLoad) else ():
            one = sweep.select(series)
            depths = tuple(float(n) for n in sorted(one.points["load"].unique()) if n < DEEPEST)
            if len(depths) >= least:
                found.append(cls(f"{sweep.name}: {series}", one, depths))
        return found

    @cached_property
    def points(self) -> Points:
        """The points below ``DEEPEST``."""
        points = points_of(self.sweep)
        return points.at(points.load < DEEPEST)

    def nearest(self, depths: Sequence[float]) -> tuple[float, ...]:
        """The depths that were measured nearest to these."""
        return tuple(sorted({min(self.depths, key=lambda n, want=want: abs(np.log(n / want))) for want in depths}))


def read_devices(path: Path) -> list[Device]:
    """The closed sweeps of ``path``: a directory of one device's runs, of tables of several, or one file."""
    tables = sorted(path.glob("*.csv")) if path.is_dir() else []
    found: list[Device] = []
    for one in tables or [path]:
        try:
            found += Device.of(load(one))
        except MeasureError as error:
            raise SystemExit(f"{one} holds no sweep: {error}") from error
    return found


def held_share(by_device: Sequence[Held]) -> str:
    """The share of all points in their bands, and its 90 % interval: points of one device stand and fall together."""
    every = np.concatenate(by_device)
    share, points = every.mean(), len(every)
    together = sum((held - share).sum() ** 2 for held in by_device)  # the squared errors of whole devices
    alone = points * share * (1 - share)
    independent = points / max(together / alone, 1.0) if alone else len(by_device)
    low, high = proportion_confint(share * independent, independent, alpha=0.1, method="wilson")
    return f"{100 * share:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
