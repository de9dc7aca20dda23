"""Measures this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One pinned thread chases pointers through a random ring of cache lines and times them; every other core streams
through a buffer of its own, and idles for a given number of loop iterations after each burst of lines. The shorter
the idle time, the more traffic delays the chaser. Intel's Memory Latency Checker measures loaded latency in the same
way; here compiled Python threads do it, on any CPU.

    plan = plan_memory()                      # chooses buffers, loaders, CPUs; rejects what would measure a cache
    print(plan.describe())
    sweep = run_memory(plan, Path("memory"))  # one raw file a delay; run again to resume after an interruption

    plan = plan_memory(traffic=("read", "3:1"), loaders=(1, 2))  # a series for each traffic and number
    plan = plan_buffers([2**14, 2**15, ...])  # latency and bandwidth over buffer sizes: the caches show as steps

``load`` of the sweep is the injected delay d in iterations of the idle loop per burst. One iteration lasts
``spin_ns_per_iteration`` (in the provenance), so that load is time up to a factor, as X = N / (Z0 + kappa d + R) asks.

Which traffic? With "read", a core's prefetchers fetch the next burst while its loader idles, so short delays cost no
bandwidth (on a 2-core EPYC: 124 ns a burst at delay 0, 128 ns at delay 50, which alone lasts 81 ns), and the measured
curve has a kink where the law is smooth. "mix" (2:1) and "write" (1:1) follow the law (time per burst minus delay
constant within a few per cent from delay 50 on), and one core moves more with them; with few cores they are the better
load.

The figures are for the time when chaser and loaders all ran: the probe detects when other programs take a CPU, and
leaves that time out (:mod:`measure.memory.record`). It cannot detect another virtual machine that loads the same
memory, except by the idle latency before and after the sweep.
"""

from __future__ import annotations

import platform
import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.loads import BufferSize, InjectedDelay
from measure.machine.host import allowed_cpus, host_facts
from measure.machine.process import now
from measure.memory import threads
from measure.memory.placement import Words, allocate, huge_page_share
from measure.memory.plan import BUFFERS, MLC_DELAYS, MemoryPlan, Point, plan_buffers, plan_memory
from measure.memory.record import ProbeRecord, Trial, parse_record
from measure.memory.threads import Chaser, Loader
from measure.memory.traffic import Traffic
from measure.origin import Provenance
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Run, Tick, measure, measured_here, read_kept
from measure.sweep import Sweep
from measure.units import counted, format_bandwidth, format_bytes, format_duration
from qsim.installed import version

LOAD_UNIT = "loop iterations"
DISTURBED_SHARE, BUSY_SHARE = 0.05, 0.25  # share of a thread's time off its CPU: an info, and a warning
HUGE_SHARE = 0.95
DRIFT_FACTOR = 1.1  # ratio of idle latencies, before and after
LOADED_FACTOR = 1.1  # below this latency ratio, heaviest load to idle, a curve shows no knee


