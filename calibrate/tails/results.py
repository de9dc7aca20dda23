"""The tails of a curve: percentiles observed and predicted at each depth, and whether to rely on them.

A possible structure of a device gives response times at any depth, from the latencies of lone requests.

Queues: c servers on one queue or with a queue each, whose service times are those latencies, except for a constant
part (the host, the link) that keeps no server busy; simulated.

Together: a host that handles requests in batches answers all of a batch when the last is done. Every request in flight
then adds the same time to each of the others: R(N) = R(1) + (N - 1) times that, as on a fast virtual disk limited by
its CPU, and all percentiles move by the same time. Stalled: a request waits for the longest of several lone ones. No
station of a network serves so, as a request's time depends on its batch, or on the clock: these two are formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.points import Z90
from measure.formats.fio.latency_bins import Histogram
from measure.units import counted, format_duration, format_percent
from qsim import Closed, Delay, Deterministic, Empirical, Network, Station, simulate
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

MOST_SERVERS = 512
ALIKE = 2.0
"""Lone requests are similar where the slowest quarter takes less than this multiple of the fastest quarter's time."""
_AROUND = (0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class Structure:
    """``servers`` before one queue ("shared") or with a queue each ("random"), after a constant ``delay_s``.

    For "together" and "stalled", ``delay_s`` is the time that each request adds to the latency of the others.
    """

    servers: int
    queues: Literal["shared", "random", "together", "stalled"]
    delay_s: float

    @property
    def label(self) -> str:
        """In words."""
        if self.queues in ("together", "stalled"):
            stalls = ", and stalls by the clock" if self.queues == "stalled" else ""
            return f"requests handled together, {format_duration(self.delay_s)} more with each{stalls}"
        if self.servers == 1:
            return "one server"
        return f"{self.servers} servers, {'one queue' if self.queues == 'shared' else 'a queue each'}"

    def queue(self, alone: Histogram, depth: int) -> Network:
        """``depth`` requests that circle; the law of service is that of the lone requests without the delay."""
        law = Empirical(
            tuple((alone.lower_s - self.delay_s).tolist()),
            tuple(alone.counts.astype(float).tolist()),
            tuple((alone.upper_s - alone.lower_s).tolist()),
        )
        device = Station(law, servers=self.servers, queues="random" if self.queues == "random" else "shared")
        return Closed(depth, [Delay(Deterministic(self.delay_s)), device] if self.delay_s else [device])


def candidates(alone: Histogram, deepest: float, response_s: float) -> list[Structure]:
    """Structures with about the response time at the deepest point."""
    shortest = float(alone.lower_s[0])
    each = max(response_s - alone.mean_s, 0.0) / (deepest - 1)
    found = [Structure(1, "together", each)]
    if alone.quantile(0.75) < ALIKE * alone.quantile(0.25):
        found.append(Structure(1, "stalled", each))
    for delay in (0.0, 0.5 * shortest, 0.9 * shortest):
        about = deepest * (alone.mean_s - delay) / response_s  # servers busy on average
        counts = {min(max(round(about * share + extra), 1), MOST_SERVERS) for share in _AROUND for extra in (0, 1)}
        found += [Structure(c, "random", delay) for c in counts]
        found += [Structure(c, "shared", delay) for c in counts if c > 1 and c <= 1.6 * about + 1]
    return found


def response(
    alone: Histogram, structure: Structure, depth: float, quantiles: Array, customers: int, seed: int
) -> tuple[float, Array]:
    """Mean and ``quantiles`` of the response time at a depth, all parts included, seconds."""
    if structure.queues == "together":
        more = (depth - 1) * structure.delay_s
        return alone.mean_s + more, np.array([alone.quantile(float(q)) for q in quantiles]) + more
    if structure.queues == "stalled":
        return _stalled(alone, alone.mean_s + (depth - 1) * structure.delay_s, quantiles)
    queue = structure.queue(alone, round(depth))
    metrics = simulate(queue, customers=customers, seed=seed, engine="compiled", allow_short=True)
    found = np.array([metrics.quantile(float(q)) for q in quantiles])
    return float(metrics.W) + structure.delay_s, found + structure.delay_s


def _stalled(alone: Histogram, mean_s: float, quantiles: Array) -> tuple[float, Array]:
    """Mean and quantiles of the longest of r lone requests, r = ``mean_s`` over their mean, moved up to ``mean_s``."""
    longer = mean_s / alone.mean_s
    below = np.concatenate([[0.0], np.cumsum(alone.counts) / alone.total]) ** longer
    longest_s = float(np.diff(below) @ (alone.lower_s + alone.upper_s)) / 2
    more = max(mean_s - longest_s, 0.0)
    return longest_s + more, np.array([alone.quantile(float(q) ** (1 / longer)) for q in quantiles]) + more


QUANTILES: Mapping[str, float] = {"p50_s": 0.5, "p95_s": 0.95, "p99_s": 0.99, "p999_s": 0.999}

MISFIT = 0.06
"""Relative error of a percentile that even a right structure has."""

LEVEL = 0.95
"""The share of right predictions that are called reliable."""

USEFUL_PCT = 100 * (math.sqrt(2) - 1)
"""Tails with a larger error are not relied on, whatever their scatter: their 90 % interval exceeds a factor of 2."""

FITS = 0.5
"""The least trust in a structure to rely on its tails, where no depth is held out."""

FACTOR_PCT = 100.0
"""A larger error than this is written as a factor."""


@dataclass(frozen=True)
class TailPoint:
    """The tails at one load: observed, predicted, the ends of 90 % intervals, by the names of ``QUANTILES``.

    >>> TailPoint(16.0, True, {"p99_s": 1e-3}, {"p99_s": 2e-3}, {"p99_s": 1e-3}, {"p99_s": 3e-3}).residual_pct
    {'p99_s': 100.0}
    """

    load: float
    held_out: bool
    observed: Mapping[str, float]
    predicted: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]

    @property
    def residual_pct(self) -> dict[str, float]:
        """Residuals of the percentiles, 100 (predicted / observed - 1)."""
        return {name: 100 * (self.predicted[name] / seen - 1) for name, seen in self.observed.items()}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "residual_pct": self.residual_pct}


