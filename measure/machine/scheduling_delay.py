"""How late this machine wakes a program that sleeps, measured during a run: the wait for a processor.

A request to a device ends by waking the thread that waits for it. Where other work keeps the processors busy, that
thread waits for one, and its latency holds the wait. A thread of our own that sleeps over and over, with the same
priority as the tool, waits as long: by how much it wakes later than it does at its earliest is the machine's share.
Sleeping some 200 times a second, it takes about 0.5 % of one processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

import numpy as np

from measure.sweep import WOKEN_LATE

NAP_S = 0.004
NOTE = "wakeups"
"""The name of it in a point's record; the mean of the run is a column of the sweep."""


@dataclass(frozen=True)
class Lateness:
    """Over ``wakeups``, by how much later than the earliest they came: the mean and its 99th percentile, in seconds."""

    wakeups: int
    mean_s: float
    p99_s: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Lateness:
        """The inverse of ``to_dict``."""
        return cls(int(values["wakeups"]), float(values["mean_s"]), float(values["p99_s"]))


class Wakeups:
    """Sleeps over and over in a thread while its block runs, and tells how late it woke.

    >>> with Wakeups() as woken:
    ...     time.sleep(0.05)
    >>> woken.lateness().wakeups > 0
    True
    """

    def __init__(self) -> None:
        self._late: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sleep, name="wakeups", daemon=True)

    def __enter__(self) -> Wakeups:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def lateness(self) -> Lateness | None:
        """What was found; None where the block was shorter than one nap."""
        late = np.array(self._late)
        if not len(late):
            return None
        late -= late.min()
        return Lateness(len(late), float(late.mean()), float(np.quantile(late, 0.99)))

    def _sleep(self) -> None:
        while not self._over.is_set():
            start = time.perf_counter()
            time.sleep(NAP_S)
            self._late.append(time.perf_counter() - start - NAP_S)


def noted_lateness(record: Mapping[str, Any]) -> dict[str, float]:
    """The column that the note in a point's record gives; none where it holds no note."""
    return {WOKEN_LATE: Lateness.from_dict(record[NOTE]).mean_s} if NOTE in record else {}
