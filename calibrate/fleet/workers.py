"""Work shared among workers: processes of this machine, Dask's, or those of any other ``concurrent.futures.Executor``.

The results are those of one process, in the same order. Work whose worker ended is done by another one; where that one
ends too, here.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from threading import Event, Thread
from typing import Any, ParamSpec, TypeVar

from measure.errors import ToolFailedError
from measure.machine.process import end_with_parent
from qsim import _check
from qsim.errors import MissingExtraError
from qsim.installed import install_hint, version

Work = TypeVar("Work")
Found = TypeVar("Found")
Given = ParamSpec("Given")

BATCH = 50  # the most pieces of work that a worker gets at a time
BATCHES = 32  # batches of a smaller whole: enough for workers that are not equally fast
ATTEMPTS = 2  # how often work is given to workers
CONNECT_S, JOIN_S, WATCH_S = 10.0, 60.0, 5.0
"""How long a Dask scheduler may take to answer, and a worker to join; how often it is seen whether there is one."""


class Processes(Executor):
    """So many processes of this machine, in place of which new ones start when one of them dies."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._count, get_context("spawn"), end_with_parent)

    def submit(self, fn: Callable[Given, Found], /, *args: Given.args, **kwargs: Given.kwargs) -> Future[Found]:
        """Give work to a process."""
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenExecutor:
            self._pool.shutdown()
            self._pool = self._new_pool()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def processes(workers: int) -> Processes | nullcontext[None]:
    """An executor of ``workers`` processes (-1: one per core), None for one: this process does the work itself.

    Raises ValueError for an impossible number of workers.
    """
    if workers != -1:
        _check.count("workers", workers, remedy="give a number of processes, or -1 for one per core")
    count = (os.cpu_count() or 1) if workers == -1 else workers
    return Processes(count) if count > 1 else nullcontext()


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """The executor of a Dask cluster, by the address of its scheduler (``tcp://10.0.0.1:8786``).

    Raises MissingExtraError where Dask is not installed, ToolFailedError where the scheduler does not answer, has no
    workers, or these have another version of qsim.
    """
    try:
        import distributed
    except ImportError as error:
        hint = install_hint("dask")
        raise MissingExtraError(f"--scheduler needs distributed, which is not installed: {hint}") from error
    with _client(distributed, address) as client:
        _check_workers(client, address)
        executor, done = client.get_executor(pure=False), Event()
        Thread(target=_end_without_workers, args=(client, executor, done), daemon=True).start()
        try:
            yield executor
        finally:
            done.set()


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
    gc.collect()  # ends what is left of the client: while another one starts, Dask would wait for itself for ever
    raise ToolFailedError(f"no Dask scheduler answers at {address}: {why.splitlines()[0]}")


def _check_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=JOIN_S)
        versions = set(client.run(version).values())
    except TimeoutError as error:
        raise ToolFailedError(f"the Dask scheduler at {address} has no workers; start dask worker {address}") from error
    except ImportError as error:
        raise ToolFailedError(f"a worker of {address} has no qsim ({error}); install it there") from error
    if versions != {version()}:
        there = ", ".join(sorted(versions - {version()}))
        raise ToolFailedError(f"a worker of {address} has qsim {there}, here is {version()}; install the same there")


def _end_without_workers(client: Any, executor: Executor, done: Event) -> None:
    """Shut the executor down where its cluster stays without a worker: Dask itself would wait for ever."""
    while not done.wait(WATCH_S):
        try:
            client.wait_for_workers(1, timeout=JOIN_S)
        except Exception:  # noqa: BLE001 - no worker, no scheduler, or the client was closed
            executor.shutdown(wait=False)
            return


def spread(
    function: Callable[[Work], Found],
    work: Sequence[Work],
    executor: Executor | None = None,
    *,
    progress: Callable[[float], object] | None = None,
    ended: Callable[[Sequence[Work]], object] | None = None,
) -> list[Found]:
    """``[function(w) for w in work]``, computed by the workers of ``executor``, or here.

    ``progress`` is called with the share done, 0..1, and ``ended`` with the work of workers that ended, before it is
    done again. What ``function`` raises is raised.
    """
    size = 1 if executor is None else min(BATCH, -(-len(work) // BATCHES))
    batches = {start: work[start : start + size] for start in range(0, len(work), max(size, 1))}
    found: dict[int, list[Found]] = {}

    def left() -> dict[int, Sequence[Work]]:
        return {start: batch for start, batch in batches.items() if start not in found}

    def keep(start: int, results: list[Found]) -> None:
        found[start] = results
        if progress is not None:
            progress(sum(map(len, found.values())) / len(work))

    for given_to in [executor] * ATTEMPTS if executor is not None else []:
        for start, results in _by_workers(function, left(), given_to):
            keep(start, results)
        if ended is not None and (lost := left()):
            ended([piece for batch in lost.values() for piece in batch])
    for start, batch in left().items():
        keep(start, _each(function, batch))
    return [result for start in batches for result in found[start]]


def _each(function: Callable[[Work], Found], batch: Sequence[Work]) -> list[Found]:
    return [function(piece) for piece in batch]


def _by_workers(
    function: Callable[[Work], Found], batches: Mapping[int, Sequence[Work]], executor: Executor
) -> Iterator[tuple[int, list[Found]]]:
    """The results of batches, as they come, without those whose worker ended."""
    futures: dict[Future[list[Found]], int] = {}
    try:
        for start, batch in batches.items():
            try:
                futures[executor.submit(_each, function, batch)] = start
            except Exception as error:
                if not (_no_worker(error) or isinstance(error, RuntimeError)):  # of an executor that was shut down
                    raise
                break
        for future in as_completed(futures):
            try:
                results = future.result()
            except Exception as error:
                if not _no_worker(error):
                    raise
            else:
                yield futures[future], results
    finally:
        for future in futures:
            future.cancel()


def _no_worker(error: BaseException) -> bool:
    """Whether an executor says that its workers ended. Dask is not imported for its errors: their names tell them."""
    gone = isinstance(error, (BrokenExecutor, CancelledError))
    return gone or type(error).__name__ in ("KilledWorker", "ClosedClientError", "FutureCancelledError")