def read_memory_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_memory`` stored in a directory, read from its raw records alone.

    One row a repeat. Raises DataError where no point was measured yet or a raw file is damaged or missing.
    """
    kept = read_kept(store, lambda text, point: parse_record(text, str(point.raw)))
    records = {p.raw: r for p, r in zip(kept.finished, kept.values, strict=True) if p.raw is not None}
    found = list(records.values())
    provenance = Provenance.from_dict(store.manifest.get("provenance", {}))
    details = {**provenance.details, **summary_facts(found)}
    over_buffers = store.manifest.get("settings", {}).get("mode") == BUFFERS
    rows = _buffer_rows(records) if over_buffers else _loaded_rows(records)
    if not rows:
        what = "size" if over_buffers else "delay"
        raise DataError(f"{store.directory} holds no measured {what} yet; run the measurement again to go on with it")
    on_curves = [p for p, r in zip(kept.finished, found, strict=True) if r.kind == "loaded" or over_buffers]
    commands = tuple(str(p.record.get("command", "")) for p in on_curves)
    order = {name: place for place, name in enumerate(dict.fromkeys(row["series"] for row in rows))}
    table = pd.DataFrame(rows)
    table = table.assign(place=table["series"].map(order)).sort_values(["place", "load", "repeat"], kind="stable")
    return Sweep(
        table.drop(columns="place"),
        load_type=BufferSize() if over_buffers else InjectedDelay(unit=LOAD_UNIT),
        provenance=replace(provenance, commands=commands, source=store.directory.name, details=details),
        findings=(*kept.findings, *findings(found, details)),
        raw=tuple(records),
        name=store.directory.name,
    )


def _loaded_rows(records: Mapping[Path, ProbeRecord]) -> list[dict[str, Any]]:
    """The rows of a sweep over delays; repeat numbers continue where a point was measured several times."""
    rows: list[dict[str, Any]] = []
    repeats: Counter[tuple[str, float]] = Counter()
    for path, record in records.items():
        for row in record.rows(path.name) if record.kind == "loaded" else ():
            point = (row["series"], row["load"])
            rows.append({**row, "repeat": repeats[point]})
            repeats[point] += 1
    return rows


def _buffer_rows(records: Mapping[Path, ProbeRecord]) -> list[dict[str, Any]]:
    """The rows of a sweep over buffer sizes: each stream with the chase through a buffer of its size."""
    chases = {r.buffer_bytes: r for r in records.values() if r.kind == "idle"}
    streams = [(p, r) for p, r in records.items() if r.kind == "peak" and r.buffer_bytes in chases]
    return [row for path, r in streams for row in r.rows(path.name, chases[r.buffer_bytes])]


def summary_facts(records: Sequence[ProbeRecord]) -> dict[str, Any]:
    """Facts about the whole sweep from its records, for its provenance.

    ``peak_bandwidth_bytes_per_s`` is the highest of the traffics' (each in ``peaks_bytes_per_s``).
    """
    shares = [share for record in records for share in record.huge_page_shares]
    facts: dict[str, Any] = {
        "spin_ns_per_iteration": statistics.fmean(r.spin_ns_per_iteration for r in records) if records else None,
        "huge_page_share": None if None in shares else min((s for s in shares if s is not None), default=None),
    }
    if len({record.buffer_bytes for record in records}) > 1:
        return facts
    idle = [record.latencies_s() for record in records if record.kind == "idle"]
    if idle:
        facts["idle_latency_s"] = statistics.fmean(idle[0])
    if len(idle) > 1:
        facts["idle_latency_after_s"] = statistics.fmean(idle[-1])
    streams: dict[str, list[float]] = {}
    for record in (r for r in records if r.kind == "peak"):
        streams.setdefault(record.load.label, []).extend(record.bandwidths())
    if peaks := {label: _peak(values) for label, values in streams.items()}:
        facts["peak_bandwidth_bytes_per_s"] = max(peak["mean"] for peak in peaks.values())
        facts["peaks_bytes_per_s"] = peaks
    return facts


def _peak(values: Sequence[float]) -> dict[str, Any]:
    mean = statistics.fmean(values)
    return {"mean": mean, "best": max(values), "spread": statistics.stdev(values) / mean if len(values) > 1 else None}


def findings(records: Sequence[ProbeRecord], facts: Mapping[str, Any]) -> list[Finding]:
    """Findings on how the curve was measured."""
    found = [*_on_pages(facts), *_on_buffers(facts), *_on_disturbance(records), *_on_drift(facts)]
    curves: dict[str, list[ProbeRecord]] = {}
    for record in (r for r in records if r.kind == "loaded"):
        curves.setdefault(record.series, []).append(record)
    return [*found, *(finding for curve in curves.values() for finding in _on_load(curve, facts))]


def _on_pages(facts: Mapping[str, Any]) -> Iterator[Finding]:
    share = facts["huge_page_share"]
    if share is not None and share >= HUGE_SHARE:
        return
    known = "The system does not say whether the buffers lie on huge pages."
    yield Finding(
        "huge-pages",
        "info" if share is None else "warning",
        known if share is None else f"Only {100 * share:.0f} % of a buffer lies on huge pages.",
        "The latency includes page-table walks (TLB misses).",
        f"{'on Linux: ' if share is None else ''}set /sys/kernel/mm/transparent_hugepage/enabled to madvise or "
        "always, free some memory, measure again",
    )


def _on_buffers(facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings on the buffers of a sweep over delays; over buffer sizes small buffers are intended."""
    for note in (note for note in facts.get("notes", ()) if "cache" in str(note) and "buffer_bytes" in facts):
        yield Finding(
            "cache-size",
            "warning",
            f"About the buffers: {note}.",
            "A cache holds a part of each buffer, so that latency and bandwidth are better than the memory's.",
            "see where the caches end: qsim measure memory --buffers 16KiB..1GiB --out DIR; then measure with a larger "
            "--buffer or fewer --loaders",
        )


def _on_disturbance(records: Sequence[ProbeRecord]) -> Iterator[Finding]:
    shares = [max(trial.off_cpu_share for trial in record.trials) for record in records]
    worst = max(range(len(records)), key=lambda i: shares[i], default=0)
    if not shares or shares[worst] <= DISTURBED_SHARE:
        return
    over = {r.point for r, share in zip(records, shares, strict=True) if share > DISTURBED_SHARE}
    record, several = records[worst], len(over)
    where = f"delay {record.delay_iterations}" if record.kind == "loaded" else f"the {record.kind} measurement"
    yield Finding(
        "disturbed",
        "info" if shares[worst] <= BUSY_SHARE else "warning",
        f"In {counted(several, 'point')} a thread was kept off its CPU, for up to {100 * shares[worst]:.0f} % of a "
        f"repeat at {where}, buffers of {format_bytes(record.buffer_bytes)}.",
        "Another program ran on the probe's CPUs. The figures are for the time when all threads ran, but caches "
        "and memory were shared.",
        "stop what else runs, then measure again into another directory",
    )


