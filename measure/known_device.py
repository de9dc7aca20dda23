"""A device whose truth is known: an nbdkit server with c servers and a service time of our choice, driven by real fio.

nbdkit serves a RAM disk over a Unix socket and starts ``servers`` threads for the connection, each of which sleeps
for a service time; waiting requests queue for the next free thread. That is a station with c servers and one queue,
so a closed sweep must show X = min(N, c)/S where S is deterministic, with the knee at N* = c.

A sleep takes a little longer than asked (timer slack, protocol, thread switches: about 0.1 ms), so the truth in the
provenance is the service time asked for, and the residence time at depth 1 shows what was added.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure.errors import ToolFailedError
from measure.process import running

MEMORY_BYTES = 64 * 2**20
READY_TIMEOUT_S = 10.0
GRACE_S = 2.0

# Service times are drawn beforehand and taken in turn, so that any law can be served. next() on a counter is atomic.
_PLUGIN = """\
import array
import itertools
import pathlib
import time

import nbdkit

API_VERSION = 2
times = array.array("d")
turn = itertools.count()
disk = None
size = 0


def config(key, value):
    global disk, size
    if key == "times":
        times.frombytes(pathlib.Path(value).read_bytes())
    elif key == "size":
        size = int(value)
        disk = bytearray(size)


def thread_model():
    return nbdkit.THREAD_MODEL_PARALLEL


def serve():
    time.sleep(times[next(turn) % len(times)])


def open(readonly):
    return 1


def get_size(handle):
    return size


def pread(handle, buffer, offset, flags):
    serve()
    buffer[:] = disk[offset : offset + len(buffer)]


def pwrite(handle, buffer, offset, flags):
    serve()
    disk[offset : offset + len(buffer)] = buffer
"""


@dataclass(frozen=True)
class KnownDevice:
    """A running device: where it is, and what it truly is. ``service_law`` is the law's name in words."""

    uri: str
    servers: int
    mean_service_time_s: float
    service_law: str

    @property
    def label(self) -> str:
        """The device in words, for a sweep's target and provenance."""
        return f"nbdkit, {self.servers} servers, {self.service_law}, mean {self.mean_service_time_s * 1e3:g} ms"

    @property
    def truth(self) -> dict[str, Any]:
        """JSON-ready: what an estimate should come to."""
        return {
            **{k: v for k, v in asdict(self).items() if k != "uri"},
            "peak_throughput_per_s": self.servers / self.mean_service_time_s,
            "knee": self.servers,
        }


@contextmanager
def known_device(
    servers: int = 4,
    service_time_s: float | Sequence[float] = 2e-3,
    service_law: str = "",
) -> Iterator[KnownDevice]:
    """Start a device of ``servers`` servers, and stop it when the block is left in whatever way.

    ``service_time_s`` is one time in seconds (deterministic), or a sample of times that are served in turn (draw it
    from any law and name the law in ``service_law``).

    Raises ValueError (a setting, named), ToolMissingError (no nbdkit), ToolFailedError (it does not come up).
    """
    times = [service_time_s] if isinstance(service_time_s, (int, float)) else [float(t) for t in service_time_s]
    if not 1 <= servers <= 256:
        raise ValueError(f"servers is {servers}; it must be from 1 to 256")
    if not times or not all(0 < t < 60 for t in times):
        raise ValueError(f"service_time_s is {service_time_s!r:.80}; each time must be above 0 and below 60 seconds")
    law = service_law or ("deterministic" if len(times) == 1 else "given sample")
    with TemporaryDirectory(prefix="qsim-nbd-") as folder:
        socket = Path(folder) / "socket"
        argv = [
            "nbdkit", "--foreground", "--exit-with-parent", "--unix", str(socket), "--threads", str(servers),
            *_backend(Path(folder), times),
        ]  # fmt: skip
        with running(argv, grace_s=GRACE_S, timer_slack_ns=1) as server:
            start = time.monotonic()
            while not socket.exists():
                if server.poll() is not None:
                    said = server.stderr.read().decode("utf-8", "replace").strip() if server.stderr else ""
                    raise ToolFailedError(f"nbdkit did not start (exit code {server.returncode}): {said}")
                if time.monotonic() - start > READY_TIMEOUT_S:
                    raise ToolFailedError(
                        f"nbdkit was not ready after {READY_TIMEOUT_S:g} s; is the machine overloaded?"
                    )
                time.sleep(0.01)
            yield KnownDevice(f"nbd+unix:///?socket={socket}", servers, sum(times) / len(times), law)


def _backend(folder: Path, times: Sequence[float]) -> list[str]:
    """One time is served by nbdkit's own delay filter; a sample needs the Python plugin."""
    if len(times) == 1:
        milliseconds = times[0] * 1e3
        if milliseconds == round(milliseconds):
            delay = f"{round(milliseconds)}ms"
            return ["--filter=delay", "memory", str(MEMORY_BYTES), f"rdelay={delay}", f"wdelay={delay}"]
    import array

    script, sample = folder / "device.py", folder / "times"
    script.write_text(_PLUGIN, "utf-8")
    sample.write_bytes(array.array("d", times).tobytes())
    return ["python", str(script), f"times={sample}", f"size={MEMORY_BYTES}"]
