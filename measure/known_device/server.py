"""A device with known parameters: nbdkit with c servers and a chosen service law, driven by real fio.

nbdkit serves a RAM disk over a Unix socket by a small plugin (:mod:`measure.known_device.plugin`) that answers each
request when a queue with the drawn service times would: c servers on one queue, or a queue each with random routing.
It has more threads than requests can be outstanding, so that no request waits for a thread.

A closed sweep of it must show X = min(N, c)/S for one queue, with the knee at N* = c, and an open one the waiting times
of M/G/c. The truth is stored in the provenance of a sweep as plain JSON, so that an estimate can be compared with it.
A law is stored as its family and its parameters.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from subprocess import Popen
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError, ToolFailedError
from measure.known_device import plugin as device_plugin
from measure.machine.process import running
from measure.units import format_duration
from qsim import Deterministic, Distribution
from qsim.distributions import law_from_dict, law_to_dict
from qsim.errors import InvalidParameterError, must_be

Queueing = Literal["central", "per-server"]

_NAMES = {
    "Exponential": "exponential",
    "Deterministic": "deterministic",
    "HyperExponential": "hyperexponential",
    "LogNormal": "lognormal",
    "Empirical": "histogram",
}


@dataclass(frozen=True)
class Truth:
    """A device with ``servers`` servers whose times follow ``service`` (seconds).

    ``queueing`` is "central" (one queue, the next free server takes its head) or "per-server" (each request joins the
    queue of a server drawn at random). ``served_mean_s`` and ``served_scv`` are those of the sample of the law that the
    device plays back, drawn with ``seed``; ``early_s`` is subtracted from each answer, for the overhead of transport.
    ``delay_s`` is a constant part of every latency that keeps no server busy. ``player`` is the program that serves.
    """

    service: Distribution
    servers: int
    queueing: Queueing
    seed: int
    served_mean_s: float
    served_scv: float
    early_s: float = 0.0
    delay_s: float = 0.0
    player: str = "nbdkit"

    @property
    def law(self) -> str:
        """The law in words: ``lognormal, mean 2 ms, scv 2``."""
        family = type(self.service).__name__
        words = f"{_NAMES.get(family, family)}, mean {format_duration(self.service.mean)}"
        return words if family in ("Exponential", "Deterministic") else f"{words}, scv {self.service.scv:.3g}"

    @property
    def label(self) -> str:
        """The device in words, for a sweep's target."""
        one = self.servers == 1
        behind = "" if one else ", one queue" if self.queueing == "central" else ", a queue each"
        delay = f", and a delay of {format_duration(self.delay_s)}" if self.delay_s else ""
        return f"{self.player}, {self.servers} server{'' if one else 's'}{behind}, {self.law}{delay}"

    @property
    def peak_throughput_per_s(self) -> float:
        """Requests a second when every server is busy."""
        return self.servers / self.service.mean

    @property
    def crossing(self) -> float:
        """The load at which the asymptotes cross: latency of a lone request times peak throughput."""
        return (self.delay_s / self.service.mean + 1) * self.servers

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the settings, the served sample's moments, and the resulting peak and crossing of asymptotes."""
        return {
            "service": law_to_dict(self.service),
            "law": self.law,
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "service"},
            "mean_service_time_s": self.service.mean,
            "scv": self.service.scv,
            "peak_throughput_per_s": self.peak_throughput_per_s,
            "knee": self.crossing,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Truth:
        """The inverse of ``to_dict``. Raises DataError where a field is missing or impossible."""
        try:
            names = [f.name for f in fields(cls) if f.name in values or f.default is MISSING]
            kept = {name: values[name] for name in names if name != "service"}
            if kept["queueing"] not in get_args(Queueing):
                raise InvalidParameterError("queueing", f"is {kept['queueing']!r}", value=kept["queueing"])
            return cls(service=law_from_dict(values["service"]), **kept)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"the truth in the provenance is damaged ({error}); measure the device again") from error


MEMORY_BYTES = 64 * 2**20
READY_TIMEOUT_S = 10.0
GRACE_S = 2.0
DRAWS = 2**20  # service times drawn beforehand; a longer run repeats them
LONGEST_S = 60.0
MAX_SERVERS, MAX_THREADS = 256, 1024


