"""Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One pinned thread chases pointers through a random ring of cache lines and times them; every other core streams
through a buffer of its own, and idles for a given number of loop iterations after each burst of lines. The shorter
the idle time, the more traffic the chaser waits behind. That is how Intel's Memory Latency Checker measures loaded
latency, here in compiled Python threads, on any CPU.

    plan = plan_memory()                      # decides buffers, loaders, CPUs; refuses what would measure a cache
    print(plan.describe())
    sweep = run_memory(plan, Path("memory"))  # one raw file a delay; run again to go on after an interruption

    plan = plan_memory(traffic=("read", "3:1", "nt-write"), loaders=(1, 2))  # a series for each traffic and number
    plan = plan_buffers([2**14, 2**15, ...])  # latency and bandwidth over buffer sizes: the caches show as steps
    sweep = run_memory(plan, Path("caches"))

``load`` of the sweep is the injected delay d in iterations of the idle loop per burst. One iteration lasts
``spin_ns_per_iteration`` (in the provenance; the table has ``injected_delay_s``), so load is time up to a constant
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from measure.machine.host import allowed_cpus, host_facts, timer_resolution_s
from measure.machine.process import now
from measure.memory.buffers import BufferPlan, plan_buffers, warm_up_s
from measure.memory.kernels import streaming_instruction
from measure.memory.placement import MemoryPages, allocate
from measure.memory.plan import DEMO_DELAYS, MLC_DELAYS, WARM_UP_S, MemoryPlan, Point, plan_memory
from measure.memory.record import ProbeRecord, Trial, off_cpu_share
from measure.memory.sweep import read_memory_store, summarize
from measure.memory.threads import (
    Chaser,
    Loader,
    compile_kernels,
    in_threads,
    measure_together,
    on_cpu,
    on_cpus,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic
from measure.repeats import RETRY_SHARE
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, More, Outcome, Progress, Run, Tick, measure
from measure.sweep import Provenance, Sweep
from measure.units import format_bytes
from qsim.installed import version

CHUNK_HOPS = 16384
"""Of a chase through a buffer: with 512 hops through a first-level cache (0.7 us) the clocks would cost as much."""


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
        cpu, size, traffic = plan.placement.chaser, plan.buffer_bytes, plan.traffics[0]
        chaser = on_cpu(cpu, lambda: Chaser(cpu, size, plan.seed))
        *loaders, stand_in = make_loaders((*plan.placement.loaders, cpu), size, traffic)
        return cls(plan, chaser, tuple(loaders), stand_in, spin_ns_per_iteration(plan.placement.loaders[0]))

    def measure(self, point: Point) -> ProbeRecord:
        """One point. Raises ToolFailedError where a thread's work is not there."""
        chaser = None if point.kind == "peak" else self.chaser
        loaders = list(self.loaders[: point.loaders])
        if point.kind == "peak":
            loaders.append(self.stand_in)
        traffic = point.traffic or self.plan.traffics[0]
        set_traffic(loaders, traffic)
        return probed(
            point,
            traffic,
            self.plan.buffer_bytes,
            self.spin_ns,
            chaser,
            loaders,
            self.plan.repeats,
            self.plan.seconds_per_repeat,
        )


@dataclass(frozen=True)
class BufferBench:
    """A plan with a buffer of the largest size for each thread, already touched."""

    plan: BufferPlan
    pages: tuple[MemoryPages, ...]
    spin_ns: float
    loaders: dict[int, list[Loader]] = field(default_factory=dict)

    @classmethod
    def prepare(cls, plan: BufferPlan) -> BufferBench:
        """Compile, and touch the memory: each thread's on its own CPU."""
        compile_kernels()
        largest = plan.sizes[-1]

        def touched() -> MemoryPages:
            pages = allocate(largest)
            pages.words[:] = 0
            return pages

        pages = on_cpus((cpu, touched) for cpu in plan.cpus)
        return cls(plan, tuple(pages), spin_ns_per_iteration(plan.cpus[0]))

    def measure(self, point: Point) -> ProbeRecord:
        """One point: the chase, or the stream. The loaders of a size are made once, and those before them given up."""
        plan, size = self.plan, point.buffer_bytes
        chaser, streaming = None, []
        if point.traffic is None:
            cpu, pages = plan.cpus[0], self.pages[0].first(size)
            chaser = on_cpu(cpu, lambda: Chaser(cpu, size, plan.seed, CHUNK_HOPS, pages))
        else:
            if size not in self.loaders:
                self.loaders.clear()
                threads = zip(plan.cpus, self.pages, strict=True)
                self.loaders[size] = on_cpus(
                    (cpu, partial(Loader, cpu, size, plan.traffics[0], pages.first(size))) for cpu, pages in threads
                )
            streaming = self.loaders[size][: point.loaders]
            set_traffic(streaming, point.traffic)
        return probed(
            point,
            point.traffic or plan.traffics[0],
            size,
            self.spin_ns,
            chaser,
            streaming,
            plan.repeats,
            plan.seconds_per_repeat,
            warm_up_s(size, chasing=chaser is not None),
        )


