"""Tests whether a device or a service changed between two sweeps, at every common load.

No model is fitted. A closed sweep is judged by its throughput (its response time is N / X), one of users who think or
of arrivals by the speed of the device (:mod:`calibrate.changes.speeds`), a memory over bandwidth by its response time,
a memory over a delay by both. Where the throughput of a closed sweep was computed as N / R, comparing it is comparing
response times, so these are compared, and the answer says so. The intervals of all loads and that of their mean hold
jointly at ``level``: half of the error probability is for the mean, half for the loads, in equal parts (Bonferroni).
The noise is that of :mod:`calibrate.changes.noise`: what moves between runs, and between sweeps, which more sweeps of
the old state measure.

*slower*: some interval lies below no change; *faster*: some above, none below; *same*: all lie within ``margin`` of no
change; *undecided*: none of these. Every verdict comes with the loss that would have been seen in nine cases of ten
(:mod:`calibrate.changes.noise`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from calibrate.changes.noise import Next, losses_seen, next_measurement, noise_of, percent_of
from calibrate.changes.speeds import REACH, speeds_of
from calibrate.inference.parameters import Array, Mask
from calibrate.points import LOCAL, Points, expected_between_runs, points_of
from measure.auditing.all_checks import audit
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import ArrivalRate, InjectedDelay, Load, ThroughputLoad
from measure.origin import ORIGIN, can_judge, reason_of, rows_to_judge
from measure.repeats import first_highest
from measure.sweep import Sweep
from measure.units import counted, format_duration
from qsim.result import Result

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Verdict = Literal["slower", "faster", "same", "undecided"]
LEVEL = 0.95
MARGIN = 0.05  # a change within this share counts as none
DOUBTFUL = frozenset({"busy-machine", "disturbed", "drift", "drift-within-run", "outlier", "unsteady"})
"""Findings on the runs or the machine that make repeats of one sweep agree too well."""
SAME_LOAD = 1e-3  # relative difference below which two loads are one
Quantity = Literal["throughput", "response time", "speed"]
Runs = Mapping[Quantity, Array]
UNLIKE_THINKING = 0.2  # think times found in two sweeps that differ by more than this share are not one load

SPEED: Literal["speed"] = "speed"
COLUMNS: Mapping[Quantity, str] = {"throughput": "throughput_per_s", "response time": "latency_s"}


class NotMeasuredError(DataError):
    """No figure was measured in both sweeps, so that nothing can be decided."""


@dataclass(frozen=True)
class Ratio:
    """The change of a figure in percent, with its interval; an unknown end is None."""

    change_pct: float
    low_pct: float
    high_pct: float | None

    @classmethod
    def of(cls, log: float, half: float) -> Ratio:
        """The Ratio from the logarithm of new / old and the half width of its interval."""
        low, high = math.exp(log - half), math.exp(log + half) if half < 50 else math.inf
        return cls(100 * math.expm1(log), 100 * (low - 1), 100 * (high - 1) if math.isfinite(high) else None)

    @property
    def moved(self) -> int:
        """1 where it is surely higher, -1 where it is surely lower, else 0."""
        if self.low_pct > 0:
            return 1
        return -1 if self.high_pct is not None and self.high_pct < 0 else 0


@dataclass(frozen=True)
class LoadChange:
    """The change at one load: ``quantity`` before and after, SI units; of a speed, the response times.

    ``detectable_pct`` is the loss at this load alone that would have been seen nine times in ten; None: none.
    """

    load: float
    quantity: Quantity
    old: float
    new: float
    ratio: Ratio
    detectable_pct: float | None = None

    @property
    def speed(self) -> int:
        """1 where it is surely faster, -1 where it is surely slower, else 0."""
        return -self.ratio.moved if self.quantity == "response time" else self.ratio.moved

    @property
    def loss(self) -> tuple[float, float]:
        """The least and the largest share by which it may be slower (negative: faster)."""
        ratio = self.ratio
        if self.quantity != "response time":
            return (-math.inf if ratio.high_pct is None else -ratio.high_pct / 100), -ratio.low_pct / 100
        return ratio.low_pct / 100, math.inf if ratio.high_pct is None else ratio.high_pct / 100


@dataclass(frozen=True, repr=False)
class Change(Result):
    """The change of one curve. ``overall`` is the speed at all loads together: throughput, or 1 / response time.

    ``detectable_pct`` is the least loss that would have been seen nine times in ten at whichever load it is (None:
    none), ``detectable_everywhere_pct`` that at all loads. ``next`` is what to measure for a loss of ``margin`` to be
    seen; None where it would have been, or where every load surely changed. ``between_pct`` is how much sweeps are
    taken to vary, assumed for one of the ``old_sweeps`` and corrected by more.

    >>> from calibrate import change
    >>> from measure import load_dataset
    >>> sweep = load_dataset("004-ssd-depth")
    >>> change(sweep, sweep).slower_by(0.3)
    False
    """

    series: str
    verdict: Verdict
    loads: tuple[LoadChange, ...]
    overall: Ratio
    idle_latency: LoadChange
    peak: LoadChange
    detectable_pct: float | None
    detectable_everywhere_pct: float | None
    next: Next | None
    noise_pct: float | None
    between_pct: float
    old_sweeps: int
    findings: tuple[Finding, ...]
    margin: float
    load_type: Load
    basis: str = ""
    """What the verdict rests on, where that is not what such sweeps are usually judged by."""
    computed: Mapping[Quantity, str] = field(default_factory=dict)
    """The figures of which some were not measured, and how they were computed."""

    def slower_by(self, limit: float) -> bool | None:
        """Whether it is slower by more than ``limit`` at any load or on average; None where that cannot be decided."""
        losses = [c.loss for c in self.loads]
        high = self.overall.high_pct
        losses.append((-math.inf if high is None else -high / 100, -self.overall.low_pct / 100))
        if any(least > limit for least, _ in losses):
            return True
        return None if any(most > limit for _, most in losses[:-1]) else False

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        judged = ("series", "verdict", "detectable_pct", "detectable_everywhere_pct")
        noise = ("noise_pct", "between_pct", "old_sweeps")
        figures = {"idle_latency": self.idle_latency, "peak": self.peak}
        return {
            **{name: getattr(self, name) for name in (*judged, *noise)},
            "loads": [_flat(c) for c in self.loads],
            "overall": asdict(self.overall),
            "next": None if self.next is None else asdict(self.next),
            **{name: _flat(c) for name, c in figures.items()},
            "basis": self.basis,
            "computed": dict(self.computed),
            "audit": [f.to_dict() for f in self.findings],
        }

    def to_frame(self) -> pd.DataFrame:
        """A row for each load."""
        return pd.DataFrame([_flat(c) for c in self.loads])

    def plot(self) -> Figure:
        """The change at each load with its interval."""
        from calibrate.report.plots import change_figure

        return change_figure(self)

    def __repr__(self) -> str:
        from calibrate.changes.change_answer import short_text

        return short_text(self)


def _flat(change: LoadChange) -> dict[str, Any]:
    values = {name: getattr(change, name) for name in ("load", "quantity", "old", "new")}
    return {**values, **asdict(change.ratio), "detectable_pct": change.detectable_pct}


def change(
    old: Sweep | Sequence[Sweep],
    new: Sweep,
    *,
    series: str | None = None,
    at: Sequence[float] = (),
    margin: float = MARGIN,
    level: float = LEVEL,
) -> Change:
    """The change from ``old`` to ``new``; ``series`` names the curve where there are several.

    Several sweeps of the old state measure what moves between sweeps. ``at`` are the loads to judge; without it all
    common ones. Raises DataError for loads of different kinds, no common load, or none at which all measured the same
    figure.

    >>> from calibrate import change
    >>> from measure import load_dataset
    >>> sweep = load_dataset("004-ssd-depth")
    >>> change(sweep, sweep).verdict  # of single runs, each of which another run may miss by some percent
    'undecided'
    """
    every = [*([old] if isinstance(old, Sweep) else old), new]
    if len(every) < 2:
        raise DataError("no sweep of the old state; give one or more")
    points = [points_of(sweep, series) for sweep in every]
    first, last = points[0], points[-1]
    for one in points:
        if one.load_type.kind != last.load_type.kind:
            raise DataError(f"{one.series} and {last.series} vary different loads; compare sweeps of one kind")
        thinking = sorted((one.load_type.thinking_s, last.load_type.thinking_s))
        if thinking[0] < (1 - UNLIKE_THINKING) * thinking[1]:
            times = " and ".join(format_duration(time) for time in thinking)
            raise DataError(f"think times of {times} are different loads; compare sweeps of one kind")
    findings = [f for sweep, one in zip(every, points, strict=True) for f in _warnings(sweep, one.series)]
    curves = [_without_copies(s.select(p.series), findings) for s, p in zip(every, points, strict=True)]
    column, common, lone = _common(points, curves)
    loads, left_out = _chosen(first.load_type, common, at)
    if len(lone) and not at:
        left_out = f"{first.load_type.where(lone)} left out, as not in all sweeps"
    judged, loads, basis = _judged(first.load_type, first.series, loads, [_measured(s, column, loads) for s in curves])
    *earlier, later = [_runs(s, column, loads) for s in curves]
    earlier, copied = _measured_apart(earlier)
    beyond: list[float] = []
    if SPEED in judged:
        *earlier, later = _with_speeds([*earlier, later])
        beyond = loads[_beyond_reach(earlier, later)].tolist()
    adjacent = any(_adjacent(s, column) for s in curves)
    larger = f"at {first.load_type.where(beyond)} {_OVER}" if beyond else ""
    words = [left_out, basis, larger, copied, _ADJACENT if adjacent else ""]
    expected = [expected_between_runs(s.provenance.details, p) for s, p in zip(every, points, strict=True)]
    made = changed(
        first.series,
        first.load_type,
        loads,
        earlier,
        later,
        tuple(dict.fromkeys(findings)),
        margin,
        level,
        float(np.sqrt(np.mean(np.square(expected)))),
        judged,
        adjacent=adjacent,
    )
    computed = _computed([_at(s, column, loads) for s in curves])
    return replace(made, basis="; ".join(filter(None, words)), computed=computed)


_BY_SPEED = "SPEED is the throughput against that of the old sweep with as many requests outstanding"
_OVER = f"the new sweep has more than {REACH:g} times the old one's most outstanding, and may have lost more than shown"
_ADJACENT = "the repeats of a load stand together, as if measured one after another, and count as one run"


def changed(
    series: str,
    kind: Load,
    loads: Array,
    old: Sequence[Runs],
    new: Runs,
    findings: Sequence[Finding] = (),
    margin: float = MARGIN,
    level: float = LEVEL,
    between: float = LOCAL,
    judged: Sequence[Quantity] = (),
    *,
    adjacent: bool = False,
    inject: bool = True,
) -> Change:
    """The change from the runs at the common ``loads`` (m,), ascending: tables (rounds, m), NaN for none.

    ``between`` is the relative standard deviation between sweeps that is assumed; ``judged`` are the figures that the
    verdict rests on, by default those of the kind of load; ``adjacent`` says that repeats were measured one after
    another. ``inject`` is whether to find what would have been seen, which takes most of the time.
    """
    judged = judged or usual(kind)
    sweeps = [*old, new]
    means = {q: np.array([_mean(sweep["throughput"], sweep[q]) for sweep in sweeps]) for q in new}
    before = {q: _middle(values[:-1]) for q, values in means.items()}
    logs = {q: np.log(values[-1] / before[q]) for q, values in means.items()}
    judge = partial(noise_of, assumed=between, doubted=_doubted(findings, loads), adjacent=adjacent)
    runs = {q: [np.log(sweep[q]) for sweep in sweeps] for q in new}
    by = {q: SPEED if SPEED in judged else q for q in new}
    noises = {q: judge(runs[q][:-1], runs[q][-1]) for q in set(by.values())}
    tail = (1 - level) / 4  # half of it for the mean, on both sides
    tail_each = tail / (len(loads) * len(judged))
    widths = {q: noises[of].half_widths(tail_each) for q, of in by.items()}
    unseen = np.full(len(loads), np.inf), math.inf
    seen = {
        q: losses_seen(judge, noises[q], runs[q][:-1], runs[q][-1], tail_each, tail) if inject else unseen
        for q in judged
    }

    def one(quantity: Quantity, old_place: int, new_place: int) -> LoadChange:
        shown: Quantity = "response time" if quantity == SPEED else quantity
        log = math.log(means[quantity][-1][new_place] / before[quantity][old_place])
        half = float(max(widths[quantity][old_place], widths[quantity][new_place]))
        values = float(before[shown][old_place]), float(means[shown][-1][new_place])
        return LoadChange(float(loads[old_place]), quantity, *values, Ratio.of(log, half))

    changes = tuple(
        replace(one(q, i, i), detectable_pct=percent_of(seen[q][0][i])) for q in judged for i in range(len(loads))
    )
    first, everywhere = noises[judged[0]], percent_of(seen[judged[0]][1])
    run = float(np.median(first.run))
    mean = float(logs[judged[0]] @ first.weights())
    overall = Ratio.of(-mean if judged[0] == "response time" else mean, float(first.of_mean(tail)))
    peaks = [first_highest(rates) for rates in (before["throughput"], means["throughput"][-1])]
    idle = len(loads) - 1 if isinstance(kind, InjectedDelay) else 0
    shown = [c.detectable_pct for c in changes]
    least = None if None in shown else max(value for value in shown if value is not None)
    hidden = (least is None or least > 100 * margin) and not all(c.speed for c in changes)
    repeats = float(np.isfinite(new["throughput"]).sum() / len(loads))
    return Change(
        series,
        _verdict([*(c.speed for c in changes), overall.moved], changes, margin),
        changes,
        overall,
        one(SPEED if SPEED in judged else "response time", idle, idle),
        one("throughput", *peaks),
        least,
        everywhere,
        next_measurement(first, repeats, tail_each, margin) if inject and hidden else None,
        100 * math.sqrt(run) if math.isfinite(run) else None,
        100 * math.sqrt(float(first.of_sweeps(np.zeros(1), first.spread_of_mean)[0])),
        len(old),
        tuple(findings),
        margin,
        kind,
    )


def _doubted(findings: Sequence[Finding], loads: Array) -> Mask:
    """The loads (m,) that doubtful findings concern."""
    found = np.zeros(len(loads), dtype=bool)
    for finding in findings:
        if finding.check in DOUBTFUL:
            found |= finding.load is None or np.isclose(loads, finding.load, rtol=SAME_LOAD, atol=0)
    return found


def _without_copies(sweep: Sweep, findings: Sequence[Finding]) -> Sweep:
    """The sweep with one of each copied row, where the audit found that its rows were copied."""
    series = set(sweep.points["series"])
    if not any(f.check == "copies" and f.series in series for f in findings):
        return sweep
    return replace(sweep, points=sweep.points.drop_duplicates(["series", "load", *COLUMNS.values()]))


def _adjacent(sweep: Sweep, column: str) -> bool:
    """Whether every load's repeats stand together: in the order of their times, where all are known, else of rows."""
    points = sweep.points
    times = points["started_at"].fillna("")
    if (times != "").all() and times.is_unique:
        points = points.iloc[np.argsort(pd.to_datetime(times, format="ISO8601").to_numpy(), kind="stable")]
    loads = points[column].to_numpy(float)
    return len(loads) > len(set(loads)) == 1 + np.count_nonzero(np.diff(loads))


