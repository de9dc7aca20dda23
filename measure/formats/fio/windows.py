"""What a run did over its time: throughput and mean latency in stretches of it, from logs or from snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """One stretch of a run: seconds since its start, completed requests, and the sum of their latencies in seconds."""

    start_s: float
    end_s: float
    requests: float
    latency_sum_s: float

    @property
    def throughput_per_s(self) -> float:
        """Completed requests a second."""
        return self.requests / (self.end_s - self.start_s)

    @property
    def latency_s(self) -> float:
        """The mean latency of the requests that completed in it."""
        return self.latency_sum_s / self.requests


def between_snapshots(snapshots: Sequence[tuple[float, float, float]]) -> tuple[Window, ...]:
    """Windows from cumulative counts (seconds since the start, requests, sum of latencies), one per snapshot.

    The first window begins at 0. Snapshots between which nothing completed or no time passed are joined to the next.

    >>> [round(w.throughput_per_s) for w in between_snapshots([(1.0, 100, 1.0), (2.0, 150, 1.5)])]
    [100, 50]
    """
    windows: list[Window] = []
    before = (0.0, 0.0, 0.0)
    for now in snapshots:
        seconds, requests, latency = (n - b for n, b in zip(now, before, strict=True))
        if seconds > 0 and requests > 0 and latency > 0:
            windows.append(Window(before[0], now[0], requests, latency))
            before = now
    return tuple(windows)


def merged(windows: Sequence[Window], most: int) -> tuple[Window, ...]:
    """At most ``most`` windows that cover the same time, each of equally many of the given ones."""
    if len(windows) <= most:
        return tuple(windows)
    step = -(-len(windows) // most)
    groups = [windows[i : i + step] for i in range(0, len(windows), step)]
    return tuple(
        Window(g[0].start_s, g[-1].end_s, sum(w.requests for w in g), sum(w.latency_sum_s for w in g)) for g in groups
    )
