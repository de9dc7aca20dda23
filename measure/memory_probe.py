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
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from measure.dataset import CACHE_LINE_BYTES, Provenance, Sweep
from measure.errors import DataError
from measure.findings import Finding
from measure.probe_host import caches
from measure.probe_placement import Placement, allowed_cpus, place
from measure.probe_plan import (
    BURST_LINES,
    DEMO_DELAYS,
    MLC_DELAYS,
    UPDATED_LINES,
    WARM_UP_S,
    MemoryPlan,
    Traffic,
    choose_buffer,
    plan_memory,
)
from measure.probe_record import Kind, ProbeRecord, Trial, latency_s, off_cpu_share, parse_record
from measure.probe_threads import (
    Chaser,
    Loader,
    compile_kernels,
    measure_together,
    on_cpu,
    spin_ns_per_iteration,
)
from measure.store import StoredPoint, SweepStore

__all__ = [
    "DEMO_DELAYS", "MLC_DELAYS", "MemoryPlan", "Repeated", "idle_latency", "peak_bandwidth", "plan_memory",
    "read_memory_store", "run_memory", "summarize",
]  # fmt: skip

TOOL = "qsim memory probe"
LOAD_UNIT = "loop iterations"
DISTURBED_SHARE = 0.05
HUGE_SHARE = 0.95

# on_progress(points done, points in all, seconds left, what is being done)
Progress = Callable[[int, int, float, str], None]


@dataclass(frozen=True)
class Repeated:
    """A quantity measured several times, in SI units: seconds, or bytes a second. ``best`` is the undisturbed one."""

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


