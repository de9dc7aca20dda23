"""Whether a run was steady: its throughput over time, judged by SNIA's definition.

A run is cut into five rounds of equal length, and is steady where

- the range of the rounds' throughputs is at most 20 % of their mean, and
- the straight line fitted to them changes by at most 10 % of it from the first round to the last.

Source: SNIA, Solid State Storage Performance Test Specification 2.0.2 (2020), 2.1.24, whose measurement window is
five rounds. SNIA's rounds take a minute each; here a round is a fifth of the run.

Noise alone can exceed both limits, so a change is called a trend only where it stands out from the scatter of the
intervals, corrected for their autocorrelation.

A device that is held to a rate serves in bursts: Linux's cgroups let the requests of each tenth of a second pass at
once. How many bursts fall into a short run depends on where it begins and ends, so its count is off by up to one.
``rate_in_bursts`` is the slope of the straight line through the requests completed over time, where the ends of the
run hardly count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.findings import Finding
from measure.loads import Load
from measure.repeats import each_series

GAP = 1.5
"""Lengths of an interval between two lines of a log from which one without a request lies between them."""
_LINE = re.compile(r"^(\d{1,15}), ?(\d{1,15}), ?\d")


@dataclass(frozen=True)
class Intervals:
    """The throughput of a run by interval: ends of intervals in seconds since the start, and requests a second."""

    end_s: tuple[float, ...] = ()
    throughput_per_s: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.end_s)

    def to_dict(self) -> dict[str, list[float]]:
        """JSON-ready."""
        return {"end_s": list(self.end_s), "throughput_per_s": list(self.throughput_per_s)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Intervals:
        """The inverse of ``to_dict``."""
        return cls(tuple(map(float, values["end_s"])), tuple(map(float, values["throughput_per_s"])))

    def completed(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Requests completed up to each of ``times_s`` (m,), spread evenly within an interval."""
        edges = np.concatenate([[0.0], self.end_s])
        counts = np.concatenate([[0.0], np.cumsum(np.diff(edges) * np.array(self.throughput_per_s))])
        return np.asarray(np.interp(times_s, edges, counts), float)

    def in_fewer(self, most: int) -> Intervals:
        """The same requests in ``most`` intervals of equal length, where there are more."""
        if len(self) <= most:
            return self
        ends = np.linspace(0.0, self.end_s[-1], most + 1)
        rates = np.diff(self.completed(ends)) / np.diff(ends)
        return Intervals(tuple(ends[1:].tolist()), tuple(rates.tolist()))


def read_interval_logs(texts: Iterable[str], each_s: float = math.inf) -> Intervals:
    """The throughput of all jobs together while all of them ran, from the text of each job's ``_iops`` log.

    A line is the time in ms, the requests a second of an interval, and the direction; reads and writes are added. fio
    writes no line for an interval without a request: ``each_s`` is the length of an interval, seconds. Before its first
    line a log says nothing (after a ramp fio may begin it late), so time starts there. Invalid lines are left out, such
    as the last one of a run that was stopped.
    """
    known = [job for text in texts if len(job := _one_job(text, each_s))]
    if not known:
        return Intervals()
    begin, end = max(_first_line_s(job) for job in known), min(job.end_s[-1] for job in known)
    longest = max(known, key=len)
    times = np.array([t for t in longest.end_s if begin < t <= end] or [end])
    counts = np.sum([job.completed(times) - job.completed(np.array([begin])) for job in known], axis=0)
    lengths = np.diff(times, prepend=begin)
    return Intervals(tuple((times - begin).tolist()), tuple((np.diff(counts, prepend=0.0) / lengths).tolist()))


def _first_line_s(job: Intervals) -> float:
    """Where the interval of a log's first line begins, seconds."""
    before = next((n for n, rate in enumerate(job.throughput_per_s) if rate), 0)
    return job.end_s[before - 1] if before else 0.0


