"""The plugin that nbdkit runs for a device whose truth is known; see :mod:`measure.known_device.server`.

A request's service time and its queue are drawn beforehand. When it arrives, its start and its departure follow from
those before it by the recursions of Lindley (1952; one server) and of Kiefer and Wolfowitz (1955; c servers, one
queue): it starts when it has arrived and its server is free, and departs its service time later. The thread that took
it sleeps until then and answers. So the discipline is first come, first served, to the letter, and a thread that wakes
late delays its own answer and no other request: the servers never lose time, however busy the machine is.

``early`` seconds are taken off each sleep: what the way to the device and back, and the waking, were measured to take.
Below zero they are added: a delay that keeps no server busy.

nbdkit's own Python runs this file, so it needs nothing but the standard library.
"""

from __future__ import annotations

import heapq
import threading
import time
from array import array
from pathlib import Path

API_VERSION = 2


class Server:
    """c servers before one queue, or with a queue each (``routes`` names the server of each request in turn)."""

    def __init__(self, times: array[float], servers: int, routes: array[int] | None = None) -> None:
        self._times = times
        self._routes = routes
        self._free = [0.0] * servers
        self._turn = 0

    def admit(self, now: float) -> float:
        """The departure of a request that arrives at ``now``, not before any other one did."""
        turn = self._turn % len(self._times)
        self._turn += 1
        service = self._times[turn]
        if self._routes is None:
            start = max(now, self._free[0])
            heapq.heapreplace(self._free, start + service)
        else:
            server = self._routes[turn]
            start = max(now, self._free[server])
            self._free[server] = start + service
        return start + service


class _Device:
    """What the command line of nbdkit gave."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.lock = threading.Lock()
        self.server: Server | None = None
        self.disk = bytearray()
        self.early_s = 0.0

    def ready(self) -> None:
        routes = self.settings.get("routes")
        self.server = Server(
            array("d", Path(self.settings["times"]).read_bytes()),
            int(self.settings["servers"]),
            array("H", Path(routes).read_bytes()) if routes else None,
        )
        self.disk = bytearray(int(self.settings["size"]))
        self.early_s = float(self.settings.get("early", "0"))

    def serve(self) -> None:
        assert self.server is not None  # noqa: S101  (config_complete made it; this tells the type checker)
        with self.lock:
            departs = self.server.admit(time.monotonic())
        time.sleep(max(0.0, departs - self.early_s - time.monotonic()))


_device = _Device()


def config(key: str, value: str) -> None:
    """A setting of the command line."""
    _device.settings[key] = value


def config_complete() -> None:
    """All settings are there."""
    _device.ready()


def thread_model() -> int:
    """Every request of a connection may run in a thread of its own."""
    import nbdkit  # type: ignore[import-not-found]  # only inside nbdkit

    return int(nbdkit.THREAD_MODEL_PARALLEL)


def open(readonly: bool) -> int:  # noqa: A001  (nbdkit's name for it)
    """A connection."""
    return 1


def can_multi_conn(handle: int) -> bool:
    """One queue and one disk for all connections."""
    return True


def get_size(handle: int) -> int:
    """Bytes of the disk."""
    return len(_device.disk)


def pread(handle: int, buffer: bytearray, offset: int, flags: int) -> None:
    """Read, after the service."""
    _device.serve()
    buffer[:] = _device.disk[offset : offset + len(buffer)]


def pwrite(handle: int, buffer: bytes, offset: int, flags: int) -> None:
    """Write, after the service."""
    _device.serve()
    _device.disk[offset : offset + len(buffer)] = buffer