def run_memory(plan: MemoryPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Measure ``plan`` into ``out_dir`` and return the sweep; points that are there already are not measured again.

    Order: the idle latency, the delays (shuffled by the plan's seed), the peak bandwidth of all cores. An interruption
    stops the threads at once, keeps every finished point, and is raised again. Raises StoreError where ``out_dir``
    holds something else, ToolFailedError where a point could not be measured truthfully.
    """
    store = SweepStore.create(out_dir, TOOL, plan.settings(), _provenance(plan).to_dict())
    with store.locked():
        done = store.finished()
        wanted: list[tuple[Kind, int]] = [("idle", 0), *(("loaded", d) for d in plan.order), ("peak", 0)]
        missing = [(kind, delay) for kind, delay in wanted if _key(kind, delay) not in done]
        tell = on_progress or (lambda *_: None)
        if missing:
            tell(len(wanted) - len(missing), len(wanted), _seconds_left(plan, len(missing), True), "filling buffers")
            with_buffers = _Prepared.make(plan)
            try:
                for number, (kind, delay) in enumerate(missing):
                    left = len(missing) - number
                    what = f"delay {delay}" if kind == "loaded" else f"{kind} memory"
                    tell(len(wanted) - left, len(wanted), _seconds_left(plan, left, False), what)
                    _measure_into(store, with_buffers, kind, delay)
            finally:
                if any(point.ok and point.record.get("request", {}).get("kind") == "loaded" for point in store.points()):
                    store.write_table(read_memory_store(store).points.to_csv(index=False))
        tell(len(wanted), len(wanted), 0.0, "done")
    return read_memory_store(store)


def read_memory_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_memory`` left in a directory, read from its raw records alone.

    One row a repeat. Beside the standard columns: ``loaders_per_s`` and ``probe_per_s`` (cache lines a second by the
    loaders and by the chaser), ``latency_median_s`` (of short chunks of the chase), ``injected_delay_s`` (after each
    burst), ``off_cpu_share``. Raises DataError where no delay was measured yet or a raw file is damaged.
    """
    rows: list[dict[str, Any]] = []
    records: list[ProbeRecord] = []
    raw: list[Path] = []
    commands: list[str] = []
    for point, path in _kept(store):
        record = parse_record(path.read_text("utf-8"), str(path))
        records.append(record)
        raw.append(path)
        if record.kind == "loaded":
            rows.extend(record.rows(path.name))
            commands.append(str(point.record.get("command", "")))
    if not rows:
        raise DataError(f"{store.directory} holds no measured delay yet; run the measurement again to go on with it")
    table = pd.DataFrame(rows).sort_values(["load", "repeat"], kind="stable")
    provenance = Provenance.from_dict(
        {**store.manifest.get("provenance", {}), "commands": commands, "source": str(store.directory)}
    )
    details = {**provenance.details, **_details(records)}
    return Sweep(
        table,
        load_kind="injected_delay",
        load_unit=LOAD_UNIT,
        provenance=Provenance.from_dict({**provenance.to_dict(), "details": details}),
        findings=tuple(_findings(records)),
        raw=tuple(raw),
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


def idle_latency(
    buffer_bytes: int | None = None, repeats: int = 3, seconds_per_repeat: float = 0.2, seed: int = 1
) -> Repeated:
    """Seconds per dependent access to a memory that nobody else loads; works on one core. Errors as ``plan_memory``."""
    cpu = place(0).chaser
    size, _ = choose_buffer(buffer_bytes, buffers=1)
    compile_kernels()
    chaser = on_cpu(cpu, lambda: Chaser(cpu, size, seed))
    trials = [_trial(chaser, [], 0, seconds_per_repeat) for _ in range(repeats)]
    return _idle(trials)


def peak_bandwidth(
    buffer_bytes: int | None = None, repeats: int = 3, seconds_per_repeat: float = 0.2, traffic: Traffic = "read"
) -> Repeated:
    """Bytes a second that all cores of the chaser's memory node move together. Errors as ``plan_memory``."""
    placement = place(None) if len(allowed_cpus()) > 1 else place(0)
    cpus = (*placement.loaders, placement.chaser)
    size, _ = choose_buffer(buffer_bytes, buffers=len(cpus))
    compile_kernels()
    loaders = [_loader(cpu, size, traffic) for cpu in cpus]
    trials = [_trial(None, loaders, 0, seconds_per_repeat) for _ in range(repeats)]
    return _peak(trials, BURST_LINES + UPDATED_LINES[traffic])


@dataclass(frozen=True)
class _Prepared:
    """The plan with its threads' memory filled and its idle loop timed."""

    plan: MemoryPlan
    chaser: Chaser
    loaders: tuple[Loader, ...]
    stand_in: Loader  # loads from the chaser's CPU when the peak is measured
    spin_ns: float

    @classmethod
    def make(cls, plan: MemoryPlan) -> _Prepared:
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
        chaser = None if kind == "peak" else self.chaser
        loaders = {"idle": (), "loaded": self.loaders, "peak": (*self.loaders, self.stand_in)}[kind]
        trials = [_trial(chaser, loaders, delay, self.plan.seconds_per_repeat) for _ in range(self.plan.repeats)]
        buffers = [*([chaser] if chaser else []), *loaders]
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
            huge_page_shares=tuple(x.pages.huge_share for x in buffers),
            trials=tuple(trials),
        )


def _measure_into(store: SweepStore, prepared: _Prepared, kind: Kind, delay: int) -> None:
    started_at = _now()
    request = {"kind": kind, "delay_iterations": delay}
    command = prepared.plan.command([delay] if kind == "loaded" else prepared.plan.delays)
    about = {"command": command, "started_at": started_at, "request": request}
    try:
        record = prepared.measure(kind, delay)
    except Exception as error:
        store.add(_key(kind, delay), None, {"status": "failed", **about, "stderr": str(error)})
        raise
    store.add(_key(kind, delay), record.to_json().encode(), {"status": "ok", **about, "ended_at": _now()})


def _trial(chaser: Chaser | None, loaders: tuple[Loader, ...] | list[Loader], delay: int, seconds: float) -> Trial:
    started_at = _now()
    return Trial(started_at, *measure_together(chaser, loaders, delay, WARM_UP_S, seconds))


def _loader(cpu: int | None, size: int, traffic: Traffic) -> Loader:
    return on_cpu(cpu, lambda: Loader(cpu, size, BURST_LINES, UPDATED_LINES[traffic]))


def _idle(trials: list[Trial]) -> Repeated:
    values = tuple(latency_s(trial.chaser) for trial in trials if trial.chaser is not None)
    return Repeated(values, min(values))


def _peak(trials: list[Trial], lines_per_burst: int) -> Repeated:
    values = tuple(
        sum(c.bursts * lines_per_burst * CACHE_LINE_BYTES / c.elapsed_ns * 1e9 for c in trial.loaders)
        for trial in trials
    )
    return Repeated(values, max(values))


def _kept(store: SweepStore) -> list[tuple[StoredPoint, Path]]:
    return [(point, point.raw) for point in store.points() if point.ok and point.raw is not None]


def _details(records: list[ProbeRecord]) -> dict[str, Any]:
    """What the records say about the whole sweep."""
    shares = [share for record in records for share in record.huge_page_shares]
    details: dict[str, Any] = {
        "spin_ns_per_iteration": statistics.fmean(r.spin_ns_per_iteration for r in records),
        "huge_page_share": None if any(s is None for s in shares) else min(s for s in shares if s is not None),
    }
    for record in records:
        if record.kind == "idle":
            idle = _idle(list(record.trials))
            details |= {"idle_latency_s": idle.mean, "idle_latency_best_s": idle.best}
        elif record.kind == "peak":
            peak = _peak(list(record.trials), record.burst_lines + record.updated_lines)
            details |= {"peak_bandwidth_bytes_per_s": peak.mean, "peak_bandwidth_best_bytes_per_s": peak.best}
    return details


def _findings(records: list[ProbeRecord]) -> list[Finding]:
    """What a reader of the curve should know about how it was measured."""
    found: list[Finding] = []
    shares = [share for record in records for share in record.huge_page_shares]
    if any(share is None for share in shares):
        found.append(
            Finding(
                "huge-pages", "info", "The system does not say whether the buffers lie on huge pages.",
                "On small pages the latency includes page-table walks.",
            )
        )  # fmt: skip
    elif (least := min(s for s in shares if s is not None)) < HUGE_SHARE:
        found.append(
            Finding(
                "huge-pages", "warning", f"Only {100 * least:.0f} % of a buffer lies on huge pages.",
                "The latency includes page-table walks (TLB misses).",
                "set /sys/kernel/mm/transparent_hugepage/enabled to madvise or always, free some memory, measure again",
            )
        )  # fmt: skip
    sizes = [cache for cache in caches() if cache.size_bytes > 0]
    _ = sizes
    for record in records:
        disturbed = [share for trial in record.trials if (share := off_cpu_share(trial)) > DISTURBED_SHARE]
        if disturbed and record.kind == "loaded":
            found.append(
                Finding(
                    "disturbed", "warning",
                    f"In {len(disturbed)} of {len(record.trials)} repeats a thread was kept off its CPU, for up to "
                    f"{100 * max(disturbed):.0f} % of the time.",
                    "Another program ran on the probe's CPUs.", "stop what else runs and measure the point again",
                    record.series, float(record.delay_iterations),
                )
            )  # fmt: skip
    return found


def _provenance(plan: MemoryPlan) -> Provenance:
    import numba
    import numpy as np

    return Provenance(
        tool=TOOL,
        tool_version=_version(),
        host=platform.node(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu=platform.processor(),
        device="memory",
        started_at=_now(),
        details={
            "chaser_cpu": plan.placement.chaser,
            "loader_cpus": list(plan.placement.loaders),
            "allowed_cpus": list(allowed_cpus()),
            "buffer_bytes": plan.buffer_bytes,
            "caches": {cache.name: cache.size_bytes for cache in caches()},
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
    except PackageNotFoundError:
        return ""


def _seconds_left(plan: MemoryPlan, points: int, prepare: bool) -> float:
    fixed = plan.seconds() - (len(plan.delays) + 2) * plan.seconds_per_point()
    return points * plan.seconds_per_point() + (fixed if prepare else 0.0)


def _key(kind: Kind, delay: int) -> str:
    return f"delay-{delay}" if kind == "loaded" else kind


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
