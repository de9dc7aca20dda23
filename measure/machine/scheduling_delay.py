"""Measures the wakeup delay of sleeping programs during a run: the wait for a processor.

A request to a device ends by waking the thread that waits for it. Where other work keeps the processors busy, that
thread waits for one, and its latency includes the wait. A sampling thread that sleeps repeatedly, with the same
priority as the tool, waits as long: its delay beyond the shortest one is the machine's part of a latency. Sleeping
some 200 times a second, it takes about 0.5 % of one processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from measure.sweep import WOKEN_LATE

NAP_S = 0.004
NOTE = "wakeups"  # the key of the delays in a point's record; their mean is a column of the sweep


@contextmanager
def repeating(step: Callable[[], object]) -> Iterator[None]:
    """Call ``step``, which must take some time, repeatedly in a thread while the block runs.

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


def wakeup_delay(seconds: float = NAP_S) -> float:
    """Sleep for ``seconds``; returns the delay of the wakeup, seconds."""
    start = time.perf_counter()
    time.sleep(seconds)
    return time.perf_counter() - start - seconds


@contextmanager
def sampled_wakeups() -> Iterator[list[float]]:
    """The list of wakeup delays, seconds, of sleeps while the block runs."""
    late: list[float] = []
    with repeating(lambda: late.append(wakeup_delay())):
        yield late


def lateness_notes(late: Sequence[float]) -> dict[str, Any]:
    """The entry for a point's record: the mean wakeup delay beyond the shortest one; empty without delays.

    >>> lateness_notes([0.001, 0.001, 0.004])["wakeups"]["mean_s"]
    0.001
    """
    if not late:
        return {}
    return {NOTE: {"mean_s": sum(late) / len(late) - min(late)}}


def noted_lateness(record: Mapping[str, Any]) -> dict[str, float]:
    """The wakeup delay's column of a point, from its record; empty where the record has none."""
    return {WOKEN_LATE: float(record[NOTE]["mean_s"])} if NOTE in record else {}
