"""Many runs at once: over the processes of this machine (joblib), or over a Dask cluster.

A run is a pure function of what it is given, its seed included, and results come back in the order of the work.
So it changes nothing but the time whether one process does it all, two share it, or a cluster.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

from qsim import _check
from qsim.errors import InvalidParameterError, MissingExtraError
from qsim.installed import install_hint

Work = TypeVar("Work")
Result = TypeVar("Result")
Progress = Callable[[float], object]

LOOK_EVERY_S = 0.5
"""How often a worker looks whether the process that asked is still there."""

PATIENCE_S = 10
"""How long a Dask scheduler may take to answer."""


def spread(
    function: Callable[[Work], Result],
    work: Sequence[Work],
    *,
    workers: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """``[function(w) for w in work]``, computed by ``workers`` processes or on a Dask cluster.

    ``workers``: processes of this machine, -1 for one per core; ``cluster``: the address of a Dask scheduler, such
    as "tcp://host:8786", whose workers have qsim installed in the same version, and decide for themselves how
    many they are; ``progress``: called with the share done, 0..1.  Raises ValueError for a number of workers that
    makes no sense or a scheduler that does not answer, MissingExtraError where Dask is not installed.
    """
    check_workers(workers, cluster)
    if cluster is not None:
        return _on_dask(function, work, cluster, progress)
    if workers == 1 or len(work) < 2:
        return _counted(map(function, work), len(work), progress)
    import joblib

    parallel = joblib.Parallel(n_jobs=workers, return_as="generator")
    return _counted(parallel(joblib.delayed(_in_worker)(function, w, os.getpid()) for w in work), len(work), progress)


def _in_worker(function: Callable[[Work], Result], item: Work, parent: int) -> Result:
    """``function(item)`` in a process that ends with the process that asked, however that one ends."""
    name = f"ends with {parent}"
    if os.getppid() == parent and all(thread.name != name for thread in threading.enumerate()):
        threading.Thread(target=_end_with, args=(parent,), name=name, daemon=True).start()
    return function(item)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_S)
    os._exit(1)


def check_workers(workers: int, cluster: str | None) -> None:
    """Raises ValueError for a number of workers, or the address of a cluster, that makes no sense."""
    if workers != -1:
        _check.count("workers", workers, remedy="give a number of processes, or -1 for one per core")
    if cluster is not None and (not isinstance(cluster, str) or not cluster):
        raise InvalidParameterError(
            "cluster",
            f"must be the address of a Dask scheduler, such as 'tcp://host:8786', not {cluster!r}",
            value=cluster,
        )


def _counted(results: Iterable[Result], total: int, progress: Progress | None) -> list[Result]:
    done: list[Result] = []
    for result in results:
        done.append(result)
        if progress is not None:
            progress(len(done) / total)
    return done


def _on_dask(
    function: Callable[[Work], Result], work: Sequence[Work], address: str, progress: Progress | None
) -> list[Result]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise MissingExtraError(f"cluster needs Dask, which is not installed: {install_hint('dask')}") from error
    _require_answer(address)
    with distributed.Client(address, timeout=PATIENCE_S, set_as_default=False) as client:
        # Not pure: the same run asked for twice must not be answered from memory while it is being measured.
        futures = client.map(function, work, pure=False)
        for done, _ in enumerate(distributed.as_completed(futures, loop=client.loop), start=1):
            if progress is not None:
                progress(done / len(work))
        results: list[Result] = client.gather(futures)
    return results


def _require_answer(address: str) -> None:
    """Raises ValueError where nothing listens: Dask would try for half a minute, and say less."""
    try:
        where = urlsplit(address if "://" in address else f"tcp://{address}")
        if where.hostname is None or where.port is None:
            raise ValueError("it needs a host and a port")
        socket.create_connection((where.hostname, where.port), PATIENCE_S).close()
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            "cluster",
            f"must be the address of a Dask scheduler that answers, not {address!r} ({error})",
            "start one with 'dask scheduler' and give the address it prints",
            value=address,
        ) from error
