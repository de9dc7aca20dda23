"""Tests whether a device or a service changed between two sweeps, at every common load.

No model is fitted. A closed sweep is judged by its throughput (its response time is N / X), an open one, and a memory
over bandwidth, by its response time, a memory over a delay by both. Where the throughput of a closed sweep was computed
as N / R, comparing it is comparing response times, so these are compared, and the answer says so. The intervals of all
loads and that of their mean hold jointly at ``level``: half of the error probability is for the mean, half for the
loads, in equal parts (Bonferroni). The noise is that of :mod:`calibrate.changes.noise`.

*slower*: some interval lies below no change; *faster*: some above, none below; *same*: all lie within ``margin`` of no
change; *undecided*: none of these. Every verdict comes with the loss that would have been seen in nine cases of ten.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri

from calibrate.changes.noise import Noise, noise_of
from calibrate.inference.parameters import Array, Mask
from calibrate.points import LOCAL, Points, points_of
from measure.auditing.all_checks import audit
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import InjectedDelay, Load, ThroughputLoad
from measure.origin import ORIGIN, can_judge, reason_of, rows_to_judge
from measure.sweep import Sweep
from measure.ties import first_highest
from qsim.result import Result, shown_by

Verdict = Literal["slower", "faster", "same", "undecided"]
LEVEL = 0.95
MARGIN = 0.05
"""A change within this share counts as none."""
POWER = 0.9
"""The probability with which a loss "would have been seen"."""
DOUBTFUL = frozenset({"busy-machine", "drift", "drift-within-run", "outlier", "repeats-disagree", "unsteady"})
"""Findings on the runs or the machine that make repeats of one sweep agree too well."""
REPEATS, MOST_REPEATS = 3, 10
SAME_LOAD = 1e-3
"""Relative difference below which two loads are one."""
Quantity = Literal["throughput", "response time"]
Runs = Mapping[Quantity, Array]
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
    """The change at one load: ``quantity`` before and after, SI units."""

    load: float
    quantity: Quantity
    old: float
    new: float
    ratio: Ratio

    @property
    def speed(self) -> int:
        """1 where it is surely faster, -1 where it is surely slower, else 0."""
        return self.ratio.moved if self.quantity == "throughput" else -self.ratio.moved

    @property
    def loss(self) -> tuple[float, float]:
        """The least and the largest share by which it may be slower (negative: faster)."""
        ratio = self.ratio
        if self.quantity == "throughput":
            return (-math.inf if ratio.high_pct is None else -ratio.high_pct / 100), -ratio.low_pct / 100
        return ratio.low_pct / 100, math.inf if ratio.high_pct is None else ratio.high_pct / 100


@dataclass(frozen=True, repr=False)
class Change(Result):
    """The change of one curve. ``overall`` is the speed at all loads together: throughput, or 1 / response time.

    ``detectable_pct`` is the least loss at any single load that would have been seen (None: none), and
    ``detectable_everywhere_pct`` that at all loads. ``repeats`` is how often to measure each load for a loss of
    ``margin`` to be seen; None where more repeats are not enough.

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
    repeats: int | None
    noise_pct: float | None
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
        names = ("series", "verdict", "detectable_pct", "detectable_everywhere_pct", "repeats", "noise_pct")
        figures = {"idle_latency": self.idle_latency, "peak": self.peak}
        return {
            **{name: getattr(self, name) for name in names},
            "loads": [_flat(c) for c in self.loads],
            "overall": asdict(self.overall),
            **{name: _flat(c) for name, c in figures.items()},
            "basis": self.basis,
            "computed": dict(self.computed),
            "audit": [f.to_dict() for f in self.findings],
        }

    def to_frame(self) -> pd.DataFrame:
        """A row for each load."""
        return pd.DataFrame([_flat(c) for c in self.loads])

    def plot(self) -> Any:
        """A plotly Figure: the change at each load with its interval."""
        frame = self.to_frame()
        frame["above"], frame["below"] = frame["high_pct"] - frame["change_pct"], frame["change_pct"] - frame["low_pct"]
        return frame.plot(
            kind="scatter",
            x="load",
            y="change_pct",
            error_y="above",
            error_y_minus="below",
            color="quantity",
            log_x=bool((frame["load"] > 0).all()),
            labels={"change_pct": "change (%)", "load": self.load_type.name},
            backend="plotly",
        )

    __repr__ = shown_by("calibrate.changes.answer:short_text")


def _flat(change: LoadChange) -> dict[str, Any]:
    return {
        "load": change.load,
        "quantity": change.quantity,
        "old": change.old,
        "new": change.new,
        **asdict(change.ratio),
    }


