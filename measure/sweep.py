"""The Sweep: one device or memory measured at several loads, as a tidy table with its provenance.

A row of the table is one measured point. Columns carry their SI unit in their name. These are always there:

``series``            what was held fixed, in words ("4 KiB random read"); one curve per series
``load``              the independent variable: outstanding requests, injected delay, or arrival rate (see load_kind);
                      the bandwidth itself where a curve was published without what was varied, or the size of the
                      buffer where caches were looked for (then no model fits)
``throughput_per_s``  completed requests a second (cache lines of 64 bytes for a memory)
``latency_s``         mean response time (fio's total ``lat``; the chaser's time per access for a memory)

and these where the tool tells them, NaN or None elsewhere:

``bandwidth_bytes_per_s``, ``block_bytes``, ``read_fraction`` (1 reads, 0 writes), ``pattern`` (random | sequential),
``depth`` and ``jobs`` (load = depth x jobs), ``repeat`` (0, 1, ... where a point was measured again),
``latency_sd_s``, ``latency_p50_s``, ``latency_p95_s``, ``latency_p99_s``, ``latency_p999_s``,
``source`` (the raw file's name), ``started_at`` (ISO 8601).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.repeats import intervals
from measure.units import format_bytes

LoadKind = Literal["queue_depth", "injected_delay", "arrival_rate", "bandwidth", "buffer_size"]

REQUIRED = ("series", "load", "throughput_per_s", "latency_s")
OPTIONAL = (
    "bandwidth_bytes_per_s", "block_bytes", "read_fraction", "pattern", "depth", "jobs", "repeat",
    "latency_sd_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", "latency_p999_s", "source", "started_at",
)  # fmt: skip


LOAD_NAMES: dict[LoadKind, str] = {
    "queue_depth": "outstanding requests N",
    "injected_delay": "injected delay",
    "arrival_rate": "arrival rate",
    "bandwidth": "bandwidth",
    "buffer_size": "buffer size",
}


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from. Unknown facts stay empty; ``details`` holds what else is known.

    ``commands`` are the exact commands, one per point, as they could be typed again.
    """

    tool: str = ""
    tool_version: str = ""
    commands: tuple[str, ...] = ()
    host: str = ""
    kernel: str = ""
    cpu: str = ""
    device: str = ""
    started_at: str = ""
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Provenance:
        """The inverse of ``to_dict``; unknown keys go to ``details``."""
        known = {k: v for k, v in values.items() if k in cls.__dataclass_fields__}
        known["commands"] = tuple(known.get("commands", ()))
        extra = {k: v for k, v in values.items() if k not in cls.__dataclass_fields__}
        known["details"] = {**dict(known.get("details", {})), **extra}
        return cls(**known)