@dataclass(frozen=True, repr=False)
class Tails(Result):
    """Predicted and observed tails of one curve, and the structures behind the prediction, the likeliest first.

    >>> point = TailPoint(16.0, False, {}, *(dict.fromkeys(QUANTILES, time) for time in (2e-3, 1e-3, 3e-3)))
    >>> Tails((point,), ((Structure(1, "shared", 0.0), 1.0),), trust=1.0).reliable
    True
    """

    points: tuple[TailPoint, ...]
    structures: tuple[tuple[Structure, float], ...]
    trust: float
    """How well the likeliest structure fits at the calibrated depths, from 0 (not at all) to 1 (as a right one)."""
    noise: float | None = None
    """The relative standard deviation of p99 between repeats; None where unknown."""
    sampling: float | None = None
    """The relative standard error of p99 at depth 1 by the number of requests."""

    @property
    def structure(self) -> Structure:
        """The likeliest structure."""
        return self.structures[0][0]

    def median_error_pct(self, quantile: str = "p99_s", *, held_out: bool = True) -> float | None:
        """The median absolute residual of one percentile over the held-out loads (or all); None without any."""
        errors = [
            abs(p.residual_pct[quantile])
            for p in self.points
            if quantile in p.observed and (p.held_out or not held_out)
        ]
        return float(np.median(errors)) if errors else None

    def sentence(self) -> str:
        """The outcome in words: the error of p99 and whether to rely on it, its noise, and the model."""
        noise = ""
        if self.noise is not None:
            noise = f" Repeats of one depth have a standard deviation of {format_percent(100 * self.noise)}."
        elif self.sampling is not None:
            noise = f" Nothing was repeated; one histogram gives p99 to ±{format_percent(100 * Z90 * self.sampling)}."
        return f"{self.reliance()}.{noise} Model: {self.structure.label}."

    @property
    def limit_pct(self) -> float:
        """The median residual of p99 that a right prediction stays within, in ``LEVEL`` of cases, or ``USEFUL_PCT``.

        Both p99, predicted and observed, scatter between repeats, or by the number of requests. The median of k
        absolute normal residuals is an order statistic: its share of the normal law is a beta variate.
        """
        from scipy.special import betaincinv, ndtri

        held = max(1, self._held)
        own = self.noise if self.noise is not None else self.sampling or 0.0
        reached = betaincinv((held + 1) / 2, (held + 1) / 2, LEVEL)
        log = float(ndtri((1 + reached) / 2)) * math.hypot(math.sqrt(2) * own, MISFIT)
        return min(100 * math.expm1(log), USEFUL_PCT)

    @property
    def _held(self) -> int:
        """The held-out depths at which p99 was observed."""
        return sum(bool(p.held_out and "p99_s" in p.observed) for p in self.points)

    def reliance(self) -> str:
        """The error of p99 at the held-out depths, and whether to rely on it: within ``limit_pct``."""
        error, advice = self.median_error_pct(), "rely on it" if self.reliable else "do not rely on it"
        if error is None:
            fits, said = ("fits", "unchecked") if self.reliable else ("does not fit", advice)
            return f"p99 is not checked at any held-out depth; the model {fits} the calibrated ones: {said}"
        at = "the held-out depth" if self._held == 1 else f"{self._held} held-out depths (median)"
        missed = format_percent(round(error, 1)) if error <= FACTOR_PCT else f"a factor of {1 + error / 100:.2g}"
        limit = f"{'within' if self.reliable else 'beyond'} the {format_percent(self.limit_pct)} of a right prediction"
        return f"p99 is missed by {missed} at {at}, {limit}: {advice}"

    @property
    def reliable(self) -> bool:
        """Whether the error of p99 at the held-out depths is small; without any, whether the model fits the others."""
        error = self.median_error_pct()
        return self.trust > FITS if error is None else error <= self.limit_pct

    def to_frame(self) -> pd.DataFrame:
        """A row for each depth: each percentile observed (or NaN), predicted and with its interval, seconds."""
        import pandas as pd

        rows = []
        for point in self.points:
            row: dict[str, float | bool] = {"load": point.load, "held_out": point.held_out}
            for name in QUANTILES:
                column = name.removesuffix("_s")
                row[f"{column}_observed_s"] = point.observed.get(name, np.nan)
                row[f"{column}_predicted_s"] = point.predicted[name]
                row[f"{column}_low_s"], row[f"{column}_high_s"] = point.low[name], point.high[name]
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """The percentiles against the depth, observed and predicted."""
        from calibrate.report.plots import tail_figure

        return tail_figure(self)

    def __repr__(self) -> str:
        return f"Tails at {counted(len(self.points), 'depth')}\n{self.sentence()}"

    def to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: one entry a load."""
        return [p.to_dict() for p in self.points]

    def structures_to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: each structure with its weight, the likeliest first."""
        return [{**asdict(structure), "weight": weight} for structure, weight in self.structures]
