"""A plugin for nbdkit: c servers before one queue, and a service time that depends on direction and size.

Settings: servers=4, read=SECONDS, write=SECONDS (of a request without bytes), read_byte=, write_byte= (of each byte). A
request starts when it has arrived and a server is free, and its thread answers when it departs, as in
:mod:`measure.known_device.plugin`. nbdkit's own Python runs this file, so it needs nothing but the standard library.
"""

from __future__ import annotations

import heapq
import threading
import time

API_VERSION = 2
SIZE = 64 * 2**20

settings: dict[str, str] = {}
free: list[float] = []
lock = threading.Lock()


def config(key: str, value: str) -> None:
    settings[key] = value


def config_complete() -> None:
    free.extend([0.0] * int(settings["servers"]))


def thread_model() -> int:
    import nbdkit  # type: ignore[import-not-found]  # only inside nbdkit

    return int(nbdkit.THREAD_MODEL_PARALLEL)


def open(readonly: bool) -> int:  # noqa: A001  (nbdkit's name for it)
    return 1


def get_size(handle: int) -> int:
    return SIZE


def serve(kind: str, count: int) -> None:
    service = float(settings[kind]) + count * float(settings[f"{kind}_byte"])
    with lock:
        departs = max(time.monotonic(), free[0]) + service
        heapq.heapreplace(free, departs)
    left = departs - time.monotonic()
    if left > 0:
        time.sleep(left)


def pread(handle: int, buffer: bytearray, offset: int, flags: int) -> None:
    serve("read", len(buffer))


def pwrite(handle: int, buffer: bytes, offset: int, flags: int) -> None:
    serve("write", len(buffer))
