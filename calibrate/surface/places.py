"""The places of a surface: block size, share of reads, outstanding requests and jobs, with the measured points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from calibrate.inference.parameters import Array, Mask
from measure.errors import DataError
from measure.loads import ClosedLoad
from measure.origin import rows_to_judge
from measure.sweep import Sweep
from measure.units import format_bytes, parse_mix

MEASURE = "qsim measure fio TARGET --block 4KiB,64KiB --read 100,0 --depths 1,8,64 --out DIR"

WORDS: Mapping[str, str] = {
    "block_bytes": "block size",
    "read_fraction": "share of reads",
    "outstanding": "queue depth",
    "jobs": "number of jobs",
}
"""Column of a place -> its name in words."""


@dataclass(frozen=True)
class Places:
    """m places: ``block_bytes``, ``read_fraction`` (1 reads), ``outstanding`` (depth x jobs) and ``jobs``, (m,)."""

    block_bytes: Array
    read_fraction: Array
    outstanding: Array
    jobs: Array

    def __len__(self) -> int:
        return len(self.outstanding)

    def at(self, chosen: Mask | Array) -> Places:
        """The places of a mask (m,) or of indices."""
        return Places(*(getattr(self, f.name)[chosen] for f in fields(self)))

    def as_rows(self) -> Array:
        """(m, 4): block, share of reads, outstanding requests, jobs."""
        return np.column_stack([self.block_bytes, self.read_fraction, self.outstanding, self.jobs])

    def values(self, name: str) -> Array:
        """The different values of one column, ascending."""
        return np.unique(getattr(self, name))

    def varying(self) -> tuple[str, ...]:
        """The columns with more than one value."""
        return tuple(f.name for f in fields(self) if len(self.values(f.name)) > 1)

    @property
    def depth(self) -> Array:
        """The depth of one job, (m,)."""
        return np.asarray(self.outstanding / self.jobs)

    def matching(self, wanted: Mapping[str, ArrayLike]) -> Mask:
        """True (m,) where each column named (``depth`` among them) has one of its values."""
        found = np.ones(len(self), dtype=bool)
        for name, values in wanted.items():
            found &= np.isclose(getattr(self, name)[:, None], np.asarray(values, float), rtol=1e-3).any(axis=1)
        return found

    def combined(self, wanted: Mapping[str, Sequence[float]]) -> Places:
        """Every combination of the values ``wanted`` (``depth`` among them); other columns as here, jobs the least."""
        jobs = wanted.get("jobs", (float(self.jobs.min()),))
        depths = wanted.get("depth", np.unique(self.outstanding / jobs[0]))
        blocks, shares = (wanted.get(name, self.values(name)) for name in ("block_bytes", "read_fraction"))
        block, share, depth, job = np.array(list(product(blocks, shares, depths, jobs))).T
        return Places(block, share, depth * job, job)

    def ranges(self) -> str:
        """The values of each column, in words."""
        columns = (f"{w} {', '.join(value_text(n, v) for v in self.values(n))}" for n, w in WORDS.items())
        return "; ".join(columns)

    def text(self, i: int) -> str:
        """One place in words."""
        jobs = f", {self.jobs[i]:g} jobs" if self.jobs[i] > 1 else ""
        size = f"{format_bytes(self.block_bytes[i])}, " if self.block_bytes[i] > 0 else ""
        return f"{size}{100 * self.read_fraction[i]:.3g} % read, N = {self.outstanding[i]:g}{jobs}"


def value_text(name: str, value: float) -> str:
    """One value of a column in words."""
    if name == "block_bytes":
        return format_bytes(value)
    return f"{100 * value:g} %" if name == "read_fraction" else f"{value:g}"


@dataclass(frozen=True)
class SurfacePoints:
    """Measurements at ``places``: means over repeats and the relative sd of one repeat (NaN: not repeated).

    ``computed`` (m,) is True where the response time was computed, so that no error rests on it; None: nowhere.
    """

    places: Places
    throughput_per_s: Array
    response_time_s: Array
    repeats: Array
    spread: Array
    pattern: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    computed: Mask | None = None

    def __len__(self) -> int:
        return len(self.places)

    def at(self, chosen: Mask | Array) -> SurfacePoints:
        """The points of a mask (m,) or of indices."""
        columns = ("throughput_per_s", "response_time_s", "repeats", "spread")
        computed = None if self.computed is None else self.computed[chosen]
        figures = {c: getattr(self, c)[chosen] for c in columns}
        return replace(self, places=self.places.at(chosen), computed=computed, **figures)

    def noise(self) -> Array:
        """Relative standard error of each mean throughput (m,); 0 where it was not repeated."""
        return np.asarray(np.nan_to_num(self.spread, nan=0.0) / np.sqrt(self.repeats))

    def repeat_noise_pct(self) -> float | None:
        """Median over the points of the relative standard deviation of one repeat, in percent."""
        known = self.spread[np.isfinite(self.spread)]
        return float(100 * np.median(known)) if len(known) else None


def surface_points(sweep: Sweep, pattern: str | None = None) -> SurfacePoints:
    """The points of a closed sweep as a surface, averaged over repeats.

    ``pattern`` ("random", "sequential", "file of 16 KiB") selects one where the sweep has several. Raises DataError
    where the sweep is not over depths, lacks the pattern, or fewer than two of block size, share of reads and depth
    vary.
    """
    name = sweep.name or "the sweep"
    if not isinstance(sweep.load_type, ClosedLoad):
        raise DataError(f"a surface needs a sweep over queue depths, which {name} is not; measure one: {MEASURE}")
    points = sweep.points.assign(pattern=conditions(sweep))
    patterns = sorted(set(points["pattern"]))
    there = ", ".join(p or "one without a name" for p in patterns)
    if pattern is not None and pattern not in patterns:
        raise DataError(f"{name} has no pattern {pattern!r}; it has: {there}")
    if pattern is None and len(patterns) > 1:
        kind = "files" if "file of" in there else "patterns"
        several = f"{len(patterns)} {kind}, each a surface of its own"
        raise DataError(f"{name} holds {several}; name one with --pattern: {there}")
    chosen = patterns[0] if pattern is None else pattern
    points = points[points["pattern"] == chosen]
    untold = points["read_fraction"].isna() & bool(points["read_fraction"].notna().any())
    left_out = sorted(set(points["series"][untold]))
    notes = (f"left out, their share of reads is unknown: {', '.join(left_out)}",) if left_out else ()
    points = points[~untold]
    points = points.assign(
        block_bytes=points["block_bytes"].fillna(0.0),
        jobs=points["jobs"].fillna(1.0),
        read_fraction=_asked_shares(points["series"], points["read_fraction"].fillna(1.0)),
    )
    keys = ["block_bytes", "read_fraction", "jobs"]
    points["series"] = [" ".join(f"{v:g}" for v in key) for key in points[keys].itertuples(index=False)]
    table = replace(sweep, points=points.sort_values([*keys, "load"])).mean_points()
    block, share, depth, jobs = (table[c].to_numpy(float) for c in ("block_bytes", "read_fraction", "load", "jobs"))
    figures = ("throughput_per_s", "latency_s", "repeats", "throughput_spread")
    throughput, latency, repeats, spread = (table[c].to_numpy(float) for c in figures)
    places = Places(block, share, depth, jobs)
    check(places, throughput, name)
    source = sweep.name or sweep.provenance.source
    computed = ~rows_to_judge(table, ["latency_s"])
    return SurfacePoints(places, throughput, latency, repeats, spread, chosen, source, notes, computed)


def conditions(sweep: Sweep) -> list[str]:
    """What each point was measured on beside the places: its pattern, and the file where there are several sizes."""
    sizes = sweep.provenance.details.get("file_bytes") or {}
    patterns = sweep.points["pattern"].fillna("")
    if len({sizes.get(series) for series in sweep.series}) < 2:
        return list(patterns)
    files = (f"file of {format_bytes(sizes[s])}" if s in sizes else "" for s in sweep.points["series"])
    return [" ".join(filter(None, words)) for words in zip(patterns, files, strict=True)]


def _asked_shares(series: Iterable[str], measured: Iterable[float]) -> Array:
    """The requested shares of reads: fio draws each request, so that 70 % is measured as 70.03 %."""
    asked = (parse_mix(name).read_fraction for name in series)
    return np.array([round(m, 2) if a is None else a for a, m in zip(asked, measured, strict=True)])


def check(places: Places, throughput: Array, name: str) -> None:
    """DataError where nothing but the depth or the jobs varies, or a throughput is no positive number."""
    bad = ~(np.isfinite(throughput) & (throughput > 0))
    if bad.any():
        i = int(np.argmax(bad))
        raise DataError(f"{name}: the throughput at {places.text(i)} is {throughput[i]:g}; leave the point out")
    varying = [v for v in places.varying() if v != "jobs"]
    if "block_bytes" in varying or len(varying) > 1:
        return
    fixed = " and ".join(f"one {WORDS[c]}" for c in ("block_bytes", "read_fraction", "outstanding") if c not in varying)
    line = "; over the depth alone: qsim compare" if varying == ["outstanding"] else ""
    raise DataError(
        f"a surface needs several block sizes, or several depths and mixes, and {name} has {fixed}{line}; measure "
        f"more: {MEASURE}"
    )
