"""Structures that a device may have, as response times at any depth made of the latencies of lone requests.

Queues: c servers before one queue or with a queue each, whose service times are those latencies, but for a constant
part (the host, the link) that keeps no server busy; simulated.

Together: a host that takes requests as a batch and hands back the batch answers each when all are done. Every request
in flight then adds its share to each of the others, whatever that one's own latency: R(N) = R(1) + (N - 1) times what
one adds, as a fast virtual disk shows whose CPU is the limit, and all percentiles move by as much. No station of a
network serves so: a request's time depends on who is in its batch, or on the clock, so these two are formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrate.inference.parameters import Array
from measure.formats.fio.latency_bins import Histogram
from measure.units import format_duration
from qsim import Closed, Delay, Deterministic, Empirical, Network, Station, simulate

MOST_SERVERS = 512
ALIKE = 2.0
"""Lone requests are alike where the slowest quarter takes less than this many times as long as the fastest."""
_AROUND = (0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class Structure:
    """``servers`` before one queue ("shared") or with a queue each ("random"), after a constant ``delay_s``.

    Where requests go "together" or are "stalled", ``delay_s`` is what each of them adds to the latency of the others.
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
    """Structures that come near the response time at the deepest point."""
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
    """Mean and quantiles of the longest of r lone requests, r = ``mean_s`` over their mean, moved to ``mean_s``.

    Where the longest take longer than that already, they are not moved, and the mean is theirs.
    """
    longer = mean_s / alone.mean_s
    below = np.concatenate([[0.0], np.cumsum(alone.counts) / alone.total]) ** longer
    longest_s = float(np.diff(below) @ (alone.lower_s + alone.upper_s)) / 2
    more = max(mean_s - longest_s, 0.0)
    return longest_s + more, np.array([alone.quantile(float(q) ** (1 / longer)) for q in quantiles]) + more
