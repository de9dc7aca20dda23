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
    sweep = run_buffers(plan, Path("caches"))

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure.machine.host import host_facts, timer_resolution_s
from measure.memory.again import More
from measure.memory.bench import Bench, keep, now
from measure.memory.buffers import BufferBench, BufferPlan, plan_buffers
from measure.memory.figures import idle_latency, peak_bandwidth, peak_bandwidths, seconds_for_figures
from measure.memory.placement import Placement, allowed_cpus
from measure.memory.plan import DEMO_DELAYS, MLC_DELAYS, MemoryPlan, Point, plan_memory
from measure.memory.quantities import Repeated
from measure.memory.steps import Plateau, plateaus, steps
from measure.memory.stores import streaming_instruction
from measure.memory.sweep import read_memory_store, summarize
from measure.memory.threads import Loader
from measure.progress import Progress, silent
from measure.store.directory import SweepStore
from measure.sweep import Provenance, Sweep
from measure.units import counted, format_bytes
from qsim.installed import version

__all__ = [
    "DEMO_DELAYS",
    "MLC_DELAYS",
    "BufferPlan",
    "MemoryPlan",
    "Plateau",
    "Repeated",
    "idle_latency",
    "peak_bandwidth",
    "peak_bandwidths",
    "plan_buffers",
    "plan_memory",
    "plateaus",
    "read_memory_store",
    "run_buffers",
    "run_memory",
    "seconds_for_figures",
    "steps",
    "summarize",
]

TOOL = "memory_probe"  # the store's tag


def run_memory(plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None, more: More | None = None) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order: the idle latency, then for each traffic its delays (shuffled by the plan's seed) and the peak bandwidth of
    all cores, then the idle latency again (it differs where others loaded the memory meanwhile). When all is measured,
    ``more(sweep)`` is asked for further points, and again, until it names none that is new. An interruption stops the
    threads at once, keeps every finished point, and is raised again. Raises StoreError where ``out_dir`` holds
    something else, ToolFailedError where a point could not be measured truthfully.
    """
    tell = on_progress or silent
    facts = _provenance(plan.placement, plan.notes, buffer_bytes=plan.buffer_bytes)
    store = SweepStore.create(out_dir, TOOL, plan.settings(), facts.to_dict())
    with store.locked():
        points, bench = list(plan.points()), None
        while True:
            done = store.finished()
            missing = [point for point in points if point.key not in done]
            if missing and bench is None:
                seconds = plan.prepare_seconds() + len(missing) * plan.seconds_per_point()
                tell(len(points) - len(missing), len(points), seconds, "filling buffers")
                bench = Bench.prepare(plan)
            if bench is not None:
                _measure(plan, bench, store, missing, len(points), tell)
            sweep = read_memory_store(store)
            known = {point.key for point in points}
            new = [point for point in (more(sweep) if more is not None else ()) if point.key not in known]
            if not new:
                break
            points += new
        store.write_table(sweep.points.to_csv(index=False))
        tell(len(points), len(points), 0.0, "done")
    return sweep


def _measure(
    plan: MemoryPlan, bench: Bench, store: SweepStore, missing: Sequence[Point], total: int, tell: Progress
) -> None:
    for number, point in enumerate(missing):
        left = len(missing) - number
        tell(total - left, total, left * plan.seconds_per_point(), point.describe())
        request = {"kind": point.kind, "delay_iterations": point.delay}
        keep(store, point.key, plan.command(point), request, lambda point=point: bench.measure(point))  # type: ignore[misc]


def run_buffers(plan: BufferPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure a sweep over buffer sizes into ``out_dir`` and return it; as ``run_memory`` in everything else."""
    tell = on_progress or silent
    store = SweepStore.create(out_dir, TOOL, plan.settings(), _provenance(plan.placement, plan.notes).to_dict())
    with store.locked():
        done = store.finished()
        wanted = [(size, point) for size in plan.order for point in plan.points(size)]
        missing = {size: [p for s, p in wanted if s == size and p.key not in done] for size in plan.order}
        missing = {size: points for size, points in missing.items() if points}
        finished = len(wanted) - sum(len(points) for points in missing.values())
        left = sum(plan.seconds_at(size) for size in missing)
        if missing:
            tell(finished, len(wanted), plan.prepare_seconds() + left, "filling buffers")
            bench = BufferBench.prepare(plan)
        for size, points in missing.items():
            loaders: list[Loader] = []
            for point in points:
                what = (
                    "latency" if point.traffic is None else f"{point.traffic.name}, {counted(point.loaders, 'thread')}"
                )
                tell(finished, len(wanted), left, f"{format_bytes(size)}, {what}")
                if point.traffic is not None and not loaders:
                    loaders = bench.loaders_of(size)
                keep(
                    store, point.key, plan.command(size), {"kind": point.kind, "buffer_bytes": size},
                    lambda size=size, point=point, loaders=loaders: bench.measure(size, point, loaders),  # type: ignore[misc]
                )  # fmt: skip
                finished += 1
            left -= plan.seconds_at(size)
        sweep = read_memory_store(store)
        store.write_table(sweep.points.to_csv(index=False))
        tell(len(wanted), len(wanted), 0.0, "done")
    return sweep


def _provenance(placement: Placement, notes: Sequence[str], **details: Any) -> Provenance:
    import numba
    import numpy as np

    host = host_facts()
    return Provenance(
        tool="qsim memory probe",
        tool_version=version(),
        host=host.hostname,
        kernel=host.kernel,
        cpu=host.cpu_model,
        device="memory" if host.memory_bytes is None else f"memory of {format_bytes(host.memory_bytes)}",
        started_at=now(),
        details={
            "chaser_cpu": placement.chaser,
            "loader_cpus": list(placement.loaders),
            "allowed_cpus": list(allowed_cpus()),
            "host_facts": host.to_dict(),
            "timer_resolution_s": timer_resolution_s(),
            "non_temporal_store": streaming_instruction(),
            "numba": numba.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "notes": list(notes),
            **details,
        },
    )
