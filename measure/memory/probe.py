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
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from measure.machine.host import host_facts, timer_resolution_s
from measure.machine.process import now
from measure.memory.bench import Bench
from measure.memory.buffers import BufferBench, BufferPlan, plan_buffers
from measure.memory.figures import idle_latency, peak_bandwidth, peak_bandwidths, seconds_for_figures
from measure.memory.placement import allowed_cpus
from measure.memory.plan import DEMO_DELAYS, MLC_DELAYS, MemoryPlan, Point, plan_memory
from measure.memory.record import Repeated
from measure.memory.steps import Plateau, plateaus, steps
from measure.memory.stores import streaming_instruction
from measure.memory.sweep import read_memory_store, summarize
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, More, Outcome, Progress, Run, Tick, measure
from measure.sweep import Provenance, Sweep
from measure.units import format_bytes
from qsim.installed import version

__all__ = [
    "DEMO_DELAYS", "MLC_DELAYS", "BufferPlan", "MemoryPlan", "Plateau", "Repeated", "idle_latency", "peak_bandwidth",
    "peak_bandwidths", "plan_buffers", "plan_memory", "plateaus", "read_memory_store", "run_buffers", "run_memory",
    "seconds_for_figures", "steps", "summarize",
]  # fmt: skip

TOOL = "memory_probe"  # the store's tag


def run_memory(
    plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None, more: More[Sweep, Point] | None = None
) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order: the idle latency, then for each traffic its delays (shuffled by the plan's seed) and the peak bandwidth of
    all cores, then the idle latency again (it differs where others loaded the memory meanwhile). When all is measured,
    ``more(sweep)`` is asked for further points, and again, until it names none that is new. An interruption stops the
    threads at once, keeps every finished point, and is raised again. Raises StoreError where ``out_dir`` holds
    something else, ToolFailedError where a point could not be measured truthfully.
    """
    return _measured(plan, lambda _: plan.seconds_per_point(), out_dir, on_progress, more)


def run_buffers(plan: BufferPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure a sweep over buffer sizes into ``out_dir`` and return it; as ``run_memory`` in everything else."""
    return _measured(plan, plan.seconds_of, out_dir, on_progress)


def _measured(
    plan: MemoryPlan | BufferPlan, seconds: Callable[[Point], float], out_dir: Path, on_progress: Progress | None,
    more: More[Sweep, Point] | None = None,
) -> Sweep:  # fmt: skip
    measurement = Measurement(
        TOOL, plan.points(), plan.settings(), partial(_provenance, plan), partial(_ready, plan), read_memory_store,
        seconds, plan.prepare_seconds(),
    )  # fmt: skip
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
            "command": f"{command} --out {shlex.quote(str(store.directory))}", "started_at": now(),
            "request": point.request(),
        }  # fmt: skip
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
        "chaser_cpu": plan.placement.chaser, "loader_cpus": list(plan.placement.loaders),
        "allowed_cpus": list(allowed_cpus()), "host_facts": host.to_dict(), "timer_resolution_s": timer_resolution_s(),
        "non_temporal_store": streaming_instruction(), "numba": numba.__version__, "numpy": np.__version__,
        "python": platform.python_version(), "notes": list(plan.notes),
    }  # fmt: skip
    if isinstance(plan, MemoryPlan):
        details["buffer_bytes"] = plan.buffer_bytes
    return Provenance(
        tool="qsim memory probe", tool_version=version(), host=host.hostname, kernel=host.kernel, cpu=host.cpu_model,
        device="memory" if host.memory_bytes is None else f"memory of {format_bytes(host.memory_bytes, 3)}",
        started_at=now(), details=details,
    )  # fmt: skip