def change(
    old: Sweep, new: Sweep, *, series: str | None = None, margin: float = MARGIN, level: float = LEVEL
) -> Change:
    """The change from ``old`` to ``new``; ``series`` names the curve where there are several.

    Raises DataError for loads of different kinds, no common load, or none at which both measured the same figure.

    >>> from calibrate import change
    >>> from measure import load_dataset
    >>> sweep = load_dataset("004-ssd-depth")
    >>> change(sweep, sweep).verdict  # of single runs, each of which another run may miss by some percent
    'undecided'
    """
    before, after = points_of(old, series), points_of(new, series)
    if before.load_type.kind != after.load_type.kind:
        raise DataError(f"{before.series} and {after.series} vary different loads; compare sweeps of one kind")
    findings = (*_warnings(old, before.series), *_warnings(new, after.series))
    one, other = old.select(before.series), new.select(after.series)
    column, loads = _common(before, after, one, other)
    judged, loads, basis = _judged(before.load_type, before.series, [_measured(s, column, loads) for s in (one, other)])
    earlier, later = _runs(one, column, loads), _runs(other, column, loads)
    between = math.hypot(before.between_runs, after.between_runs)
    made = changed(before.series, before.load_type, loads, earlier, later, findings, margin, level, between, judged)
    return replace(made, basis=basis, computed=_computed([_at(s, column, loads) for s in (one, other)]))


def changed(
    series: str,
    kind: Load,
    loads: Array,
    old: Runs,
    new: Runs,
    findings: Sequence[Finding] = (),
    margin: float = MARGIN,
    level: float = LEVEL,
    between: float = math.sqrt(2) * LOCAL,
    judged: Sequence[Quantity] = (),
) -> Change:
    """The change from the runs at the common ``loads`` (m,), ascending: tables (rounds, m), NaN for none.

    ``between`` is the standard deviation of a ratio between two sweeps, for those of single runs; ``judged`` are the
    figures that the verdict rests on, by default those of the kind of load.
    """
    judged = judged or usual(kind)
    wary = any(f.check in DOUBTFUL for f in findings)
    means = {q: [_mean(sweep["throughput"], sweep[q]) for sweep in (old, new)] for q in COLUMNS}
    logs = {q: np.log(later / earlier) for q, (earlier, later) in means.items()}
    noises = {q: noise_of(np.log(old[q]), np.log(new[q]), logs[q], wary=wary, between=between) for q in COLUMNS}
    tail = (1 - level) / 4  # half of it for the mean, on both sides
    tail_each = tail / (len(loads) * len(judged))
    widths = {q: noise.half_widths(tail_each) for q, noise in noises.items()}

    def one(quantity: Quantity, old_place: int, new_place: int) -> LoadChange:
        values = float(means[quantity][0][old_place]), float(means[quantity][1][new_place])
        half = float(max(widths[quantity][old_place], widths[quantity][new_place]))
        return LoadChange(float(loads[old_place]), quantity, *values, Ratio.of(math.log(values[1] / values[0]), half))

    changes = tuple(one(q, i, i) for q in judged for i in range(len(loads)))
    first = noises[judged[0]]
    mean = float(np.average(logs[judged[0]], weights=first.weights()))
    overall = Ratio.of(-mean if judged[0] == "response time" else mean, first.of_mean(tail))
    peaks = [first_highest(rates) for rates in means["throughput"]]
    idle = len(loads) - 1 if isinstance(kind, InjectedDelay) else 0
    return Change(
        series,
        _verdict([*(c.speed for c in changes), overall.moved], changes, margin),
        changes,
        overall,
        one("response time", idle, idle),
        one("throughput", *peaks),
        _seen(np.concatenate([widths[q] for q in judged]), tail_each),
        _seen(np.array([first.of_mean(tail)]), tail),
        _repeats_needed(first, float(np.isfinite(old["throughput"]).sum() / len(loads)), tail_each, margin),
        100 * first.run_sd if math.isfinite(first.run_sd) else None,
        tuple(findings),
        margin,
        kind,
    )


def _warnings(sweep: Sweep, series: str) -> tuple[Finding, ...]:
    """Doubtful findings of the importer and the audit on a curve."""
    found = (*(f for f in sweep.findings if f.series in (None, series)), *audit(sweep, series))
    return tuple(dict.fromkeys(f for f in found if f.severity != "info"))


