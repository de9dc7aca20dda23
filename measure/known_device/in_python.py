"""A device of known truth in this very process, for machines without fio and nbdkit.

The device is the one that nbdkit plays (:class:`measure.known_device.plugin.Server`). N threads are the N requests that
circulate: each sends its next one when its last is answered. The threads sleep by the answer of the device, so that c
servers need no processors; how much later than asked this machine ends a sleep is measured first, and the device
answers early by that much.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.errors import DataError
from measure.known_device.plugin import Server
from measure.known_device.server import drawn_times
from measure.known_device.truth import Truth
from measure.machine.host import host_facts
from measure.progress import Progress
from measure.store.directory import SweepStore
from measure.store.point_records import kept_points, provenance_of, raw_text
from measure.sweep import Provenance, Sweep

TOOL = "known-device"
NAP_S, NAPS = 1e-3, 200
PERCENTILES = {"latency_p50_s": 50.0, "latency_p95_s": 95.0, "latency_p99_s": 99.0, "latency_p999_s": 99.9}


@dataclass(frozen=True)
class PythonDevice:
    """The device ``truth``, driven by closed loops of ``runtime_s`` seconds, after ``ramp_s`` that do not count."""

    truth: Truth
    runtime_s: float = 1.0
    ramp_s: float = 0.3

    def run(self, depths: Sequence[int], out_dir: Path, on_progress: Progress) -> Sweep:
        """Measure what is missing of ``depths`` in ``out_dir`` and return all of it. Raises StoreError."""
        early_s = lateness_s()
        truth = replace(self.truth, early_s=early_s, player="threads of Python")
        host = host_facts()
        provenance = Provenance(
            tool="qsim known device", host=host.hostname, kernel=host.kernel, cpu=host.cpu_model, device=truth.label,
            details={"truth": truth.to_dict(), "host_facts": host.to_dict()},
        )  # fmt: skip
        settings = {
            "servers": truth.servers, "law": truth.law, "seed": truth.seed, "queueing": truth.queueing,
            "runtime_s": self.runtime_s, "ramp_s": self.ramp_s,
        }  # fmt: skip
        store = SweepStore.create(out_dir, TOOL, settings, provenance.to_dict())
        with store.locked():
            missing = [n for n in depths if _key(n) not in store.finished()]
            for done, depth in enumerate(missing):
                left_s = (len(missing) - done) * (self.runtime_s + self.ramp_s)
                on_progress(done, len(missing), left_s, f"depth {depth}")
                self._keep(store, depth, early_s)
            sweep = read_device_store(store)
            store.write_table(sweep.points.to_csv(index=False))
        on_progress(len(missing), len(missing), 0.0, "done")
        return sweep

    def _keep(self, store: SweepStore, depth: int, early_s: float) -> None:
        started_at = datetime.now(UTC)
        times, routes = drawn_times(self.truth)
        rng = np.random.default_rng([self.truth.seed, depth])  # other draws at each depth
        server = Server(
            array("d", rng.permutation(times).tobytes()), self.truth.servers,
            array("H", routes.tobytes()) if len(routes) else None,
        )  # fmt: skip
        rows = closed_loop(server, depth, self.ramp_s + self.runtime_s, early_s - self.truth.delay_s)
        counted = rows[(rows[:, 0] >= self.ramp_s) & (rows[:, 0] < self.ramp_s + self.runtime_s), 1]
        if len(counted) < 2:
            raise DataError(f"at depth {depth} fewer than two requests were answered; give the points more time")
        measured = {
            "requests": len(counted), "throughput_per_s": len(counted) / self.runtime_s,
            "latency_s": float(counted.mean()), "latency_sd_s": float(counted.std()),
            **{name: float(np.percentile(counted, share)) for name, share in PERCENTILES.items()},
        }  # fmt: skip
        record = {
            "status": "ok", "command": f"a closed loop of {depth} threads", "request": {"depth": depth},
            "started_at": started_at.isoformat(timespec="milliseconds"),
            "ended_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }  # fmt: skip
        store.add(_key(depth), json.dumps(measured).encode(), record)


def closed_loop(server: Server, threads: int, seconds: float, early_s: float = 0.0) -> NDArray[np.float64]:
    """When requests were answered, in seconds from the start, and how long each took: (n, 2), in no order.

    Each of the ``threads`` sends its next request when its last was answered, for so many ``seconds``.
    """
    lock, rows = threading.Lock(), [list[tuple[float, float]]() for _ in range(threads)]
    begin = time.perf_counter()

    def send(own: list[tuple[float, float]]) -> None:
        answered = time.perf_counter()
        while answered - begin < seconds:
            with lock:
                sent = time.perf_counter()
                _, departs = server.admit(sent)
            time.sleep(max(0.0, departs - early_s - time.perf_counter()))
            answered = time.perf_counter()
            own.append((answered - begin, answered - sent))

    started = [threading.Thread(target=send, args=(own,), name="request", daemon=True) for own in rows]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return np.array([row for own in rows for row in own], dtype=np.float64).reshape(-1, 2)


def lateness_s() -> float:
    """How much later than asked this machine ends a short sleep: the median, in seconds."""
    late = []
    for _ in range(NAPS):
        start = time.perf_counter()
        time.sleep(NAP_S)
        late.append(time.perf_counter() - start - NAP_S)
    return max(0.0, float(np.median(late)))


def read_device_store(store: SweepStore) -> Sweep:
    """The sweep kept in a directory. Raises DataError where no point is finished, StoreError where it is damaged."""
    kept = kept_points(store)
    provenance = provenance_of(store, kept.finished)
    rows: list[dict[str, Any]] = []
    for point in kept.finished:
        depth = float(point.record["request"]["depth"])
        rows.append({
            "series": "requests", "load": depth, "depth": depth, "jobs": 1.0, "repeat": 0,
            "source": point.raw.name if point.raw else None, "started_at": point.record["started_at"],
            **json.loads(raw_text(point)),
        })  # fmt: skip
    table = pd.DataFrame(rows).sort_values("load", kind="stable")
    return Sweep(
        table, provenance=provenance, findings=tuple(store.findings()), name=store.directory.name,
        raw=tuple(p.raw for p in kept.finished if p.raw is not None),
    )  # fmt: skip


def _key(depth: int) -> str:
    return f"depth-{depth}.0"
