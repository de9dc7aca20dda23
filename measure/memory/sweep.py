"""A directory of memory probe records, read as a Sweep with its findings. Pure reading: nothing is measured here."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.memory.plan import BUFFERS
from measure.memory.record import ProbeRecord, parse_record
from measure.store.directory import SweepStore
from measure.store.measuring import read_kept
from measure.sweep import Provenance as SweepProvenance
from measure.sweep import Sweep
from measure.units import counted, format_bandwidth, format_bytes, format_duration

LOAD_UNIT = "loop iterations"
DISTURBED_SHARE, BUSY_SHARE = 0.05, 0.25  # of a thread's time off its CPU: worth a word, and a warning
HUGE_SHARE = 0.95
DRIFT_FACTOR = 1.1  # ratio of idle latencies, before and after
LOADED_FACTOR = 1.1  # below this latency ratio, idle to heaviest load, a curve has no knee to find


def read_memory_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_memory`` left in a directory, read from its raw records alone.

    One row a repeat. Raises DataError where no point was measured yet or a raw file is damaged or missing.
    """
    kept = read_kept(store, lambda text, point: parse_record(text, str(point.raw)))
    records = {p.raw: r for p, r in zip(kept.finished, kept.values, strict=True) if p.raw is not None}
    found = list(records.values())
    provenance = SweepProvenance.from_dict(store.manifest.get("provenance", {}))
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
        load_kind="buffer_size" if over_buffers else "injected_delay",
        load_unit="B" if over_buffers else LOAD_UNIT,
        provenance=replace(provenance, commands=commands, source=store.directory.name, details=details),
        findings=(*kept.findings, *findings(found, details)),
        raw=tuple(records),
        name=store.directory.name,
    )


def _loaded_rows(records: Mapping[Path, ProbeRecord]) -> list[dict[str, Any]]:
    """The rows of a sweep over delays; the repeats of a point that was measured several times are counted on."""
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
    """What the records say about the whole sweep, for its provenance.

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
    peaks = {r.load.label: _peak(r.bandwidths()) for r in records if r.kind == "peak"}
    if peaks:
        facts["peak_bandwidth_bytes_per_s"] = max(peak["mean"] for peak in peaks.values())
        facts["peaks_bytes_per_s"] = peaks
    return facts


def _peak(values: Sequence[float]) -> dict[str, Any]:
    mean = statistics.fmean(values)
    return {"mean": mean, "best": max(values), "spread": statistics.stdev(values) / mean if len(values) > 1 else None}


def findings(records: Sequence[ProbeRecord], facts: Mapping[str, Any]) -> list[Finding]:
    """What a reader of the curve should know about how it was measured."""
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
    """Of a sweep over delays alone: over buffer sizes a small buffer is the point."""
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
    shares = {key: max(trial.off_cpu_share for trial in record.trials) for key, record in enumerate(records)}
    worst = max(shares, key=lambda key: shares[key], default=0)
    if shares.get(worst, 0.0) <= DISTURBED_SHARE:
        return
    record, several = records[worst], sum(share > DISTURBED_SHARE for share in shares.values())
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
    """A curve that stays flat is no failure of the probe, but whoever looks for its knee should know."""
    heaviest = min(curve, key=lambda record: record.delay_iterations)
    idle, latency = facts.get("idle_latency_s"), statistics.fmean(heaviest.latencies_s())
    if idle is None or heaviest.delay_iterations > 0 or latency >= LOADED_FACTOR * idle:
        return
    peak = facts.get("peaks_bytes_per_s", {}).get(heaviest.load.label)
    reached = format_bandwidth(statistics.fmean(heaviest.bandwidths()))
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
