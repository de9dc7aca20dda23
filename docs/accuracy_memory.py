"""How well memory curves are predicted from three points: the figures of explanation-memory-models.md.

python docs/accuracy_memory.py [DIRECTORY]     prints the table

The dataset 001-memory comes with the package. DIRECTORY holds more, as MLC and Mess wrote it, in files and directories
that ``measure.load`` reads; without it those rows are missing. Every curve with a delay is counted twice: the delay law
predicts both axes from the delay, and the latency curve the latency from the measured bandwidth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibrate.delay_law import DelayLaw
from calibrate.fitting import fit_points
from calibrate.memory_curve import MemoryCurve
from calibrate.points import Points, points_of
from calibrate.prediction import predict
from measure import load, load_dataset
from measure.dataset import CACHE_LINE_BYTES, Sweep
from measure.errors import DataError

FEWEST = 6
"""Curves with fewer points are left out: too little is left to predict."""

TUNED = "001-memory"
"""The device whose curves the priors were looked at with; with a third of those of Mess's CSV and the rest of MLC."""


@dataclass(frozen=True)
class Missed:
    """Held-out points of one device: |predicted / observed - 1| in percent, and whether inside the 90 % band."""

    device: str
    throughput_pct: np.ndarray
    response_pct: np.ndarray
    throughput_inside: np.ndarray
    response_inside: np.ndarray

    def row(self) -> str:
        """A row of the table."""
        cells = (self.throughput_pct, self.response_pct)
        errors = " | ".join(f"{np.median(c):.1f} %" if len(c) else "" for c in cells)
        shares = " | ".join(f"{100 * c.mean():.0f} %" if len(c) else "" for c in self._inside())
        return f"| {self.device} | {len(self.response_pct)} | {errors} | {shares} |"

    def _inside(self) -> tuple[np.ndarray, np.ndarray]:
        return self.throughput_inside, self.response_inside


def over_delay(points: Points) -> Missed:
    """The delay law from three delays."""
    return _missed(points, fit_points(points.choose(None), DelayLaw()), points.mask(None))


def over_bandwidth(points: Points) -> Missed:
    """The latency curve from three bandwidths."""
    order = np.argsort(points.throughput_per_s, kind="stable")
    load = points.throughput_per_s[order] * CACHE_LINE_BYTES
    along = replace(
        points, load_kind="bandwidth", load_unit="B/s", load=load, throughput_per_s=points.throughput_per_s[order],
        response_time_s=points.response_time_s[order], suggested=(),
    )  # fmt: skip
    found = _missed(along, fit_points(along.choose(None), MemoryCurve()), along.mask(None))
    return replace(found, throughput_pct=np.array([]), throughput_inside=np.array([]))


def _missed(points: Points, fit: object, used: np.ndarray) -> Missed:
    held = points.at(~used)
    curve = predict(fit, held.load)  # type: ignore[arg-type]
    x, r = held.throughput_per_s, held.response_time_s
    return Missed(
        "", 100 * np.abs(curve.throughput_per_s / x - 1), 100 * np.abs(curve.response_time_s / r - 1),
        (curve.throughput_low_per_s <= x) & (x <= curve.throughput_high_per_s),
        (curve.response_time_low_s <= r) & (r <= curve.response_time_high_s),
    )  # fmt: skip


def sweeps(directory: Path | None) -> Iterator[tuple[str, Sweep]]:
    """(device, sweep) of the dataset and of what ``directory`` holds."""
    yield TUNED, load_dataset(TUNED, corrected=True)
    for path in sorted(directory.iterdir()) if directory is not None else ():
        try:
            yield path.stem, load(path)
        except DataError as error:
            sys.stderr.write(f"left out: {error}\n")


def table(directory: Path | None = None, every: int = 1) -> str:
    """Two tables, by device and pooled; ``every`` takes each such curve only."""
    delays: dict[str, list[Missed]] = {}
    bandwidths: dict[str, list[Missed]] = {}
    for device, sweep in sweeps(directory):
        for series in sweep.series[::every]:
            points = points_of(sweep, series)
            if len(points) < FEWEST:
                continue
            if points.load_kind == "injected_delay":
                delays.setdefault(device, []).append(over_delay(points))
            bandwidths.setdefault(device, []).append(over_bandwidth(points))
    head = (
        "| device | held out | bandwidth | latency | inside, bandwidth | inside, latency |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    parts = []
    for title, by_device in (("From three delays:", delays), ("From three bandwidths:", bandwidths)):
        rows = [_pooled(device, found).row() for device, found in by_device.items()]
        given = {device: found for device, found in by_device.items() if device != TUNED}
        for of, some in (("", by_device), (f" but {TUNED}", given)):
            if some and (not of or len(some) < len(by_device)):
                middle = np.median([np.median(_pooled("", found).response_pct) for found in some.values()])
                pooled = _pooled(f"**all points{of}**", [one for found in some.values() for one in found])
                rows += [pooled.row(), f"| **median device{of}** | | | {middle:.1f} % | | |"]
        parts.append("\n".join([title, "", head, *rows]))
    return "\n\n".join(parts) + "\n"


def _pooled(device: str, found: list[Missed]) -> Missed:
    columns = ("throughput_pct", "response_pct", "throughput_inside", "response_inside")
    return Missed(device, *(np.concatenate([getattr(one, c) for one in found]) for c in columns))


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
