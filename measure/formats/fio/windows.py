"""What a run did over its time: throughput and mean latency in stretches of it, from logs or snapshots, and drift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from measure.findings import Finding
from measure.units import format_duration, format_rate

#: Windows that are needed before a trend is called one, and the change of throughput that matters.
FEWEST_WINDOWS = 4
DRIFT = 0.15
_STEADIER = 2.0


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


def drift_within(windows: Sequence[Window], source: str) -> Iterator[Finding]:
    """Whether throughput or latency went somewhere during the run, by its windows.

    The first third is held against the last. A change counts where it is larger than 15 % and larger than twice what
    the windows scatter within the thirds, so that a noisy run is not called a drifting one.
    """
    if len(windows) < FEWEST_WINDOWS:
        return
    third = max(2, len(windows) // 3)
    told = []
    for what, values, show in (
        ("throughput", np.array([w.throughput_per_s for w in windows]), format_rate),
        ("latency", np.array([w.latency_s for w in windows]), format_duration),
    ):
        first, last = values[:third], values[-third:]
        change = float(last.mean() / first.mean() - 1)
        noise = float(np.sqrt((first.var(ddof=1) + last.var(ddof=1)) / third) / first.mean())
        if abs(change) > DRIFT and abs(change) > _STEADIER * noise:
            told.append(f"the {what} goes from {show(float(first.mean()))} to {show(float(last.mean()))} "
                        f"({100 * change:+.0f} %)")  # fmt: skip
    if told:
        length = windows[-1].end_s - windows[0].start_s
        yield Finding(
            "drift-within-run", "warning",
            f"{source}: over the {length:.3g} s of the run, by {len(windows)} windows, {' and '.join(told)}.",
            "a write cache that fills, throttling, or a file that was not preconditioned: the mean is of no steady "
            "state.",
            "run again with --ramp_time=60 and --time_based --runtime=120, or with --ss=iops_slope:0.3% --ss_dur=30.",
        )  # fmt: skip
