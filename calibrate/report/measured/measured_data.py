"""Measured points for display: averaged over repeats with intervals, and the columns that vary.

Nothing here is a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrate.report.view import end_of
from measure.auditing.all_checks import audit
from measure.datasets import about, load_dataset
from measure.findings import SEVERITIES, Finding
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import BufferSize, ClosedLoad, InjectedDelay, Load
from measure.origin import MEASURED, ORIGIN, PUBLISHED, computed, corrected, of_mean, reason_of
from measure.repeats import flag_outliers, half_width, intervals
from measure.sweep import PERCENTILES, Sweep, describe_series
from measure.units import CACHE_LINE_BYTES, format_bytes, parse_bytes

_PUBLISHED = "bandwidth_published_bytes_per_s"
_AVERAGED = ("throughput_per_s", "bandwidth_bytes_per_s", _PUBLISHED, "latency_s", "latency_sd_s", *PERCENTILES)
_WITH_INTERVAL = ("throughput_per_s", "bandwidth_bytes_per_s", "latency_s", *PERCENTILES)
_MIX = re.compile(r"(?<!\S)(\d{1,2})/\d{1,2} mix(?!\S)")
_STRIDE = re.compile(r"\bstride (\d+ (?:[KMG]i)?B)")


@dataclass(frozen=True)
class MeasuredData:
    """Points ready to be shown.

    ``table`` has one row for each workload: ``series``, ``load``, ``size_bytes`` (what ``size_name`` says: a block, a
    file, a buffer, a stride), ``read_fraction``, the means over ``repeats``, and ``latency_low_s``, ``latency_high_s``
    and the like where a point was repeated. ``curve`` is the series without its size, ``place`` the series without its
    direction. ``sweep`` is what models can be fitted to; ``name`` is fit for a folder.
    """

    title: str
    table: pd.DataFrame
    sweep: Sweep
    size_name: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def load_type(self) -> Load:
        """What varies."""
        return self.sweep.load_type

    @property
    def memory(self) -> bool:
        """Whether requests are a memory's cache lines."""
        return isinstance(self.load_type, InjectedDelay | BufferSize)

    @property
    def load_name(self) -> str:
        """The load with its unit, for an axis."""
        return self.load_type.named

    @property
    def series(self) -> tuple[str, ...]:
        """The names of the curves."""
        return tuple(dict.fromkeys(self.table["series"]))

    def of(self, series: str) -> MeasuredData:
        """The same of one curve alone, its findings and those of all of it included."""
        return replace(
            self,
            table=self.table[self.table["series"] == series].reset_index(drop=True),
            findings=tuple(f for f in self.findings if f.series in (None, series)),
            sweep=self.sweep.select(series),
        )

    def known(self, column: str) -> bool:
        """Whether any point has a value in this column."""
        return column in self.table and bool(self.table[column].notna().any())


def measured(sweep: Sweep, title: str = "") -> MeasuredData:
    """The sweep's points averaged over repeats, audited. Without a ``title`` it takes the sweep's name."""
    findings = sorted((*sweep.findings, *audit(sweep)), key=lambda f: -SEVERITIES.index(f.severity))
    points, size_name = _with_size(sweep)
    table = _averaged(points, closed=isinstance(sweep.load_type, ClosedLoad))
    probed = isinstance(sweep.load_type, InjectedDelay | BufferSize)
    unit_bytes = float(CACHE_LINE_BYTES) if probed else table["block_bytes"]
    details = sweep.provenance.details
    roles, who = details.get("columns"), details.get(ORIGIN_OF_KIND)  # of a table; who sends the requests
    of_table = isinstance(roles, Mapping) and any(str(role).endswith("bandwidth") for role in roles)
    table["bandwidth_origin"] = MEASURED if probed else _origin_of_bandwidth(table, is_given=of_table)
    table["bandwidth_bytes_per_s"] = table["bandwidth_bytes_per_s"].fillna(table["throughput_per_s"] * unit_bytes)
    return MeasuredData(
        title or sweep.name or sweep.provenance.source or "measured",
        _named(table),
        sweep,
        size_name,
        tuple(findings),
        ((str(who),) if who else ()) + _no_knee(findings),
        sweep.name or title,
    )


