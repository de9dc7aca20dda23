"""The curves of a closed sweep, as Little's law looks at them: N, X and R over the depths, repeats averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.loads import Load
from measure.sweep import Sweep

Floats = NDArray[np.float64]

#: What the column ``unchecked`` says where throughput or latency was computed from the other by N = X R.
COMPUTED = "computed by Little's law"


@dataclass(frozen=True)
class ClosedCurve:
    """One closed curve, sorted by depth: arrays of N, X (1/s), R (s) and their ratio X R / N."""

    series: str
    load: Floats
    throughput: Floats
    latency: Floats
    block_bytes: float | None
    read_fraction: float | None
    load_type: Load
    file_bytes: float | None = None  # set where the claimed block turned out to be the size of the file

    @property
    def ratio(self) -> Floats:
        """X R / N; 1 where Little's law holds."""
        return self.throughput * self.latency / self.load

    @property
    def in_flight(self) -> Floats:
        """X R, the requests that were really outstanding."""
        return self.throughput * self.latency

    @property
    def implied_latency(self) -> Floats:
        """N / X, seconds: what the depth and the throughput say about the response time."""
        return self.load / self.throughput

    def at(self, point: int) -> str:
        """Where a point lies: "depth 8", "8 clients"."""
        return self.load_type.at(float(self.load[point]))

    @property
    def worst(self) -> int:
        """The index of the point farthest from 1, on a logarithmic scale."""
        return int(np.argmax(np.abs(np.log(self.ratio))))


def closed_curves(sweep: Sweep, *, computed: bool = False) -> list[ClosedCurve]:
    """The curves of a closed sweep whose depth is known; repeats averaged. Depth 0 and rate-limited points are out.

    A point is rate-limited, or of unknown depth, where the importer's column ``unchecked`` or a finding of it says so.
    Points whose latency or throughput was computed by Little's law are in where ``computed`` says so.
    """
    unknown = {(f.series, f.load) for f in sweep.findings if f.check in ("depth-not-recorded", "rate-limited")}
    files = sweep.provenance.details.get("file_bytes")
    files = files if isinstance(files, Mapping) else {}
    curves = []
    for series, group in sweep.mean_points().groupby("series", sort=False):
        told = np.zeros(len(group), dtype=bool)
        if "unchecked" in group:
            told = (group["unchecked"].notna() & ~(computed & group["unchecked"].eq(COMPUTED))).to_numpy(bool)
        known = [n > 0 and not {(series, n), (series, None)} & unknown and not t
                 for n, t in zip(group["load"], told, strict=True)]  # fmt: skip
        points = group[np.array(known)]
        if len(points):
            load, throughput, latency = (points[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s"))
            block, read = _single(points["block_bytes"]), _single(points["read_fraction"].round(2))
            of, file = sweep.load_type, files.get(series)
            curves.append(ClosedCurve(str(series), load, throughput, latency, block, read, of, file))
    return curves


def with_block(curve: ClosedCurve, block_bytes: float) -> ClosedCurve:
    """The curve as it is if its throughput is counted in blocks of ``block_bytes``; the claimed block is the file's."""
    if curve.block_bytes is None:
        return curve
    scale = curve.block_bytes / block_bytes
    return replace(
        curve, throughput=curve.throughput * scale, block_bytes=block_bytes, file_bytes=curve.block_bytes
    )  # fmt: skip


def ratio_range(values: Floats) -> str:
    """The least and the greatest ratio in words; one where they are alike."""
    low, high = ratio_text(values.min()), ratio_text(values.max())
    return low if low == high else f"{low} to {high}"


def ratio_text(value: float) -> str:
    """A ratio to three digits or so."""
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


def _single(values: pd.Series[Any]) -> float | None:
    """The one value of a column, or None where there is none or more than one."""
    known = values.dropna().unique()
    return float(known[0]) if len(known) == 1 else None
