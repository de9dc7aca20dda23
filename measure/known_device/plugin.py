"""The plugin that nbdkit runs for a known device; see :mod:`measure.known_device.server`.

A request's service time and its queue are drawn beforehand. When it arrives, its start and its departure follow from
earlier requests by the recursions of Lindley (1952; one server) and of Kiefer and Wolfowitz (1955; c servers, one
queue): it starts when it has arrived and its server is free, and departs its service time later. The thread that took
it sleeps until then and answers. So service is exactly first come, first served, and a thread that wakes late delays
only its own answer: the servers never lose time, however busy the machine is.

``early`` seconds are subtracted from each sleep: the measured overhead of transport and wakeup. Negative values add a
delay that keeps no server busy.

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
        """Departure time of a request that arrives at ``now``, in seconds; arrivals must be in order of time."""
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
    """The settings from nbdkit's command line, and the server."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.lock = threading.Lock()
        self.server: Server  # made by ready()
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
        with self.lock:
            departs = self.server.admit(time.monotonic())
        time.sleep(max(0.0, departs - self.early_s - time.monotonic()))


_device = _Device()


def config(key: str, value: str) -> None:
    """Take a setting from the command line."""
    _device.settings[key] = value


def config_complete() -> None:
    """Build the device: all settings are known."""
    _device.ready()


def thread_model() -> int:
    """nbdkit's thread model: requests of a connection run in parallel threads."""
    import nbdkit  # type: ignore[import-not-found]  # only inside nbdkit

    return int(nbdkit.THREAD_MODEL_PARALLEL)


def open(readonly: bool) -> int:  # noqa: A001  (nbdkit's name for it)
    """Open a connection; all share one handle."""
    return 1


def can_multi_conn(handle: int) -> bool:
    """True: all connections share one queue and one disk."""
    return True


def get_size(handle: int) -> int:
    """Size of the disk, bytes."""
    return len(_device.disk)


def pread(handle: int, buffer: bytearray, offset: int, flags: int) -> None:
    """Read, after the service."""
    _device.serve()
    buffer[:] = _device.disk[offset : offset + len(buffer)]


def pwrite(handle: int, buffer: bytes, offset: int, flags: int) -> None:
    """Write, after the service."""
    _device.serve()
    _device.disk[offset : offset + len(buffer)] = buffer