def _chosen(kind: Load, loads: Array, at: Sequence[float]) -> tuple[Array, str]:
    """The common loads that were asked for, and words on those left out."""
    if not at:
        return loads, ""
    wanted = _alike(loads, np.array(at, dtype=float))
    if unknown := [load for load, found in zip(at, wanted.T, strict=True) if not found.any()]:
        were = "was" if kind.are(*unknown) == "is" else "were"
        raise DataError(f"{kind.at(*unknown)} {were} not measured in all sweeps; they have {kind.at(*loads)} in common")
    kept = wanted.any(axis=1)
    return loads[kept], f"{kind.at(*loads[~kept])} left out, as asked" if not kept.all() else ""


def _warnings(sweep: Sweep, series: str) -> tuple[Finding, ...]:
    """Doubtful findings of the importer and the audit on a curve."""
    found = (*(f for f in sweep.findings if f.series in (None, series)), *audit(sweep, series))
    return tuple(dict.fromkeys(f for f in found if f.severity != "info"))


def usual(kind: Load) -> Sequence[Quantity]:
    """The figures that sweeps over such a load are judged by."""
    if isinstance(kind, ArrivalRate) or kind.thinking_s:
        return (SPEED,)
    if isinstance(kind, ThroughputLoad):
        return ("response time",)
    return ("throughput", "response time") if isinstance(kind, InjectedDelay) else ("throughput",)