@dataclass(frozen=True)
class Sweep:
    """A measured sweep: the tidy table (see the module's text), what varies in it, and where it comes from.

    ``findings`` holds what the importer noticed; ``raw`` names the untouched tool outputs that the table was
    read from. Raises DataError where the table lacks a column, has no row, or holds an impossible number.
    """

    points: pd.DataFrame
    load_kind: LoadKind = "queue_depth"
    load_unit: str = "requests"
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()
    raw: tuple[Path, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        where = self.name or self.provenance.source
        object.__setattr__(self, "points", _tidy(self.points, where))
        if self.load_kind in _NEVER_ZERO and (idle := self.points["load"] == 0).any():
            raise DataError(
                f"{where or 'the table'}: {_NEVER_ZERO[self.load_kind]} 0 in row {int(idle.to_numpy().argmax()) + 1} "
                f"(series {self.points['series'][idle].iloc[0]!r}) asks for nothing; remove it, or say which column is "
                "the load (--columns load=COLUMN)"
            )

    @property
    def series(self) -> tuple[str, ...]:
        """The names of the curves, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.points["series"]))

    def select(self, series: str) -> Sweep:
        """The same sweep with one curve only. Raises DataError listing the names for an unknown one."""
        if series not in self.series:
            raise DataError(f"{self.name or 'the sweep'} has no series {series!r}; it has: {', '.join(self.series)}")
        rows = self.points[self.points["series"] == series]
        findings = tuple(f for f in self.findings if f.series in (None, series))
        return replace(self, points=rows, findings=findings)

    def mean_points(self) -> pd.DataFrame:
        """One row per series and load: throughput and latency averaged over repeats.

        Latency is weighted by the completed requests, so that N = X R survives the averaging. Adds ``repeats``, the
        relative standard deviations ``throughput_spread`` and ``latency_spread``, and the 95 % intervals of the two
        means, ``throughput_low``, ``throughput_high``, ``latency_low``, ``latency_high`` (see
        :mod:`measure.repeats`; all of them NaN without repeats). Rows keep the order series, load.
        """
        table = self.points.assign(
            rank=pd.Categorical(self.points["series"], categories=list(self.series), ordered=True).codes,
            in_flight=self.points["throughput_per_s"] * self.points["latency_s"],
        )
        groups = table.groupby(["rank", "load"], sort=True)
        mean, spread = groups.mean(numeric_only=True), groups[["throughput_per_s", "latency_s"]].std(ddof=1)
        each_latency = mean["latency_s"]
        first = groups.first()
        first["throughput_per_s"] = mean["throughput_per_s"]
        first["latency_s"] = mean["in_flight"] / mean["throughput_per_s"]
        first["bandwidth_bytes_per_s"] = mean["bandwidth_bytes_per_s"]
        first["repeats"] = groups.size()
        first["throughput_spread"] = spread["throughput_per_s"] / mean["throughput_per_s"]
        first["latency_spread"] = spread["latency_s"] / each_latency
        limits = [intervals(g["throughput_per_s"], g["latency_s"]) for _, g in groups]
        first = first.assign(**{name: [limit[name] for limit in limits] for name in limits[0]})
        return first.drop(columns="in_flight").reset_index().drop(columns="rank")

    def __len__(self) -> int:
        return len(self.points)


def _tidy(points: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with every column present and typed; DataError on what no device could have done."""
    where = name or "the table"
    missing = [c for c in REQUIRED if c not in points.columns]
    if missing:
        raise DataError(f"{where}: the table lacks {', '.join(missing)}")
    if points.empty:
        raise DataError(f"{where}: the table has no point")
    table = points.copy()
    for column in OPTIONAL:
        if column not in table.columns:
            table[column] = 0 if column == "repeat" else None if column in _TEXT else np.nan
    for column in (c for c in (*REQUIRED, *OPTIONAL) if c not in _TEXT):
        table[column] = pd.to_numeric(table[column], errors="coerce").astype(float)
    for column, what in (("throughput_per_s", "throughput"), ("latency_s", "latency"), ("load", "load")):
        values = table[column].to_numpy(float)
        bad = ~np.isfinite(values) | ((values < 0) if column == "load" else (values <= 0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"{where}: {what} {values[row]:g} in row {row + 1} (series {table['series'].iloc[row]!r}) is not "
                f"{'zero or more' if column == 'load' else 'a positive number'}; remove or measure the point again"
            )
    for column in (c for c in (*REQUIRED, *OPTIONAL) if c not in _TEXT):
        size = np.abs(table[column].to_numpy(float))
        beyond = (size > _LARGEST) | ((size > 0) & (size < 1 / _LARGEST))
        if beyond.any():
            row = int(np.flatnonzero(beyond)[0])
            other = ", or say which column is the load (--columns load=COLUMN)" if column == "load" else ""
            raise DataError(
                f"{where}: {column} {table[column].iloc[row]:g} in row {row + 1} (series {table['series'].iloc[row]!r})"
                f" is beyond any device; correct the unit or the value{other}"
            )
    return table.reset_index(drop=True)


_NEVER_ZERO: Mapping[LoadKind, str] = {"queue_depth": "depth", "arrival_rate": "arrival rate"}
_LARGEST = 1e18  # of any figure in SI units, and the reciprocal of the smallest
_TEXT = frozenset({"series", "pattern", "source", "started_at"})


def describe_series(
    block_bytes: float | None, read_fraction: float | None, pattern: str | None, parts: Sequence[str] = ()
) -> str:
    """A curve's name from what was held fixed: "4 KiB random read", "16 KiB sequential 70/30 mix"."""
    words: list[str] = []
    if block_bytes is not None and np.isfinite(block_bytes):
        words.append(format_bytes(block_bytes))
    if pattern:
        words.append(pattern)
    if read_fraction is not None and np.isfinite(read_fraction):
        percent = round(100 * read_fraction)
        words.append({100: "read", 0: "write"}.get(percent, f"{percent}/{100 - percent} mix"))
    return " ".join([*words, *parts]) or "all points"
