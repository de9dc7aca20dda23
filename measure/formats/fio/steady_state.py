"""Whether a run was steady: its throughput over time, judged by SNIA's definition.

A run is cut into five rounds of equal length, and is steady where

- the range of the rounds' throughputs is at most 20 % of their mean, and
- the straight line fitted to them changes by at most 10 % of it from the first round to the last.

Source: SNIA, Solid State Storage Performance Test Specification 2.0.2 (2020), 2.1.24, whose measurement window is
five rounds. SNIA's rounds take a minute each; here a round is a fifth of the run.

Noise alone can exceed both limits, so a change is called a trend only where it stands out from the scatter of the
intervals, corrected for their autocorrelation.

A device that is held to a rate serves in bursts: Linux's cgroups let the requests of each tenth of a second pass at
once. A run begins and ends with a completion, hence within a burst, so its count holds up to one burst more than its
time: 295 requests in 1.4 s of a device that is held to 200 a second. ``rate_in_bursts`` takes whole bursts over whole
periods.
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

LATE_S = 0.02
"""The time by which the thread that writes a log may be late, seconds: a longer gap has intervals without a request."""
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

    fio writes no line for an interval without a request: ``each_s`` is the length of an interval, seconds. Before its
    first line a log says nothing (after a ramp fio may begin it late), so time starts there.
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
    empty = [now - each_s for before, now in pairwise((0.0, *ends)) if now - before > each_s + LATE_S]
    every = sorted([*ends, *empty])
    return Intervals(tuple(every), tuple(rates.get(t, 0.0) for t in every))


ROUNDS = 5
MOST_RANGE = 0.20
MOST_SLOPE = 0.10
STANDS_OUT = 3.0  # standard errors by which a change must differ from none to be called a trend
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


REGULAR, BY_CHANCE = 0.6, 0.03
"""The least coherence of regular bursts, and the share of runs with bursts at random times that pass for regular."""
FEWEST_BURSTS, STEPS = 3, 20
"""Bursts in a run that show a period; frequencies that are tried for each burst more in the run."""
ABOUT_AS_COHERENT, BELOW_OVERTONES = 0.8, 1.5
"""Bursts are about as coherent at the overtones of their frequency: the lowest with the first share of the largest
coherence is that of the bursts, and its peak lies below the second multiple of it."""


def rate_in_bursts(intervals: Intervals, sent: int, completed: int, runtime_s: float) -> float | None:
    """Requests a second of a run that was served in regular bursts; None where it was not.

    ``sent`` and ``completed`` requests are those of the whole run of ``runtime_s`` seconds; they differ by the requests
    in flight as it began. The log tells the period alone: its lines have the times of the bursts, but not their counts,
    where fio's thread was late. The run lasts a whole number of periods, its requests were sent in a whole number
    of bursts, and of the last burst completes what is left.

    >>> held = Intervals(tuple(0.05 * n for n in range(1, 29)), (400.0, 0.0) * 14)  # 20 in each tenth of a second
    >>> round(rate_in_bursts(held, 280, 295, 1.4)), rate_in_bursts(Intervals((1.0, 2.0), (50.0, 50.0)), 100, 100, 2.0)
    (200, None)
    """
    period_s = _period_s(intervals)
    if period_s is None or not sent:
        return None
    periods = max(1, round(runtime_s / period_s))
    bursts = math.ceil(periods * sent / completed)
    return sent / bursts * periods / runtime_s


def _period_s(intervals: Intervals) -> float | None:
    """The time from one burst to the next; None where requests do not come in regular bursts.

    A period is seen where the phases of the requests agree (the mean resultant length, Rayleigh 1919; Mardia and Jupp,
    Directional Statistics, 2000, 6.3.1) more than those of bursts at random times.
    """
    if len(intervals) < FEWEST_INTERVALS:
        return None
    ends, rates = np.array(intervals.end_s), np.array(intervals.throughput_per_s)
    requests, whole_s = rates * np.diff(ends, prepend=0.0), ends[-1]
    most_bursts = len(ends) / 2  # with an interval between two of them
    tried = np.arange(FEWEST_BURSTS, most_bursts, 1 / STEPS) / whole_s
    total = requests.sum()
    if not len(tried) or not total > 0:
        return None
    coherence = np.abs(np.exp(2j * np.pi * np.outer(tried, ends)) @ requests) / total
    lowest = tried[np.argmax(coherence >= ABOUT_AS_COHERENT * coherence.max())]
    best = int(np.argmax(coherence[tried < BELOW_OVERTONES * lowest]))
    intervals_used = total**2 / float(requests @ requests)  # if each of them had as many requests
    by_chance = math.sqrt(math.log(most_bursts / BY_CHANCE) / intervals_used)
    return float(1 / tried[best]) if coherence[best] >= max(REGULAR, by_chance) else None


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
    allowed = f"SNIA allows {100 * MOST_RANGE:.0f} % and {100 * MOST_SLOPE:.0f} %"
    message = (
        f"{len(runs)} of {of} runs {'was' if len(runs) == 1 else 'were'} not steady by SNIA's definition, "
        f"{'and drifted' if drifted else 'by noise and not by a trend'}; at {load.at(worst['load'])} the throughput of "
        f"five rounds ranges over {100 * worst['throughput_range']:.0f} % of its mean and changes by "
        f"{100 * worst['throughput_change']:+.0f} % ({allowed})."
    )
    check = "drift-within-run" if drifted else "unsteady"
    remedy = "measure longer (--runtime) or more often (--repeats)."
    return Finding(check, "warning" if drifted else "info", message, cause, remedy, series, float(worst["load"]))
