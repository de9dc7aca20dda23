"""A sweep of a known device: by real fio against nbdkit, or in this process where these are not installed.

With fio the device is started, measured over depths or arrival rates, and stopped. The truth goes into the provenance.
Before the sweep the overhead of the transport is measured (``way_s``), and the device then answers early by that time,
so that fio sees the queue's response times without the socket's.

In this process the device is the one that nbdkit plays (:class:`measure.known_device.plugin.Server`). N threads are the
N requests that circulate: each sends its next one when its last is answered. The threads sleep until the device
answers, so that c servers need no processors. A machine ends a sleep late, and a busy one sometimes much later, so the
device answers early (:func:`closed_loop`): the mean response time is that of the queue.

A point of half a second has some hundred requests, whose mean time would differ from the law's by several percent. So
the times are drawn in strata (:func:`stratified`): any 32 successive ones are spread over the whole law.
"""

from __future__ import annotations

import json
import math
import platform
import shutil
import threading
import time
from array import array
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.errors import ToolFailedError
from measure.fio.fio_command import FioJob, submitters
from measure.fio.fio_sweep import run_fio
from measure.fio.plan import FioPlan, FioSettings, plan_workloads
from measure.formats.fio.json_output import parse_fio
from measure.known_device.plugin import Server
from measure.known_device.server import MAX_THREADS, Truth, drawn_times, known_device, truth_of
from measure.machine.process import now, run_tool
from measure.machine.scheduling_delay import wakeup_delay
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Tick, measure, measured_here, read_kept
from measure.sweep import Sweep
from measure.units import format_rate
from qsim.errors import InvalidParameterError, must_be

TOOL = "known-device"
NAP_S, NAPS = 1e-3, 200
STRATA = 32
SHARE = 0.1
PERCENTILES = {"latency_p50_s": 50.0, "latency_p95_s": 95.0, "latency_p99_s": 99.0, "latency_p999_s": 99.9}


@dataclass(frozen=True)
class DevicePoint:
    """A point: the number of requests that circulate."""

    depth: int

    @property
    def key(self) -> str:
        """The point's key in the store."""
        return f"depth-{self.depth}.0"

    def describe(self) -> str:
        """The point in words, for a progress bar."""
        return f"depth {self.depth}"


def run_in_python(
    truth: Truth,
    depths: Sequence[int],
    out_dir: Path,
    runtime_s: float,
    ramp_s: float,
    on_progress: Progress | None = None,
) -> Sweep:
    """Measure the missing ``depths`` in ``out_dir``, each for ``runtime_s`` after ``ramp_s`` that is not counted.

    Returns the whole sweep in the directory. Raises StoreError.
    """
    played = replace(truth, early_s=lateness_s(), player="threads of Python")

    def run(point: DevicePoint, _: Tick) -> Outcome:
        command = f"a closed loop of threads, {point.describe()}"
        about = {"command": command, "request": asdict(point), "started_at": now()}
        rows = answers(played, point, ramp_s + runtime_s)
        counted = rows[(rows[:, 0] >= ramp_s) & (rows[:, 0] < ramp_s + runtime_s), 1]
        if len(counted) < 2:
            reason = f"at {point.describe()} fewer than two requests were answered; give the points more time"
            return Outcome(None, about, reason)
        measured = {
            "requests": len(counted),
            "throughput_per_s": len(counted) / runtime_s,
            "latency_s": float(counted.mean()),
            "latency_sd_s": float(counted.std()),
            **{name: float(np.percentile(counted, share)) for name, share in PERCENTILES.items()},
        }
        return Outcome(json.dumps(measured).encode(), {**about, "ended_at": now()})

    fixed = {name: getattr(truth, name) for name in ("servers", "law", "seed", "queueing")}
    plan = Measurement(
        TOOL,
        [DevicePoint(depth) for depth in depths],
        {**fixed, "runtime_s": runtime_s, "ramp_s": ramp_s},
        lambda: measured_here("qsim known device", played.label, {"truth": played.to_dict()}),
        lambda *_: nullcontext(run),
        read_device_store,
        lambda _: runtime_s + ramp_s,
    )
    return measure(plan, out_dir, on_progress)


