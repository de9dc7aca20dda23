"""Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One pinned thread chases pointers through a random ring of cache lines and times them; every other core streams
through a buffer of its own, and idles for a given number of loop iterations after each burst of lines. The shorter
the idle time, the more traffic the chaser waits behind. That is how Intel's Memory Latency Checker measures loaded
latency, here in compiled Python threads, on any CPU.

    plan = plan_memory()                      # decides buffers, loaders, CPUs; refuses what would measure a cache
    print(plan.describe())
    sweep = run_memory(plan, Path("memory"))  # one raw file a delay; run again to go on after an interruption

    plan = plan_memory(traffic=("read", "3:1"), loaders=(1, 2))  # a series for each traffic and number
    plan = plan_buffers([2**14, 2**15, ...])  # latency and bandwidth over buffer sizes: the caches show as steps

``load`` of the sweep is the injected delay d in iterations of the idle loop per burst. One iteration lasts
``spin_ns_per_iteration`` (in the provenance), so load is time up to a constant
factor, as the delay law X = N / (Z0 + kappa d + R) asks.

Which traffic? With "read", a core's prefetchers run ahead of its loader into the next burst while it idles, so short
delays cost no bandwidth (on a 2-core EPYC: 124 ns a burst at delay 0, 128 ns at delay 50, which alone lasts 81 ns),
and a kink stands where the law has a curve. "mix" (2:1) and "write" (1:1) follow the law (time per burst minus delay
constant within a few per cent from delay 50 on), and one core moves more with them; with few cores they are the better
load.

The figures are for the time when chaser and loaders all ran: other programs may take the CPUs away, and the probe
sees it and leaves that time out (:mod:`measure.memory.record`). What it cannot see is another virtual machine that
loads the same memory; the idle latency before and after the sweep tells.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from measure.machine.host import allowed_cpus, host_facts
from measure.machine.process import now
from measure.memory.placement import MemoryPages, allocate
from measure.memory.plan import DEMO_DELAYS, MLC_DELAYS, MemoryPlan, Point, plan_buffers, plan_memory
from measure.memory.record import ProbeRecord, Trial
from measure.memory.sweep import read_memory_store
from measure.memory.threads import (
    Chaser,
    Loader,
    compile_kernels,
    measure_together,
    on_cpu,
    on_cpus,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Run, Tick, measure, measured_here
from measure.sweep import Provenance, Sweep
from qsim.installed import version

__all__ = ["DEMO_DELAYS", "MLC_DELAYS", "MemoryPlan", "plan_buffers", "plan_memory", "read_memory_store", "run_memory"]

TOOL = "memory_probe"
"""The store's tag."""


class Bench:
    """A plan with a buffer of its largest size for each thread, touched on its CPU, and the idle loop timed.

    The chaser and the loaders of one size are made when its first point is measured. Making the bench takes seconds,
    most of them for the first touch of the memory.
    """

    def __init__(self, plan: MemoryPlan) -> None:
        compile_kernels()
        chaser, loaders = plan.placement.chaser, plan.placement.loaders

        def touched() -> MemoryPages:
            pages = allocate(plan.largest_bytes)
            pages.words[:] = 0
            return pages

        self.plan = plan
        self.cpus = (chaser, *loaders)  # of the streams: one takes the chaser's CPU where nothing is chased
        self.ring, *self.pages = on_cpus((cpu, touched) for cpu in (chaser, *self.cpus))
        self.spin_ns = spin_ns_per_iteration(loaders[0] if loaders else chaser)
        self._chasers: dict[int, Chaser] = {}
        self._loaders: dict[int, list[Loader]] = {}

    def measure(self, point: Point) -> ProbeRecord:
        """One point. Raises ToolFailedError where a thread's work is not there."""
        plan, size = self.plan, point.buffer_bytes
        chaser = None if point.kind == "peak" else self._chaser(size)
        traffic = point.traffic or plan.traffics[0]
        loaders: list[Loader] = []
        if point.traffic is not None:
            first = 0 if chaser is None else 1
            loaders = self._streams(size)[first : first + point.loaders]
            for loader in loaders:
                loader.traffic = traffic
        times = (plan.warm_up_s(point), plan.seconds_per_repeat)
        trials = tuple(trial(chaser, loaders, point.delay, *times) for _ in range(plan.repeats))
        return ProbeRecord(
            kind=point.kind,
            delay_iterations=point.delay,
            spin_ns_per_iteration=self.spin_ns,
            traffic=traffic.name,
            burst_lines=traffic.burst_lines,
            updated_lines=traffic.updated_lines,
            stride_bytes=traffic.stride_bytes,
            buffer_bytes=size,
            chaser_cpu=chaser.cpu if chaser else None,
            loader_cpus=tuple(x.cpu for x in loaders),
            huge_page_shares=tuple(x.pages.huge_share for x in (*((chaser,) if chaser else ()), *loaders)),
            trials=trials,
        )

    def _chaser(self, size: int) -> Chaser:
        if size not in self._chasers:
            cpu, hops, pages = self.cpus[0], self.plan.chunk_hops, self.ring.first(size)
            self._chasers = {size: on_cpu(cpu, lambda: Chaser(cpu, size, self.plan.seed, hops, pages))}
        return self._chasers[size]

    def _streams(self, size: int) -> list[Loader]:
        if size not in self._loaders:
            self._loaders = {size: make_loaders(self.cpus, size, self.plan.traffics[0], self.pages)}
        return self._loaders[size]


