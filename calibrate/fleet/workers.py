"""The same work over several processes of this machine, with results in the order of the work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import TypeVar

from qsim import _check

Work = TypeVar("Work")
Found = TypeVar("Found")

LOOK_EVERY_S = 0.5
"""How often a worker checks that its parent is alive."""


def spread(
    function: Callable[[Work], Found],
    work: Sequence[Work],
    *,
    workers: int = 1,
    progress: Callable[[float], object] | None = None,
) -> list[Found]:
    """``[function(w) for w in work]``, computed by ``workers`` processes (-1: one per core).

    ``progress`` is called with the share done, 0..1. Raises ValueError for an impossible number of workers.
    """
    if workers != -1:
        _check.count("workers", workers, remedy="give a number of processes, or -1 for one per core")
    processes = min(len(work), (os.cpu_count() or 1) if workers == -1 else workers)
    done: list[Found] = []
    with ExitStack() as stack:
        results: Iterable[Found] = map(function, work)
        if processes > 1:
            pool = ProcessPoolExecutor(processes, get_context("spawn"), _watch_parent, (os.getpid(),))
            results = stack.enter_context(pool).map(function, work)
        for result in results:
            done.append(result)
            if progress is not None:
                progress(len(done) / len(work))
    return done


def _watch_parent(parent: int) -> None:
    """End this process when its parent ends, also where that one is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