def _measured(sweep: Sweep, column: str, loads: Array) -> Mapping[Quantity, Mask]:
    """For each figure, the common ``loads`` (m,) where every run of a sweep measured it."""
    here = _alike(sweep.points[column].to_numpy(float), loads)
    missing = {q: ~rows_to_judge(sweep.points, [c])[:, np.newaxis] for q, c in COLUMNS.items()}
    return {q: np.asarray(~(here & rows).any(axis=0)) for q, rows in missing.items()}


def _judged(
    kind: Load, series: str, loads: Array, sweeps: Sequence[Mapping[Quantity, Mask]]
) -> tuple[Sequence[Quantity], Array, str]:
    """The figures to judge by, the loads where all ``sweeps`` measured them, and words where they are not the usual."""
    wanted = usual(kind)
    known = {q: np.logical_and.reduce([measured[q] for measured in sweeps]) for q in COLUMNS}
    known[SPEED] = np.logical_and.reduce(list(known.values()))
    if wanted == ("throughput",) and known["response time"].sum() > known["throughput"].sum():
        wanted = ("response time",)
    kept = np.logical_and.reduce([known[q] for q in wanted])
    if not kept.any():
        raise NotMeasuredError(
            f"{series}: cannot be decided: of one sweep the throughput was computed, of the other the response time, "
            "so nothing was measured in both; measure both figures"
        )
    words = [] if wanted == usual(kind) else ["response times alone are compared: the throughput was computed"]
    words += [_BY_SPEED] if wanted == (SPEED,) else []
    words += [] if kept.all() else [f"{kind.at(*loads[~kept])} left out: not measured in all sweeps"]
    return wanted, loads[kept], "; ".join(words)


