"""Tails at every depth: percentiles of the response time from the histogram at depth 1 and a structure of queues.

A device is taken as c servers whose service times are those of the requests that were alone (the histogram at depth
1, played back), before one queue or with a queue each that requests join at random, and perhaps a part of every request
that keeps no server busy (the host, the link), a constant. A closed network of that kind is simulated at each depth by
the compiled engine. How many servers, which queues and which constant is what the calibrated depths decide, by the mean
and the percentiles that were seen there: each structure counts by how well it does (weights of a normal likelihood
whose standard deviation is ``MISFIT``, which even a right structure has). The prediction is the mean of the logarithms.

What the best structures still miss at the calibrated depths is corrected there, and between them in proportion to the
logarithm of the depth, as real devices are slower or faster when busy. So a percentile seen at a deep depth is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from calibrate.comparison import Comparison
from calibrate.posterior import Array
from calibrate.service.times import of_histogram
from measure.dataset import Sweep
from measure.errors import DataError
from measure.fio_output import histograms
from measure.latency_bins import Histogram
from qsim import Closed, Delay, Deterministic, Distribution, Empirical, Metrics, Station, simulate

QUANTILES: Mapping[str, float] = {"p50_s": 0.5, "p95_s": 0.95, "p99_s": 0.99, "p999_s": 0.999}
CUSTOMERS = 60_000
MISFIT = 0.06
"""Relative error of a percentile that a structure which is right for all purposes has."""
DRIFT = 0.05
"""Relative error that comes on top with each doubling of the depth away from a calibrated one."""
KEPT = 6
MOST_SERVERS = 512
_AROUND = (0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
_Z90 = 1.645


@dataclass(frozen=True)
class Structure:
    """``servers`` before one queue ("shared") or with a queue each ("random"), after a constant ``delay_s``."""

    servers: int
    queues: Literal["shared", "random"]
    delay_s: float

    @property
    def label(self) -> str:
        """In words."""
        if self.servers == 1:
            return "one server"
        return f"{self.servers} servers, {'one queue' if self.queues == 'shared' else 'a queue each'}"


Seen: TypeAlias = Mapping[float, tuple[float, Array | None]]
"""At each calibrated depth: the mean response time, and the percentiles where there is a histogram."""
Run: TypeAlias = Callable[[Structure, float], tuple[float, Array]]


@dataclass(frozen=True)
class TailPoint:
    """The tails at one load: observed, predicted, the ends of 90 % intervals, by the names of ``QUANTILES``."""

    load: float
    held_out: bool
    observed: Mapping[str, float]
    predicted: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]

    @property
    def residual_pct(self) -> dict[str, float]:
        """100 (predicted / observed - 1)."""
        return {name: 100 * (self.predicted[name] / seen - 1) for name, seen in self.observed.items()}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "residual_pct": self.residual_pct}


@dataclass(frozen=True)
class Tails:
    """Predicted and observed tails of one curve, and the structures they were predicted with: the likeliest first."""

    points: tuple[TailPoint, ...]
    structures: tuple[tuple[Structure, float], ...]

    @property
    def structure(self) -> Structure:
        """The likeliest structure."""
        return self.structures[0][0]

    def median_error_pct(self, quantile: str = "p99_s", *, held_out: bool = True) -> float | None:
        """The median absolute residual of one percentile over the held-out loads (or all); None without any."""
        errors = [
            abs(p.residual_pct[quantile]) for p in self.points
            if quantile in p.observed and (p.held_out or not held_out)
        ]  # fmt: skip
        return float(np.median(errors)) if errors else None

    def sentence(self) -> str:
        """The outcome in words."""
        error = self.median_error_pct()
        missed = "" if error is None else f"; p99 is missed by {error:.2g} % (median of the held-out depths)"
        share = self.structures[0][1]
        return f"Tails as of {self.structure.label} ({100 * share:.0f} % of the weight){missed}."

    def to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: one entry a load."""
        return [p.to_dict() for p in self.points]

    def structures_to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: each structure with its weight, the likeliest first."""
        return [{**asdict(structure), "weight": weight} for structure, weight in self.structures]


def predict_tails(
    seen_at: Mapping[float, Histogram],
    used: Mapping[float, float],
    at: Sequence[float],
    *,
    customers: int = CUSTOMERS,
    seed: int = 0,
) -> Tails:
    """The tails at the depths ``at`` from those in ``used``, {depth: mean response time in seconds}.

    ``seen_at`` {depth: histogram} are calibrated on at the depths in ``used`` and compared with at all others; that
    of the smallest used depth, which must be 1, is the law of service. Raises DataError where it is missing, or where
    no deeper depth was used, so that nothing tells how many requests are served at once.
    """
    if 1 not in used or 1 not in seen_at:
        raise DataError(
            "tails need the histogram at depth 1 among the points calibrated on; measure depth 1 with json+ (qsim "
            "measure fio does) and calibrate on it: --use 1,32"
        )
    deep = sorted(n for n in used if n > 1)
    if not deep:
        raise DataError("tails need a deep point to count the servers by; calibrate on one as well: --use 1,32")
    alone = seen_at[1]
    simulated: dict[tuple[Structure, float], tuple[float, Array]] = {}

    def run(structure: Structure, depth: float) -> tuple[float, Array]:
        if (structure, depth) not in simulated:
            simulated[structure, depth] = _simulated(alone, structure, depth, customers, seed)
        return simulated[structure, depth]

    seen: Seen = {n: (used[n], _observed(seen_at[n]) if n in seen_at else None) for n in deep}
    candidates = _candidates(alone, deep[-1], used[deep[-1]])
    misfits = np.array([_misfit(run, c, seen) for c in candidates])
    order = np.argsort(misfits)[:KEPT]
    weights = np.exp(-(misfits[order] - misfits[order[0]]) / 2)
    structures = tuple((candidates[i], float(w)) for i, w in zip(order, weights / weights.sum(), strict=True))
    points = []
    for depth in at:
        centre, spread = _blended(run, structures, depth, seen)
        predicted, half = np.exp(centre), np.exp(_Z90 * spread)
        names = list(QUANTILES)
        told = _observed(seen_at[depth]) if depth in seen_at else None
        points.append(TailPoint(
            float(depth), depth not in used,
            {} if told is None else dict(zip(names, map(float, told), strict=True)),
            *(dict(zip(names, map(float, v), strict=True)) for v in (predicted, predicted / half, predicted * half)),
        ))  # fmt: skip
    return Tails(tuple(points), structures)


def _candidates(alone: Histogram, deepest: float, response_s: float) -> list[Structure]:
    """Structures whose number of servers is near what the deepest point asks for."""
    shortest = float(alone.lower_s[0])
    found = []
    for delay in (0.0, 0.5 * shortest, 0.9 * shortest):
        about = deepest * (alone.mean_s - delay) / response_s  # servers busy on average
        counts = {min(max(round(about * share + extra), 1), MOST_SERVERS) for share in _AROUND for extra in (0, 1)}
        found += [Structure(c, "random", delay) for c in counts]
        found += [Structure(c, "shared", delay) for c in counts if c > 1 and c <= 1.6 * about + 1]
    return found


def _misfit(run: Run, structure: Structure, seen: Seen) -> float:
    """The sum of squares of what the structure misses at the calibrated depths, in units of MISFIT."""
    total = 0.0
    for depth, (mean, quantiles) in seen.items():
        simulated_mean, simulated = run(structure, depth)
        total += (math.log(simulated_mean / mean) / MISFIT) ** 2
        if quantiles is not None:
            total += float(np.sum((np.log(simulated / quantiles)[:3] / MISFIT) ** 2)) / 2  # they go together
    return total


def _blended(
    run: Run, structures: Sequence[tuple[Structure, float]], depth: float,
    seen: Seen,
) -> tuple[Array, Array]:  # fmt: skip
    """The mean of the structures' log percentiles at a depth, corrected, and its standard error."""
    logs = np.array([np.log(run(s, depth)[1]) + _correction(run, s, depth, seen) for s, _ in structures])
    weights = np.array([w for _, w in structures])
    centre = weights @ logs
    known = np.log2([1.0, *seen])
    away = float(np.min(np.abs(known - math.log2(depth))))
    between = weights @ (logs - centre) ** 2
    return centre, np.sqrt(between + MISFIT**2 / 4 + (DRIFT * away) ** 2)


