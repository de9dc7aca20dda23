"""The block layer's counters during a run of another tool: what the device itself did while that tool measured.

A tool's response time holds the device's and the host's: the time from the tool to the block layer and back. The
kernel counts the device's alone, of all programs together: reads are compared during a reading tool's run, writes
during a writing one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from measure.errors import MeasureError
from measure.formats.watched.interval import DeviceInterval
from measure.machine.host import storage_behind
from measure.machine.scheduling_delay import repeating
from measure.watching.counters import Counters, between, counters_now, device_name

NOTE = "block_layer"
"""What a point's record keeps the interval as; in a sweep's provenance, the device or why none is counted."""
COLUMNS = ("device_throughput_per_s", "device_response_time_s", "device_outstanding")
EVERY_S = 0.02
AT_WORK = 50
"""Requests completed by which a tool has begun: fio takes half a second to start, on a busy machine more."""
RUNNING = 0.25
"""A look belongs to the run where more was completed before it than this share of the mean."""


def counted_device(target: Path | None) -> tuple[str, str]:
    """The kernel's name of the device behind ``target``, or "" and why none is counted; None is a server's address.

    >>> counted_device(None)[0]
    ''
    """
    if target is None:
        return "", "fio spoke to the server itself (nbd), past this machine's block layer"
    storage = storage_behind(target)
    try:
        if storage.device:
            return device_name(storage.device, counters_now()), ""
    except MeasureError as error:
        return "", str(error)
    return "", f"{storage.filesystem or 'the file system'} of {target} is on no block device of this machine"


Seen = list[tuple[float, Counters]]
"""Looks at a device's counters: when, and what they were."""


@contextmanager
def counting(device: str, look: Callable[[], dict[str, Counters]] = counters_now) -> Iterator[Seen]:
    """Look at the counters of ``device`` over and over while the block runs; at none where that is "".

    >>> with counting("") as seen:
    ...     pass
    >>> seen
    []
    """
    seen: Seen = []

    def step() -> None:
        time.sleep(EVERY_S)
        counters = look()
        if device in counters:
            seen.append((time.monotonic(), counters[device]))

    if not device:
        yield seen
        return
    with repeating(step):
        yield seen


def began(seen: Sequence[tuple[float, Counters]]) -> float | None:
    """When the device was at work first since the looks began, of the monotonic clock; None before."""
    done = [(when, counters.reads + counters.writes) for when, counters in seen]
    return next((when for when, count in done if count - done[0][1] >= AT_WORK), None)


def rate_since(seen: Sequence[tuple[float, Counters]], moment: float, least_s: float = 0.2) -> float | None:
    """Requests completed a second since ``moment``, of the monotonic clock; None before ``least_s`` of looks."""
    since = [(when, counters.reads + counters.writes) for when, counters in seen if when >= moment]
    if not since or (seconds := since[-1][0] - since[0][0]) < least_s:
        return None
    return (since[-1][1] - since[0][1]) / seconds


def last_running(
    device: str, seen: Sequence[tuple[float, Counters]], seconds: float, *, reads: bool, writes: bool
) -> DeviceInterval | None:
    """What the device did in the last ``seconds`` of the looks ``seen``, (time, counters), that saw it at work.

    At work in the directions wanted. None where that cannot be found: no look, a device that was replaced, or a run
    shorter than some looks.
    """
    times = np.array([when for when, _ in seen])
    steps = np.diff([float(reads * c.reads + writes * c.writes) for _, c in seen])
    if len(steps) < 3 or not (steps > 0).any():
        return None
    # One look before the last step, so that the tool was measuring all the time up to there.
    end = int(np.flatnonzero(steps > RUNNING * steps.mean())[-1])
    start = int(np.searchsorted(times, times[end + 1] - seconds))
    if end <= start:
        return None
    in_flight = [c.in_flight for _, c in seen[start : end + 1]]
    return between(device, seen[start][1], seen[end][1], float(times[end] - times[start]), "", in_flight)


def noted_device(record: Mapping[str, Any], read_fraction: float) -> dict[str, float]:
    """The columns that the note in a point's record gives; none where it holds no note.

    Of the requests in the direction of the run: all where it both reads and writes.
    """
    if not isinstance(record.get(NOTE), Mapping):
        return {}
    found = DeviceInterval.of_rates(record[NOTE])
    reads, read_s = (0.0, 0.0) if read_fraction == 0 else (found.reads, found.read_s)
    writes, write_s = (0.0, 0.0) if read_fraction == 1 else (found.writes, found.write_s)
    rate, mean = (reads + writes) / found.seconds, (read_s + write_s) / found.seconds
    return dict(zip(COLUMNS, (rate, mean / rate if rate else math.nan, mean), strict=True))
