"""How late this machine wakes a program that sleeps, measured during a run: the wait for a processor.

A request to a device ends by waking the thread that waits for it. Where other work keeps the processors busy, that
thread waits for one, and its latency holds the wait. A thread of our own that sleeps over and over, with the same
priority as the tool, waits as long: by how much it wakes later than it does at its earliest is the machine's share.
Sleeping some 200 times a second, it takes about 0.5 % of one processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from measure.sweep import WOKEN_LATE

NAP_S = 0.004
NOTE = "wakeups"
"""The name of it in a point's record; the mean of the run is a column of the sweep."""


@contextmanager
def repeating(step: Callable[[], object]) -> Iterator[None]:
    """Call ``step``, which takes its time, over and over in a thread while the block runs.

    >>> steps = []
    >>> with repeating(lambda: steps.append(time.sleep(0.001))):
    ...     time.sleep(0.05)
    >>> len(steps) > 1
    True
    """
    over = threading.Event()

    def repeat() -> None:
        while not over.is_set():
            step()

    thread = threading.Thread(target=repeat, name="repeating", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def late_nap(seconds: float = NAP_S) -> float:
    """How much later than asked a nap ended, in seconds."""
    start = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - start - seconds


@contextmanager
def napping() -> Iterator[list[float]]:
    """The list of how much later than asked each nap ended, in seconds, of naps while the block runs."""
    late: list[float] = []
    with repeating(lambda: late.append(late_nap())):
        yield late


def lateness_notes(late: Sequence[float]) -> dict[str, Any]:
    """The note for a point's record: by how much later than the earliest naps ended; none where there was no nap.

    >>> lateness_notes([0.001, 0.001, 0.004])["wakeups"]["mean_s"]
    0.001
    """
    if not late:
        return {}
    return {NOTE: {"mean_s": sum(late) / len(late) - min(late)}}


def noted_lateness(record: Mapping[str, Any]) -> dict[str, float]:
    """The column that the note in a point's record gives; none where it holds no note."""
    return {WOKEN_LATE: float(record[NOTE]["mean_s"])} if NOTE in record else {}
