"""The kernel's counters of a device while another tool measures it, which show the rate before the tool prints it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from measure.errors import MeasureError
from measure.machine.host import storage_behind
from measure.machine.scheduling_delay import repeating
from measure.watching.counters import Counters, counters_now, device_name

EVERY_S = 0.02
AT_WORK = 50
"""Requests completed by which a tool has begun: fio takes half a second to start, on a busy machine more."""


def counted_device(target: Path | None) -> str:
    """The kernel's name of the device behind ``target``; "" where there is none, as for a server's address (None).

    >>> counted_device(None)
    ''
    """
    if target is None:
        return ""
    try:
        storage = storage_behind(target)
        return device_name(storage.device, counters_now()) if storage.device else ""
    except MeasureError:
        return ""


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