def _computed(points: Sequence[pd.DataFrame]) -> dict[Quantity, str]:
    """Why figures in the rows of the sweeps were not measured, by figure."""
    found: dict[Quantity, str] = {}
    for quantity, column in COLUMNS.items():
        origins = dict.fromkeys(o for rows in points for o in rows[ORIGIN[column]] if not can_judge(o))
        if origins:
            found[quantity] = ", ".join(map(reason_of, origins))
    return found


def _at(sweep: Sweep, column: str, loads: Array) -> pd.DataFrame:
    here = _alike(sweep.points[column].to_numpy(float), loads).any(axis=1)
    return sweep.points.iloc[np.flatnonzero(here)]


def _common(points: Sequence[Points], sweeps: Sequence[Sweep]) -> tuple[str, Array, list[float]]:
    """The column of loads, the common ones (m,), ascending, and those that some sweeps lack.

    Rates are the requested ones, where all sweeps have them: the measured ones differ a little.
    """
    column = "load" if any(one.asked is None for one in points) else "asked_rate_per_s"
    loads, *others = (np.unique(sweep.points[column].to_numpy(float)) for sweep in sweeps)
    every = np.unique(np.concatenate([loads, *others]))
    for other in others:
        loads = loads[_alike(loads, other).any(axis=1)]
    if not len(loads):
        names = " and ".join(dict.fromkeys([points[0].series, points[-1].series]))
        raise DataError(f"{names} have no common load; measure both at the same ones")
    return column, loads, every[~_alike(every, loads).any(axis=1)].tolist()