def _correction(
    run: Run, structure: Structure, depth: float, seen: Seen
) -> Array:  # fmt: skip
    """What a structure misses at the calibrated depths, for another depth: even in the logarithm of the depth.

    At depth 1 it is nothing. Where only a mean was seen, the percentiles are off as much as it.
    """
    depths, missed = [1.0], [np.zeros(len(QUANTILES))]
    for n, (mean, quantiles) in seen.items():
        simulated_mean, simulated = run(structure, n)
        by_mean = np.full(len(QUANTILES), math.log(mean / simulated_mean))
        depths.append(n)
        missed.append(by_mean if quantiles is None else np.log(quantiles / simulated))
    x = np.log(depths)
    return np.array([np.interp(math.log(depth), x, column) for column in np.transpose(missed)])


def _simulated(alone: Histogram, structure: Structure, depth: float, customers: int, seed: int) -> tuple[float, Array]:
    """Mean and percentiles of the response time, the constant part included."""
    law: Distribution = Empirical(
        tuple((alone.lower_s - structure.delay_s).tolist()), tuple(alone.counts.astype(float).tolist()),
        tuple((alone.upper_s - alone.lower_s).tolist()),
    )  # fmt: skip
    station = Station(law, servers=structure.servers, queues=structure.queues)
    stops: list[Station | Delay] = [station]
    if structure.delay_s:
        stops.insert(0, Delay(Deterministic(structure.delay_s)))
    metrics: Metrics = simulate(
        Closed(round(depth), stops), customers=customers, seed=seed, engine="compiled", allow_short=True
    )
    quantiles = np.array([metrics.quantile(q) for q in QUANTILES.values()])
    return float(metrics.W) + structure.delay_s, quantiles + structure.delay_s


def _observed(histogram: Histogram) -> Array:
    return np.array([histogram.quantile(q) for q in QUANTILES.values()])


def tails_of(comparison: Comparison, sweep: Sweep, *, seed: int = 0) -> Tails | None:
    """The tails of a compared curve at every depth measured, calibrated on the points that its fit used.

    None where the sweep varies no depth or kept no two histograms. Raises DataError as ``predict_tails``, where the
    points calibrated on cannot tell the tails.
    """
    points = comparison.points
    if points.load_kind != "queue_depth" or not sweep.raw:
        return None
    by_depth: dict[float, list[Histogram]] = {}
    for (series, load, _), one in histograms(sweep).items():
        if series == points.series:
            by_depth.setdefault(load, []).append(one)
    if len(by_depth) < 2:
        return None
    pooled = {load: _together(several) for load, several in by_depth.items()}
    used = {
        float(load): float(response)
        for load, response, held in zip(points.load, points.response_time_s, comparison.held_out, strict=True)
        if not held
    }
    return predict_tails(pooled, used, sorted(pooled), seed=seed)


def _together(several: Sequence[Histogram]) -> Histogram:
    """The requests of all repeats."""
    if len(several) == 1:
        return several[0]
    times = of_histogram(several)
    return Histogram(times.lower_s, times.upper_s, np.rint(times.counts).astype(np.int64), several[0].kind)