def _no_knee(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Why no knee is fitted to curves over a delay that a cache answered."""
    cached = [f for f in findings if f.check == "fits-a-cache" and f.severity == "error"]
    if not cached:
        return ()
    which = (len(cached) == 1 and cached[0].series) or "these curves"
    reasons = "; ".join(dict.fromkeys(f.hypothesis.rstrip(".") for f in cached))
    return (f"No knee is fitted to {which}: {reasons}.",)


def _origin_of_bandwidth(table: pd.DataFrame, *, is_given: bool) -> NDArray[np.object_]:
    """Where the bandwidth comes from (m,): computed where it is unknown, or is throughput x block to the last digit.

    Not so where a column of the table ``is_given``, nor where the throughput was computed from it.
    """
    given, moved = table["bandwidth_bytes_per_s"], table["throughput_per_s"] * table["block_bytes"]
    of_rate = given.isna() | (np.isclose(given, moved, rtol=1e-12) & (not is_given))
    of_rate &= table["throughput_origin"].map(lambda origin: "block" not in reason_of(origin))
    found = np.where(of_rate & moved.notna(), computed("X × block"), MEASURED)
    return np.where(table[_PUBLISHED].notna(), corrected("a unit of 1024 or 1000, by X × block"), found)


def published(name: str) -> MeasuredData:
    """A dataset of the catalogue. DataError for an unknown name, and for a table that is not a curve."""
    info = about(name)
    notes = (f"As published, {info.source}. {info.anomaly}".strip(),)
    found = measured(load_dataset(name), f"{info.title} ({name})")
    return replace(found, notes=(*notes, *found.notes), name=name)


def _with_size(sweep: Sweep) -> tuple[pd.DataFrame, str]:
    """The points with ``size_bytes``: the block's size, or that of the file or buffer if it varies."""
    points = sweep.points
    for key, name in (("file_bytes", "file size"), ("buffer_bytes", "buffer size")):
        given = sweep.provenance.details.get(key)
        if isinstance(given, Mapping) and len(set(given.values())) > 1:
            return points.assign(size_bytes=points["series"].map(dict(given)).astype(float)), name
    if not isinstance(sweep.load_type, InjectedDelay | BufferSize):
        return points.assign(size_bytes=points["block_bytes"]), "block size"
    found = [_STRIDE.search(s) for s in points["series"]]  # the probe names strides that are not one line
    strides = [parse_bytes(t.group(1)) if t else b for t, b in zip(found, points["block_bytes"], strict=True)]
    return points.assign(size_bytes=np.array(strides, dtype=float)), "stride"


def _averaged(points: pd.DataFrame, *, closed: bool) -> pd.DataFrame:
    """One row per workload: means over repeats (latency weighted by requests), t intervals, and outliers by name."""
    table = points.copy()
    for column in ("size_bytes", "block_bytes", "read_fraction", *_AVERAGED):
        if column not in table:
            table[column] = np.nan
    table["read_fraction"] = [_share(s, f) for s, f in zip(table["series"], table["read_fraction"], strict=True)]
    table["outlier"] = flag_outliers(table, closed=closed)
    groups = table.groupby(["series", "load", "size_bytes"], sort=False, dropna=False)
    rows = [{**group.iloc[0].to_dict(), **_mean(group)} for _, group in groups]
    return pd.DataFrame(rows)


def _share(series: str, read_fraction: float) -> float:
    """The requested share of reads: fio draws each request, so that 70 % is measured as 70.03 %."""
    mix = _MIX.search(series)
    return int(mix.group(1)) / 100 if mix else round(read_fraction, 2)


def _mean(group: pd.DataFrame) -> dict[str, object]:
    """The means of one workload's repeats with their intervals, how many there are, and whether one is an outlier."""
    mean: dict[str, object] = {"repeats": len(group), "outlier": max(group["outlier"])}
    for column in _AVERAGED:
        values = group[column].to_numpy(float)
        mean[column] = float(values.mean())
        if column in _WITH_INTERVAL:
            half = half_width(values - values.mean())
            mean[end_of(column, "low")] = max(0.0, float(values.mean()) - half) if half >= 0 else np.nan
            mean[end_of(column, "high")] = float(values.mean()) + half
    rate, latency = group["throughput_per_s"].to_numpy(float), group["latency_s"].to_numpy(float)
    limits = intervals(rate, latency)
    mean["latency_s"] = float((rate * latency).mean() / rate.mean())
    mean |= {"latency_low_s": limits["latency_low"], "latency_high_s": limits["latency_high"]}
    mean |= {column: of_mean(group[column].tolist()) for column in ORIGIN.values()}
    for name in (end_of(column, "published") for column in PERCENTILES):
        if name in group:
            mean[name] = float(group[name].mean())
    mean |= _mean_directions(group)
    for figure, column in PUBLISHED.items():
        if group[column].notna().any():
            weight = rate if figure == "latency_s" else np.ones(len(group))
            mean[column] = float(np.average(group[column].fillna(group[figure]), weights=weight))
    return mean


def _mean_directions(group: pd.DataFrame) -> dict[str, object]:
    """Mean rate, latency and deviation of reads and of writes, where they are apart; times weighted by the rates."""
    mean: dict[str, object] = {}
    for kind in ("read", "write"):
        if (rate := f"{kind}_throughput_per_s") not in group or not group[rate].notna().all():
            continue
        mean[rate] = float(group[rate].mean())
        for column in (f"{kind}_latency_s", f"{kind}_latency_sd_s"):
            if column in group:
                mean[column] = float(np.average(group[column], weights=group[rate]))
    return mean


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``curve`` (the series without its size) and ``place`` (without its direction)."""
    rows = table.to_dict("records")
    mixes = [describe_series(None, r["read_fraction"], None) if r["read_fraction"] >= 0 else "" for r in rows]
    return table.assign(
        curve=[_without(str(r["series"]), _size_words(r["size_bytes"])) for r in rows],
        place=[_without(str(r["series"]), [mix]) for r, mix in zip(rows, mixes, strict=True)],
    )


def _size_words(size: float) -> list[str]:
    text = format_bytes(size) if size > 0 else ""
    return [f"in a file of {text}", f"buffer {text}", f"stride {text}", text] if text else []


def _without(series: str, words: Sequence[str]) -> str:
    """The name less the first of ``words`` that it holds as a whole."""
    for word in words:
        rest, found = re.subn(rf"(?<!\S){re.escape(word)}(?![^\s,])", "", series, count=1) if word else (series, 0)
        if found:
            return " ".join(rest.split()).replace(" ,", ",").removeprefix(", ")
    return series
