"""A directory of memory probe records, read as a Sweep with its findings. Pure reading: nothing is measured here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from measure.dataset import CACHE_LINE_BYTES, Sweep
from measure.dataset import Provenance as SweepProvenance
from measure.errors import DataError
from measure.findings import Finding
from measure.probe_record import ProbeRecord, Trial, latency_s, off_cpu_share, parse_record
from measure.store import SweepStore
from measure.units import format_bandwidth, format_duration

LOAD_UNIT = "loop iterations"
DISTURBED_SHARE = 0.05  # of a thread's time off its CPU: worth a word
RETRY_SHARE = 0.25  # worth measuring again
HUGE_SHARE = 0.95
DRIFT_FACTOR = 1.1  # ratio of idle latencies, before and after
LOADED_FACTOR = 1.1  # below this latency ratio, idle to heaviest load, a curve has no knee to find


@dataclass(frozen=True)
class Repeated:
    """A quantity measured several times, in SI units (seconds, bytes a second).

    ``best`` is the one least disturbed by others: the lowest latency, the highest bandwidth.
    """

    values: tuple[float, ...]
    best: float

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """Standard deviation / mean over the repeats; NaN for one repeat."""
        return statistics.stdev(self.values) / self.mean if len(self.values) > 1 else float("nan")


def latencies(trials: Sequence[Trial]) -> Repeated:
    """Seconds per access of the chaser, over trials that have one."""
    values = tuple(latency_s(trial.chaser) for trial in trials if trial.chaser is not None)
    return Repeated(values, min(values))


def bandwidths(trials: Sequence[Trial], lines_per_burst: int) -> Repeated:
    """Bytes a second of all loaders together."""
    values = tuple(
        sum(c.bursts * lines_per_burst * CACHE_LINE_BYTES / c.cpu_ns * 1e9 for c in trial.loaders) for trial in trials
    )
    return Repeated(values, max(values))


def read_memory_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_memory`` left in a directory, read from its raw records alone.

    One row a repeat. Beside the standard columns: ``loaders_per_s`` and ``probe_per_s`` (cache lines a second by the
    loaders and by the chaser), ``latency_median_s`` (of short chunks of the chase), ``injected_delay_s`` (after each
    burst), ``off_cpu_share``. Raises DataError where no delay was measured yet or a raw file is damaged or missing.
    """
    records: dict[Path, ProbeRecord] = {}
    commands: list[str] = []
    for point in store.points():
        if not point.ok or point.raw is None:
            continue
        try:
            text = point.raw.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{point.raw} cannot be read ({error}); measure into a new directory") from error
        records[point.raw] = parse_record(text, str(point.raw))
        if records[point.raw].kind == "loaded":
            commands.append(str(point.record.get("command", "")))
    rows = [row for path, r in records.items() if r.kind == "loaded" for row in r.rows(path.name)]
    if not rows:
        raise DataError(f"{store.directory} holds no measured delay yet; run the measurement again to go on with it")
    provenance = SweepProvenance.from_dict(store.manifest.get("provenance", {}))
    found = list(records.values())
    details = {**provenance.details, **summary_facts(found)}
    return Sweep(
        pd.DataFrame(rows).sort_values(["series", "load", "repeat"], kind="stable"),
        load_kind="injected_delay",
        load_unit=LOAD_UNIT,
        provenance=replace(provenance, commands=tuple(commands), source=store.directory.name, details=details),
        findings=tuple(findings(found, details)),
        raw=tuple(records),
        name=store.directory.name,
    )


def summarize(sweep: Sweep) -> pd.DataFrame:
    """One row a delay: mean, best and relative spread of bandwidth (bytes/s) and latency (s) over the repeats.

    Columns: series, load, injected_delay_s, bandwidth_mean, bandwidth_best, bandwidth_spread, latency_mean,
    latency_best, latency_spread. Best is the highest bandwidth and the lowest latency, not always of one repeat.
    """
    groups = sweep.points.groupby(["series", "load"], sort=True)
    bandwidth, latency = groups["bandwidth_bytes_per_s"], groups["latency_s"]
    return pd.DataFrame(
        {
            "injected_delay_s": groups["injected_delay_s"].first(),
            "bandwidth_mean": bandwidth.mean(),
            "bandwidth_best": bandwidth.max(),
            "bandwidth_spread": bandwidth.std() / bandwidth.mean(),
            "latency_mean": latency.mean(),
            "latency_best": latency.min(),
            "latency_spread": latency.std() / latency.mean(),
        }
    ).reset_index()