def probed(
    point: Point,
    traffic: Traffic,
    buffer_bytes: int,
    spin_ns: float,
    chaser: Chaser | None,
    loaders: Sequence[Loader],
    repeats: int,
    seconds: float,
    warm_up_s: float = WARM_UP_S,
) -> ProbeRecord:
    """The record of a point: ``repeats`` trials of ``chaser`` and ``loaders``, each of ``seconds``."""
    trials, discarded = calm_trials(lambda: trial(chaser, loaders, point.delay, seconds, warm_up_s), repeats)
    return ProbeRecord(
        kind=point.kind,
        delay_iterations=point.delay,
        spin_ns_per_iteration=spin_ns,
        traffic=traffic.name,
        burst_lines=traffic.burst_lines,
        updated_lines=traffic.updated_lines,
        streamed_lines=traffic.streamed_lines,
        stride_bytes=traffic.stride_bytes,
        buffer_bytes=buffer_bytes,
        chaser_cpu=chaser.cpu if chaser else None,
        loader_cpus=tuple(x.cpu for x in loaders),
        huge_page_shares=tuple(x.pages.huge_share for x in (*((chaser,) if chaser else ()), *loaders)),
        trials=trials,
        discarded=discarded,
    )


def make_loaders(cpus: Sequence[int | None], size_bytes: int, traffic: Traffic) -> list[Loader]:
    """A loader on each CPU; their buffers are filled side by side."""
    return on_cpus((cpu, partial(Loader, cpu, size_bytes, traffic)) for cpu in cpus)


def set_traffic(loaders: Sequence[Loader], traffic: Traffic) -> None:
    """Give them this traffic; buffers that the last one has changed are refilled, side by side."""
    in_threads([partial(loader.load, traffic) for loader in loaders])


def trial(
    chaser: Chaser | None, loaders: Sequence[Loader], delay: int, seconds: float, warm_up_s: float = WARM_UP_S
) -> Trial:
    """One repeat, with the time of day at which it began."""
    started_at = now()
    return Trial(started_at, *measure_together(chaser, loaders, delay, warm_up_s, seconds))


def calm_trials(measure: Callable[[], Trial], repeats: int) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
    """``repeats`` trials, and those that were set aside because other programs took the CPUs away.

    A disturbed trial is measured again, up to as many times as there are repeats; then the least disturbed count.
    The choice looks at the CPU time only, never at the latency.
    """
    trials: list[Trial] = []
    calm = 0
    while calm < repeats and len(trials) < 2 * repeats:
        trials.append(measure())
        calm += off_cpu_share(trials[-1]) <= RETRY_SHARE
    ranked = sorted(range(len(trials)), key=lambda i: off_cpu_share(trials[i]))
    kept, others = sorted(ranked[:repeats]), ranked[repeats:]
    return tuple(trials[i] for i in kept), tuple(trials[i] for i in others)


__all__ = [
    "DEMO_DELAYS",
    "MLC_DELAYS",
    "BufferPlan",
    "MemoryPlan",
    "plan_buffers",
    "plan_memory",
    "read_memory_store",
    "run_memory",
    "summarize",
]

TOOL = "memory_probe"  # the store's tag


def run_memory(
    plan: MemoryPlan | BufferPlan,
    out_dir: Path,
    on_progress: Progress | None = None,
    more: More[Sweep, Point] | None = None,
) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order over delays: the idle latency, then for each traffic its delays (shuffled by the plan's seed) and the peak
    bandwidth of all cores, then the idle latency again (it differs where others loaded the memory meanwhile). When all
    is measured, ``more(sweep)`` is asked for further points, and again, until it names none that is new. An
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
    return measure(measurement, out_dir, on_progress, more)


@contextmanager
def _ready(
    plan: MemoryPlan | BufferPlan, store: SweepStore, _missing: Sequence[Point], tick: Tick
) -> Iterator[Run[Point]]:
    """Fill the buffers. A point that cannot be measured truthfully ends the measurement."""
    tick("filling buffers")
    bench = Bench.prepare(plan) if isinstance(plan, MemoryPlan) else BufferBench.prepare(plan)

    def run(point: Point, _: Tick) -> Outcome:
        command = plan.command(point) if isinstance(plan, MemoryPlan) else plan.command(point.buffer_bytes)
        about = {
            "command": f"{command} --out {shlex.quote(str(store.directory))}",
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


def _provenance(plan: MemoryPlan | BufferPlan) -> Provenance:
    import numba
    import numpy as np

    host = host_facts()
    details: dict[str, Any] = {
        "chaser_cpu": plan.placement.chaser,
        "loader_cpus": list(plan.placement.loaders),
        "allowed_cpus": list(allowed_cpus()),
        "host_facts": host.to_dict(),
        "timer_resolution_s": timer_resolution_s(),
        "non_temporal_store": streaming_instruction(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "notes": list(plan.notes),
    }
    if isinstance(plan, MemoryPlan):
        details["buffer_bytes"] = plan.buffer_bytes
    return Provenance(
        tool="qsim memory probe",
        tool_version=version(),
        host=host.hostname,
        kernel=host.kernel,
        cpu=host.cpu_model,
        device="memory" if host.memory_bytes is None else f"memory of {format_bytes(host.memory_bytes, 3)}",
        started_at=now(),
        details=details,
    )
