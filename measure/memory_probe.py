"""Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One pinned thread chases pointers through a random ring of cache lines and times them; every other core streams
through a buffer of its own, and idles for a given number of loop iterations after each burst of lines. The shorter
the idle time, the more traffic the chaser waits behind. That is how Intel's Memory Latency Checker measures loaded
latency, here in compiled Python threads, on any CPU.

    plan = plan_memory()                      # decides buffers, loaders, CPUs; refuses what would measure a cache
    print(plan.describe())
    sweep = run_memory(plan, Path("memory"))  # one raw file a delay; run again to go on after an interruption

``load`` of the sweep is the injected delay d in iterations of the idle loop per burst. One iteration lasts
``spin_ns_per_iteration`` (in the provenance; the table has ``injected_delay_s``), so load is time up to a constant
factor, as the delay law X = N / (Z0 + kappa d + R) asks.

Which traffic? With "read", a core's prefetchers run ahead of its loader into the next burst while it idles, so short
delays cost no bandwidth (on a 2-core EPYC: 124 ns a burst at delay 0, 128 ns at delay 50, which alone lasts 81 ns),
and a kink stands where the law has a curve. "mix" and "write" follow the law (time per burst minus delay constant
within a few per cent from delay 50 on), and one core moves more with them; with few cores they are the better load.

The figures are for the time when chaser and loaders all ran: other programs may take the CPUs away, and the probe
sees it and leaves that time out (:mod:`measure.probe_record`). What it cannot see is another virtual machine that
loads the same memory; the idle latency before and after the sweep tells.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.dataset import Provenance, Sweep
from measure.host import host_facts, timer_resolution_s
from measure.probe_placement import allowed_cpus, place
from measure.probe_plan import (
    BURST_LINES,
    DEMO_DELAYS,
    MLC_DELAYS,
    UPDATED_LINES,
    WARM_UP_S,
    MemoryPlan,
    choose_buffer,
    memory_facts,
    plan_memory,
)
from measure.probe_record import Kind, ProbeRecord, Trial, off_cpu_share
from measure.probe_sweep import RETRY_SHARE, Repeated, bandwidths, latencies, read_memory_store, summarize
from measure.probe_threads import (
    Chaser,
    Loader,
    compile_kernels,
    measure_together,
    on_cpu,
    spin_ns_per_iteration,
)
from measure.store import SweepStore
from measure.units import format_bytes

__all__ = [
    "DEMO_DELAYS",
    "MLC_DELAYS",
    "MemoryPlan",
    "Repeated",
    "idle_latency",
    "peak_bandwidth",
    "plan_memory",
    "read_memory_store",
    "run_memory",
    "summarize",
]

TOOL = "memory_probe"  # the store's tag

Progress = Callable[[int, int, float, str], None]
"""on_progress(points done, points in all, seconds left, what is being done)"""


def run_memory(plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order: the idle latency, the delays (shuffled by the plan's seed), the idle latency again (it differs where others
    loaded the memory meanwhile), the peak bandwidth of all cores. An interruption stops the threads at once, keeps
    every finished point, and is raised again. Raises StoreError where ``out_dir`` holds something else,
    ToolFailedError where a point could not be measured truthfully.
    """
    tell = on_progress or (lambda *_: None)
    store = SweepStore.create(out_dir, TOOL, plan.settings(), _provenance(plan).to_dict())
    with store.locked():
        done = store.finished()
        wanted: list[tuple[str, Kind, int]] = [
            ("idle", "idle", 0),
            *((f"delay-{d}", "loaded", d) for d in plan.order),
            ("idle-after", "idle", 0),
            ("peak", "peak", 0),
        ]
        missing = [point for point in wanted if point[0] not in done]
        if missing:
            seconds = plan.prepare_seconds() + len(missing) * plan.seconds_per_point()
            tell(len(wanted) - len(missing), len(wanted), seconds, "filling buffers")
            bench = Bench.prepare(plan)
        for number, (key, kind, delay) in enumerate(missing):
            left = len(missing) - number
            what = f"delay {delay}" if kind == "loaded" else f"{kind} memory"
            tell(len(wanted) - left, len(wanted), left * plan.seconds_per_point(), what)
            _measure_into(store, bench, key, kind, delay)
        sweep = read_memory_store(store)
        store.write_table(sweep.points.to_csv(index=False))
        tell(len(wanted), len(wanted), 0.0, "done")
    return sweep


def idle_latency(
    buffer_bytes: int | None = None, repeats: int = 3, seconds_per_repeat: float = 0.2, seed: int = 1
) -> Repeated:
    """Seconds per dependent access while nobody else loads the memory; works on one core.

    Parameters and errors as ``plan_memory``.
    """
    cpu = place(0).chaser
    size, _ = choose_buffer(buffer_bytes, 1, memory_facts())
    compile_kernels()
    chaser = on_cpu(cpu, lambda: Chaser(cpu, size, seed))
    return latencies([_trial(chaser, (), 0, seconds_per_repeat) for _ in range(repeats)])


