"""Devices that somebody looks at: each watched by one thread, however many look, until nobody does any more."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from calibrate.watched import WatchedCurves
from measure.formats.watched.interval import DeviceInterval
from measure.watching.counters import counters_now
from measure.watching.watch import Lost, watch

SHOWN = 60
"""So many seconds are remembered."""
FORGOTTEN_S = 30.0
"""A device that nobody asked for so long is watched no longer."""


@dataclass
class LookedAt:
    """What was seen of one device, when somebody last asked, and why it ended ("" while it is watched)."""

    seen: deque[DeviceInterval] = field(default_factory=lambda: deque(maxlen=SHOWN))
    curves: WatchedCurves = field(default_factory=WatchedCurves)
    asked_s: float = 0.0
    ended: str = ""


class WatchedDevices:
    """The seconds of each device that was asked for, as ``qsim watch`` sees them."""

    def __init__(self, look: Callable[[list[str]], Iterator[list[DeviceInterval | Lost]]] = watch) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._devices: dict[str, LookedAt] = {}

    def names(self) -> list[str]:
        """The devices that did anything since this machine started, the busiest first. MeasureError where none is
        counted."""
        used = {name: c.reads + c.writes for name, c in counters_now().items() if c.reads + c.writes}
        return sorted(used, key=lambda name: -used[name])

    def of(self, device: str) -> LookedAt:
        """What was seen of it; the watch begins with the first who asks."""
        with self._lock:
            found = self._devices.get(device)
            if found is None or found.ended:
                found = self._devices[device] = LookedAt()
                threading.Thread(target=self._watch, args=(device, found), name=f"watch {device}", daemon=True).start()
            found.asked_s = time.monotonic()
            return found

    def _watch(self, device: str, into: LookedAt) -> None:
        for looked in self._look([device]):
            for one in looked:
                if isinstance(one, DeviceInterval):
                    into.curves.add(one)
                    into.seen.append(one)
            if time.monotonic() - into.asked_s > FORGOTTEN_S:
                break
        into.ended = f"{device} is watched no longer"
