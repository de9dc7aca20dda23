"""Look at the counters every second, and sample the number in flight in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from measure.formats.watched.interval import LOOKS_PER_S, DeviceInterval
from measure.watching.counters import Counters, between, counters_now, device_name

LATE_S = 1e-3
"""A look that comes later than this waited for a processor."""


@dataclass(frozen=True)
class Lost:
    """An interval of which nothing is known, and why: ``gone`` (the device vanished) or ``reset``."""

    device: str
    why: str


def watch(
    devices: Sequence[str],
    every_s: float = 1.0,
    *,
    look: Callable[[], dict[str, Counters]] = counters_now,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[list[DeviceInterval | Lost]]:
    """What each of ``devices`` did in every interval, for ever, or until all of them are gone.

    Nothing is written and no request is sent. Raises MeasureError for a device that there is not. A device that
    vanishes is ``Lost`` once; when it comes back its counters are followed again.
    """
    known = look()
    names = list(dict.fromkeys(device_name(given, known) for given in devices))
    before, began = known, clock()
    present = set(names)
    while present:
        samples = _sample(names, began + every_s, look, clock, sleep)
        after, ended = look(), clock()
        gone = present - after.keys()
        found: list[DeviceInterval | Lost] = [Lost(name, "gone") for name in names if name in gone]
        for name in names:
            if name not in before or name not in after:
                continue
            looks = samples[name] or [(after[name].in_flight, 0.0)]
            in_flight, late_s = zip(*looks, strict=True)
            late = sum(one > LATE_S for one in late_s) / len(looks)
            did = between(name, before[name], after[name], ended - began, _now(), in_flight, late)
            found.append(did or Lost(name, "reset"))
        present = (present - gone) | (after.keys() & set(names))
        yield found
        before, began = after, ended


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _sample(
    names: Sequence[str],
    until: float,
    look: Callable[[], dict[str, Counters]],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> dict[str, list[tuple[int, float]]]:
    """The number in flight in each device, again and again until then, and how late each look was."""
    seen: dict[str, list[tuple[int, float]]] = {name: [] for name in names}
    while (left := until - (asleep := clock())) > 0:
        rest = min(left, 1 / LOOKS_PER_S)
        sleep(rest)
        late, counters = clock() - asleep - rest, look()
        for name in names:
            if name in counters:
                seen[name].append((counters[name].in_flight, late))
    return seen
