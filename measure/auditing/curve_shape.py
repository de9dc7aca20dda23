"""The curves of a closed sweep, N, X and R over the depths, repeats averaged, and what their shape says.

Beyond Little's law: drift, and a fall past the peak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from measure.findings import Finding
from measure.loads import Load
from measure.repeats import rows_of_each
from measure.sweep import COMPUTED, Sweep, each_series
from measure.units import format_bytes, format_rate

Floats = NDArray[np.float64]


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
    points = sweep.mean_points()
    names = points["series"].to_numpy()
    columns = ("load", "throughput_per_s", "latency_s", "block_bytes", "read_fraction")
    load, throughput, latency, block, read = (points[c].to_numpy(float) for c in columns)
    known = load > 0
    if "unchecked" in points:
        known &= (points["unchecked"].isna() | (computed & points["unchecked"].eq(COMPUTED))).to_numpy(bool)
    if unknown:
        known &= [not {(name, n), (name, None)} & unknown for name, n in zip(names, load, strict=True)]
    curves = []
    for every in rows_of_each(points["series"]):
        if len(rows := every[known[every]]):
            name, figures = str(names[rows[0]]), (load[rows], throughput[rows], latency[rows])
            held = (_single(block[rows]), _single(read[rows].round(2)))
            curves.append(ClosedCurve(name, *figures, *held, sweep.load_type, files.get(name)))
    return curves


def with_block(curve: ClosedCurve, block_bytes: float) -> ClosedCurve:
    """The curve as it is if its throughput is counted in blocks of ``block_bytes``; the claimed block is the file's."""
    if curve.block_bytes is None:
        return curve
    scale = curve.block_bytes / block_bytes
    return replace(curve, throughput=curve.throughput * scale, block_bytes=block_bytes, file_bytes=curve.block_bytes)


def ratio_range(values: Floats) -> str:
    """The least and the greatest ratio in words; one where they are alike."""
    low, high = ratio_text(values.min()), ratio_text(values.max())
    return low if low == high else f"{low} to {high}"


def ratio_text(value: float) -> str:
    """A ratio to three digits or so."""
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


def _single(values: Floats) -> float | None:
    """The one value of a column, or None where there is none or more than one."""
    known = values[~np.isnan(values)]
    return float(known[0]) if len(known) and (known == known[0]).all() else None


_KNOWN_SCALES = (
    (1.024, "a kB of 1000 bytes was printed for 1024, or an MB of 1000 KiB"),
    (1.048576, "an MB of 2^20 bytes was printed for 10^6"),
)


def check_curve(curve: ClosedCurve) -> Iterator[Finding]:
    """Findings on the shape of one curve, over the depths as they are."""
    if len(curve.load) > 1:
        yield from _drift(curve)
        yield from _past_the_peak(curve)


def check_bandwidth(sweep: Sweep) -> Iterator[Finding]:
    """Bandwidth against throughput x block, where all three are given."""
    points = sweep.points.dropna(subset=["bandwidth_bytes_per_s", "block_bytes"])
    if points.empty:
        return
    scale = points["bandwidth_bytes_per_s"] / (points["throughput_per_s"] * points["block_bytes"])
    middle = float(scale.median())
    if abs(middle - 1) <= 0.015:
        return
    known = next((text for s, text in _KNOWN_SCALES for f in (s, 1 / s) if abs(middle / f - 1) < 0.002), "")
    if not known and abs(middle - 1) < 0.05:
        known = "bandwidth and throughput were counted over different times, as in a short run"
    per_request = float((points["bandwidth_bytes_per_s"] / points["throughput_per_s"]).iloc[0])
    yield Finding(
        "bandwidth-block",
        "info" if known else "warning",
        f"bandwidth / throughput is {middle:.3f} times the block size (the first row: {format_bytes(per_request)} a "
        f"request where the block is {format_bytes(float(points['block_bytes'].iloc[0]))}).",
        f"{known}." if known else "the block is another one, or reads and writes were counted apart.",
        "" if known else "compare the bs= of the command with the table.",
    )


def check_open(sweep: Sweep) -> Iterator[Finding]:
    """Open arrivals: the rate reached against the rate asked for. N = X R is no check there, L is not given."""
    for series, group in each_series(sweep.mean_points()):
        asked = group["asked_rate_per_s" if "asked_rate_per_s" in group else "load"].to_numpy(float)
        reached = group["throughput_per_s"].to_numpy(float)
        share = reached / np.where(asked > 0, asked, np.nan)
        counted = (group["requests"] * group["repeats"]).to_numpy(float) if "requests" in group else np.nan
        by_chance = 3 / np.sqrt(counted)  # three standard errors of a Poisson count
        if not np.any(np.abs(share - 1) > np.fmax(0.02, by_chance)):
            yield Finding(
                "arrival-rate",
                "info",
                "every rate that was asked for came, within 2 % or the error of counting.",
                series=series,
            )
            continue
        worst = int(np.nanargmax(np.abs(share - 1)))
        short = share[worst] < 1
        yield Finding(
            "arrival-rate",
            "warning",
            f"{format_rate(asked[worst])} was asked for and {format_rate(reached[worst])} came "
            f"({100 * (share[worst] - 1):+.1f} %).",
            "the device is saturated, or the jobs are too few to send that fast."
            if short
            else "the tool rounds the gaps between arrivals to whole microseconds.",
            "calibrate on the measured rate, never on the one asked for.",
            series,
            float(asked[worst]),
        )


def _drift(curve: ClosedCurve) -> Iterator[Finding]:
    """Throughput that falls from the first depth to the second and stays down is a drive that changed, not a queue."""
    first, second = curve.throughput[:2]
    if second >= 0.85 * first or curve.throughput[1:].max() >= 0.95 * first:
        return
    yield Finding(
        "drift",
        "warning",
        f"the throughput falls from {format_rate(first)} at {curve.at(0)} to "
        f"{format_rate(second)} at {curve.at(1)} ({100 * (second / first - 1):.0f} %) and "
        "does not come back.",
        "the drive left its write cache, or throttled, during the sweep: drift, not queueing.",
        "precondition the drive until its throughput is steady, or measure the points in another order and again.",
        curve.series,
        float(curve.load[1]),
    )


def _past_the_peak(curve: ClosedCurve) -> Iterator[Finding]:
    peak = int(np.argmax(curve.throughput))
    last = curve.throughput[-1]
    if peak == 0 or last >= 0.97 * curve.throughput[peak]:
        return
    yield Finding(
        "past-the-peak",
        "info",
        f"the throughput peaks at {format_rate(curve.throughput[peak])} at {curve.at(peak)} and falls to "
        f"{format_rate(last)} at {curve.load[-1]:g} ({100 * (last / curve.throughput[peak] - 1):.0f} %).",
        "overhead of the host or of the drive beyond the knee, a regime of its own.",
        "give the model a measured point beyond the peak, or leave the points beyond it out.",
        curve.series,
        float(curve.load[peak]),
    )