def _alike(values: Array, others: Array) -> Mask:
    return np.isclose(values[:, None], others[None, :], rtol=SAME_LOAD, atol=0)


def _runs(sweep: Sweep, column: str, loads: Array) -> Runs:
    """The runs at each of ``loads``: a row a round, NaN where one is missing."""
    points = sweep.points.sort_values("repeat", kind="stable")
    of_load = _alike(points[column].to_numpy(float), loads).T
    rounds = int(of_load.sum(axis=1).max())
    found: dict[Quantity, Array] = {}
    for quantity, name in COLUMNS.items():
        table = np.full((rounds, len(loads)), np.nan)
        for place, here in enumerate(of_load):
            table[: here.sum(), place] = points[name].to_numpy(float)[here]
        found[quantity] = table
    return found


def _with_speeds(sweeps: Sequence[Runs]) -> list[Runs]:
    """The runs of the sweeps, of which the last is new, with their speeds."""
    speeds = speeds_of([runs["throughput"] for runs in sweeps], [runs["response time"] for runs in sweeps])
    return [{**runs, SPEED: speed} for runs, speed in zip(sweeps, speeds, strict=True)]


def _beyond_reach(old: Sequence[Runs], new: Runs) -> Mask:
    """The loads (m,) where more were outstanding in the new sweep than the old ones' curve reaches."""
    outstanding = [
        _mean(r["throughput"], r["response time"]) * np.nanmean(r["throughput"], axis=0) for r in (*old, new)
    ]
    return np.asarray(outstanding[-1] > REACH * _middle(np.array(outstanding[:-1])).max())