def summary_facts(records: Sequence[ProbeRecord]) -> dict[str, Any]:
    """What the records say about the whole sweep, for its provenance."""
    shares = [share for record in records for share in record.huge_page_shares]
    facts: dict[str, Any] = {
        "spin_ns_per_iteration": statistics.fmean(r.spin_ns_per_iteration for r in records),
        "huge_page_share": None if None in shares else min(s for s in shares if s is not None),
    }
    idle = [latencies(record.trials) for record in records if record.kind == "idle"]
    if idle:
        facts |= {"idle_latency_s": idle[0].mean, "idle_latency_best_s": min(i.best for i in idle)}
    if len(idle) > 1:
        facts["idle_latency_after_s"] = idle[-1].mean
    for record in records:
        if record.kind == "peak":
            peak = bandwidths(record.trials, record.burst_lines + record.updated_lines)
            facts |= {"peak_bandwidth_bytes_per_s": peak.mean, "peak_bandwidth_best_bytes_per_s": peak.best}
    return facts


def findings(records: Sequence[ProbeRecord], facts: dict[str, Any]) -> list[Finding]:
    """What a reader of the curve should know about how it was measured."""
    found = [*_on_pages(facts), *_on_buffers(facts), *_on_disturbance(records), *_on_drift(facts)]
    return [*found, *_on_load(records, facts)]


def _on_pages(facts: dict[str, Any]) -> list[Finding]:
    share = facts["huge_page_share"]
    if share is None:
        evidence = "The system does not say whether the buffers lie on huge pages."
    elif share < HUGE_SHARE:
        evidence = f"Only {100 * share:.0f} % of a buffer lies on huge pages."
    else:
        return []
    return [
        Finding(
            "huge-pages", "info" if share is None else "warning", evidence,
            "The latency includes page-table walks (TLB misses).",
            "set /sys/kernel/mm/transparent_hugepage/enabled to madvise or always, free some memory, measure again",
        )
    ]  # fmt: skip


def _on_buffers(facts: dict[str, Any]) -> list[Finding]:
    notes = [note for note in facts.get("notes", ()) if "cache" in str(note)]
    return [Finding("cache-size", "warning", f"About the buffers: {note}.") for note in notes]


def _on_disturbance(records: Sequence[ProbeRecord]) -> list[Finding]:
    shares: dict[int, float] = {}
    for record in (r for r in records if r.kind == "loaded"):
        worst = max(off_cpu_share(trial) for trial in record.trials)
        if worst > DISTURBED_SHARE:
            shares[record.delay_iterations] = worst
    if not shares:
        return []
    delays = ", ".join(str(delay) for delay in sorted(shares))
    most = 100 * max(shares.values())
    return [
        Finding(
            "disturbed", "info" if most <= 100 * RETRY_SHARE else "warning",
            f"At delay {delays} a thread was kept off its CPU, for up to {most:.0f} % of a repeat.",
            "Another program ran on the probe's CPUs. The figures are for the time when all threads ran, but caches "
            "and memory were shared.",
            "stop what else runs and measure again into a new directory",
        )
    ]  # fmt: skip


def _on_drift(facts: dict[str, Any]) -> list[Finding]:
    before, after = facts.get("idle_latency_s"), facts.get("idle_latency_after_s")
    if before is None or after is None or max(before, after) < DRIFT_FACTOR * min(before, after):
        return []
    return [
        Finding(
            "drift", "warning",
            f"The idle latency was {format_duration(before)} before and {format_duration(after)} after the sweep.",
            "Somebody else loaded the same memory (on a virtual machine: a neighbour on the same host), or the "
            "clock frequency changed.",
            "measure again at a quieter time, with more repeats",
        )
    ]  # fmt: skip


def _on_load(records: Sequence[ProbeRecord], facts: dict[str, Any]) -> list[Finding]:
    """A curve that stays flat is no failure of the probe, but whoever looks for its knee should know."""
    loaded = [record for record in records if record.kind == "loaded"]
    heaviest = min(loaded, key=lambda record: record.delay_iterations)
    idle = facts.get("idle_latency_s")
    if idle is None or heaviest.delay_iterations > 0:
        return []
    latency = latencies(heaviest.trials).mean
    if latency >= LOADED_FACTOR * idle:
        return []
    peak = facts.get("peak_bandwidth_bytes_per_s")
    reached = bandwidths(heaviest.trials, heaviest.burst_lines + heaviest.updated_lines).mean
    return [
        Finding(
            "unsaturated", "warning",
            f"At delay 0 the latency is {format_duration(latency)}, idle {format_duration(idle)}: the loaders' "
            f"{format_bandwidth(reached)} do not make the chaser wait"
            + (f" (all cores together move {format_bandwidth(peak)})." if peak else "."),
            f"{len(heaviest.loader_cpus)} loader(s) cannot saturate this memory; the knee lies beyond the curve.",
            "use more loaders, or traffic that loads the memory more (mix, write)",
            heaviest.series,
        )
    ]  # fmt: skip