def usual(kind: Load) -> Sequence[Quantity]:
    """The figures that sweeps over such a load are judged by."""
    if isinstance(kind, ThroughputLoad):
        return ("response time",)
    return ("throughput", "response time") if isinstance(kind, InjectedDelay) else ("throughput",)


@dataclass(frozen=True)
class _Measured:
    """``known`` says of each of the common ``loads`` (m,) whether all runs of a sweep measured that figure there."""

    loads: Array
    known: Mapping[Quantity, Mask]


def _measured(sweep: Sweep, column: str, loads: Array) -> _Measured:
    points = sweep.points
    here = _alike(points[column].to_numpy(float), loads)
    missing = {q: ~rows_to_judge(points, [c])[:, np.newaxis] for q, c in COLUMNS.items()}
    return _Measured(loads, {q: np.asarray(~(here & rows).any(axis=0)) for q, rows in missing.items()})


def _judged(kind: Load, series: str, sweeps: Sequence[_Measured]) -> tuple[Sequence[Quantity], Array, str]:
    """The figures to judge by, the loads at which both sweeps measured them, and words where these are not the usual.

    Raises NotMeasuredError where there is no such load.
    """
    loads, wanted = sweeps[0].loads, usual(kind)
    known = {q: np.logical_and.reduce([s.known[q] for s in sweeps]) for q in COLUMNS}
    if wanted == ("throughput",) and known["response time"].sum() > known["throughput"].sum():
        wanted = ("response time",)
    kept = np.logical_and.reduce([known[q] for q in wanted])
    if not kept.any():
        raise NotMeasuredError(
            f"{series}: cannot be decided: of one sweep the throughput was computed, of the other the response time, "
            "so nothing was measured in both; measure both figures"
        )
    words = [] if wanted == usual(kind) else ["response times alone are compared: the throughput was computed"]
    words += [] if kept.all() else [f"{kind.at(*loads[~kept])} left out: not measured in both"]
    return wanted, loads[kept], "; ".join(words)


def _computed(points: Sequence[pd.DataFrame]) -> dict[Quantity, str]:
    """Why figures in the rows of both sweeps were not measured, by figure."""
    found: dict[Quantity, str] = {}
    for quantity, column in COLUMNS.items():
        origins = dict.fromkeys(o for rows in points for o in rows[ORIGIN[column]] if not can_judge(o))
        if origins:
            found[quantity] = ", ".join(map(reason_of, origins))
    return found


def _at(sweep: Sweep, column: str, loads: Array) -> pd.DataFrame:
    here = _alike(sweep.points[column].to_numpy(float), loads).any(axis=1)
    return sweep.points.iloc[np.flatnonzero(here)]


def _common(before: Points, after: Points, *sweeps: Sweep) -> tuple[str, Array]:
    """The column of loads, and the common ones (m,), ascending.

    Rates are the requested ones, where both sweeps have them: the measured ones differ a little.
    """
    column = "load" if before.asked is None or after.asked is None else "asked_rate_per_s"
    old, new = (np.unique(sweep.points[column].to_numpy(float)) for sweep in sweeps)
    loads = old[_alike(old, new).any(axis=1)]
    if not len(loads):
        raise DataError(f"{before.series} and {after.series} have no common load; measure both at the same ones")
    return column, loads


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


def _mean(rates: Array, values: Array) -> Array:
    """The means (m,) of runs; response times are weighted by the requests completed, so that N = X R holds."""
    mean = np.nanmean(rates, axis=0)
    return np.asarray(mean if values is rates else np.nanmean(rates * values, axis=0) / mean)


def _verdict(speeds: Sequence[int], changes: Sequence[LoadChange], margin: float) -> Verdict:
    if min(speeds) < 0:
        return "slower"
    if max(speeds) > 0:
        return "faster"
    within = all(max(-least, most) <= margin for least, most in (c.loss for c in changes))
    return "same" if within else "undecided"


def _seen(half: Array, tail: float) -> float | None:
    """The loss in percent that an interval of this ``half`` width misses in 1 - ``POWER`` of cases; None for none."""
    log = float(np.max(half)) * (1 + ndtri(POWER) / -ndtri(tail))
    return -100 * math.expm1(-log) if math.isfinite(log) else None


def _repeats_needed(noise: Noise, repeats: float, tail: float, margin: float) -> int | None:
    """How often to measure each load in both sweeps for a loss of ``margin`` at one load to be seen."""
    if not math.isfinite(noise.run_sd):
        return REPEATS
    for often in range(2, MOST_REPEATS + 1):
        seen = _seen(noise.with_repeats(repeats, often).half_widths(tail), tail)
        if seen is not None and seen <= 100 * margin:
            return often
    return None