def truth_of(
    service: Distribution | float = 2e-3,
    servers: int = 1,
    queueing: Queueing = "central",
    seed: int = 1,
    delay_s: float = 0.0,
) -> Truth:
    """The parameters of a device of ``servers`` servers, checked.

    ``service`` is a law of service times in seconds, or one time (deterministic). ``queueing`` is "central" (one queue)
    or "per-server" (requests are routed at random). ``delay_s`` is added to each latency and keeps no server busy.
    Raises ValueError naming an invalid setting.
    """
    must_be(1 <= servers <= MAX_SERVERS, "servers", servers, f"from 1 to {MAX_SERVERS}")
    must_be(queueing in get_args(Queueing), "queueing", queueing, "central or per-server")
    must_be(seed >= 0, "seed", seed, "zero or more")
    must_be(0 <= delay_s < LONGEST_S, "delay_s", delay_s, f"from 0 to below {LONGEST_S:g} seconds")
    law = service if isinstance(service, Distribution) else Deterministic(float(service))
    truth = Truth(law, servers, queueing, seed, law.mean, law.scv, delay_s=delay_s)
    times, _ = drawn_times(truth)
    if not 0 < law.mean < LONGEST_S or times.min() < 0 or times.max() >= LONGEST_S:
        raise InvalidParameterError(
            "service",
            f"has the mean {law.mean:g} and draws from {times.min():g} to {times.max():g} seconds",
            f"the mean must be above 0, and each time from 0 to below {LONGEST_S:g} seconds",
            value=law.mean,
        )
    mean = float(times.mean())
    return replace(truth, served_mean_s=mean, served_scv=float(times.var() / mean**2))


def drawn_times(truth: Truth) -> tuple[NDArray[np.float64], NDArray[np.uint16]]:
    """The service times that the device plays back, and the server of each request (none where there is one queue)."""
    rng = np.random.default_rng(truth.seed)
    constant = isinstance(truth.service, Deterministic)
    times = np.asarray(truth.service.sample(rng, 1 if constant else DRAWS), dtype=np.float64)
    shared = truth.queueing == "central" or truth.servers == 1
    routes = rng.integers(truth.servers, size=0 if shared else DRAWS, dtype=np.uint16)
    return np.full(DRAWS, times[0]) if constant and not shared else times, routes


@contextmanager
def known_device(truth: Truth, *, threads: int = 64) -> Iterator[str]:
    """Start a device and give its address; it is stopped when the block ends.

    ``threads``: the most requests outstanding on one connection. Raises ValueError, ToolMissingError (no nbdkit),
    ToolFailedError (it does not start).
    """
    must_be(1 <= threads <= MAX_THREADS, "threads", threads, f"from 1 to {MAX_THREADS}")
    times, routes = drawn_times(truth)
    with tempfile.TemporaryDirectory(prefix="qsim-nbd-") as folder:
        place = Path(folder)
        (place / "times").write_bytes(times.tobytes())
        (place / "routes").write_bytes(routes.tobytes())
        argv = [
            "nbdkit",
            "--foreground",
            "--exit-with-parent",
            f"--unix={place / 'socket'}",
            f"--threads={threads}",
            "python",
            str(device_plugin.__file__),
            f"times={place / 'times'}",
            f"servers={truth.servers}",
            f"size={MEMORY_BYTES}",
            f"early={truth.early_s - truth.delay_s!r}",
            *([f"routes={place / 'routes'}"] if len(routes) else []),
        ]
        with running(argv, grace_s=GRACE_S, timer_slack_ns=1) as server:
            _wait_for(place / "socket", server)
            yield f"nbd+unix:///?socket={place / 'socket'}"


def _wait_for(socket: Path, server: Popen[bytes]) -> None:
    """Wait until the server listens; ToolFailedError with its message where it ends or is too slow."""
    start = time.monotonic()
    while not socket.exists():
        if server.poll() is not None:
            said = server.stderr.read().decode("utf-8", "replace").strip() if server.stderr else ""
            install = "; install its Python plugin: apt-get install nbdkit-plugin-python" if "plugin" in said else ""
            raise ToolFailedError(f"nbdkit did not start (exit code {server.returncode}): {said}{install}")
        if time.monotonic() - start > READY_TIMEOUT_S:
            raise ToolFailedError(f"nbdkit was not ready after {READY_TIMEOUT_S:g} s; is the machine overloaded?")
        time.sleep(0.01)