def peak_bandwidth(
    buffer_bytes: int | None = None, repeats: int = 3, seconds_per_repeat: float = 0.2, traffic: str = "read"
) -> Repeated:
    """Bytes a second that all cores of one memory node move together, without delay; works on one core.

    Parameters and errors as ``plan_memory``.
    """
    if traffic not in UPDATED_LINES:
        raise ValueError(f"traffic={traffic!r} is unknown; choose one of {', '.join(UPDATED_LINES)}")
    placement = place(None)
    cpus = (*placement.loaders, placement.chaser)
    size, _ = choose_buffer(buffer_bytes, len(cpus), memory_facts())
    compile_kernels()
    loaders = [_loader(cpu, size, traffic) for cpu in cpus]
    trials = [_trial(None, loaders, 0, seconds_per_repeat) for _ in range(repeats)]
    return bandwidths(trials, BURST_LINES + UPDATED_LINES[traffic])


@dataclass(frozen=True)
class Bench:
    """A plan with its threads' memory filled and its idle loop timed, ready to measure points."""

    plan: MemoryPlan
    chaser: Chaser
    loaders: tuple[Loader, ...]
    stand_in: Loader  # loads from the chaser's CPU when the peak is measured
    spin_ns: float

    @classmethod
    def prepare(cls, plan: MemoryPlan) -> Bench:
        """Compile, allocate, fill and calibrate: some seconds, most of them for the first touch of the memory."""
        compile_kernels()
        cpu = plan.placement.chaser
        return cls(
            plan,
            chaser=on_cpu(cpu, lambda: Chaser(cpu, plan.buffer_bytes, plan.seed)),
            loaders=tuple(_loader(c, plan.buffer_bytes, plan.traffic) for c in plan.placement.loaders),
            stand_in=_loader(cpu, plan.buffer_bytes, plan.traffic),
            spin_ns=spin_ns_per_iteration(plan.placement.loaders[0]),
        )

    def measure(self, kind: Kind, delay: int) -> ProbeRecord:
        """One point. Raises ToolFailedError where a thread's work is not there."""
        chaser = None if kind == "peak" else self.chaser
        loaders = {"idle": (), "loaded": self.loaders, "peak": (*self.loaders, self.stand_in)}[kind]
        trials, discarded = self._trials(chaser, loaders, delay)
        shares = [x.pages.huge_share for x in (*((chaser,) if chaser else ()), *loaders)]
        return ProbeRecord(
            kind=kind,
            delay_iterations=delay,
            spin_ns_per_iteration=self.spin_ns,
            traffic=self.plan.traffic,
            burst_lines=BURST_LINES,
            updated_lines=UPDATED_LINES[self.plan.traffic],
            buffer_bytes=self.plan.buffer_bytes,
            chaser_cpu=chaser.cpu if chaser else None,
            loader_cpus=tuple(x.cpu for x in loaders),
            huge_page_shares=tuple(shares),
            trials=trials,
            discarded=discarded,
        )

    def _trials(
        self, chaser: Chaser | None, loaders: Sequence[Loader], delay: int
    ) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
        """The plan's repeats, and those that were set aside because other programs took the CPUs away.

        A disturbed trial is measured again, up to as many times as there are repeats; then the least disturbed are
        kept. The choice looks at the CPU time only, never at the latency.
        """
        repeats = self.plan.repeats
        trials: list[Trial] = []
        calm = 0
        while calm < repeats and len(trials) < 2 * repeats:
            trials.append(_trial(chaser, loaders, delay, self.plan.seconds_per_repeat))
            calm += off_cpu_share(trials[-1]) <= RETRY_SHARE
        ranked = sorted(trials, key=off_cpu_share)
        kept = sorted(ranked[:repeats], key=lambda trial: trial.started_at)
        return tuple(kept), tuple(ranked[repeats:])


def _measure_into(store: SweepStore, bench: Bench, key: str, kind: Kind, delay: int) -> None:
    command = bench.plan.command([delay] if kind == "loaded" else bench.plan.delays)
    about: dict[str, Any] = {
        "command": f"{command} --out {shlex.quote(str(store.directory))}",
        "started_at": _now(),
        "request": {"kind": kind, "delay_iterations": delay},
    }
    try:
        record = bench.measure(kind, delay)
    except Exception as error:
        store.add(key, None, {"status": "failed", **about, "stderr": str(error)})
        raise
    store.add(key, record.to_json().encode(), {"status": "ok", **about, "ended_at": _now()})


def _trial(chaser: Chaser | None, loaders: Sequence[Loader], delay: int, seconds: float) -> Trial:
    started_at = _now()
    return Trial(started_at, *measure_together(chaser, loaders, delay, WARM_UP_S, seconds))


def _loader(cpu: int | None, size_bytes: int, traffic: str) -> Loader:
    return on_cpu(cpu, lambda: Loader(cpu, size_bytes, BURST_LINES, UPDATED_LINES[traffic]))


def _provenance(plan: MemoryPlan) -> Provenance:
    import numba
    import numpy as np

    host = host_facts()
    return Provenance(
        tool="qsim memory probe",
        tool_version=_version(),
        host=host.hostname,
        kernel=host.kernel,
        cpu=host.cpu_model,
        device="memory" if host.memory_bytes is None else f"memory of {format_bytes(host.memory_bytes)}",
        started_at=_now(),
        details={
            "traffic": plan.traffic,
            "chaser_cpu": plan.placement.chaser,
            "loader_cpus": list(plan.placement.loaders),
            "allowed_cpus": list(allowed_cpus()),
            "machine": host.to_dict(),
            "timer_resolution_s": timer_resolution_s(),
            "buffer_bytes": plan.buffer_bytes,
            "numba": numba.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "notes": list(plan.notes),
        },
    )


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("qsim")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "uninstalled"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