def _measured_apart(sweeps: Sequence[Runs]) -> tuple[list[Runs], str]:
    """The sweeps that are no copies of others, and words on those that are: a copy says nothing of the variation."""
    kept = {b"".join(runs[q].tobytes() for q in COLUMNS): runs for runs in sweeps}
    copies = len(sweeps) - len(kept)
    return list(kept.values()), f"{counted(copies, 'old sweep')} left out as a copy of another" if copies else ""


def _mean(rates: Array, values: Array) -> Array:
    """The means (m,) of runs; response times are weighted by the requests completed, so that N = X R holds."""
    mean = np.nanmean(rates, axis=0)
    return np.asarray(mean if values is rates else np.nanmean(rates * values, axis=0) / mean)


def _middle(sweeps: Array) -> Array:
    """The geometric means (m,) of ``sweeps`` (k, m); one sweep stays as it is, to the last digit."""
    return np.asarray(sweeps[0] if len(sweeps) == 1 else np.exp(np.log(sweeps).mean(axis=0)))


def _verdict(speeds: Sequence[int], changes: Sequence[LoadChange], margin: float) -> Verdict:
    if min(speeds) < 0:
        return "slower"
    if max(speeds) > 0:
        return "faster"
    within = all(max(-least, most) <= margin for least, most in (c.loss for c in changes))
    return "same" if within else "undecided"