def make_loaders(
    cpus: Sequence[int | None], size_bytes: int, traffic: Traffic, pages: Sequence[MemoryPages]
) -> list[Loader]:
    """A loader on each CPU, in the first part of its pages; they are filled side by side."""
    threads = zip(cpus, pages, strict=True)
    return on_cpus((cpu, partial(Loader, cpu, size_bytes, traffic, own.first(size_bytes))) for cpu, own in threads)


def trial(chaser: Chaser | None, loaders: Sequence[Loader], delay: int, warm_up_s: float, seconds: float) -> Trial:
    """One repeat, with the time of day at which it began."""
    started_at = now()
    return Trial(started_at, *measure_together(chaser, loaders, delay, warm_up_s, seconds))


def run_memory(plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order over delays: the idle latency, then for each traffic its delays (shuffled by the plan's seed) and the peak
    bandwidth of all cores, then the idle latency again (it differs where others loaded the memory meanwhile). An
    interruption stops the threads at once, keeps every finished point, and is raised again. Raises StoreError where
    ``out_dir`` holds something else, ToolFailedError where a point could not be measured truthfully.
    """
    measurement = Measurement(
        TOOL,
        plan.points(),
        plan.settings(),
        partial(_provenance, plan),
        partial(_ready, plan),
        read_memory_store,
        plan.seconds_of,
        plan.prepare_seconds(),
    )
    return measure(measurement, out_dir, on_progress)


@contextmanager
def _ready(plan: MemoryPlan, store: SweepStore, _missing: Sequence[Point], tick: Tick) -> Iterator[Run[Point]]:
    """Fill the buffers. A point that cannot be measured truthfully ends the measurement."""
    tick("filling buffers")
    bench = Bench(plan)

    def run(point: Point, _: Tick) -> Outcome:
        about = {
            "command": f"{plan.command()} --out {shlex.quote(str(store.directory))}",
            "started_at": now(),
            "request": point.request(),
        }
        try:
            record = bench.measure(point)
        except Exception as error:
            failed = Outcome(None, {**about, "stderr": str(error)}, str(error) or repr(error))
            failed.keep(store, point.key)
            raise
        return Outcome(record.to_json().encode(), {**about, "ended_at": now()})

    yield run


def _provenance(plan: MemoryPlan) -> Provenance:
    import numba
    import numpy as np

    details = {
        "chaser_cpu": plan.placement.chaser,
        "loader_cpus": list(plan.placement.loaders),
        "allowed_cpus": list(allowed_cpus()),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "notes": list(plan.notes),
        **({"buffer_bytes": plan.largest_bytes} if plan.delays else {}),
    }
    return measured_here("qsim memory probe", host_facts().memory_text, details, version())
