"""How well closed sweeps are predicted from one, two and three of their points, over many devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from calibrate import Fit, fit, predict
from calibrate.asked_depths import asked_loads, asked_pair
from calibrate.one_point import from_one_point
from calibrate.points import Points, points_of
from measure import load
from measure.dataset import Sweep
from measure.errors import MeasureError

DEEPEST = 512
"""Depths from here on are left out: there throughput falls again, for which a shallow point gives no sign."""

RESAMPLED = 2000

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
        for series in sweep.series if sweep.load_kind == "queue_depth" else ():
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

    @cached_property
    def full(self) -> Fit:
        """The usual model, calibrated on every point."""
        return fit(self.sweep, self.depths)

    def nearest(self, depths: Sequence[float]) -> tuple[float, ...]:
        """The depths that were measured nearest to these."""
        return tuple(sorted({min(self.depths, key=lambda n, want=want: abs(np.log(n / want))) for want in depths}))

    def from_two(self, shallow: float) -> Fit:
        """Calibrated on the depths nearest to this one and to 32."""
        return fit(self.sweep, self.nearest((shallow, 32)))

    def from_three(self) -> Fit:
        """Calibrated on the three depths that the model asks for."""
        return fit(self.sweep, asked_loads(self.points))


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


@dataclass(frozen=True)
class Figure:
    """What was missed, device by device: held-out throughputs in percent, whether inside the band, and the knees.

    Of the knees those count that all points of the device identify, and apart from them all that all points give.
    """

    what: str
    throughput_pct: Sequence[np.ndarray]
    inside_band: np.ndarray
    knee_pct: Sequence[np.ndarray]
    any_knee_pct: Sequence[np.ndarray]

    def row(self) -> str:
        """A row of the table."""
        every = np.concatenate(self.throughput_pct)
        medians = [np.median(one, keepdims=True) for one in self.throughput_pct]
        knee, any_knee = (f"{_median(k)} ({len(k)})" if k else "" for k in (self.knee_pct, self.any_knee_pct))
        return (
            f"| {self.what} | {len(every)} | {_median(self.throughput_pct)} "
            f"| {_median(medians)} | {np.percentile(every, 90):.0f} % "
            f"| {100 * self.inside_band.mean():.0f} % | {knee} | {any_knee} |\n"
        )


def _median(by_device: Sequence[np.ndarray]) -> str:
    """The median over all, and where 90 % of it lie with the devices drawn anew (bootstrap)."""
    rng = np.random.default_rng(1)
    drawn = rng.integers(len(by_device), size=(RESAMPLED, len(by_device)))
    medians = [np.median(np.concatenate([by_device[i] for i in some])) for some in drawn]
    low, high = np.percentile(medians, [5, 95])
    return f"{np.median(np.concatenate(by_device)):.1f} % [{low:.1f}, {high:.1f}]"


def figure(what: str, devices: Sequence[Device], calibrated: Callable[[Device], Fit], *, beyond: float = 0) -> Figure:
    """Every device by the fit that ``calibrated`` makes, held out above the depth nearest to ``beyond``."""
    missed, inside, knees, any_knees = [], [], [], []
    for device in devices:
        made = calibrated(device)
        least = device.nearest([beyond])[0] if beyond else 0
        held = device.points.at(~made.was_used(device.points) & (device.points.load > least))
        if not len(held):  # depths 4 and 32 of a sweep that has no others from 4 on
            continue
        curve, x = predict(made, held.load), held.throughput_per_s
        missed.append(100 * np.abs(curve.throughput_per_s / x - 1))
        inside.append((curve.throughput_low_per_s <= x) & (x <= curve.throughput_high_per_s))
        full = device.full.knee
        if len(made.used) > 2 and full.load and made.knee.load:
            any_knees.append(np.array([100 * abs(made.knee.load / full.load - 1)]))
            knees += any_knees[-1:] if full.identified else []
    return Figure(what, missed, np.concatenate(inside), knees, any_knees)


def figures(devices: Sequence[Device]) -> str:
    """The table over ``devices``, and the noise of repeats where there were any."""
    if not devices:
        return "no closed sweep of four or more depths\n"
    lone = [d for d in devices if d.depths[0] == 1]
    wide = [d for d in devices if len(d.nearest((1, 32))) == 2]
    rows = [
        figure("depth 1 alone", lone, lambda d: from_one_point(d.points.choose([1]))),
        figure("depths 1 and 32", wide, lambda d: d.from_two(1)),
        figure("depths 4 and 32, the depths between and beyond", wide, lambda d: d.from_two(4), beyond=4),
        figure("the two that the model asks for (near 8 and 128), the depths between and beyond", wide,
               lambda d: fit(d.sweep, asked_pair(d.points)), beyond=8),
        figure("three that the model asks for", devices, Device.from_three),
    ]  # fmt: skip
    several = np.concatenate([r.inside_band for r in rows[1:]])
    noise = [n for n in (d.points.repeat_noise_pct() for d in devices) if n is not None]
    repeats = f"Repeats differ by {np.median(noise):.1f} %." if noise else "No sweep among them repeats a point."
    return (
        "| calibrated on | held out | throughput, median error | of the median device | 90 % of them below "
        "| inside the 90 % band | knee, off that of all points, if these identify it (devices) | any knee |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n"
        f"{''.join(r.row() for r in rows)}\n{len(devices)} sweeps. {repeats} From two points or three, "
        f"{100 * several.mean():.0f} % of {len(several)} held-out points lie inside the 90 % bands.\n"
    )
