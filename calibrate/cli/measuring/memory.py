"""``qsim measure memory``: this machine's memory, with the built-in probe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import table
from calibrate.cli.measuring.run import PlanOrRun, sweep_document
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import exclusive
from measure.memory.traffic import parse_traffics
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration

if TYPE_CHECKING:
    from measure import Sweep
    from measure.memory.probe import BufferPlan, MemoryPlan

HELP = """Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One thread chases pointers; the others load the memory and idle for a delay after each burst.

\b
Examples:
qsim measure memory --out memory
qsim measure memory --traffic read,3:1,1:1,nt-write --out mixes --dry-run
qsim measure memory --buffers 16KiB..1GiB --out caches
"""


@parsing.parser
def _traffics(text: str) -> parsing.Words:
    return parsing.Words(traffic.name for traffic in parse_traffics(text))


OVER_DELAYS = "it goes with a sweep over delays"


@exclusive("--buffers", "--delays", because="a sweep varies one of them")
@exclusive("--buffers", "--buffer", because=OVER_DELAYS)
@exclusive("--buffers", "--strides", because=OVER_DELAYS)
def measure_memory(
    *,
    delays: parsing.Numbers | None = option(
        "D,...", parsing.delays, "Idle-loop iterations after each burst.", shown="a list of 11 from 0 to 2500"
    ),
    traffic: parsing.Words = option(
        "TRAFFIC,...",
        _traffics,
        "read, mix (2:1), write (1:1), a ratio (3:1), percent of reads (75), past the caches nt-write, nt-1:1.",
        default=parsing.Words(("read",)),
        shown="read",
    ),
    loaders: parsing.Numbers | None = option(
        "N,...", parsing.depths, "Loading threads, as 1,2.", shown="every other core"
    ),
    buffer_bytes: int | None = option(
        "SIZE",
        parsing.size,
        "Buffer of each thread, larger than the caches.",
        "--buffer",
        shown="4 times the last cache",
    ),
    buffers: parsing.Numbers | None = option(
        "SIZE,...", parsing.sizes, "Sweep over these buffer sizes instead, as 16KiB..1GiB (doubling)."
    ),
    strides: parsing.Numbers | None = option(
        "SIZE,...", parsing.sizes, "Bytes between the lines that a loader touches.", shown="64"
    ),
    repeats: int = option("N", parsing.whole, "Repeats of each point.", default=3, shown=True),
    seconds_per_repeat: float = option(
        "TIME", parsing.seconds, "Time of one repeat.", "--seconds", default=0.2, shown=True
    ),
    output: PlanOrRun,
) -> None:
    """Plan, say what will be done, do it, print the points."""
    counts = None if loaders is None else [int(n) for n in loaders]
    output.check()

    from measure.memory.probe import DEMO_DELAYS, plan_buffers, plan_memory, run_memory

    plan: MemoryPlan | BufferPlan
    if buffers is not None:
        sizes = plan_buffers(
            [int(b) for b in buffers],
            threads=counts,
            repeats=repeats,
            seconds_per_repeat=seconds_per_repeat,
            traffic=traffic,
        )
        plan, what = sizes, f"{len(sizes.sizes)} buffer sizes"
    else:
        curve = plan_memory(
            delays if delays is not None else DEMO_DELAYS,
            buffer_bytes=buffer_bytes,
            loaders=counts,
            repeats=repeats,
            seconds_per_repeat=seconds_per_repeat,
            traffic=traffic,
            strides=[int(s) for s in strides or (CACHE_LINE_BYTES,)],
        )
        plan, what = curve, f"{len(curve.delays)} delays"
    if output.dry_run:
        _show_plan(plan, output)
        return
    several = f" of {len(traffic)} traffics" if len(traffic) > 1 else ""
    opening = f"{what}{several}, about {format_duration(plan.seconds())}"
    if buffers is not None:
        output.measure(opening, lambda out, bar: run_memory(sizes, out, bar), _text, _document)
    else:
        output.measure(opening, lambda out, bar: run_memory(curve, out, bar), _text, _document)


def _show_plan(plan: MemoryPlan | BufferPlan, output: PlanOrRun) -> None:
    from measure.memory.probe import BufferPlan

    if isinstance(plan, BufferPlan):
        points = [
            {"buffer_bytes": size, "command": plan.command(size), "seconds": plan.seconds_at(size)}
            for size in plan.sizes
        ]
    else:
        loaded = [
            (plan.traffics.index(p.traffic), p.loaders, p.delay, p)
            for p in plan.points()
            if p.kind == "loaded" and p.traffic is not None
        ]
        points = [
            {
                "delay": p.delay,
                "traffic": p.traffic.label if p.traffic else None,
                "loaders": p.loaders,
                "command": plan.command(p),
                "seconds": plan.seconds_per_point(),
            }
            for *_, p in sorted(loaded, key=lambda entry: entry[:3])
        ]
    output.show_plan(
        lambda: plan.describe() + "\n\n" + plan.command(),
        lambda: {
            "points": points,
            "commands": [plan.command()],
            "seconds": plan.seconds(),
            "settings": plan.settings(),
            "notes": list(plan.notes),
        },
    )


def _row_cells(row: Mapping[Any, Any], prefix: str, show: Callable[[float], str]) -> tuple[str, str, str, str]:
    """Best, mean, interval and spread from a row of a summary; the last two empty where there is one repeat."""
    best, mean, low, high, spread = (float(row[prefix + n]) for n in ("best", "mean", "low", "high", "spread"))
    if not math.isfinite(spread):
        return show(best), show(mean), "", ""
    return show(best), show(mean), f"{show(low)} to {show(high)}", f"{100 * spread:.2g} %"


def _text(sweep: Sweep, where: Path) -> str:
    """The idle latency and the peaks, the points as tables, the directory, and the next command."""
    if sweep.load_type.is_size:
        return "\n\n".join([_sizes_text(sweep), _plateaus_text(sweep), f"saved in {where}"])
    from measure.memory.probe import summarize

    header = ("delay", "bandwidth", "best", "spread", "latency", "95 % interval", "best", "spread")
    parts = []
    for series, group in summarize(sweep).groupby("series", sort=False):
        rows = []
        for row in group.to_dict("records"):
            bandwidth = _row_cells(row, "bandwidth_", format_bandwidth)
            latency = _row_cells(row, "latency_", format_duration)
            rows.append(
                (
                    f"{row['load']:g}",
                    bandwidth[1],
                    bandwidth[0],
                    bandwidth[3],
                    latency[1],
                    latency[2],
                    latency[0],
                    latency[3],
                )
            )
        parts.append(f"{series}\n{table(header, rows, left=0)}")
    details = sweep.provenance.details
    figures = [f"idle latency {format_duration(details['idle_latency_s'])}"] if "idle_latency_s" in details else []
    peaks = details.get("peaks_bytes_per_s", {})
    figures += [f"peak of {name} {format_bandwidth(peak['mean'])}" for name, peak in peaks.items()]
    following = f"saved in {where}; next: qsim compare {where} --report report.html"
    return "\n\n".join([*([", ".join(figures)] if figures else []), *parts, following])


def _sizes_text(sweep: Sweep) -> str:
    from measure.memory.probe import summarize

    summary = summarize(sweep)
    header = ["buffer", "latency", "best", "spread"]
    for name in sweep.series:
        header += [name, "best", "spread"]
    rows = []
    for size in sorted(set(summary["load"])):
        group = summary[summary["load"] == size]
        first = group.iloc[0]
        latency = _row_cells(first, "latency_", format_duration)
        row = [format_bytes(float(size)), latency[1], latency[0], latency[3]]
        for name in sweep.series:
            of_series = group[group["series"] == name]
            cells = ("", "", "", "")
            if len(of_series):
                cells = _row_cells(of_series.iloc[0], "bandwidth_", format_bandwidth)
            row += [cells[1], cells[0], cells[3]]
        rows.append(row)
    return table(header, rows, left=0)


def _plateaus_text(sweep: Sweep) -> str:
    """The plateaus and the steps between them, beside the caches that the machine reports."""
    from measure.memory.probe import plateaus, steps
    from measure.sweep import recorded_caches

    caches = recorded_caches(sweep.provenance.details)
    found = plateaus(sweep)
    rows = [
        (
            f"{format_bytes(p.first_bytes)} to {format_bytes(p.last_bytes)}",
            format_duration(p.latency_s),
            *(format_bandwidth(p.bandwidths[s]) if s in p.bandwidths else "" for s in sweep.series),
            _where(p.cache),
        )
        for p in found
    ]
    lines = [table(("plateau", "latency", *sweep.series, "fits"), rows)]
    for step in steps(found, caches):
        named = " and ".join(f"the {name} cache of {format_bytes(size)}" for name, size in step.caches.items())
        lines.append(
            f"step between {format_bytes(step.after_bytes)} and {format_bytes(step.upto_bytes)}: latency x "
            f"{step.factor:.3g}{f', where {named} ends' if named else ', where no reported cache ends'}"
        )
    told = ", ".join(f"{name} {format_bytes(size)}" for name, size in caches.items())
    return "\n".join([*lines, f"reported caches: {told}" if told else "this system reports no caches"])


def _where(cache: str) -> str:
    return f"the {cache} cache" if cache.startswith("level") else cache or "?"


def _document(sweep: Sweep, where: Path) -> dict[str, Any]:
    """The sweep in JSON, with each point's best, mean, interval and spread, and the plateaus of a buffer sweep."""
    from dataclasses import asdict

    from measure.memory.probe import plateaus, steps, summarize
    from measure.sweep import recorded_caches

    document = {**sweep_document(sweep, where), "summary": summarize(sweep).to_dict("records")}
    if sweep.load_type.is_size:
        found = plateaus(sweep)
        document["plateaus"] = [asdict(p) for p in found]
        document["steps"] = [asdict(s) for s in steps(found, recorded_caches(sweep.provenance.details))]
    return document