def answers(truth: Truth, point: DevicePoint, seconds: float) -> NDArray[np.float64]:
    """Completion times of requests, seconds from the start, and their response times: (n, 2)."""
    times, routes = drawn_times(truth)
    rng = np.random.default_rng([truth.seed, *point.key.encode()])  # other draws at each point
    server = Server(
        array("d", stratified(times, rng).tobytes()),
        truth.servers,
        array("H", routes.tobytes()) if len(routes) else None,
    )
    return closed_loop(server, point.depth, seconds, truth.early_s, SHARE / point.depth, truth.delay_s)


def stratified(times: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The ``times`` (n,), shuffled so that each 32 successive ones have one from each of 32 quantile ranges.

    >>> drawn = stratified(np.arange(64.0), np.random.default_rng(1))
    >>> sorted((drawn[:32] // 2).astype(int).tolist()) == list(range(32))
    True
    """
    usable = len(times) // STRATA * STRATA
    if not usable:
        return times
    strata = rng.permuted(np.sort(times)[:usable].reshape(STRATA, -1), axis=1)
    return rng.permuted(strata.T, axis=1).ravel()


def closed_loop(
    server: Server, threads: int, seconds: float, early_s: float = 0.0, share: float = 0.0, delay_s: float = 0.0
) -> NDArray[np.float64]:
    """Completion times of requests, seconds from the start, and their response times: (n, 2), unordered.

    Each of the ``threads`` sends its next request when its last was answered, for ``seconds``; each answer
    comes ``delay_s`` after the departure.

    A thread wakes ``early_s`` before its answer is due at first, and then earlier by a ``share`` of how late each
    answer came, so late wakings lengthen the mean by next to nothing. The share is small where many requests wait at
    once, since these all wake before it can act.
    """
    lock, rows = threading.Lock(), [list[tuple[float, float]]() for _ in range(threads)]
    begin = time.perf_counter()

    def send(own: list[tuple[float, float]]) -> None:
        nonlocal early_s
        answered = time.perf_counter()
        while answered - begin < seconds:
            with lock:
                sent = time.perf_counter()
                due = server.admit(sent) + delay_s
            time.sleep(max(0.0, due - early_s - time.perf_counter()))
            answered = time.perf_counter()
            with lock:
                early_s += share * (answered - due)
            own.append((answered - begin, answered - sent))

    started = [threading.Thread(target=send, args=(own,), name="request", daemon=True) for own in rows]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return np.array([row for own in rows for row in own], dtype=np.float64).reshape(-1, 2)


def lateness_s() -> float:
    """Median delay with which this machine ends a short sleep, seconds."""
    return max(0.0, float(np.median([wakeup_delay(NAP_S) for _ in range(NAPS)])))


def read_device_store(store: SweepStore) -> Sweep:
    """The sweep stored in a directory. Raises DataError where no point is finished, StoreError where it is damaged."""
    kept = read_kept(store, lambda text, _: json.loads(text))
    kept.check_any()
    rows = [
        {
            "series": "requests",
            "load": float(point.record["request"]["depth"]),
            "repeat": 0,
            "source": point.raw.name if point.raw else None,
            "started_at": point.record["started_at"],
            "depth": float(point.record["request"]["depth"]),
            "jobs": 1.0,
            **measured,
        }
        for point, measured in zip(kept.finished, kept.values, strict=True)
    ]
    return Sweep(
        pd.DataFrame(rows).sort_values("load", kind="stable"),
        provenance=kept.provenance,
        findings=kept.findings,
        name=store.directory.name,
        raw=kept.raw,
    )


WAY_SERVICE_S = 1e-3
WAY_RUNTIME_S = 0.5
FASTEST_PER_S = 10_000.0  # the plugin's highest rate on a small machine, with the threads of fio
BUSY = 0.04  # the share of time that a submitting job may wait for its request


@dataclass(frozen=True)
class DeviceSweep:
    """A sweep of the device ``truth`` over ``depths`` (closed) or ``arrival_rates`` in 1/s (open), not both.

    Arrivals are shared among enough jobs of fio that each is idle for all but a few percent of the time.

    Raises ValueError naming an invalid setting.
    """

    truth: Truth
    depths: tuple[int, ...] = ()
    arrival_rates: tuple[float, ...] = ()
    runtime_s: float = 5.0
    ramp_s: float = 1.0
    repeats: int = 1

    def __post_init__(self) -> None:
        peak, deepest = self.truth.peak_throughput_per_s, max(self.depths, default=1)
        if bool(self.depths) == bool(self.arrival_rates):
            raise InvalidParameterError("depths", "and arrival_rates are both given, or both empty", "give one of them")
        must_be(deepest <= MAX_THREADS, "depths", deepest, f"at most {MAX_THREADS}, which the device takes at once")
        if self.truth.delay_s and self.arrival_rates:
            raise ValueError("a delay tells nothing in an open sweep; leave it out, or give depths")
        if peak > FASTEST_PER_S:
            raise ValueError(
                f"the device could serve {format_rate(peak)}, and nbdkit plays at most {format_rate(FASTEST_PER_S)}; "
                "take a longer service time or fewer servers"
            )
        for rate in self.arrival_rates:
            wanted = f"above 0 and below the device's peak of {format_rate(peak)}, or the queue would grow for ever"
            must_be(0 < rate < peak, "arrival_rates", rate, wanted)

    def plan(self, uri: str = "nbd+unix:///?socket=SOCKET", way_s: float = 0.0) -> FioPlan:
        """The plan against the device at ``uri`` (default: a placeholder). Raises as ``plan_workloads``."""
        truth = replace(self.truth, early_s=way_s)
        workloads = [FioJob(depth, 1, 4096, 100, "random") for depth in self.depths]
        workloads += [FioJob.open(rate, jobs=self._submitters(rate)) for rate in self.arrival_rates]
        settings = FioSettings(
            runtime_s=self.runtime_s,
            ramp_s=self.ramp_s,
            repeats=self.repeats,
            seed=truth.seed,
            label=truth.label,
            details={"truth": truth.to_dict()},
        )
        return plan_workloads(uri, workloads, settings)

    def run(self, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
        """Measure the missing points in ``out_dir`` and return the whole sweep; the device is always stopped.

        nbdkit serves the device and fio drives it; over depths, without these or not on Linux, threads of Python do
        both. Raises what ``run_fio`` and ``known_device`` raise.
        """
        if self.depths and (platform.system() != "Linux" or not (shutil.which("fio") and shutil.which("nbdkit"))):
            return run_in_python(self.truth, self.depths, out_dir, self.runtime_s, self.ramp_s, on_progress)
        way_s = measured_way()
        early = replace(self.truth, early_s=way_s)
        with known_device(early, threads=max(self.depths, default=1)) as uri:
            return run_fio(self.plan(uri, way_s), out_dir, on_progress)

    def _submitters(self, rate: float) -> int:
        """Number of jobs such that each is seldom busy: an M/G/1-like number outstanding, spread over them."""
        truth = self.truth
        load = rate / truth.peak_throughput_per_s
        outstanding = rate * truth.service.mean + load**2 / (1 - load) * (1 + truth.service.scv) / 2
        return min(max(submitters(rate), math.ceil(outstanding / BUSY)), math.floor(rate), 1024)


def measured_way() -> float:
    """Seconds that a request takes to the device and back, wakeup included: the median over half a second.

    Raises ToolMissingError, ToolFailedError.
    """
    with known_device(truth_of(WAY_SERVICE_S), threads=1) as uri:
        settings = FioSettings(runtime_s=WAY_RUNTIME_S, ramp_s=0.1)
        (point,) = plan_workloads(uri, [FioJob(1, 1, 4096, 100, "random")], settings).points
        finished = run_tool(point.argv, 30.0)
    if finished.returncode != 0 or finished.timed_out:
        raise ToolFailedError(f"fio could not drive nbdkit: {finished.complaint or f'exit {finished.returncode}'}")
    median = parse_fio(finished.text, "the way")[0].latency.percentile_s(50.0)
    return max(0.0, median - WAY_SERVICE_S)