def _one_job(text: str, each_s: float) -> Intervals:
    rates: dict[float, float] = {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            time_s = float(match[1]) / 1e3
            rates[time_s] = rates.get(time_s, 0.0) + float(match[2])
    ends = sorted(t for t in rates if t > 0)
    empty = [now - each_s for before, now in pairwise((0.0, *ends)) if now - before > GAP * each_s]
    every = sorted([*ends, *empty])
    return Intervals(tuple(every), tuple(rates.get(t, 0.0) for t in every))


ROUNDS = 5
MOST_RANGE = 0.20
MOST_SLOPE = 0.10
STANDS_OUT = 3.0
"""Standard errors by which a change must differ from none to be called a trend."""
STEP_STANDS_OUT = 5.0
"""The same for a sudden change: higher, as its place is the best of many, for the same rate of false alarms."""

MOST_ALIKE, ROUNDING, STEP_EDGE = 0.9, 1e-9, 0.25
"""The largest autocorrelation of the scatter, the scatter (in means) that is rounding, the ends without a step."""

FEWEST_INTERVALS, JUDGED_INTERVALS = 10, 25
COLUMNS = ("steady", "throughput_range", "throughput_change", "throughput_trend")


@dataclass(frozen=True)
class SteadyState:
    """How steady a run was; range and change are shares of its mean throughput.

    ``throughput_range`` is that of the five rounds, ``throughput_change`` (signed) that of the line through them,
    ``throughput_trend`` whether the change is more than scatter.
    """

    throughput_range: float
    throughput_change: float
    throughput_trend: bool

    @property
    def steady(self) -> bool:
        """Whether the run was steady by SNIA's definition."""
        return self.throughput_range <= MOST_RANGE and abs(self.throughput_change) <= MOST_SLOPE


def judge(intervals: Intervals) -> SteadyState | None:
    """How steady a run was; None for fewer than ``FEWEST_INTERVALS`` intervals, or where nothing completed."""
    rates = np.array(intervals.throughput_per_s)
    if len(rates) < FEWEST_INTERVALS or not rates.sum() > 0:
        return None
    rounds = np.diff(intervals.completed(np.linspace(0.0, intervals.end_s[-1], ROUNDS + 1)))
    mean = float(rounds.mean())
    change = float(np.polyfit(np.arange(ROUNDS), rounds, 1)[0]) * (ROUNDS - 1) / mean
    return SteadyState(float(np.ptp(rounds)) / mean, change, _is_trend(rates))


def _is_trend(rates: NDArray[np.float64]) -> bool:
    """Whether the run rises or falls, slowly or at once, by more than its scatter explains.

    A line misses a sudden change: its residuals around a step are correlated, and look like scatter.
    """
    x = np.arange(len(rates)) - (len(rates) - 1) / 2
    slope = float(x @ rates) / float(x @ x)
    if _stands_out(slope, 1 / float(x @ x), rates - rates.mean() - slope * x, rates.mean(), STANDS_OUT):
        return True
    least = int(STEP_EDGE * len(rates))
    steps = [_step(rates, at) for at in range(least, len(rates) - least + 1)]
    change, variance, left = min(steps, key=lambda step: float(step[2] @ step[2]))
    return _stands_out(change, variance, left, rates.mean(), STEP_STANDS_OUT)


def _step(rates: NDArray[np.float64], at: int) -> tuple[float, float, NDArray[np.float64]]:
    """A change of the mean at an interval: its height, the height's variance in units of the scatter's, residuals."""
    before, after = rates[:at], rates[at:]
    left = np.concatenate([before - before.mean(), after - after.mean()])
    return float(after.mean() - before.mean()), 1 / len(before) + 1 / len(after), left


def _stands_out(change: float, variance: float, left: NDArray[np.float64], mean: float, limit: float) -> bool:
    """Whether a change exceeds ``limit`` standard errors, from the residuals ``left`` and their autocorrelation."""
    square = float(left @ left)
    if square <= (ROUNDING * mean) ** 2 * len(left):
        return change != 0
    alike = min(max(float(left[1:] @ left[:-1]) / square, 0.0), MOST_ALIKE)
    return abs(change) > limit * math.sqrt(square / (len(left) - 2) * variance * (1 + alike) / (1 - alike))


BURST_SHARE = 0.005
"""The share of a run's requests that a burst must have to matter."""
REGULAR = 0.7
"""The range of requests ahead of their line, in standard deviations of an interval times the root of their number, up
to which bursts are regular: independent intervals stay below in 3 of 100 runs."""
COMPLETE = 0.1
"""The share of a run's requests that its log may lack."""


def rate_in_bursts(intervals: Intervals, requests: float) -> float | None:
    """Requests a second of a run of ``requests`` that were served in regular bursts; None where they were not.

    The slope of the line through the requests completed over time, by least squares.

    >>> held = Intervals(tuple(0.05 * n for n in range(1, 32)), (0.0, *(400.0, 0.0) * 15))  # 20 in each tenth
    >>> round(rate_in_bursts(held, 300)), rate_in_bursts(Intervals((1.0, 2.0), (50.0, 50.0)), 100)
    (200, None)
    """
    if len(intervals) < FEWEST_INTERVALS:
        return None
    ends = np.array(intervals.end_s)
    whole_s, edges = ends[-1], np.append(0.0, ends)
    done = intervals.completed(edges)
    each = np.diff(intervals.completed(np.linspace(0.0, whole_s, len(ends) + 1)))
    if abs(done[-1] - requests) > COMPLETE * requests or each.var() < BURST_SHARE * requests * each.mean():
        return None
    if np.ptp(done - done[-1] * edges / whole_s) > REGULAR * math.sqrt(len(each)) * each.std():
        return None
    middle = whole_s / 2
    weights = np.diff(middle**2 * (edges - middle) - (edges - middle) ** 3 / 3)
    return float(weights @ intervals.throughput_per_s / weights.sum())


def noted_columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The steady-state columns of a stored point; none where its record holds no intervals.

    Arrivals at a given rate are not judged: they set the throughput, whatever the device does.
    """
    intervals = record.get("intervals")
    if not intervals or record["request"].get("arrival_rate_per_s") is not None:
        return {}
    found = judge(Intervals.from_dict(intervals).in_fewer(JUDGED_INTERVALS))
    return {} if found is None else {name: float(getattr(found, name)) for name in COLUMNS}


def check_steady(points: pd.DataFrame, load: Load) -> Iterator[Finding]:
    """Findings on the runs of a table with the columns of ``SteadyState``: one for each curve and cause."""
    for series, group in each_series(points):
        unsteady, trend = group["steady"] == 0, group["throughput_trend"] == 1
        for drifted, runs in ((True, group[unsteady & trend]), (False, group[unsteady & ~trend])):
            if len(runs):
                yield _not_steady(series, runs, len(group), load, drifted=drifted)


def _not_steady(series: str, runs: pd.DataFrame, of: int, load: Load, *, drifted: bool) -> Finding:
    worst = runs.iloc[int(np.argmax(runs["throughput_change" if drifted else "throughput_range"].abs()))]
    cause = "other programs on this machine or on a shared device, or too few requests in a round."
    if drifted and (runs["read_fraction"] == 1).all():
        cause = "other programs on this machine or on a shared device, or throttling."
    elif drifted:
        cause = "a write cache that fills, throttling, or a file that was not preconditioned."
    return Finding(
        "drift-within-run" if drifted else "unsteady",
        "warning" if drifted else "info",
        f"{len(runs)} of {of} runs {'was' if len(runs) == 1 else 'were'} not steady by SNIA's definition, "
        f"{'and drifted' if drifted else 'by noise and not by a trend'}; at {load.at(worst['load'])} the throughput of "
        f"five rounds ranges over {100 * worst['throughput_range']:.0f} % of its mean (SNIA allows "
        f"{100 * MOST_RANGE:.0f} %) and changes by {100 * worst['throughput_change']:+.0f} % "
        f"({100 * MOST_SLOPE:.0f} %).",
        cause,
        "measure longer (--runtime) or more often (--repeats).",
        series,
        float(worst["load"]),
    )
