"""How many requests fio had outstanding, against what was asked of it; what short runs on busy machines are held to.

N = X R holds but for the gaps between a completion and the next submission. They are a fixed time each, so that they
count on a fast drive and at depth 1, and a busy machine makes them long. Too much is counted of requests that began
before the window did (in the ramp): where the machine stalls just then, some tenths of a short run.
"""

from __future__ import annotations

from measure.sweep import Sweep

LEAST, MOST = 0.5, 1.3


def in_flight(sweep: Sweep) -> list[float]:
    """X R / N of each point."""
    points = sweep.points
    return list(points["throughput_per_s"] * points["latency_s"] / points["load"])


def as_asked(sweep: Sweep) -> bool:
    """Whether every point had about as many outstanding as was asked for: from half to a third more."""
    return all(LEAST < share < MOST for share in in_flight(sweep))