def _on_drift(facts: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = facts.get("idle_latency_s"), facts.get("idle_latency_after_s")
    if before is None or after is None or max(before, after) < DRIFT_FACTOR * min(before, after):
        return
    yield Finding(
        "drift",
        "warning",
        f"The idle latency was {format_duration(before)} before and {format_duration(after)} after the sweep.",
        "Somebody else loaded the same memory (on a virtual machine: a neighbour on the same host), or the "
        "clock frequency changed.",
        "measure again at a quieter time, with more repeats",
    )


def _on_load(curve: Sequence[ProbeRecord], facts: Mapping[str, Any]) -> Iterator[Finding]:
    """A finding where a curve stays flat, so that it shows no knee."""
    heaviest = min(curve, key=lambda record: record.delay_iterations)
    rounds = [record for record in curve if record.delay_iterations == heaviest.delay_iterations]
    idle, latency = facts.get("idle_latency_s"), statistics.fmean(s for r in rounds for s in r.latencies_s())
    if idle is None or heaviest.delay_iterations > 0 or latency >= LOADED_FACTOR * idle:
        return
    peak = facts.get("peaks_bytes_per_s", {}).get(heaviest.load.label)
    reached = format_bandwidth(statistics.fmean(x for r in rounds for x in r.bandwidths()))
    most = f" (all cores together move {format_bandwidth(peak['mean'])})" if peak else ""
    yield Finding(
        "unsaturated",
        "warning",
        f"At delay 0 the latency is {format_duration(latency)}, idle {format_duration(idle)}: the loaders' {reached} "
        f"do not make the chaser wait{most}.",
        f"{counted(len(heaviest.loader_cpus), 'loader')} cannot saturate this memory; the knee lies beyond the curve.",
        "use more loaders, or traffic that loads the memory more (mix, write)",
        heaviest.series,
    )


__all__ = ["MLC_DELAYS", "MemoryPlan", "plan_buffers", "plan_memory", "read_memory_store", "run_memory"]

TOOL = "memory_probe"  # the tool's name in the store


class Bench:
    """The prepared threads of a plan: a buffer of the largest size for each, touched on its CPU; the idle loop timed.

    The chaser and the loaders of one size are made when its first point is measured. Preparing takes seconds, mostly
    for the first touch of the memory.
    """

    def __init__(self, plan: MemoryPlan) -> None:
        threads.compile_kernels()
        chaser, loaders = plan.placement.chaser, plan.placement.loaders

        def touched() -> Words:
            words = allocate(plan.largest_bytes)
            words[:] = 0
            return words

        self.plan = plan
        self.cpus = (chaser, *loaders)  # of the streams: one takes the chaser's CPU where nothing is chased
        self.ring, *self.buffers = threads.on_cpus((cpu, touched) for cpu in (chaser, *self.cpus))
        self.spin_ns = threads.spin_ns_per_iteration(loaders[0] if loaders else chaser)
        self._chasers: dict[int, Chaser] = {}
        self._loaders: dict[int, list[Loader]] = {}

    def measure(self, point: Point) -> ProbeRecord:
        """Measure one point. Raises ToolFailedError where a thread did not do its work."""
        plan, size = self.plan, point.buffer_bytes
        chaser = None if point.kind == "peak" else self._chaser(size)
        traffic = point.traffic or plan.traffics[0]
        loaders: list[Loader] = []
        if point.traffic is not None:
            first = 0 if chaser is None else 1
            loaders = self._streams(size)[first : first + point.loaders]
            for loader in loaders:
                loader.traffic = traffic
        buffers = [x.words for x in loaders] if chaser is None else [chaser.words, *(x.words for x in loaders)]
        times = (plan.warm_up_s(point), plan.seconds_per_repeat)
        trials = tuple(
            Trial(now(), *threads.measure_together(chaser, loaders, point.delay, *times)) for _ in range(point.trials)
        )
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
            huge_page_shares=tuple(huge_page_share(words.ctypes.data) for words in buffers),
            trials=trials,
        )

    def _chaser(self, size: int) -> Chaser:
        if size not in self._chasers:
            cpu, words, plan = self.cpus[0], self.ring[: size // 8], self.plan
            self._chasers = {size: threads.on_cpu(cpu, lambda: Chaser(cpu, words, plan.seed, plan.chunk_hops))}
        return self._chasers[size]

    def _streams(self, size: int) -> list[Loader]:
        if size not in self._loaders:
            buffers = [words[: size // 8] for words in self.buffers]
            self._loaders = {size: make_loaders(self.cpus, buffers, self.plan.traffics[0])}
        return self._loaders[size]


def make_loaders(cpus: Sequence[int | None], buffers: Sequence[Words], traffic: Traffic) -> list[Loader]:
    """A loader on each CPU, with its buffer; they are filled in parallel."""
    pairs = zip(cpus, buffers, strict=True)
    return threads.on_cpus((cpu, partial(Loader, cpu, words, traffic)) for cpu, words in pairs)


def run_memory(plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure the missing points of ``plan`` in ``out_dir`` and return the whole sweep.

    An interruption stops the threads at once, keeps every finished point, and is raised again. Raises StoreError where
    ``out_dir`` holds something else, ToolFailedError where a point could not be measured correctly.
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
    """Fill the buffers, and give the function that measures a point; a failed point ends the measurement."""
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
