"""A directory of memory probe records, read as a Sweep with its findings. Pure reading: nothing is measured here."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.memory.record import ProbeRecord, Repeated, Trial, latency_s, off_cpu_share, parse_record
from measure.repeats import RETRY_SHARE
from measure.store.directory import SweepStore
from measure.store.measuring import read_kept
from measure.sweep import Provenance as SweepProvenance
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES, counted, format_bandwidth, format_bytes, format_duration

LOAD_UNIT = "loop iterations"
BUFFERS = "buffers"  # the mode of a sweep over buffer sizes, in its directory's settings
DISTURBED_SHARE = 0.05  # of a thread's time off its CPU: worth a word
HUGE_SHARE = 0.95
DRIFT_FACTOR = 1.1  # ratio of idle latencies, before and after
_MOST_NAMED = 8
LOADED_FACTOR = 1.1  # below this latency ratio, idle to heaviest load, a curve has no knee to find


def latencies(trials: Sequence[Trial]) -> Repeated:
    """Seconds per access of the chaser, over trials that have one."""
    return Repeated.times([latency_s(trial.chaser) for trial in trials if trial.chaser is not None])


def bandwidths(trials: Sequence[Trial], lines_per_burst: int) -> Repeated:
    """Bytes a second of all loaders together."""
    line_rate = lines_per_burst * CACHE_LINE_BYTES * 1e9
    return Repeated.rates([sum(c.bursts * line_rate / c.cpu_ns for c in trial.loaders) for trial in trials])


def read_memory_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_memory`` left in a directory, read from its raw records alone.

    One row a repeat. Beside the standard columns: ``read_bytes_per_s`` and ``written_bytes_per_s`` (over the memory
    bus), ``latency_median_s`` (of short chunks of the chase), ``off_cpu_share``, and of each point over its repeats
    ``throughput_best_per_s``, ``latency_best_s``, ``throughput_spread`` and ``latency_spread`` (standard deviation /
    mean). Over delays also ``loaders_per_s`` and ``probe_per_s`` (cache lines a second by the loaders and by the
    chaser) and ``injected_delay_s`` (after each burst). Raises DataError where no point was measured yet or a raw file
    is damaged or missing.
    """
    kept = read_kept(store, lambda text, point: parse_record(text, str(point.raw)))
    records = {p.raw: r for p, r in zip(kept.finished, kept.values, strict=True) if p.raw is not None}
    found = list(records.values())
    provenance = SweepProvenance.from_dict(store.manifest.get("provenance", {}))
    details = {**provenance.details, **summary_facts(found)}
    over_buffers = store.manifest.get("settings", {}).get("mode") == BUFFERS
    on_curves = [p for p, r in zip(kept.finished, found, strict=True) if r.kind == "loaded" or over_buffers]
    commands = tuple(str(p.record.get("command", "")) for p in on_curves)
    if over_buffers:
        rows = buffer_rows(records)
        noticed = [*_on_pages(details), *_on_disturbance(found, _size), *_on_streaming(found, details)]
    else:
        rows = _loaded_rows(records)
        noticed = findings(found, details) if rows else []
    if not rows:
        what = "size" if over_buffers else "delay"
        raise DataError(f"{store.directory} holds no measured {what} yet; run the measurement again to go on with it")
    order = {name: place for place, name in enumerate(dict.fromkeys(row["series"] for row in rows))}
    table = pd.DataFrame(rows)
    table = table.assign(place=table["series"].map(order)).sort_values(["place", "load", "repeat"], kind="stable")
    return Sweep(
        with_best(table.drop(columns="place")),
        load_kind="buffer_size" if over_buffers else "injected_delay",
        load_unit="B" if over_buffers else LOAD_UNIT,
        provenance=replace(provenance, commands=commands, source=store.directory.name, details=details),
        findings=(*kept.findings, *noticed),
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


def buffer_rows(records: Mapping[Path, ProbeRecord]) -> list[dict[str, Any]]:
    """The rows of a sweep over buffer sizes: each chase beside each stream through buffers of its size.

    The latency is that of one thread alone, and the throughput that of one or more threads alone, measured one after
    the other: no load, so N = X R does not hold between them. Repeats are paired in the order of measuring.
    """
    chases = {r.buffer_bytes: r for r in records.values() if r.kind == "idle"}
    rows: list[dict[str, Any]] = []
    for path, stream in records.items():
        chase = chases.get(stream.buffer_bytes)
        if stream.kind != "peak" or chase is None:
            continue
        threads = len(stream.loader_cpus)
        pairs = zip(chase.trials, stream.trials, strict=False)
        for repeat, (alone, streaming) in enumerate(pairs):
            if alone.chaser is None:
                raise DataError(f"the chase through {stream.buffer_bytes} bytes beside {path} has no chaser")
            lines = stream.loaders_per_s(streaming)
            rows.append(
                {
                    "series": f"{stream.label}, {threads} thread{'s' if threads != 1 else ''}",
                    "load": float(stream.buffer_bytes),
                    "repeat": repeat,
                    "throughput_per_s": lines,
                    "bandwidth_bytes_per_s": lines * CACHE_LINE_BYTES,
                    "latency_s": latency_s(alone.chaser),
                    "latency_median_s": alone.chaser.chunk_ns_per_hop.get("0.5", math.nan) * 1e-9,
                    "read_bytes_per_s": lines * stream.read_fraction * CACHE_LINE_BYTES,
                    "written_bytes_per_s": lines * (1 - stream.read_fraction) * CACHE_LINE_BYTES,
                    "off_cpu_share": max(off_cpu_share(alone), off_cpu_share(streaming)),
                    "block_bytes": CACHE_LINE_BYTES,
                    "jobs": threads,
                    "read_fraction": stream.read_fraction,
                    "source": path.name,
                    "started_at": streaming.started_at,
                }
            )
    return rows


def with_best(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what each point's repeats give together, in every row of the point."""
    groups = table.groupby(["series", "load"], sort=False)
    throughput, latency = groups["throughput_per_s"], groups["latency_s"]
    return table.assign(
        throughput_best_per_s=throughput.transform("max"),
        latency_best_s=latency.transform("min"),
        throughput_spread=throughput.transform("std") / throughput.transform("mean"),
        latency_spread=latency.transform("std") / latency.transform("mean"),
    )


def summarize(sweep: Sweep, level: float = 0.95) -> pd.DataFrame:
    """One row a point, over its repeats: mean, interval of the mean, best, and relative spread.

    Columns: series, load, repeats, injected_delay_s (over delays), and for bandwidth (bytes/s) and latency (s):
    _mean, _low, _high, _best, _spread (standard deviation / mean). The interval is Student's at ``level``, NaN for one
    repeat. Best is the highest bandwidth and the lowest latency, not always of one repeat.
    """
    rows: list[dict[str, Any]] = []
    for (series, load), point in sweep.points.groupby(["series", "load"], sort=False):
        row: dict[str, Any] = {"series": series, "load": load, "repeats": len(point)}
        if "injected_delay_s" in point:
            row["injected_delay_s"] = float(point["injected_delay_s"].iloc[0])
        for name, values in (
            ("bandwidth", Repeated.rates(point["bandwidth_bytes_per_s"])),
            ("latency", Repeated.times(point["latency_s"])),
        ):
            low, high = values.interval(level)
            row |= {
                f"{name}_mean": values.mean,
                f"{name}_low": low,
                f"{name}_high": high,
                f"{name}_best": values.best,
                f"{name}_spread": values.spread,
            }
        rows.append(row)
    return pd.DataFrame(rows)


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
    idle = [latencies(record.trials) for record in records if record.kind == "idle"]
    if idle:
        facts |= {"idle_latency_s": idle[0].mean, "idle_latency_best_s": min(i.best for i in idle)}
    if len(idle) > 1:
        facts["idle_latency_after_s"] = idle[-1].mean
    peaks = {r.label: bandwidths(r.trials, r.bus_lines) for r in records if r.kind == "peak"}
    if peaks:
        facts["peak_bandwidth_bytes_per_s"] = max(peak.mean for peak in peaks.values())
        facts["peak_bandwidth_best_bytes_per_s"] = max(peak.best for peak in peaks.values())
        facts["peaks_bytes_per_s"] = {
            name: {"mean": p.mean, "best": p.best, "spread": p.spread if len(p.values) > 1 else None}
            for name, p in peaks.items()
        }
    return facts


def findings(records: Sequence[ProbeRecord], facts: dict[str, Any]) -> list[Finding]:
    """What a reader of the curve should know about how it was measured."""
    found = [*_on_pages(facts), *_on_buffers(facts), *_on_disturbance(records), *_on_drift(facts)]
    found += _on_streaming(records, facts)
    curves: dict[str, list[ProbeRecord]] = {}
    for record in (r for r in records if r.kind == "loaded"):
        curves.setdefault(record.series, []).append(record)
    return [*found, *(finding for curve in curves.values() for finding in _on_load(curve, facts))]


def _on_pages(facts: dict[str, Any]) -> Iterator[Finding]:
    share = facts["huge_page_share"]
    if share is None:
        evidence = "The system does not say whether the buffers lie on huge pages."
    elif share < HUGE_SHARE:
        evidence = f"Only {100 * share:.0f} % of a buffer lies on huge pages."
    else:
        return
    yield Finding(
        "huge-pages",
        "info" if share is None else "warning",
        evidence,
        "The latency includes page-table walks (TLB misses).",
        f"{'on Linux: ' if share is None else ''}set /sys/kernel/mm/transparent_hugepage/enabled to madvise or "
        "always, free some memory, measure again",
    )


def _on_buffers(facts: dict[str, Any]) -> Iterator[Finding]:
    for note in (note for note in facts.get("notes", ()) if "cache" in str(note)):
        yield Finding(
            "cache-size",
            "warning",
            f"About the buffers: {note}.",
            "A cache holds a part of each buffer, so that latency and bandwidth are better than the memory's.",
            "see where the caches end: qsim measure memory --buffers 16KiB..1GiB --out DIR; then measure with a larger "
            "--buffer or fewer --loaders",
        )


def _delay_or_kind(record: ProbeRecord) -> str:
    return f"delay {record.delay_iterations}" if record.kind == "loaded" else f"the {record.kind} measurement"


def _size(record: ProbeRecord) -> str:
    return format_bytes(record.buffer_bytes)


def _on_disturbance(
    records: Sequence[ProbeRecord], names: Callable[[ProbeRecord], str] = _delay_or_kind
) -> Iterator[Finding]:
    shares: dict[str, float] = {}
    for record in sorted(records, key=lambda r: (r.kind != "loaded", r.delay_iterations, r.buffer_bytes)):
        worst = max(off_cpu_share(trial) for trial in record.trials)
        if worst > DISTURBED_SHARE:
            where = names(record)
            shares[where] = max(worst, shares.get(where, 0.0))
    if not shares:
        return
    more = len(shares) - _MOST_NAMED
    told = ", ".join(list(shares)[:_MOST_NAMED]).replace(", delay ", ", ") + (f" and {more} more" if more > 0 else "")
    most = 100 * max(shares.values())
    yield Finding(
        "disturbed",
        "info" if most <= 100 * RETRY_SHARE else "warning",
        f"A thread was kept off its CPU for up to {most:.0f} % of a repeat, at {told}.",
        "Another program ran on the probe's CPUs. The figures are for the time when all threads ran, but caches "
        "and memory were shared.",
        "stop what else runs, then measure again into another directory",
    )


def _on_streaming(records: Sequence[ProbeRecord], facts: dict[str, Any]) -> Iterator[Finding]:
    """Traffic past the caches that this CPU's compiled code does not have."""
    if facts.get("non_temporal_store") != "" or not any(record.streamed_lines for record in records):
        return
    yield Finding(
        "ordinary-stores",
        "warning",
        "Non-temporal stores were asked for, and the code compiled for this CPU holds none.",
        "Ordinary stores wrote the lines, and read each of them first: the bus moved more than is counted.",
        "use ordinary traffic: read, 3:1, mix, write",
    )


def _on_drift(facts: dict[str, Any]) -> Iterator[Finding]:
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


def _on_load(curve: Sequence[ProbeRecord], facts: dict[str, Any]) -> Iterator[Finding]:
    """A curve that stays flat is no failure of the probe, but whoever looks for its knee should know."""
    heaviest = min(curve, key=lambda record: record.delay_iterations)
    idle = facts.get("idle_latency_s")
    if idle is None or heaviest.delay_iterations > 0:
        return
    latency = latencies(heaviest.trials).mean
    if latency >= LOADED_FACTOR * idle:
        return
    peak = facts.get("peaks_bytes_per_s", {}).get(heaviest.label)
    reached = bandwidths(heaviest.trials, heaviest.bus_lines).mean
    yield Finding(
        "unsaturated",
        "warning",
        f"At delay 0 the latency is {format_duration(latency)}, idle {format_duration(idle)}: the loaders' "
        f"{format_bandwidth(reached)} do not make the chaser wait"
        + (f" (all cores together move {format_bandwidth(peak['mean'])})." if peak else "."),
        f"{counted(len(heaviest.loader_cpus), 'loader')} cannot saturate this memory; the knee lies beyond the curve.",
        "use more loaders, or traffic that loads the memory more (mix, write, nt-write)",
        heaviest.series,
    )
