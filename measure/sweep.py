"""The Sweep: one device or memory measured at several loads, as a tidy table with its provenance.

A row of the table is one measured point. Columns carry their SI unit in their name. These are always there:

``series``            what was held fixed, in words ("4 KiB random read"); one curve per series
``load``              the independent variable: outstanding requests, injected delay, or arrival rate (see load_type);
                      the bandwidth itself where a curve was published without what was varied, or the size of the
                      buffer in a sweep for caches (which no model fits)
``throughput_per_s``  completed requests a second (cache lines of 64 bytes for a memory)
``latency_s``         mean response time (fio's total ``lat``; the chaser's time per access for a memory)

and these where the tool reports them, NaN or None elsewhere:

``bandwidth_bytes_per_s``, ``block_bytes``, ``read_fraction`` (1 reads, 0 writes), ``pattern`` (random | sequential),
``depth`` and ``jobs`` (load = depth x jobs), ``repeat`` (0, 1, ... where a point was measured again),
``latency_sd_s``, ``latency_p50_s``, ``latency_p95_s``, ``latency_p99_s``, ``latency_p999_s``,
``source`` (the raw file's name), ``started_at`` (ISO 8601), the origin of load, throughput and latency
(``load_origin``, ``throughput_origin``, ``latency_origin``) and what was published where one was corrected
(``load_published``, ``throughput_published_per_s``, ``latency_published_s``): see :mod:`measure.origin`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import UNNAMED, Finding
from measure.loads import ArrivalRate, Clients, ClosedLoad, Depth, Load
from measure.origin import MEASURED, ORIGIN, PUBLISHED, WORDS, Provenance, of_mean, word_of
from measure.repeats import LIMITS, intervals
from measure.units import counted, format_bytes, format_duration
from qsim.result import Result

if TYPE_CHECKING:
    from measure.formats.fio.latency_bins import Histogram


RowKey = tuple[str, float, float]
"""A row by its source, throughput and latency, which do not change when curves are renamed, selected or joined."""

REQUIRED = ("series", "load", "throughput_per_s", "latency_s")
OPTIONAL = (
    "bandwidth_bytes_per_s",
    "block_bytes",
    "read_fraction",
    "pattern",
    "depth",
    "jobs",
    "repeat",
    "latency_sd_s",
    "latency_p50_s",
    "latency_p95_s",
    "latency_p99_s",
    "latency_p999_s",
    "source",
    "started_at",
    *ORIGIN.values(),
    *PUBLISHED.values(),
)
WOKEN_LATE = "wakeup_late_s"
"""The column of the mean wakeup delay of a sleeping program (:mod:`measure.machine.scheduling_delay`)."""
IN_BURSTS = "in_bursts"
"""The column that is 1 where a run was served in regular bursts: its rate is steady, whatever that of its rounds is,
and its latencies spread by the wait for the next burst, not by the service."""
_NAMED = 3  # curves in a short text
_LARGEST = 1e18  # largest value in SI units, and reciprocal of the smallest
_TEXT = frozenset({"series", "pattern", "source", "started_at", *ORIGIN.values()})
_EMPTY: Mapping[str, tuple[type, Any]] = {"repeat": (float, 0.0), **dict.fromkeys(ORIGIN.values(), (object, MEASURED))}
_NUMBERS = tuple(c for c in (*REQUIRED, *OPTIONAL) if c not in _TEXT)


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """A measured sweep: the tidy table (see the module's text), what varies in it, and where it comes from.

    ``findings`` holds those of the importer; ``raw`` names the untouched tool outputs that the table was read from;
    ``latencies`` has the histograms of rows (:func:`histograms`); ``also`` are the same curves under other kinds of
    load (:func:`of_several_kinds`). A sweep equals only itself. Raises DataError where the table lacks a column, has no
    row, or holds an impossible number.

    >>> import pandas as pd
    >>> points = pd.DataFrame({"load": [1, 8], "throughput_per_s": [12e3, 80e3], "latency_s": [83e-6, 100e-6]})
    >>> Sweep(points.assign(series="4 KiB read"), name="drive")
    Sweep drive: 2 points of 1 curve: 4 KiB read
    outstanding requests N: 1 to 8 requests
    """

    points: pd.DataFrame
    load_type: Load = field(default_factory=Depth)
    provenance: Provenance = field(default_factory=Provenance)
    findings: tuple[Finding, ...] = ()
    raw: tuple[Path, ...] = ()
    name: str = ""
    latencies: Mapping[RowKey, Any] = field(default_factory=dict, repr=False)
    also: tuple[Sweep, ...] = ()

    def __post_init__(self) -> None:
        where = self.name or self.provenance.source
        object.__setattr__(self, "points", _tidy(self.points, where))
        if not isinstance(self.load_type, Load):
            raise TypeError(f"load_type must be a kind of load, such as Depth(), not {self.load_type!r}")
        object.__setattr__(self, "load_type", self.load_type.shared_by(self.points["jobs"].unique()))
        object.__setattr__(self, "findings", placed(self.findings, self.load_type))
        if not self.load_type.may_be_zero and (idle := self.points["load"].to_numpy() == 0).any():
            raise DataError(
                f"{where or 'the table'}: {self.load_type.at(0)} in row {int(idle.argmax()) + 1} "
                f"(series {self.points['series'][idle].iloc[0]!r}) asks for nothing; remove it, or say which column is "
                "the load (--columns load=COLUMN)"
            )

    @cached_property
    def series(self) -> tuple[str, ...]:
        """The names of the curves, in the order in which they first appear."""
        return tuple(dict.fromkeys(self.points["series"]))

    def select(self, series: str) -> Sweep:
        """The sweep with one curve only. Raises DataError listing the names for an unknown one."""
        if series not in self.series:
            raise DataError(f"{self.name or 'the sweep'} has no series {series!r}; it has: {', '.join(self.series)}")
        if len(self.series) == 1:
            return self
        if series not in self._selected:
            rows = self.points[self.points["series"] == series]
            findings = tuple(f for f in self.findings if f.series in (None, series))
            also = tuple(other.select(series) for other in self.also if series in other.series)
            self._selected[series] = replace(self, points=rows, findings=findings, also=also)
        return self._selected[series]

    @cached_property
    def _selected(self) -> dict[str, Sweep]:
        """Cache of :meth:`select`: curves as sweeps of their own."""
        return {}

    def mean_points(self) -> pd.DataFrame:
        """One row per series and load, in that order: throughput and latency averaged over repeats.

        Latency is weighted by the completed requests, so that N = X R survives the averaging. Adds ``repeats``, the
        relative standard deviations ``throughput_spread`` and ``latency_spread``, and the limits of the two means
        (:data:`measure.repeats.LIMITS`; all of them NaN without repeats).
        """
        return self._means.copy()

    @cached_property
    def means(self) -> Mapping[str, NDArray[Any]]:
        """The columns of ``mean_points`` without intervals and bandwidths: arrays in its order."""
        _, starts, repeats, rows = self._repeats
        load, x, r = rows.T
        mean = np.add.reduceat(x, starts) / repeats
        return {
            **self._mean_origins,
            "load": load[starts],
            "throughput_per_s": mean,
            "latency_s": np.add.reduceat(x * r, starts) / repeats / mean,
            "repeats": repeats.astype(float),
            "throughput_spread": _spreads(x, starts, repeats),
            "latency_spread": _spreads(r, starts, repeats),
        }

    @cached_property
    def all_measured(self) -> bool:
        """Whether every load, throughput and latency was measured."""
        return bool((self.points[[*ORIGIN.values()]].to_numpy(object) == MEASURED).all())

    @cached_property
    def _mean_origins(self) -> dict[str, NDArray[Any]]:
        """Columns of the origins of the means, and of means of what was published; empty where all were measured."""
        if self.all_measured:
            return {}
        order, starts, repeats, rows = self._repeats
        columns: dict[str, NDArray[Any]] = {}
        for figure, values in zip(ORIGIN, rows.T, strict=True):
            origins = self.points[ORIGIN[figure]].to_numpy(object)[order]
            published = self.points[PUBLISHED[figure]].to_numpy(float)[order]
            if repeats.max() > 1 and (origins != MEASURED).any():
                groups = np.split(origins, starts[1:])
                origins = np.array([of_mean(group.tolist()) for group in groups], dtype=object)
                known = np.logical_or.reduceat(np.isfinite(published), starts)
                weight = rows[:, 1] if figure == "latency_s" else np.ones(len(values))
                stood = np.where(np.isfinite(published), published, values)
                mean = np.add.reduceat(stood * weight, starts) / np.add.reduceat(weight, starts)
                published = np.where(known, mean, np.nan)
            else:
                origins, published = origins[starts], published[starts]
            columns |= {ORIGIN[figure]: origins, PUBLISHED[figure]: published}
        return columns

    @cached_property
    def _repeats(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """Row order by series and load, start of each point, its number of repeats, and load, X and R (n, 3)."""
        columns = [self.points[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s")]
        rank = pd.factorize(self.points["series"])[0]
        order = np.lexsort((columns[0], rank))
        rows, place = np.column_stack(columns)[order], rank[order]
        new = (place[1:] != place[:-1]) | (rows[1:, 0] != rows[:-1, 0])
        starts = np.flatnonzero(np.append(True, new))
        return order, starts, np.diff(np.append(starts, len(rows))), rows

    @cached_property
    def _means(self) -> pd.DataFrame:
        order, starts, repeats, (_, x, r) = *self._repeats[:3], self._repeats[3].T
        rows = self.points.iloc[order]
        bandwidth = rows["bandwidth_bytes_per_s"].to_numpy(float)
        first = rows.iloc[starts]
        if len(rows) > len(starts):
            known = rows.notna().to_numpy()
            if (known > np.repeat(known[starts], repeats, axis=0)).any():  # a later repeat says what the first does not
                first = rows.groupby(np.repeat(starts, repeats)).first()
        with np.errstate(invalid="ignore"):  # unknown bandwidths
            moved = np.add.reduceat(np.nan_to_num(bandwidth), starts) / np.add.reduceat(np.isfinite(bandwidth), starts)
        limits = [intervals(x[i : i + n], r[i : i + n]) for i, n in zip(starts, repeats, strict=True)]
        same = {"load": None, **{name: first[name].array for name in first.columns}}  # the load is the first column
        changed = {**self.means, "repeats": repeats, "bandwidth_bytes_per_s": moved}
        return pd.DataFrame({**same, **changed, **{name: [one[name] for one in limits] for name in LIMITS}})

    def to_frame(self) -> pd.DataFrame:
        """A copy of ``points``; units are in the names of the columns, that of ``load`` is ``load_type.unit``."""
        return self.points.copy()

    def plot(self) -> Any:
        """A plotly Figure: latency against throughput, means over repeats, a line for each series."""
        return self._means.plot(
            kind="line",
            x="throughput_per_s",
            y="latency_s",
            color="series",
            markers=True,
            hover_data=["load"],
            labels={"throughput_per_s": "throughput (1/s)", "latency_s": "latency (s)", "load": self.load_type.named},
            backend="plotly",
        )

    def __repr__(self) -> str:
        shown = ", ".join(self.series[:_NAMED]) + (", ..." if len(self.series) > _NAMED else "")
        load, tool = self.points["load"], self.provenance.tool
        also = (f"\nalso {other.load_type.listed(sorted(set(other.points['load'])))}" for other in self.also)
        return (
            f"Sweep {self.name or self.provenance.source}: {counted(len(self), 'point')} of "
            f"{counted(len(self.series), 'curve')}{f' by {tool}' if tool else ''}: {shown}\n"
            f"{self.load_type.name}: {load.min():g} to {load.max():g} {self.load_type.unit}"
            f"{''.join(also)}"
        )

    def __len__(self) -> int:
        return len(self.points)


def placed(findings: Iterable[Finding], load: Load) -> tuple[Finding, ...]:
    """The findings with their places in words."""
    return tuple(f if f.load is None else replace(f, place=load.at(f.load)) for f in findings)


def _spreads(values: NDArray[np.float64], starts: NDArray[np.intp], repeats: NDArray[np.intp]) -> NDArray[np.float64]:
    """Relative standard deviations (m,) of the repeats of m points, which begin at ``starts``; NaN for one repeat."""
    mean = np.add.reduceat(values, starts) / repeats
    squares = np.add.reduceat((values - np.repeat(mean, repeats)) ** 2, starts)
    return np.asarray(np.where(repeats > 1, np.sqrt(squares / np.maximum(repeats - 1, 1)), np.nan) / mean)


def _tidy(points: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with every column present and typed; DataError on impossible values."""
    where = name or "the table"
    if missing := [c for c in REQUIRED if c not in points.columns]:
        raise DataError(f"{where}: the table lacks {', '.join(missing)}")
    if points.empty:
        raise DataError(f"{where}: the table has no point")
    table = points if _is_typed(points) else _typed(points)
    figures = table.take(list(map(table.columns.tolist().index, _NUMBERS)), axis=1).to_numpy(float)
    for column, what in (("throughput_per_s", "throughput"), ("latency_s", "latency"), ("load", "load")):
        values = figures[:, _NUMBERS.index(column)]
        bad = ~np.isfinite(values) | ((values < 0) if column == "load" else (values <= 0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"{where}: {what} {values[row]:g} in row {row + 1} (series {table['series'].iloc[row]!r}) is not "
                f"{'zero or more' if column == 'load' else 'a positive number'}; remove or measure the point again"
            )
    table = _with_origins(table, where)
    _check_percentiles(table, figures[:, [_NUMBERS.index(c) for c in ("latency_sd_s", *PERCENTILES)]], where)
    _check_dates(table, where)
    size = np.abs(figures)
    beyond = (size > _LARGEST) | ((size > 0) & (size < 1 / _LARGEST))
    if beyond.any():
        place, row = (int(i[0]) for i in np.nonzero(beyond.T))
        column = _NUMBERS[place]
        other = ", or say which column is the load (--columns load=COLUMN)" if column == "load" else ""
        raise DataError(
            f"{where}: {column} {table[column].iloc[row]:g} in row {row + 1} (series {table['series'].iloc[row]!r})"
            f" is beyond any device; correct the unit or the value{other}"
        )
    return table.reset_index(drop=True)


PERCENTILES: Mapping[str, str] = {
    "latency_p50_s": "p50",
    "latency_p95_s": "p95",
    "latency_p99_s": "p99",
    "latency_p999_s": "p99.9",
}


def _with_origins(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """The table with the origin "measured" where none is given; DataError on a word that is none."""
    for column in ORIGIN.values():
        given = set(table[column].tolist())
        if given == {MEASURED}:
            continue
        table = table.assign(**{column: table[column].where(table[column].notna(), MEASURED)})
        if unknown := [o for o in dict.fromkeys(table[column].astype(str)) if word_of(o) not in WORDS]:
            raise DataError(f"{where}: invalid {column} {unknown[0]!r:.60}: expected one of {', '.join(WORDS)}")
    return table


def _check_percentiles(table: pd.DataFrame, values: NDArray[np.float64], where: str) -> None:
    """DataError where a deviation or a percentile is negative, or a higher percentile is below a lower one."""
    columns = ("latency_sd_s", *PERCENTILES)
    known = np.fmax.accumulate(values[:, 1:], axis=1)  # the highest of the lower ones, also where some are missing
    for row in np.flatnonzero((values < 0).any(axis=1)):
        place = int(np.flatnonzero(values[row] < 0)[0])
        _refuse_row(table, int(row), f"{columns[place]} {values[row, place]:g} is negative", where)
    below = values[:, 1:] < known * (1 - 1e-3)  # values equal within rounding are in order
    for row in np.flatnonzero(below.any(axis=1)):
        high = int(np.flatnonzero(below[row])[0])
        low = int(np.nanargmax(values[row, 1 : high + 1]))
        (p, small), (q, large) = ((columns[1 + i], format_duration(values[row, 1 + i])) for i in (high, low))
        _refuse_row(table, int(row), f"{PERCENTILES[p]} = {small} is below {PERCENTILES[q]} = {large}", where)


def _check_dates(table: pd.DataFrame, where: str) -> None:
    for text in filter(None, filter(pd.notna, dict.fromkeys(table["started_at"].tolist()))):
        try:
            datetime.fromisoformat(text)
        except (TypeError, ValueError) as error:
            expected = "expected a date such as 2026-01-02T03:04:05+00:00"
            raise DataError(f"{where}: invalid started_at {text!r:.40}: {expected}") from error


def _refuse_row(table: pd.DataFrame, row: int, what: str, where: str) -> None:
    raise DataError(
        f"{where}: {what} at load {table['load'].iloc[row]:g} (series {table['series'].iloc[row]!r}); correct it, or "
        "leave the column out"
    )


def _is_typed(points: pd.DataFrame) -> bool:
    """Whether the table has every column with its type, as that of another sweep."""
    types = points.dtypes
    return types.index.is_unique and all(c in types for c in OPTIONAL) and all(types[c] == np.float64 for c in _NUMBERS)


def _typed(points: pd.DataFrame) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in points.columns:
        values = points[name]
        if name in _NUMBERS and values.dtype != np.float64:
            values = pd.to_numeric(values, errors="coerce").astype(float)
        columns[str(name)] = values.array  # an array is not aligned by its index again
    for column in (c for c in OPTIONAL if c not in columns):
        kind, empty = _EMPTY.get(column) or ((object, None) if column in _TEXT else (float, np.nan))
        columns[column] = np.full(len(points), empty, dtype=kind)
    return pd.DataFrame(columns, index=points.index)


def describe_series(
    block_bytes: float | None, read_fraction: float | None, pattern: str | None, parts: Sequence[str] = ()
) -> str:
    """A curve's name from its fixed settings: "4 KiB random read", "16 KiB sequential 70/30 mix"."""
    words = [format_bytes(block_bytes)] if block_bytes is not None and np.isfinite(block_bytes) else []
    words += [pattern] if pattern else []
    if read_fraction is not None and np.isfinite(read_fraction):
        percent = round(100 * read_fraction)
        words.append({100: "read", 0: "write"}.get(percent, f"{percent}/{100 - percent} mix"))
    return " ".join([*words, *parts]) or UNNAMED


def histograms(sweep: Sweep) -> dict[tuple[str, float, int], Histogram]:
    """The latency histograms of a sweep's points, {(series, load, repeat): histogram}.

    Points without one (no json+, or another tool's) are left out.

    >>> from measure import load_dataset
    >>> histograms(load_dataset("003-ssd-read"))  # a published table has none
    {}
    """
    columns = ["series", "load", "repeat", "source", "throughput_per_s", "latency_s"]
    return {
        (series, load, int(repeat)): sweep.latencies[source, rate, latency]
        for series, load, repeat, source, rate, latency in sweep.points[columns].itertuples(index=False)
        if (source, rate, latency) in sweep.latencies
    }


def join(parts: Iterable[tuple[str, Sweep]], name: str) -> Sweep:
    """Several sweeps as one, each curve's name preceded by its part's name; one alone stays unchanged."""
    labelled = list(parts)
    if len(labelled) == 1:
        return labelled[0][1]
    kinds = {s.load_type.kind for _, s in labelled}
    if len(kinds) > 1:
        raise DataError(f"{name}: curves over {' and over '.join(sorted(kinds))} cannot be one sweep; load one of them")
    loads = {s.load_type.shared_by(()) for _, s in labelled}  # numbers of jobs may differ
    if len(loads) > 1:
        units = {load.unit if len({other.unit for other in loads}) > 1 else repr(load) for load in loads}
        raise DataError(f"{name}: loads in {' and in '.join(sorted(units))} cannot be one sweep; load one of them")
    tables, findings = [], []
    details: dict[str, Any] = {label or s.name: dict(s.provenance.details) for label, s in labelled}
    by_curve: dict[str, dict[str, Any]] = {}
    for label, sweep in labelled:
        prefix = f"{label}: " if label else ""
        tables.append(sweep.points.assign(series=prefix + sweep.points["series"]))
        for key in ("buffer_bytes", "listed"):
            given = sweep.provenance.details.get(key) or {}
            given = given if isinstance(given, Mapping) else dict.fromkeys(sweep.series, given)
            by_curve.setdefault(key, {}).update({prefix + series: value for series, value in given.items()})
        findings += [replace(f, series=prefix + f.series) if f.series else f for f in sweep.findings]
    first = labelled[0][1]
    provenances = [s.provenance for _, s in labelled]
    shared = ("tool", "tool_version", "host", "kernel", "cpu", "device")
    provenance = Provenance(
        **{key: distinct(getattr(p, key) for p in provenances) for key in shared},
        commands=tuple(c for p in provenances for c in p.commands),
        source=name,
        details=details,
    )
    details.update({key: values for key, values in by_curve.items() if values})
    raw = tuple(r for _, s in labelled for r in s.raw)
    with_rows = [t.dropna(axis="columns", how="all") for t in tables]
    return Sweep(
        pd.concat(with_rows, ignore_index=True),
        first.load_type,
        provenance,
        tuple(findings),
        raw,
        name,
        {k: v for _, s in labelled for k, v in s.latencies.items()},
    )


def way_of_coming(load: Load) -> tuple[str, Load | float | None]:
    """How requests come, whatever they are called: loads of one way are one kind."""
    think = load.think if isinstance(load, Clients) else 0.0
    return load.kind, think if isinstance(load, ClosedLoad) else load.shared_by(())


def of_several_kinds(sweeps: Sequence[Sweep]) -> Sweep:
    """Sweeps of one device under different kinds of load as one: that of requests in flight, with ``also`` the others.

    Their curves are the same by their names, or as there is one in each. Raises DataError where no curve is in all of
    them, for two of one kind, and for a kind that is no depth, clients or arrival rate.

    >>> import pandas as pd
    >>> point = {"series": "4 KiB read", "throughput_per_s": 5e3, "latency_s": 1e-4}
    >>> closed, opened = (pd.DataFrame({**point, "load": [n]}) for n in (1, 5e3))
    >>> of_several_kinds([Sweep(opened, ArrivalRate()), Sweep(closed)]).load_type
    Depth()
    """
    first, *others = sorted(sweeps, key=lambda s: not isinstance(s.load_type, ClosedLoad) or s.load_type.thinking_s)
    kinds = [s.load_type for s in sweeps]
    ways = {way_of_coming(kind) for kind in kinds}
    if len(ways) < len(kinds) or not all(isinstance(kind, ClosedLoad | ArrivalRate) for kind in kinds):
        names = " and ".join(kind.name for kind in kinds)
        raise DataError(f"sweeps over {names} are not one device under several kinds of load; load one of them")
    if all(len(s.series) == 1 for s in sweeps):
        others = [replace(s, points=s.points.assign(series=first.series[0])) for s in others]
    if lone := [s for s in others if not set(first.series) & set(s.series)]:
        raise DataError(
            f"{first.name} has the curves {', '.join(first.series[:_NAMED])}, and {lone[0].name} "
            f"{', '.join(lone[0].series[:_NAMED])}: curves of one device need one name"
        )
    return replace(first, also=tuple(others))


def distinct(values: Iterable[str]) -> str:
    """The distinct values, joined, for a field that may differ between the parts."""
    return ", ".join(dict.fromkeys(v for v in values if v))


def recorded_options(details: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """fio's shared options, those of joined sweeps included."""
    for name, value in details.items():
        if isinstance(value, Mapping):
            yield from [value] if name == "options" else recorded_options(value)
